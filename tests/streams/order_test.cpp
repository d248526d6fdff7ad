// In which order work of different streams runs.
#include <cstring>

#include "fixture.h"

namespace {

using OrderTest = StreamTest;

TEST_F(OrderTest, LegacyWorkWaitsForBlockingStreams) {
  CUstream stream = create();
  Gate gate(stream);
  Mark mark(CU_STREAM_LEGACY);
  settle();
  EXPECT_FALSE(mark.passed());
  gate.open();
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_LEGACY));
  EXPECT_TRUE(mark.passed());
}

TEST_F(OrderTest, BlockingStreamsWaitForLegacyWork) {
  CUstream one = create(), two = create();
  Gate gate(nullptr);
  Mark first(one), second(two);
  settle();
  EXPECT_FALSE(first.passed());
  EXPECT_FALSE(second.passed());
  gate.open();
  EXPECT_OK(cuStreamSynchronize(one));
  EXPECT_OK(cuStreamSynchronize(two));
  EXPECT_TRUE(first.passed() && second.passed());
}

TEST_F(OrderTest, LegacyWorkSeparatesWorkOfTwoStreams) {
  CUstream one = create(), two = create();
  Gate gate(one);
  Mark between(nullptr);
  Mark after(two);
  settle();
  EXPECT_FALSE(between.passed());
  EXPECT_FALSE(after.passed());
  gate.open();
  EXPECT_OK(cuStreamSynchronize(two));
  EXPECT_TRUE(between.passed() && after.passed());
}

TEST_F(OrderTest, BlockingStreamsDoNotWaitForEachOther) {
  CUstream one = create(), two = create();
  Gate gate(one);
  Mark mark(two);
  EXPECT_OK(cuStreamSynchronize(two));
  EXPECT_TRUE(mark.passed());
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
}

TEST_F(OrderTest, NonBlockingStreamsIgnoreTheLegacyStreamAndItThem) {
  CUstream free = create(CU_STREAM_NON_BLOCKING);
  {
    Gate gate(nullptr);
    Mark mark(free);
    EXPECT_OK(cuStreamSynchronize(free));
    EXPECT_TRUE(mark.passed());
  }
  Gate gate(free);
  Mark mark(nullptr);
  EXPECT_OK(cuStreamSynchronize(nullptr));
  EXPECT_TRUE(mark.passed());
  EXPECT_EQ(cuStreamQuery(free), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuStreamQuery(nullptr));
}

TEST_F(OrderTest, ThePerThreadStreamAndTheLegacyStreamWaitForEachOther) {
  {
    Gate gate(CU_STREAM_PER_THREAD);
    Mark mark(CU_STREAM_LEGACY);
    settle();
    EXPECT_FALSE(mark.passed());
  }
  EXPECT_OK(cuCtxSynchronize());
  Gate gate(CU_STREAM_LEGACY);
  Mark mark(CU_STREAM_PER_THREAD);
  settle();
  EXPECT_FALSE(mark.passed());
  gate.open();
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  EXPECT_TRUE(mark.passed());
}

TEST_F(OrderTest, SynchronousCopiesWaitForBlockingStreamsOnly) {
  CUdeviceptr memory = 0;
  ASSERT_OK(cuMemAlloc(&memory, 64));
  CUstream blocking = create(), free = create(CU_STREAM_NON_BLOCKING);
  char host[4] = {};
  {
    Gate gate(free);
    EXPECT_OK(cuMemcpyDtoH(host, memory, 4));  // returns although `free` is busy
    EXPECT_EQ(cuStreamQuery(free), CUDA_ERROR_NOT_READY);
  }
  Gate gate(blocking);
  std::atomic<bool> returned{false};
  std::thread other([&] {
    EXPECT_OK(cuCtxSetCurrent(context));
    EXPECT_OK(cuMemcpyDtoH(host, memory, 4));
    returned = true;
  });
  settle();
  EXPECT_FALSE(returned);
  gate.open();
  other.join();
  EXPECT_OK(cuMemFree(memory));
}

TEST_F(OrderTest, AsynchronousCopiesRunInOrderWithHostFunctions) {
  constexpr int kRounds = 200;
  CUdeviceptr memory = 0;
  int *source = nullptr, *target = nullptr;
  ASSERT_OK(cuMemAlloc(&memory, sizeof(int)));
  ASSERT_OK(cuMemHostAlloc(reinterpret_cast<void**>(&source), kRounds * sizeof(int), 0));
  ASSERT_OK(cuMemHostAlloc(reinterpret_cast<void**>(&target), kRounds * sizeof(int), 0));
  CUstream stream = create();
  Gate gate(stream);
  for (int i = 0; i < kRounds; ++i) source[i] = i;
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_OK(cuMemcpyHtoDAsync(memory, source + i, sizeof(int), stream));
    EXPECT_OK(cuMemcpyDtoHAsync(target + i, memory, sizeof(int), stream));
  }
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(std::memcmp(source, target, kRounds * sizeof(int)), 0);
  EXPECT_OK(cuMemFreeHost(source));
  EXPECT_OK(cuMemFreeHost(target));
  EXPECT_OK(cuMemFree(memory));
}

