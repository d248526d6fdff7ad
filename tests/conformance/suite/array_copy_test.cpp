// The one-dimensional copies of arrays: cuMemcpyAtoA, AtoD, AtoH, DtoA, HtoA and their asynchronous forms.
#include <sys/mman.h>

#include <cstring>
#include <optional>

#include "array_objects.h"
#include "suite.h"

namespace {

constexpr size_t kBytes = 1024;  // of the lines: 256 floats

CUDA_ARRAY3D_DESCRIPTOR line(CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned channels = 1) {
  const size_t element = format == CU_AD_FORMAT_UNSIGNED_INT8 ? 1 : 4;
  return arrayOf(kBytes / element / channels, 0, 0, 0, format, channels);
}

void fill(CUarray array, const Bytes& content) { EXPECT_OK(cuMemcpyHtoA(array, 0, content.data(), content.size())); }

Bytes contentOf(CUarray array, size_t bytes = kBytes) {
  Bytes content(bytes);
  EXPECT_OK(cuMemcpyAtoH(content.data(), array, 0, bytes));
  return content;
}

// `base` with the bytes [from, from + count) of `patch` at `to`.
Bytes patched(Bytes base, size_t to, const Bytes& patch, size_t from, size_t count) {
  memcpy(base.data() + to, patch.data() + from, count);
  return base;
}

// Two pages of host memory, the first registered.
class HalfRegistered {
 public:
  HalfRegistered()
      : pages_(static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    memset(pages_, 1, 8192);
    EXPECT_OK(cuMemHostRegister(pages_, 4096, 0));
  }
  HalfRegistered(const HalfRegistered&) = delete;
  HalfRegistered& operator=(const HalfRegistered&) = delete;
  ~HalfRegistered() {
    EXPECT_OK(cuMemHostUnregister(pages_));
    munmap(pages_, 8192);
  }
  uint8_t* data() const { return pages_; }

 private:
  uint8_t* pages_;
};

// A line with known bytes, for every test.
class ArrayCopy : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    array_.emplace(line());
    fill(*array_, content_);
  }
  void TearDown() override {
    array_.reset();
    Device::TearDown();
  }

  const Bytes content_ = pattern(kBytes, 1);
  const Bytes other_ = pattern(kBytes, 2);
  std::optional<Array> array_;
};

}  // namespace

TEST_F(ArrayCopy, HostToArrayAndBackMovesThoseBytes) {
  PROVES("MEMCPYHTOA-001", "MEMCPYHTOA-002", "MEMCPYATOH-001", "MEMCPYATOH-002");
  EXPECT_OK(cuMemcpyHtoA(*array_, 4, other_.data(), 96));
  EXPECT_EQ(contentOf(*array_), patched(content_, 4, other_, 0, 96));
  Bytes part(40);
  EXPECT_OK(cuMemcpyAtoH(part.data(), *array_, 4, 40));
  EXPECT_EQ(part, Bytes(other_.begin(), other_.begin() + 40));
}

TEST_F(ArrayCopy, DeviceToArrayCountsItsOffsetInBytes) {
  PROVES("MEMCPYDTOA-001", "MEMCPYDTOA-002");
  DeviceBuffer source(other_);
  EXPECT_OK(cuMemcpyDtoA(*array_, 4, source, 64));
  EXPECT_EQ(contentOf(*array_), patched(content_, 4, other_, 0, 64));
}

TEST_F(ArrayCopy, ArrayToDeviceCountsItsOffsetInBytes) {
  PROVES("MEMCPYATOD-001", "MEMCPYATOD-004");
  DeviceBuffer target(other_);
  EXPECT_OK(cuMemcpyAtoD(target, *array_, 4, 64));
  EXPECT_EQ(target.read(), patched(other_, 0, content_, 4, 64));
}

TEST_F(ArrayCopy, ArrayToArrayCountsBothOffsetsInBytes) {
  PROVES("MEMCPYATOA-001", "MEMCPYATOA-002");
  Array target(line());
  fill(target, other_);
  EXPECT_OK(cuMemcpyAtoA(target, 8, *array_, 4, 100));
  EXPECT_EQ(contentOf(target), patched(other_, 8, content_, 4, 100));
  EXPECT_EQ(contentOf(*array_), content_);
}

TEST_F(ArrayCopy, ArraysOfDifferentFormatsKeepTheBits) {
  PROVES("MEMCPYATOA-003");
  Array integers(line(CU_AD_FORMAT_UNSIGNED_INT32)), halves(arrayOf(256, 0, 0, 0, CU_AD_FORMAT_HALF, 2));
  EXPECT_OK(cuMemcpyAtoA(integers, 0, *array_, 0, kBytes));
  EXPECT_EQ(contentOf(integers), content_);
  EXPECT_OK(cuMemcpyAtoA(halves, 0, *array_, 0, kBytes));
  EXPECT_EQ(contentOf(halves), content_);
}

