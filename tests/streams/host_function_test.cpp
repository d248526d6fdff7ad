// Host functions and callbacks: when they run and what they may do.
#include <mutex>

#include "fixture.h"

namespace {

using HostFunctionTest = StreamTest;

TEST_F(HostFunctionTest, TheyRunOnAnotherThreadEvenWhenTheStreamIsIdle) {
  static std::mutex mutex;  // a program may hold a lock that its function takes
  struct State {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> other{false};
  } state;
  CUstream stream = create();
  {
    std::lock_guard lock(mutex);
    EXPECT_OK(cuLaunchHostFunc(
        stream,
        [](void* raw) {
          std::lock_guard inner(mutex);
          auto& s = *static_cast<State*>(raw);
          s.other = std::this_thread::get_id() != s.caller;
        },
        &state));
  }
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(state.other);
}

TEST_F(HostFunctionTest, CallsFromInsideAreNotPermittedButForQueries) {
  struct State {
    CUstream stream;
    CUresult alloc, create, current, synchronize, copy, query;
    const char* name;
    CUresult text;
  } state{};
  state.stream = create();
  EXPECT_OK(cuLaunchHostFunc(
      state.stream,
      [](void* raw) {
        auto& s = *static_cast<State*>(raw);
        CUdeviceptr memory = 0;
        CUstream made = nullptr;
        CUcontext context = nullptr;
        s.alloc = cuMemAlloc(&memory, 64);
        s.create = cuStreamCreate(&made, 0);
        s.current = cuCtxGetCurrent(&context);
        s.synchronize = cuStreamSynchronize(s.stream);
        s.copy = cuMemcpyDtoD(1, 2, 3);
        s.query = cuStreamQuery(s.stream);
        s.text = cuGetErrorName(CUDA_SUCCESS, &s.name);
      },
      &state));
  EXPECT_OK(cuStreamSynchronize(state.stream));
  EXPECT_EQ(state.alloc, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(state.create, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(state.current, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(state.synchronize, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(state.copy, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(state.query, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(state.text, CUDA_SUCCESS);
}

TEST_F(HostFunctionTest, CallbacksGetTheHandleTheStatusAndTheData) {
  struct State {
    CUstream seen = reinterpret_cast<CUstream>(99);
    CUresult status = CUDA_ERROR_UNKNOWN;
    CUresult inside = CUDA_SUCCESS;
  };
  for (CUstream stream : {create(), CUstream{nullptr}, CU_STREAM_PER_THREAD}) {
    State state;
    EXPECT_OK(cuStreamAddCallback(
        stream,
        [](CUstream handle, CUresult status, void* raw) {
          auto& s = *static_cast<State*>(raw);
          s.seen = handle;
          s.status = status;
          CUdeviceptr memory = 0;
          s.inside = cuMemAlloc(&memory, 4);
        },
        &state, 0));
    EXPECT_OK(cuStreamSynchronize(stream));
    EXPECT_EQ(state.seen, stream);
    EXPECT_OK(state.status);
    EXPECT_EQ(state.inside, CUDA_ERROR_NOT_PERMITTED);
  }
  EXPECT_EQ(cuStreamAddCallback(nullptr, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamAddCallback(
                nullptr, [](CUstream, CUresult, void*) {}, nullptr, 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchHostFunc(nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostFunctionTest, ManyThatBlockDoNotStopOtherStreams) {
  std::vector<std::unique_ptr<Gate>> gates;
  for (int i = 0; i < 40; ++i) gates.push_back(std::make_unique<Gate>(create(CU_STREAM_NON_BLOCKING)));
  for (auto& gate : gates) EXPECT_TRUE(gate->entered());
  CUstream stream = create();
  Mark mark(stream);
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(mark.passed());
}

}  // namespace
