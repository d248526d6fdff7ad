#include <chrono>
#include <thread>

#include "device_test.h"

namespace {

using CopiesTest = DeviceTest;

// MEMCPY-001, MEMCPY-002, MEMCPYHTOD-001, MEMCPYDTOH-001, MEMCPYDTOD-001
TEST_F(CopiesTest, EveryDirectionMovesExactlyTheBytesAskedFor) {
  const size_t kBytes = 3000;
  const CUdeviceptr a = allocate(kBytes), b = allocate(kBytes);
  const std::vector<uint8_t> content = bytesFrom(3, kBytes);
  EXPECT_OK(cuMemsetD8(a, 0xEE, kBytes));
  EXPECT_OK(cuMemcpyHtoD(a + 100, content.data(), 1000));
  std::vector<uint8_t> expected(kBytes, 0xEE);
  std::copy_n(content.begin(), 1000, expected.begin() + 100);
  EXPECT_EQ(read(a, kBytes), expected);
  EXPECT_OK(cuMemcpyDtoD(b, a, kBytes));
  EXPECT_EQ(read(b, kBytes), expected);

  std::vector<uint8_t> host(kBytes);
  const auto unified = [](void* p) { return reinterpret_cast<CUdeviceptr>(p); };
  EXPECT_OK(cuMemcpy(unified(host.data()), a, kBytes));
  EXPECT_EQ(host, expected);
  EXPECT_OK(cuMemcpy(b, unified(const_cast<uint8_t*>(content.data())), kBytes));
  EXPECT_EQ(read(b, kBytes), content);
  EXPECT_OK(cuMemcpy(a, b, kBytes));
  EXPECT_EQ(read(a, kBytes), content);
  std::vector<uint8_t> other(kBytes);
  EXPECT_OK(cuMemcpy(unified(other.data()), unified(host.data()), kBytes));
  EXPECT_EQ(other, host);
}

TEST_F(CopiesTest, LargeCopiesArriveWhole) {
  const size_t kBytes = (size_t{40} << 20) + 13;
  const CUdeviceptr a = allocate(kBytes), b = allocate(kBytes);
  std::vector<uint8_t> content(kBytes);
  for (size_t i = 0; i < kBytes; ++i) content[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  EXPECT_OK(cuMemcpyHtoD(a, content.data(), kBytes));
  EXPECT_OK(cuMemcpyDtoD(b, a, kBytes));
  EXPECT_TRUE(read(b, kBytes) == content);
}

TEST_F(CopiesTest, RangesThatLeaveTheAllocationAreInvalidAndCopyNothing) {
  const CUdeviceptr a = allocate(4096), b = allocate(4096);
  std::vector<uint8_t> host(8192, 1);
  EXPECT_OK(cuMemsetD8(a, 9, 4096));
  EXPECT_INVALID(cuMemcpyHtoD(a, host.data(), 4097));
  EXPECT_INVALID(cuMemcpyHtoD(b + 4096, host.data(), 1));
  EXPECT_INVALID(cuMemcpyDtoH(host.data(), a + 1, 4096));
  EXPECT_INVALID(cuMemcpyDtoD(b, a, 4097));
  EXPECT_INVALID(cuMemcpyHtoD(a, host.data(), SIZE_MAX));
  EXPECT_INVALID(cuMemcpyHtoD(0x1000, host.data(), 4));
  EXPECT_INVALID(cuMemcpyHtoD(a, nullptr, 4));
  EXPECT_INVALID(cuMemcpyDtoH(nullptr, a, 4));
  EXPECT_INVALID(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(host.data()), host.data() + 100, 4));
  EXPECT_INVALID(cuMemcpyDtoD(a, reinterpret_cast<CUdeviceptr>(host.data()), 4));
  EXPECT_EQ(read(a, 4096), std::vector<uint8_t>(4096, 9));
}

TEST_F(CopiesTest, NoBytesSucceedWhateverThePointers) {
  EXPECT_OK(cuMemcpyHtoD(0, nullptr, 0));
  EXPECT_OK(cuMemcpyDtoD(1, 2, 0));
  EXPECT_OK(cuMemcpy(0, 0, 0));
}

TEST_F(CopiesTest, OverlappingDeviceCopiesBehaveAsMemmove) {
  const CUdeviceptr a = allocate(8192);
  for (size_t from : {0, 1, 100}) {
    std::vector<uint8_t> expected = bytesFrom(5, 8192);
    EXPECT_OK(cuMemcpyHtoD(a, expected.data(), 8192));
    EXPECT_OK(cuMemcpyDtoD(a + 50, a + from, 8000));
    std::memmove(expected.data() + 50, expected.data() + from, 8000);
    EXPECT_EQ(read(a, 8192), expected);
  }
}

// MEMCPY-005, MEMCPYHTOD-003, MEMCPYDTOH-003
TEST_F(CopiesTest, HostMemoryRegisteredInPartIsInvalid) {
  const CUdeviceptr a = allocate(16384);
  std::vector<char> host(16384 + 4096);
  char* page = host.data() + (4096 - reinterpret_cast<uintptr_t>(host.data()) % 4096);
  ASSERT_OK(cuMemHostRegister(page + 4096, 4096, 0));
  EXPECT_INVALID(cuMemcpyHtoD(a, page + 4096, 8192));
  // Where a range begins decides: pageable memory may go on into registered memory.
  EXPECT_OK(cuMemcpyDtoH(page, a, 4097));
  EXPECT_OK(cuMemcpyHtoD(a, page, 12288));
  EXPECT_OK(cuMemcpyHtoDAsync(a, page, 8192, nullptr));
  EXPECT_OK(cuMemcpyHtoD(a, page, 4096));
  EXPECT_OK(cuMemcpyHtoD(a, page + 4096, 4096));
  EXPECT_OK(cuMemHostUnregister(page + 4096));
  EXPECT_OK(cuMemcpyHtoD(a, page, 12288));
}

class BusyStreamTest : public CopiesTest {
 protected:
  void SetUp() override {
    CopiesTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    EXPECT_OK(cuStreamSynchronize(stream));
    EXPECT_OK(cuStreamDestroy(stream));
    CopiesTest::TearDown();
  }
  void occupy() {
    ASSERT_OK(cuLaunchHostFunc(
        stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(80)); }, nullptr));
  }
  CUstream stream = nullptr;
};

