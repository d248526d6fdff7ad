// Memory that tests own, and byte patterns to compare.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace suite {

using Bytes = std::vector<uint8_t>;

// `count` bytes that differ from their neighbours and from every other seed's: a misplaced or foreign byte shows.
Bytes pattern(size_t count, unsigned seed = 0);

// Synchronous copies that fail the test when the driver refuses them. Any address that unified addressing knows.
Bytes readDevice(CUdeviceptr address, size_t count);
void writeDevice(CUdeviceptr address, const Bytes& content);

// cuMemAlloc'd, freed at the end of the scope. Converts to its address.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t size);
  explicit DeviceBuffer(const Bytes& content);
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();
  operator CUdeviceptr() const { return address_; }
  size_t size() const { return size_; }
  Bytes read() const { return readDevice(address_, size_); }
  void write(const Bytes& content) const { writeDevice(address_, content); }
  // The test has freed the memory itself.
  CUdeviceptr release();

 private:
  CUdeviceptr address_ = 0;
  size_t size_;
};

// cuMemHostAlloc'd page-locked memory.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t size, unsigned flags = 0);
  explicit PinnedBuffer(const Bytes& content, unsigned flags = 0);
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer();
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // The same bytes as the device addresses them.
  operator CUdeviceptr() const { return reinterpret_cast<CUdeviceptr>(data_); }
  Bytes bytes() const { return Bytes(data_, data_ + size_); }
  void* release();

 private:
  uint8_t* data_ = nullptr;
  size_t size_;
};

// cuMemAllocManaged'd memory.
class ManagedBuffer {
 public:
  explicit ManagedBuffer(size_t size, unsigned flags = CU_MEM_ATTACH_GLOBAL);
  ManagedBuffer(const ManagedBuffer&) = delete;
  ManagedBuffer& operator=(const ManagedBuffer&) = delete;
  ~ManagedBuffer();
  operator CUdeviceptr() const { return address_; }
  uint8_t* data() const { return reinterpret_cast<uint8_t*>(address_); }
  size_t size() const { return size_; }

 private:
  CUdeviceptr address_ = 0;
  size_t size_;
};

}  // namespace suite
