#include "memory_objects.h"

#include <cstring>

#include "results.h"

namespace suite {

Bytes pattern(size_t count, unsigned seed) {
  Bytes bytes(count);
  uint32_t state = seed * 2654435761u + 12345u;
  for (uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

Bytes readDevice(CUdeviceptr address, size_t count) {
  Bytes content(count);
  EXPECT_OK(cuMemcpyDtoH(content.data(), address, count));
  return content;
}

void writeDevice(CUdeviceptr address, const Bytes& content) {
  EXPECT_OK(cuMemcpyHtoD(address, content.data(), content.size()));
  EXPECT_OK(cuStreamSynchronize(nullptr));  // pageable bytes may still be on their way when the copy returns
}

DeviceBuffer::DeviceBuffer(size_t size) : size_(size) { EXPECT_OK(cuMemAlloc(&address_, size)); }

DeviceBuffer::DeviceBuffer(const Bytes& content) : DeviceBuffer(content.size()) { write(content); }

DeviceBuffer::~DeviceBuffer() {
  if (address_) {
    EXPECT_OK(cuMemFree(address_));
  }
}

CUdeviceptr DeviceBuffer::release() {
  const CUdeviceptr address = address_;
  address_ = 0;
  return address;
}

PinnedBuffer::PinnedBuffer(size_t size, unsigned flags) : size_(size) {
  void* memory = nullptr;
  EXPECT_OK(cuMemHostAlloc(&memory, size, flags));
  data_ = static_cast<uint8_t*>(memory);
  if (!data_) size_ = 0;
}

PinnedBuffer::PinnedBuffer(const Bytes& content, unsigned flags) : PinnedBuffer(content.size(), flags) {
  if (data_) memcpy(data_, content.data(), content.size());
}

PinnedBuffer::~PinnedBuffer() {
  if (data_) {
    EXPECT_OK(cuMemFreeHost(data_));
  }
}

void* PinnedBuffer::release() {
  void* const data = data_;
  data_ = nullptr;
  return data;
}

ManagedBuffer::ManagedBuffer(size_t size, unsigned flags) : size_(size) {
  EXPECT_OK(cuMemAllocManaged(&address_, size, flags));
}

ManagedBuffer::~ManagedBuffer() {
  if (address_) {
    EXPECT_OK(cuMemFree(address_));
  }
}

}  // namespace suite
