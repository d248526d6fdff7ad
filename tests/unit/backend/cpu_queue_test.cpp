#include "backend/cpu/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "backend/cpu/device.h"

namespace vg::backend::cpu {
namespace {

using namespace std::chrono_literals;

CpuDevice& device() {
  static CpuDevice* const instance = new CpuDevice(0, Workers::shared());
  return *instance;
}

// A queue with a timeline of its own.
struct TestQueue {
  std::unique_ptr<Queue> queue = device().createQueue(0, nullptr);
  Timeline* timeline = Timeline::create();
  uint64_t value = timeline->value();

  Point submit(std::vector<Command> commands) {
    EXPECT_EQ(queue->submit(commands.data(), commands.size(), {timeline, ++value}), CUDA_SUCCESS);
    return {timeline, value};
  }
  Point submit(const Command& command) { return submit(std::vector<Command>{command}); }
  void finish() { Point{timeline, value}.wait(); }
};

Command call(std::atomic<int>& counter) {
  return HostCall{[](void* raw) { ++*static_cast<std::atomic<int>*>(raw); }, &counter};
}

Command copyOf(void* destination, const void* source, size_t bytes) {
  CopyCommand c;
  c.shape.destination.base = static_cast<std::byte*>(destination);
  c.shape.source.base = static_cast<std::byte*>(const_cast<void*>(source));
  c.shape.width = bytes;
  return c;
}

TEST(CpuQueue, RunsCommandsInOrder) {
  TestQueue q;
  std::vector<int> values(1001);
  for (int i = 0; i <= 1000; ++i) values[i] = i;
  int cell = -1;
  for (int i = 1; i <= 1000; ++i) q.submit(copyOf(&cell, &values[i], sizeof cell));
  int last = 0;
  q.submit(copyOf(&last, &cell, sizeof cell));
  q.finish();
  EXPECT_EQ(last, 1000);
}

TEST(CpuQueue, WorksOnAfterABurst) {
  TestQueue q;
  Timeline* gate = Timeline::create();
  const Point opened{gate, gate->value() + 1};
  std::atomic<int> calls{0};
  uint64_t time = 0;
  for (int round = 0; round < 3; ++round) {
    q.submit(Wait{{gate, opened.value + round}});
    for (int i = 0; i < 20000; ++i) q.submit(Timestamp{&time});
    q.submit(call(calls));
    gate->advance(opened.value + round);
    q.finish();
  }
  EXPECT_EQ(calls, 3);
}

TEST(CpuQueue, AdvancesDoneOnlyAfterTheLastCommand) {
  TestQueue q;
  std::atomic<int> calls{0};
  const Point done = q.submit({call(calls), call(calls), call(calls)});
  done.wait();
  EXPECT_EQ(calls, 3);
}

TEST(CpuQueue, AnEmptySubmitOnlyAdvances) {
  TestQueue q;
  q.submit(std::vector<Command>{}).wait();
}

TEST(CpuQueue, AWaitHoldsBackWhatFollows) {
  TestQueue q;
  Timeline* gate = Timeline::create();
  const Point opened{gate, gate->value() + 1};
  std::atomic<int> before{0}, after{0};
  q.submit(call(before)).wait();
  const Point done = q.submit({Wait{opened}, call(after)});
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(after, 0);
  EXPECT_FALSE(done.done());
  EXPECT_FALSE(q.queue->idle());
  gate->advance(opened.value);
  done.wait();
  EXPECT_EQ(after, 1);
}

TEST(CpuQueue, ParkedQueuesUseNoThread) {
  Timeline* gate = Timeline::create();
  const Point opened{gate, gate->value() + 1};
  std::vector<TestQueue> queues(500);
  std::atomic<int> calls{0};
  for (TestQueue& q : queues) q.submit({Wait{opened}, call(calls)});
  TestQueue free;
  std::atomic<int> other{0};
  free.submit(call(other)).wait();
  EXPECT_EQ(other, 1);
  gate->advance(opened.value);
  for (TestQueue& q : queues) q.finish();
  EXPECT_EQ(calls, 500);
}

TEST(CpuQueue, QueuesWaitForEachOtherInAChain) {
  constexpr int kQueues = 50, kRounds = 20;
  std::vector<TestQueue> queues(kQueues);
  int token = 0;
  struct Step {
    int* token;
    int expected;
    bool right = false;
  };
  std::vector<Step> steps;
  steps.reserve(kQueues * kRounds);
  Point previous;
  for (int i = 0; i < kQueues * kRounds; ++i) {
    steps.push_back({&token, i});
    const Command step = HostCall{[](void* raw) {
                                    auto& s = *static_cast<Step*>(raw);
                                    s.right = *s.token == s.expected;
                                    ++*s.token;
                                  },
                                  &steps.back()};
    previous = queues[i % kQueues].submit({Wait{previous}, step});
  }
  previous.wait();
  EXPECT_EQ(token, kQueues * kRounds);
  for (const Step& s : steps) EXPECT_TRUE(s.right);
}

TEST(CpuQueue, AHostCallMayWaitForAnotherQueue) {
  std::vector<TestQueue> waiters(20);
  TestQueue opener;
  std::atomic<bool> open{false};
  for (TestQueue& q : waiters)
    q.submit(HostCall{[](void* raw) {
                        while (!*static_cast<std::atomic<bool>*>(raw)) std::this_thread::sleep_for(100us);
                      },
                      &open});
  std::this_thread::sleep_for(2ms);
  opener.submit(HostCall{[](void* raw) { *static_cast<std::atomic<bool>*>(raw) = true; }, &open});
  for (TestQueue& q : waiters) q.finish();
}

TEST(CpuQueue, WriteAdvancesATimelineAndTimestampsGrow) {
  TestQueue q;
  Timeline* other = Timeline::create();
  const uint64_t value = other->value() + 7;
  uint64_t first = 0, second = 0;
  q.submit({Timestamp{&first}, Write{other, value}, Timestamp{&second}}).wait();
  EXPECT_TRUE(other->reached(value));
  EXPECT_GT(first, 0u);
  EXPECT_GE(second, first);
}

TEST(CpuQueue, FillAndLargeCopiesReachEveryByte) {
  TestQueue q;
  const size_t bytes = size_t{24} << 20;
  std::vector<std::byte> source(bytes), target(bytes);
  FillCommand fill;
  fill.fill.base = source.data();
  fill.fill.width = bytes;
  fill.fill.pattern = 0xA5;
  q.submit({fill, copyOf(target.data(), source.data(), bytes)}).wait();
  EXPECT_EQ(target, std::vector<std::byte>(bytes, std::byte{0xA5}));
}

TEST(CpuQueue, WorkOutlivesTheQueue) {
  Timeline* gate = Timeline::create();
  const Point opened{gate, gate->value() + 1};
  std::atomic<int> calls{0};
  Timeline* timeline = Timeline::create();
  const Point done{timeline, timeline->value() + 1};
  {
    auto queue = device().createQueue(-5, nullptr);
    const Command commands[] = {Wait{opened}, call(calls)};
    ASSERT_EQ(queue->submit(commands, 2, done), CUDA_SUCCESS);
  }
  gate->advance(opened.value);
  done.wait();
  EXPECT_EQ(calls, 1);
}

TEST(CpuQueue, HostCallsAndWaitsNeverRunInline) {
  TestQueue q;
  std::atomic<int> calls{0};
  EXPECT_FALSE(q.queue->tryInline(call(calls)));
  EXPECT_FALSE(q.queue->tryInline(Wait{}));
  EXPECT_EQ(calls, 0);
  int a = 1, b = 0;
  EXPECT_TRUE(q.queue->tryInline(copyOf(&b, &a, sizeof a)));
  EXPECT_EQ(b, 1);
}

TEST(CpuQueue, ManyThreadsSubmitToManyQueues) {
  constexpr int kThreads = 6, kEach = 2000;
  std::vector<TestQueue> queues(kThreads);
  std::atomic<int> calls{0};
  Timeline* shared = Timeline::create();
  const uint64_t start = shared->value();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 1; i <= kEach; ++i) {
        queues[t].submit({Wait{{shared, start + i / 2}}, call(calls)});
        if (t == 0) queues[t].submit(Write{shared, start + i});
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (TestQueue& q : queues) q.finish();
  EXPECT_EQ(calls, kThreads * kEach);
}

}  // namespace
}  // namespace vg::backend::cpu
