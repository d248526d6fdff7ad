// A real GPU and an emulated device in one process: copies between them in every form, events across them.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu_api/fake_devices.h"

namespace vg::testing {
namespace {

constexpr size_t kPitch = 512, kWidth = 300, kRows = 40, kBytes = kPitch * kRows;

struct MixedDevices : ApiTest {
  void SetUp() override {
    ApiTest::SetUp();
    OK(cuDevicePrimaryCtxRetain(&contexts[1], kEmulatedDevice));
    contexts[0] = context;
    for (int i = 0; i < 2; ++i) {
      OK(cuCtxSetCurrent(contexts[i]));
      OK(cuMemAlloc_v2(&memory[i], kBytes));
      OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    for (size_t i = 0; i < kBytes; ++i) pattern[i] = static_cast<uint8_t>(i * 7 + i / 251);
  }
  void TearDown() override {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(cuStreamDestroy_v2(streams[i]), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFree_v2(memory[i]), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(kEmulatedDevice), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }

  // The pattern in `from`'s memory, zeros in the other's; the copy is made with `from`'s context.
  void prepare(int from) {
    OK(cuMemcpyHtoD_v2(memory[from], pattern.data(), kBytes));
    OK(cuMemsetD8_v2(memory[1 - from], 0, kBytes));
    OK(cuCtxSetCurrent(contexts[from]));
  }
  std::vector<uint8_t> holds(int which) const {
    std::vector<uint8_t> bytes(kBytes);
    EXPECT_EQ(cuMemcpyDtoH_v2(bytes.data(), memory[which], kBytes), CUDA_SUCCESS);
    return bytes;
  }
  // Of a copy of `rows` rows of `width` bytes at the pitch of both.
  std::vector<uint8_t> expected(size_t width, size_t rows) const {
    std::vector<uint8_t> bytes(kBytes);
    for (size_t y = 0; y < rows; ++y)
      for (size_t x = 0; x < width; ++x) bytes[y * kPitch + x] = pattern[y * kPitch + x];
    return bytes;
  }

  CUcontext contexts[2] = {};
  CUdeviceptr memory[2] = {};
  CUstream streams[2] = {};
  std::vector<uint8_t> pattern = std::vector<uint8_t>(kBytes);
};

TEST_F(MixedDevices, AreOfTheirKinds) {
  int devices = 0, peers = -1;
  OK(cuDeviceGetCount(&devices));
  EXPECT_EQ(devices, 3);
  OK(cuDeviceCanAccessPeer(&peers, 0, kEmulatedDevice));
  EXPECT_EQ(peers, 0);
  OK(cuDeviceCanAccessPeer(&peers, kEmulatedDevice, 0));
  EXPECT_EQ(peers, 0);
  for (int i = 0; i < 2; ++i) {
    int ordinal = -1;
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory[i]));
    EXPECT_EQ(ordinal, i ? kEmulatedDevice : 0);
  }
}

TEST_F(MixedDevices, CopyPlainly) {
  for (int from = 0; from < 2; ++from) {
    const int to = 1 - from;
    prepare(from);
    OK(cuMemcpyDtoD_v2(memory[to], memory[from], kBytes));
    EXPECT_EQ(holds(to), pattern) << from;
    prepare(from);
    OK(cuMemcpy(memory[to] + 5, memory[from], 1001));
    std::vector<uint8_t> shifted(kBytes);
    std::copy_n(pattern.begin(), 1001, shifted.begin() + 5);
    EXPECT_EQ(holds(to), shifted) << from;
    prepare(from);
    OK(cuMemcpyPeer(memory[to], contexts[to], memory[from], contexts[from], kBytes));
    EXPECT_EQ(holds(to), pattern) << from;
  }
}

TEST_F(MixedDevices, CopyRows) {
  for (int from = 0; from < 2; ++from) {
    const int to = 1 - from;
    prepare(from);
    CUDA_MEMCPY3D_PEER copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = memory[from];
    copy.srcContext = contexts[from];
    copy.dstDevice = memory[to];
    copy.dstContext = contexts[to];
    copy.srcPitch = copy.dstPitch = kPitch;
    copy.srcHeight = copy.dstHeight = kRows / 2;
    copy.WidthInBytes = kWidth;
    copy.Height = kRows / 2;
    copy.Depth = 2;
    OK(cuMemcpy3DPeer(&copy));
    EXPECT_EQ(holds(to), expected(kWidth, kRows)) << from;
    prepare(from);
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    rows.srcDevice = memory[from];
    rows.dstDevice = memory[to];
    rows.srcPitch = rows.dstPitch = kPitch;
    rows.WidthInBytes = kWidth - 1;
    rows.Height = kRows - 1;
    OK(cuMemcpy2DAsync_v2(&rows, streams[from]));
    OK(cuStreamSynchronize(streams[from]));
    EXPECT_EQ(holds(to), expected(kWidth - 1, kRows - 1)) << from;
  }
}

TEST_F(MixedDevices, CopyOneAfterAnotherByEvents) {
  for (int from = 0; from < 2; ++from) {
    const int to = 1 - from;
    prepare(from);
    CUdeviceptr third = 0;
    OK(cuMemAlloc_v2(&third, kBytes));
    CUevent copied = nullptr;
    OK(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
    OK(cuMemcpyPeerAsync(memory[to], contexts[to], memory[from], contexts[from], kBytes, streams[from]));
    OK(cuEventRecord(copied, streams[from]));
    OK(cuCtxSetCurrent(contexts[to]));
    OK(cuStreamWaitEvent(streams[to], copied, 0));
    OK(cuMemsetD8Async(memory[to], 3, 100, streams[to]));
    OK(cuMemcpyDtoDAsync_v2(third, memory[to], kBytes, streams[to]));
    OK(cuStreamSynchronize(streams[to]));
    std::vector<uint8_t> wanted = pattern, seen(kBytes);
    std::fill_n(wanted.begin(), 100, uint8_t{3});
    OK(cuMemcpyDtoH_v2(seen.data(), third, kBytes));
    EXPECT_EQ(seen, wanted) << from;
    OK(cuEventDestroy_v2(copied));
    OK(cuMemFree_v2(third));
  }
}

TEST_F(MixedDevices, ReadPageLockedMemoryBoth) {
  void* pinned = nullptr;
  OK(cuMemHostAlloc(&pinned, kBytes, CU_MEMHOSTALLOC_PORTABLE));
  for (int i = 0; i < 2; ++i) {
    OK(cuCtxSetCurrent(contexts[i]));
    std::copy(pattern.begin(), pattern.end(), static_cast<uint8_t*>(pinned));
    OK(cuMemcpyHtoDAsync_v2(memory[i], pinned, kBytes, streams[i]));
    OK(cuStreamSynchronize(streams[i]));
    EXPECT_EQ(holds(i), pattern) << i;
  }
  OK(cuMemFreeHost(pinned));
}

}  // namespace
}  // namespace vg::testing