TEST_F(OrderTest, SynchronizingTheContextWaitsForEveryKindOfStream) {
  CUstream streams[] = {create(), create(CU_STREAM_NON_BLOCKING), CU_STREAM_PER_THREAD, CU_STREAM_LEGACY};
  for (CUstream stream : streams) {
    Gate gate(stream);
    Mark mark(stream);
    std::thread opener([&] {
      settle();
      gate.open();
    });
    EXPECT_OK(cuCtxSynchronize());
    EXPECT_TRUE(mark.passed());
    opener.join();
  }
}

TEST_F(OrderTest, WorkOfADestroyedStreamCompletesAndIsWaitedFor) {
  CUstream stream = nullptr;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  Gate gate(stream);
  Mark mark(stream);
  EXPECT_OK(cuStreamDestroy(stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  Mark legacy(nullptr);
  settle();
  EXPECT_FALSE(legacy.passed());
  gate.open();
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_TRUE(mark.passed());
  EXPECT_TRUE(legacy.passed());
}

TEST_F(OrderTest, ThreadsThatEndLeaveTheirWorkBehind) {
  std::unique_ptr<Gate> gate;
  std::unique_ptr<Mark> mark;
  std::thread other([&] {
    EXPECT_OK(cuCtxSetCurrent(context));
    gate = std::make_unique<Gate>(CU_STREAM_PER_THREAD);
    mark = std::make_unique<Mark>(CU_STREAM_PER_THREAD);
  });
  other.join();
  EXPECT_FALSE(mark->passed());
  gate->open();
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_TRUE(mark->passed());
}

// Each thread hands a token from stream to stream; the default streams mix in.
TEST_F(OrderTest, ManyThreadsAndStreamsKeepTheirOrder) {
  constexpr int kThreads = 6, kRounds = 150;
  struct Lane {
    std::atomic<int> token{0};
    std::atomic<int> wrong{0};
  };
  struct Step {
    Lane* lane;
    int expected;
  };
  std::vector<Lane> lanes(kThreads);
  std::vector<std::vector<Step>> steps(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      EXPECT_OK(cuCtxSetCurrent(context));
      CUstream own[4] = {nullptr, nullptr, CU_STREAM_PER_THREAD, CU_STREAM_LEGACY};
      EXPECT_OK(cuStreamCreate(&own[0], CU_STREAM_DEFAULT));
      EXPECT_OK(cuStreamCreate(&own[1], CU_STREAM_NON_BLOCKING));
      CUevent event;
      EXPECT_OK(cuEventCreate(&event, t % 2 ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT));
      steps[t].reserve(kRounds);
      for (int i = 0; i < kRounds; ++i) {
        CUstream stream = own[(i * 7 + t) % 4];
        EXPECT_OK(cuStreamWaitEvent(stream, event, 0));
        steps[t].push_back({&lanes[t], i});
        EXPECT_OK(cuLaunchHostFunc(
            stream,
            [](void* raw) {
              const Step& step = *static_cast<Step*>(raw);
              if (step.lane->token.fetch_add(1) != step.expected) ++step.lane->wrong;
            },
            &steps[t].back()));
        EXPECT_OK(cuEventRecord(event, stream));
      }
      EXPECT_OK(cuEventSynchronize(event));
      EXPECT_EQ(lanes[t].token, kRounds);
      EXPECT_EQ(lanes[t].wrong, 0);
      EXPECT_OK(cuEventDestroy(event));
      EXPECT_OK(cuStreamDestroy(own[0]));
      EXPECT_OK(cuStreamDestroy(own[1]));
    });
  for (std::thread& thread : threads) thread.join();
}

// Small copies on an idle stream run on the calling thread, so several threads race for one stream.
TEST_F(OrderTest, ThreadsThatShareAStreamDoNotDisturbEachOther) {
  constexpr int kThreads = 4, kRounds = 2000;
  CUstream stream = create();
  CUdeviceptr memory = 0;
  ASSERT_OK(cuMemAlloc(&memory, kThreads * 256));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      EXPECT_OK(cuCtxSetCurrent(context));
      char *from = nullptr, *to = nullptr;
      EXPECT_OK(cuMemHostAlloc(reinterpret_cast<void**>(&from), 256, 0));
      EXPECT_OK(cuMemHostAlloc(reinterpret_cast<void**>(&to), 256, 0));
      const CUdeviceptr mine = memory + t * 256;
      for (int i = 0; i < kRounds; ++i) {
        std::memset(from, i, 256);
        EXPECT_OK(cuMemcpyHtoDAsync(mine, from, 256, stream));
        if (i % 16 == 0) {
          EXPECT_OK(cuLaunchHostFunc(
              stream, [](void*) {}, nullptr));
        }
        EXPECT_OK(cuMemcpyDtoHAsync(to, mine, 256, stream));
        EXPECT_OK(cuStreamSynchronize(stream));
        ASSERT_EQ(std::memcmp(from, to, 256), 0) << i;
      }
      EXPECT_OK(cuMemFreeHost(from));
      EXPECT_OK(cuMemFreeHost(to));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(cuMemFree(memory));
}

}  // namespace