// Differs from MEMCPYATOA-004: element sizes are not compared; bytes are bytes.
TEST_F(ArrayCopy, ElementSizesMayDiffer) {
  PROVES("MEMCPYATOA-004");
  DIFFERS("MEMCPYATOA-004", "arrays of different element sizes are copied byte by byte");
  Array bytes(line(CU_AD_FORMAT_UNSIGNED_INT8));
  EXPECT_OK(cuMemcpyAtoA(bytes, 0, *array_, 0, 64));
  EXPECT_EQ(contentOf(bytes, 64), Bytes(content_.begin(), content_.begin() + 64));
}

// Differs from MEMCPYATOA-005, MEMCPYATOD-002 and -003: no multiple of an element and no alignment is demanded.
TEST_F(ArrayCopy, CountsOffsetsAndAddressesNeedNoAlignment) {
  PROVES("MEMCPYATOA-005", "MEMCPYATOD-002", "MEMCPYATOD-003");
  DIFFERS("MEMCPYATOA-005", "6 bytes of float arrays are copied");
  DIFFERS("MEMCPYATOD-002", "a device address of any alignment is taken");
  DIFFERS("MEMCPYATOD-003", "6 bytes of a float array are copied");
  Array target(line());
  fill(target, other_);
  EXPECT_OK(cuMemcpyAtoA(target, 0, *array_, 0, 6));
  EXPECT_EQ(contentOf(target), patched(other_, 0, content_, 0, 6));
  DeviceBuffer bytes(other_);
  EXPECT_OK(cuMemcpyAtoD(bytes + 1, *array_, 0, 6));
  EXPECT_EQ(bytes.read(), patched(other_, 1, content_, 0, 6));
  EXPECT_OK(cuMemcpyHtoA(*array_, 2, other_.data(), 4));
  EXPECT_EQ(contentOf(*array_), patched(content_, 2, other_, 0, 4));
}

TEST_F(ArrayCopy, WhatLeavesTheLineIsRefusedAndWritesNothing) {
  PROVES("MEMCPYATOA-008", "MEMCPYATOD-006", "MEMCPYATOH-005", "MEMCPYDTOA-004", "MEMCPYHTOA-005");
  DeviceBuffer device(other_);
  Array target(line());
  fill(target, other_);
  Bytes host = other_;
  EXPECT_INVALID_VALUE(cuMemcpyHtoA(target, kBytes - 4, content_.data(), 8));
  EXPECT_INVALID_VALUE(cuMemcpyDtoA(target, kBytes - 4, device, 8));
  EXPECT_INVALID_VALUE(cuMemcpyAtoA(target, 4, *array_, 0, kBytes));
  EXPECT_INVALID_VALUE(cuMemcpyAtoA(target, 0, *array_, 4, kBytes));
  EXPECT_EQ(contentOf(target), other_);
  EXPECT_INVALID_VALUE(cuMemcpyAtoD(device, *array_, kBytes - 4, 8));
  EXPECT_EQ(device.read(), other_);
  EXPECT_INVALID_VALUE(cuMemcpyAtoH(host.data(), *array_, kBytes - 4, 8));
  EXPECT_EQ(host, other_);
}

TEST_F(ArrayCopy, NullArgumentsAreInvalidValues) {
  PROVES("MEMCPYATOA-008", "MEMCPYATOD-006", "MEMCPYATOH-005", "MEMCPYDTOA-004", "MEMCPYHTOA-005");
  Bytes host(64);
  DeviceBuffer device(64);
  EXPECT_INVALID_VALUE(cuMemcpyHtoA(nullptr, 0, host.data(), 4));
  EXPECT_INVALID_VALUE(cuMemcpyHtoA(*array_, 0, nullptr, 4));
  EXPECT_INVALID_VALUE(cuMemcpyAtoH(nullptr, *array_, 0, 4));
  EXPECT_INVALID_VALUE(cuMemcpyAtoH(host.data(), nullptr, 0, 4));
  EXPECT_INVALID_VALUE(cuMemcpyDtoA(*array_, 0, 0, 4));
  EXPECT_INVALID_VALUE(cuMemcpyAtoD(0, *array_, 0, 4));
  EXPECT_INVALID_VALUE(cuMemcpyAtoA(nullptr, 0, *array_, 0, 4));
  EXPECT_INVALID_VALUE(cuMemcpyAtoA(*array_, 0, nullptr, 0, 4));
  EXPECT_EQ(contentOf(*array_), content_);
}

