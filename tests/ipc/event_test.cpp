// Events between processes: order, exactness, and recorders that end.
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "peer.h"

namespace {

constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

class IpcEvent : public testing::Test {
 protected:
  void SetUp() override {
    start();
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override { EXPECT_OK(cuStreamDestroy(stream)); }

  CUstream stream = nullptr;
};

void CUDA_CB pauseShortly(void*) { usleep(300); }

// Each side writes only after the other's event, in streams: the host never waits for the device in between.
TEST_F(IpcEvent, PingPong) {
  Peer player("player");
  CUevent ours = nullptr, theirs = nullptr;
  CUipcEventHandle handle;
  ASSERT_OK(cuEventCreate(&ours, kShared));
  ASSERT_TRUE(player.link().receive(handle));
  ASSERT_OK(cuIpcOpenEventHandle(&theirs, handle));
  const CUdeviceptr memory = filled(4096, 0);
  ASSERT_OK(cuIpcGetEventHandle(&handle, ours));
  player.link().send(handleOf(memory));
  player.link().send(handle);
  static uint32_t words[2];
  for (uint32_t round = 0; round < 150; ++round) {
    ASSERT_OK(cuLaunchHostFunc(stream, pauseShortly, nullptr));
    ASSERT_OK(cuMemsetD32Async(memory, 2 * round + 10, 1024, stream));
    ASSERT_OK(cuEventRecord(ours, stream));
    player.link().send(2 * round + 10);
    ASSERT_TRUE(player.link().await());
    ASSERT_OK(cuStreamWaitEvent(stream, theirs, 0));
    ASSERT_OK(cuMemcpyDtoHAsync(&words[0], memory, 4, stream));
    ASSERT_OK(cuMemcpyDtoHAsync(&words[1], memory + 4092, 4, stream));
    ASSERT_OK(cuStreamSynchronize(stream));
    ASSERT_EQ(words[0], 2 * round + 11);
    ASSERT_EQ(words[1], 2 * round + 11);
  }
  player.join();
  EXPECT_OK(cuMemFree(memory));
  EXPECT_OK(cuEventDestroy(ours));
  EXPECT_OK(cuEventDestroy(theirs));
}

TEST_F(IpcEvent, AKilledRecorderEndsTheWaiting) {
  for (const bool waitFirst : {false, true}) {
    Peer recorder("recorder");
    CUevent pending = nullptr, reached = nullptr;
    CUipcEventHandle handle;
    ASSERT_TRUE(recorder.link().receive(handle));
    ASSERT_OK(cuIpcOpenEventHandle(&pending, handle));
    ASSERT_TRUE(recorder.link().receive(handle));
    ASSERT_OK(cuIpcOpenEventHandle(&reached, handle));
    ASSERT_TRUE(recorder.link().await());
    EXPECT_EQ(cuEventQuery(pending), CUDA_ERROR_NOT_READY);
    EXPECT_OK(cuEventSynchronize(reached));
    if (waitFirst) {
      EXPECT_OK(cuStreamWaitEvent(stream, pending, 0));
    }
    recorder.end(SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(cuEventSynchronize(pending), CUDA_ERROR_EXTERNAL_DEVICE);
    EXPECT_OK(cuStreamWaitEvent(stream, pending, 0));
    EXPECT_OK(cuStreamSynchronize(stream));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_OK(cuEventQuery(reached));
    EXPECT_OK(cuEventRecord(pending, stream));  // it is ours to record as well
    EXPECT_OK(cuEventSynchronize(pending));
    EXPECT_OK(cuEventDestroy(pending));
    EXPECT_OK(cuEventDestroy(reached));
  }
}

TEST_F(IpcEvent, MakingSharingAndDestroyingForLongLeavesNothing) {
  Footprint before{};
  for (int i = 0; i < 3000; ++i) {
    if (i == 200) before = Footprint::now();
    CUevent event = nullptr;
    CUipcEventHandle handle;
    ASSERT_OK(cuEventCreate(&event, kShared));
    ASSERT_OK(cuIpcGetEventHandle(&handle, event));
    ASSERT_OK(cuEventRecord(event, stream));
    ASSERT_OK(cuEventDestroy(event));
  }
  const Footprint after = Footprint::now();
  EXPECT_LE(after.descriptors, before.descriptors + 1);
  EXPECT_LE(after.mappings, before.mappings + 8);
}

// Far more unfinished records than the shared state has room for would need.
TEST_F(IpcEvent, ABurstOfRecordsKeepsItsOrder) {
  CUevent event = nullptr;
  CUipcEventHandle handle;
  ASSERT_OK(cuEventCreate(&event, kShared));
  ASSERT_OK(cuIpcGetEventHandle(&handle, event));
  for (int i = 0; i < 600; ++i) {
    ASSERT_OK(cuLaunchHostFunc(stream, pauseShortly, nullptr));
    ASSERT_OK(cuEventRecord(event, stream));
  }
  EXPECT_OK(cuEventSynchronize(event));
  EXPECT_OK(cuStreamQuery(stream));
  EXPECT_OK(cuEventDestroy(event));
}

}  // namespace