// MEMCPYHTODASYNC-001, 003: and what the recorded driver does with pageable memory.
TEST_F(BusyStreamTest, ASmallPageableSourceMayBeOverwrittenAtOnce) {
  const CUdeviceptr a = allocate(1000);
  std::vector<uint8_t> host = bytesFrom(1, 1000);
  const std::vector<uint8_t> content = host;
  occupy();
  EXPECT_OK(cuMemcpyHtoDAsync(a, host.data(), host.size(), stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  std::fill(host.begin(), host.end(), uint8_t{0});
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read(a, 1000), content);
}

TEST_F(BusyStreamTest, ALargePageableSourceIsConsumedBeforeTheCallReturns) {
  const size_t kBytes = 3 << 20;
  const CUdeviceptr a = allocate(kBytes);
  std::vector<uint8_t> host = bytesFrom(1, kBytes);
  const std::vector<uint8_t> content = host;
  occupy();
  EXPECT_OK(cuMemcpyHtoDAsync(a, host.data(), host.size(), stream));
  std::fill(host.begin(), host.end(), uint8_t{0});
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(read(a, kBytes) == content);
}

TEST_F(BusyStreamTest, APageableDestinationIsWrittenWhenTheCallReturns) {
  const CUdeviceptr a = allocate(100);
  EXPECT_OK(cuMemsetD8(a, 4, 100));
  EXPECT_OK(cuCtxSynchronize());
  std::vector<uint8_t> host(100);
  occupy();
  EXPECT_OK(cuMemcpyDtoHAsync(host.data(), a, 100, stream));
  EXPECT_EQ(host, std::vector<uint8_t>(100, 4));
}

TEST_F(BusyStreamTest, PinnedMemoryIsCopiedInStreamOrder) {
  const CUdeviceptr a = allocate(100);
  void* pinned;
  ASSERT_OK(cuMemHostAlloc(&pinned, 100, 0));
  std::memset(pinned, 1, 100);
  occupy();
  EXPECT_OK(cuMemcpyHtoDAsync(a, pinned, 100, stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuMemcpyDtoHAsync(pinned, a, 100, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read(a, 100), std::vector<uint8_t>(100, 1));
  EXPECT_OK(cuMemFreeHost(pinned));
}

TEST_F(BusyStreamTest, CopiesInsideTheDeviceReturnBeforeEarlierWorkIsDone) {
  const CUdeviceptr a = allocate(100), b = allocate(100);
  occupy();
  EXPECT_OK(cuMemcpyDtoDAsync(a, b, 100, stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

TEST_F(BusyStreamTest, MemoryThatAsksForSynchronyGetsItFromSynchronousCalls) {
  const CUdeviceptr a = allocate(100), b = allocate(100);
  unsigned on = 1;
  CUstream blocking = nullptr;
  EXPECT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
  ASSERT_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  EXPECT_OK(cuLaunchHostFunc(
      blocking, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(80)); }, nullptr));
  EXPECT_OK(cuMemcpyDtoDAsync(a, b, 100, blocking));
  EXPECT_OK(cuMemcpyDtoD(b, b + 50, 50));
  EXPECT_EQ(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuMemcpyDtoD(a, b, 100));
  EXPECT_OK(cuStreamQuery(blocking));
  EXPECT_OK(cuStreamDestroy(blocking));
}

CUDA_MEMCPY2D deviceBox(CUdeviceptr to, size_t toPitch, CUdeviceptr from, size_t fromPitch, size_t width,
                        size_t height) {
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = from;
  box.srcPitch = fromPitch;
  box.dstDevice = to;
  box.dstPitch = toPitch;
  box.WidthInBytes = width;
  box.Height = height;
  return box;
}

// MEMCPY2D-001 to 016, 019
TEST_F(CopiesTest, BoxesStartWhereTheirOffsetsSay) {
  const size_t kPitch = 64, kRows = 20;
  const CUdeviceptr a = allocate(kPitch * kRows), b = allocate(kPitch * kRows);
  const std::vector<uint8_t> content = bytesFrom(0, kPitch * kRows);
  EXPECT_OK(cuMemcpyHtoD(a, content.data(), content.size()));
  EXPECT_OK(cuMemsetD8(b, 0xEE, kPitch * kRows));
  CUDA_MEMCPY2D box = deviceBox(b, kPitch, a, kPitch, 20, 7);
  box.srcXInBytes = 5;
  box.srcY = 3;
  box.dstXInBytes = 11;
  box.dstY = 8;
  box.srcHost = reinterpret_cast<void*>(1);  // ignored
  box.srcArray = reinterpret_cast<CUarray>(1);
  EXPECT_OK(cuMemcpy2D(&box));
  std::vector<uint8_t> expected(kPitch * kRows, 0xEE);
  for (size_t y = 0; y < 7; ++y)
    std::copy_n(content.begin() + static_cast<long>((3 + y) * kPitch + 5), 20,
                expected.begin() + static_cast<long>((8 + y) * kPitch + 11));
  EXPECT_EQ(read(b, kPitch * kRows), expected);

  std::vector<uint8_t> host(kPitch * kRows, 0xEE);
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = host.data();
  EXPECT_OK(cuMemcpy2DUnaligned(&box));
  EXPECT_EQ(host, expected);
  std::fill(host.begin(), host.end(), uint8_t{0xEE});
  box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  box.dstDevice = reinterpret_cast<CUdeviceptr>(host.data());
  EXPECT_OK(cuMemcpy2DAsync(&box, nullptr));
  EXPECT_EQ(host, expected);
}

// MEMCPY2D-020 to 024: pitch 0 means as tight as can be, as recorded.
TEST_F(CopiesTest, PitchesAndTypesAreChecked) {
  const CUdeviceptr a = allocate(4096), b = allocate(4096);
  CUDA_MEMCPY2D box = deviceBox(b, 64, a, 64, 64, 4);
  EXPECT_OK(cuMemcpy2D(&box));
  box.srcXInBytes = 4;
  EXPECT_INVALID(cuMemcpy2D(&box));
  box.srcXInBytes = 0;
  box.dstPitch = 63;
  EXPECT_INVALID(cuMemcpy2D(&box));
  box.dstPitch = 0;
  EXPECT_OK(cuMemcpy2D(&box));
  box.dstPitch = size_t{1} << 40;
  EXPECT_INVALID(cuMemcpy2D(&box));  // leaves the allocation
  box.dstPitch = SIZE_MAX;
  EXPECT_INVALID(cuMemcpy2D(&box));
  box = deviceBox(b, 64, a, 64, 64, 65);
  EXPECT_INVALID(cuMemcpy2D(&box));
  box = deviceBox(b, 64, a, 64, 64, 4);
  box.srcMemoryType = static_cast<CUmemorytype>(5);
  EXPECT_INVALID(cuMemcpy2D(&box));
  EXPECT_INVALID(cuMemcpy2D(nullptr));
  EXPECT_INVALID(cuMemcpy3D(nullptr));
  box.WidthInBytes = 0;
  EXPECT_OK(cuMemcpy2D(&box));
}

TEST_F(CopiesTest, TheLastRowNeedsNoPadding) {
  const CUdeviceptr a = allocate(64 * 3 + 10), b = allocate(4096);
  CUDA_MEMCPY2D box = deviceBox(b, 64, a, 64, 10, 4);
  EXPECT_OK(cuMemcpy2D(&box));
  box.WidthInBytes = 11;
  EXPECT_INVALID(cuMemcpy2D(&box));
}

// MEMCPY3D-001, 013 to 016, 019, 021
TEST_F(CopiesTest, VolumesStartWhereTheirOffsetsSay) {
  const size_t kPitch = 32, kHeight = 6, kDepth = 5, kBytes = kPitch * kHeight * kDepth;
  const CUdeviceptr a = allocate(kBytes), b = allocate(kBytes);
  const std::vector<uint8_t> content = bytesFrom(1, kBytes);
  EXPECT_OK(cuMemcpyHtoD(a, content.data(), kBytes));
  EXPECT_OK(cuMemsetD8(b, 0xEE, kBytes));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = a;
  box.dstDevice = b;
  box.srcPitch = box.dstPitch = kPitch;
  box.srcHeight = box.dstHeight = kHeight;
  box.srcXInBytes = 2;
  box.srcY = 1;
  box.srcZ = 1;
  box.dstXInBytes = 3;
  box.dstY = 2;
  box.dstZ = 2;
  box.WidthInBytes = 9;
  box.Height = 4;
  box.Depth = 3;
  EXPECT_OK(cuMemcpy3D(&box));
  std::vector<uint8_t> expected(kBytes, 0xEE);
  for (size_t z = 0; z < 3; ++z)
    for (size_t y = 0; y < 4; ++y)
      std::copy_n(content.begin() + static_cast<long>(((z + 1) * kHeight + y + 1) * kPitch + 2), 9,
                  expected.begin() + static_cast<long>(((z + 2) * kHeight + y + 2) * kPitch + 3));
  EXPECT_EQ(read(b, kBytes), expected);
  box.srcHeight = 4;
  EXPECT_INVALID(cuMemcpy3D(&box));
  box.srcHeight = kHeight;
  box.dstZ = 3;
  EXPECT_INVALID(cuMemcpy3DAsync(&box, nullptr));
  box.Depth = 0;
  EXPECT_OK(cuMemcpy3D(&box));
}

// MEMCPYPEER-001, MEMCPY3DPEER-001
TEST_F(CopiesTest, MemoryMovesBetweenDevices) {
  int count = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device";
  CUcontext second;
  ASSERT_OK(cuDevicePrimaryCtxRetain(&second, 1));
  const CUdeviceptr here = allocate(1000);
  ASSERT_OK(cuCtxSetCurrent(second));
  CUdeviceptr there;
  ASSERT_OK(cuMemAlloc(&there, 1000));
  const std::vector<uint8_t> content = bytesFrom(9, 1000);
  EXPECT_OK(cuMemcpyHtoD(there, content.data(), 1000));
  ASSERT_OK(cuCtxSetCurrent(context));
  EXPECT_OK(cuMemcpyPeer(here, context, there, second, 1000));
  EXPECT_EQ(read(here, 1000), content);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there), 1);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, there), second);
  EXPECT_OK(cuMemsetD8(here, 0, 1000));
  CUDA_MEMCPY3D_PEER box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = there;
  box.dstDevice = here;
  box.srcContext = second;
  box.dstContext = context;
  box.srcPitch = box.dstPitch = 100;
  box.srcHeight = box.dstHeight = 10;
  box.WidthInBytes = 100;
  box.Height = 10;
  box.Depth = 1;
  EXPECT_OK(cuMemcpy3DPeer(&box));
  EXPECT_EQ(read(here, 1000), content);
  EXPECT_OK(cuMemcpyPeerAsync(there, second, here, context, 1000, nullptr));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(cuMemcpyPeer(here, reinterpret_cast<CUcontext>(8), there, second, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_OK(cuMemFree(there));
  EXPECT_OK(cuDevicePrimaryCtxRelease(1));
}

template <class T>
std::vector<T> readElements(CUdeviceptr address, size_t count) {
  std::vector<T> content(count);
  EXPECT_OK(cuMemcpyDtoH(content.data(), address, count * sizeof(T)));
  return content;
}

// MEMSETD8-001, MEMSETD16-001 to 003, MEMSETD32-001 to 003
TEST_F(CopiesTest, FillsCountElementsAndLeaveTheRest) {
  const CUdeviceptr a = allocate(4096);
  EXPECT_OK(cuMemsetD8(a, 0xEE, 4096));
  EXPECT_OK(cuMemsetD16(a + 2, 0x1234, 3));
  EXPECT_OK(cuMemsetD32(a + 64, 0xCAFEBABE, 3));
  EXPECT_OK(cuMemsetD8Async(a + 128, 7, 5, nullptr));
  EXPECT_OK(cuMemsetD16Async(a + 256, 0x4321, 2, nullptr));
  EXPECT_OK(cuMemsetD32Async(a + 512, 1, 1, nullptr));
  const auto shorts = readElements<uint16_t>(a, 2048);
  EXPECT_EQ(shorts[0], 0xEEEE);
  for (int i : {1, 2, 3}) EXPECT_EQ(shorts[i], 0x1234);
  EXPECT_EQ(shorts[4], 0xEEEE);
  const auto words = readElements<uint32_t>(a, 1024);
  EXPECT_EQ(words[16], 0xCAFEBABE);
  EXPECT_EQ(words[18], 0xCAFEBABE);
  EXPECT_EQ(words[19], 0xEEEEEEEE);
  EXPECT_EQ(words[32], 0x07070707u);
  EXPECT_EQ(words[33], 0xEEEEEE07);
  EXPECT_EQ(words[64], 0x43214321u);
  EXPECT_EQ(words[65], 0xEEEEEEEE);
  EXPECT_EQ(words[128], 1u);
  EXPECT_INVALID(cuMemsetD16(a + 1, 0, 4));
  EXPECT_INVALID(cuMemsetD32(a + 2, 0, 4));
  EXPECT_INVALID(cuMemsetD32(a, 0, 1025));
  EXPECT_INVALID(cuMemsetD32(a, 0, SIZE_MAX / 2));
  EXPECT_INVALID(cuMemsetD8(0, 1, 1));
  EXPECT_OK(cuMemsetD8(0, 1, 0));
}

// MEMSETD2D16-001 to 005 and its relatives
TEST_F(CopiesTest, RowsAreFilledAndThePaddingIsKept) {
  const CUdeviceptr a = allocate(64 * 8);
  EXPECT_OK(cuMemsetD8(a, 0xEE, 64 * 8));
  EXPECT_OK(cuMemsetD2D8(a, 64, 1, 3, 2));
  EXPECT_OK(cuMemsetD2D16(a + 128, 64, 0x0202, 3, 2));
  EXPECT_OK(cuMemsetD2D32(a + 256, 64, 0x03030303, 3, 2));
  const std::vector<uint8_t> content = read(a, 64 * 8);
  for (size_t y = 0; y < 8; ++y) {
    const size_t value = y < 2 ? 1 : y < 4 ? 2 : y < 6 ? 3 : 0, width = value == 3 ? 12 : value == 2 ? 6 : value * 3;
    for (size_t x = 0; x < 64; ++x) EXPECT_EQ(content[y * 64 + x], x < width ? value : 0xEE) << x << ' ' << y;
  }
  EXPECT_INVALID(cuMemsetD2D32(a, 8, 0, 4, 4));
  EXPECT_INVALID(cuMemsetD2D32(a, 18, 0, 4, 4));
  EXPECT_OK(cuMemsetD2D32(a, 0, 7, 4, 1));
  EXPECT_OK(cuMemsetD2D32(a, 3, 7, 4, 1));
  EXPECT_INVALID(cuMemsetD2D8(a, 64, 7, 64, 9));
  EXPECT_OK(cuMemsetD2D8Async(a, 64, 7, 0, 9, nullptr));
}

}  // namespace
