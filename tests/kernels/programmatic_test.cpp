// Programmatic dependent launches, and the events that launches carry.
#include <atomic>
#include <thread>

#include "kernels/fixture.h"

namespace kernels {
namespace {

class ProgrammaticTest : public KernelTest {
 protected:
  // Launches `function` over 4 x 64 threads with one attribute.
  template <class... Arguments>
  CUresult launchWith(const CUlaunchAttribute& attribute, CUfunction function, CUstream stream,
                      Arguments... arguments) {
    void* values[] = {static_cast<void*>(&arguments)..., nullptr};
    CUlaunchAttribute attributes[] = {attribute};
    CUlaunchConfig config{};
    config.gridDimX = 4;
    config.blockDimX = 64;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = attributes;
    config.numAttrs = 1;
    return cuLaunchKernelEx(&config, function, values, nullptr);
  }

  // Every thread lets its dependents start, waits for what it depends on, then adds one to its word.
  CUfunction link() {
    return function(module(entry("kernel", {".u64"},
                                 "griddepcontrol.launch_dependents;\n" + std::string(kIndices) +
                                     "ld.param.u64 %rd1, [p0];\nmul.wide.u32 %rd2, %r2, 4;\n"
                                     "add.u64 %rd3, %rd1, %rd2;\ngriddepcontrol.wait;\n"
                                     "ld.global.u32 %r5, [%rd3];\nadd.u32 %r5, %r5, 1;\n"
                                     "st.global.u32 [%rd3], %r5;\n"),
                           "sm_90", "7.8"));
  }

  CUstream stream() {
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return stream;
  }
  CUevent event() {
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    return event;
  }
};

// Holds up a stream.
struct Gate {
  std::atomic<bool> open{false};
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open.load()) std::this_thread::yield();
  }
};

TEST_F(ProgrammaticTest, ADependentGridSeesWhatItWaitedFor) {
  const CUfunction kernel = link();
  const CUdeviceptr out = allocate(256 * 4);
  const CUstream queue = stream();
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  for (int round = 0; round < 50; ++round) ASSERT_EQ(launchWith(attribute, kernel, queue, out), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(queue), CUDA_SUCCESS);
  for (const uint32_t value : read(out, 256)) EXPECT_EQ(value, 50u);
  EXPECT_EQ(cuStreamDestroy(queue), CUDA_SUCCESS);
}

// The event of a launch that has not begun is not reached; another stream that waits for it comes after the grid.
template <class Fill>
void eventFollowsLaunch(CUstream queue, CUstream other, CUevent event, Fill launch) {
  Gate gate;
  ASSERT_EQ(cuLaunchHostFunc(queue, Gate::wait, &gate), CUDA_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  gate.open = true;
  ASSERT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(queue), CUDA_SUCCESS);
}

TEST_F(ProgrammaticTest, ALaunchCompletionEventComesAfterItsGridHasBegun) {
  const CUfunction kernel = link();
  const CUdeviceptr out = allocate(256 * 4);
  const CUstream queue = stream(), other = stream();
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attribute.value.launchCompletionEvent.event = event();
  eventFollowsLaunch(queue, other, attribute.value.launchCompletionEvent.event,
                     [&] { return launchWith(attribute, kernel, queue, out); });
  EXPECT_EQ(cuEventDestroy(attribute.value.launchCompletionEvent.event), CUDA_SUCCESS);
  EXPECT_EQ(launchWith(attribute, kernel, queue, out), CUDA_ERROR_INVALID_HANDLE);  // the event has ended
  EXPECT_EQ(cuStreamDestroy(queue), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(ProgrammaticTest, AProgrammaticEventComesAfterItsGridHasTriggeredIt) {
  const CUfunction kernel = link();
  const CUdeviceptr out = allocate(256 * 4);
  const CUstream queue = stream(), other = stream();
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  for (const int atStart : {0, 1}) {
    attribute.value.programmaticEvent.event = event();
    attribute.value.programmaticEvent.triggerAtBlockStart = atStart;
    eventFollowsLaunch(queue, other, attribute.value.programmaticEvent.event,
                       [&] { return launchWith(attribute, kernel, queue, out); });
    EXPECT_EQ(cuEventDestroy(attribute.value.programmaticEvent.event), CUDA_SUCCESS);
  }
  EXPECT_EQ(read(out, 256)[255], 2u);
  EXPECT_EQ(cuStreamDestroy(queue), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

}  // namespace
}  // namespace kernels