TEST_F(ArrayCopy, WithoutAContextIsRefused) {
  PROVES("MEMCPYATOA-008", "MEMCPYATOD-006", "MEMCPYATOH-005", "MEMCPYDTOA-004", "MEMCPYHTOA-005");
  Bytes host(64);
  DeviceBuffer device(64);
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuMemcpyHtoA(*array_, 0, host.data(), 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpyAtoH(host.data(), *array_, 0, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpyDtoA(*array_, 0, device, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpyAtoD(device, *array_, 0, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpyAtoA(*array_, 0, *array_, 64, 4), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(cuCtxSetCurrent(context));
}

// The functions are described for lines; on other arrays they reach the first row of the first layer.
TEST_F(ArrayCopy, OtherArraysShowTheirFirstRow) {
  PROVES("MEMCPYATOA-006");
  for (const CUDA_ARRAY3D_DESCRIPTOR& d : {arrayOf(64, 4), arrayOf(64, 4, 4), arrayOf(64, 4, 4, CUDA_ARRAY3D_LAYERED),
                                           arrayOf(64, 0, 4, CUDA_ARRAY3D_LAYERED)}) {
    Array array(d);
    EXPECT_OK(cuMemcpyAtoA(array, 0, *array_, 0, 256));
    EXPECT_EQ(read(array, {256}), Bytes(content_.begin(), content_.begin() + 256)) << testing::PrintToString(d);
    EXPECT_OK(cuMemcpyAtoA(*array_, 512, array, 128, 128));
    EXPECT_INVALID_VALUE(cuMemcpyAtoA(array, 0, *array_, 0, 260)) << testing::PrintToString(d);
  }
  EXPECT_EQ(contentOf(*array_), patched(content_, 512, content_, 128, 128));
}

TEST_F(ArrayCopy, SynchronousCopiesAreCompleteOnReturn) {
  PROVES("MEMCPYATOH-003", "MEMCPYHTOA-003", "MEMCPYATOA-007", "MEMCPYATOD-005", "MEMCPYDTOA-003");
  Array target(line());
  DeviceBuffer device(kBytes);
  Bytes host(kBytes);
  Stream free;  // does not wait for the legacy stream
  EXPECT_OK(cuMemcpyAtoA(target, 0, *array_, 0, kBytes));
  EXPECT_OK(cuMemcpyAtoD(device, target, 0, kBytes));
  EXPECT_OK(cuMemcpyDtoA(target, 0, device, kBytes));
  EXPECT_OK(cuMemcpyAtoH(host.data(), target, 0, kBytes));
  EXPECT_EQ(host, content_);
  EXPECT_OK(cuMemcpyHtoA(target, 0, other_.data(), kBytes));
  EXPECT_OK(cuMemcpyAtoHAsync(host.data(), target, 0, kBytes, free));
  free.synchronize();
  EXPECT_EQ(host, other_);
}

TEST_F(ArrayCopy, CopiesWithTheHostWaitForEarlierWork) {
  PROVES("MEMCPYATOH-003", "MEMCPYHTOA-003");
  Bytes host(kBytes);
  EXPECT_TRUE(waitsForWork([&] { EXPECT_OK(cuMemcpyAtoH(host.data(), *array_, 0, kBytes)); }));
  EXPECT_TRUE(waitsForWork([&] { EXPECT_OK(cuMemcpyHtoA(*array_, 0, host.data(), kBytes)); }));
}

TEST_F(ArrayCopy, HalfRegisteredHostMemoryIsRefused) {
  PROVES("MEMCPYATOH-004", "MEMCPYHTOA-004", "MEMCPYATOHASYNC-006", "MEMCPYHTOAASYNC-006");
  HalfRegistered host;
  Array array(arrayOf(2048));
  Stream stream;
  EXPECT_INVALID_VALUE(cuMemcpyAtoH(host.data(), array, 0, 8192));
  EXPECT_INVALID_VALUE(cuMemcpyHtoA(array, 0, host.data(), 8192));
  EXPECT_INVALID_VALUE(cuMemcpyAtoHAsync(host.data(), array, 0, 8192, stream));
  EXPECT_INVALID_VALUE(cuMemcpyHtoAAsync(array, 0, host.data(), 8192, stream));
  EXPECT_OK(cuMemcpyHtoA(array, 0, host.data(), 4096));
  EXPECT_OK(cuMemcpyHtoA(array, 0, host.data() + 4096, 4096));
}

TEST_F(ArrayCopy, AsynchronousCopiesMoveThoseBytes) {
  PROVES("MEMCPYHTOAASYNC-001", "MEMCPYHTOAASYNC-002", "MEMCPYATOHASYNC-001", "MEMCPYATOHASYNC-002");
  Stream stream;
  PinnedBuffer from(other_), to(40);
  EXPECT_OK(cuMemcpyHtoAAsync(*array_, 4, from.data(), 96, stream));
  EXPECT_OK(cuMemcpyAtoHAsync(to.data(), *array_, 4, 40, stream));
  stream.synchronize();
  EXPECT_EQ(contentOf(*array_), patched(content_, 4, other_, 0, 96));
  EXPECT_EQ(to.bytes(), Bytes(other_.begin(), other_.begin() + 40));
}

TEST_F(ArrayCopy, AsynchronousCopiesKeepTheOrderOfTheirStream) {
  PROVES("MEMCPYHTOAASYNC-003", "MEMCPYHTOAASYNC-004", "MEMCPYATOHASYNC-003", "MEMCPYATOHASYNC-004");
  Stream stream;
  PinnedBuffer from(other_), to(content_);
  {
    StreamBlock block(stream);
    EXPECT_OK(cuMemcpyHtoAAsync(*array_, 0, from.data(), kBytes, stream));
    EXPECT_OK(cuMemcpyAtoHAsync(to.data(), *array_, 0, kBytes, stream));
    EXPECT_FALSE(stream.idle());
    EXPECT_EQ(to.bytes(), content_);
    EXPECT_EQ(contentOf(*array_), content_);
  }
  stream.synchronize();
  EXPECT_EQ(to.bytes(), other_);
}

TEST_F(ArrayCopy, TheDefaultStreamOrdersThem) {
  PROVES("MEMCPYHTOAASYNC-005", "MEMCPYATOHASYNC-005");
  PinnedBuffer from(other_), to(content_);
  Stream blocking(CU_STREAM_DEFAULT);
  {
    StreamBlock block(blocking);  // the legacy stream waits for it
    EXPECT_OK(cuMemcpyHtoAAsync(*array_, 0, from.data(), kBytes, nullptr));
    EXPECT_OK(cuMemcpyAtoHAsync(to.data(), *array_, 0, kBytes, nullptr));
    EXPECT_EQ(to.bytes(), content_);
  }
  EXPECT_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(to.bytes(), other_);
}

TEST_F(ArrayCopy, AsynchronousErrorsAreOfTheListedSet) {
  PROVES("MEMCPYHTOAASYNC-007", "MEMCPYATOHASYNC-007");
  Stream stream;
  PinnedBuffer host(64);
  EXPECT_INVALID_VALUE(cuMemcpyHtoAAsync(*array_, kBytes - 4, host.data(), 8, stream));
  EXPECT_INVALID_VALUE(cuMemcpyHtoAAsync(nullptr, 0, host.data(), 4, stream));
  EXPECT_INVALID_VALUE(cuMemcpyHtoAAsync(*array_, 0, nullptr, 4, stream));
  EXPECT_INVALID_VALUE(cuMemcpyAtoHAsync(host.data(), *array_, kBytes - 4, 8, stream));
  EXPECT_INVALID_VALUE(cuMemcpyAtoHAsync(host.data(), nullptr, 0, 4, stream));
  EXPECT_INVALID_VALUE(cuMemcpyAtoHAsync(nullptr, *array_, 0, 4, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuMemcpyHtoAAsync(*array_, 0, host.data(), 4, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpyAtoHAsync(host.data(), *array_, 0, 4, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(cuCtxSetCurrent(context));
}

TEST_F(ArrayCopy, NothingIsCopiedForZeroBytes) {
  PROVES("MEMCPYHTOA-001", "MEMCPYATOD-001", "MEMCPYDTOA-001");
  DeviceBuffer device(64);
  EXPECT_OK(cuMemcpyHtoA(*array_, 0, other_.data(), 0));
  EXPECT_OK(cuMemcpyDtoA(*array_, 0, device, 0));
  EXPECT_OK(cuMemcpyAtoD(device, *array_, 0, 0));
  EXPECT_EQ(contentOf(*array_), content_);
}

using ArrayCopyFault = DeviceFault;

TEST_F(ArrayCopyFault, CopiesHandBackTheErrorOfEarlierWork) {
  PROVES("MEMCPYATOA-009", "MEMCPYATOD-007", "MEMCPYATOH-006", "MEMCPYATOHASYNC-008", "MEMCPYDTOA-005",
         "MEMCPYHTOA-006", "MEMCPYHTOAASYNC-008");
  CUarray array = Array(line()).release();
  CUdeviceptr device = DeviceBuffer(kBytes).release();
  Stream* const stream = new Stream;  // never destroyed: the context is in error
  Bytes host(64);
  ASSERT_OK(cuLaunchKernel(kernel("trap"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  ASSERT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyAtoA(array, 0, array, 64, 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyAtoD(device, array, 0, 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyAtoH(host.data(), array, 0, 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyDtoA(array, 0, device, 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyHtoA(array, 0, host.data(), 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyAtoHAsync(host.data(), array, 0, 4, *stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemcpyHtoAAsync(array, 0, host.data(), 4, *stream), CUDA_ERROR_LAUNCH_FAILED);
}
