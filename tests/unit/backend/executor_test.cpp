#include "backend/queues/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/sync/timeline.h"

namespace vg::backend::cpu {
namespace {

using namespace std::chrono_literals;

struct Job final : Executor::Task {
  explicit Job(std::function<void()> f) : function(std::move(f)) {}
  void run() override {
    function();
    ++ended;
  }
  std::function<void()> function;
  std::atomic<int> ended{0};  // the last thing a run touches
};

template <class Ready>
bool eventually(Ready ready) {
  for (int i = 0; i < 20000 && !ready(); ++i) std::this_thread::sleep_for(500us);
  return ready();
}

using Jobs = std::vector<std::unique_ptr<Job>>;
void add(Jobs& jobs, int count, const std::function<void()>& function) {
  for (int i = 0; i < count; ++i) jobs.push_back(std::make_unique<Job>(function));
}
bool allEnd(const Jobs& jobs) {
  return eventually([&] {
    for (const auto& job : jobs)
      if (!job->ended) return false;
    return true;
  });
}

Executor& make(uint32_t concurrency) { return *new Executor(concurrency); }  // never destroyed

TEST(Executor, RunsEachTaskOnceForEachSchedule) {
  Executor& executor = make(2);
  std::atomic<int> runs{0};
  Jobs jobs;
  add(jobs, 200, [&] { ++runs; });
  for (auto& job : jobs) executor.schedule(*job);
  EXPECT_TRUE(allEnd(jobs));
  EXPECT_EQ(runs, 200);
}

TEST(Executor, ATaskThatBlocksDoesNotHoldUpOthers) {
  Executor& executor = make(2);
  std::atomic<bool> open{false};
  std::atomic<int> blocked{0}, others{0};
  Jobs jobs;
  add(jobs, 20, [&] {
    Executor::Blocking blocking(executor);
    ++blocked;
    while (!open) std::this_thread::sleep_for(100us);
  });
  add(jobs, 20, [&] { ++others; });
  for (auto& job : jobs) executor.schedule(*job);
  EXPECT_TRUE(eventually([&] { return blocked == 20 && others == 20; }));
  open = true;
  EXPECT_TRUE(allEnd(jobs));
}

// Tasks that wait for a later one without saying so, as kernels that poll memory do.
TEST(Executor, ATaskThatOthersWaitForGetsAThreadInTheEnd) {
  Executor& executor = make(2);
  std::atomic<bool> open{false};
  Jobs jobs;
  add(jobs, 8, [&] {
    while (!open) std::this_thread::sleep_for(100us);
  });
  add(jobs, 1, [&] { open = true; });
  for (auto& job : jobs) executor.schedule(*job);
  EXPECT_TRUE(allEnd(jobs));
}

TEST(Executor, UrgentTasksGoFirst) {
  Executor& executor = make(1);
  std::atomic<bool> open{false}, entered{false};
  std::mutex mutex;
  std::vector<int> order;
  const auto note = [&](int urgency) {
    std::lock_guard lock(mutex);
    order.push_back(urgency);
  };
  Job gate([&] {
    entered = true;
    while (!open) std::this_thread::yield();
  });
  Job low([&] { note(0); });
  Job high([&] { note(5); });
  executor.schedule(gate);
  ASSERT_TRUE(eventually([&] { return entered.load(); }));
  const auto start = std::chrono::steady_clock::now();
  executor.schedule(low, 0);
  executor.schedule(high, 5);
  open = true;
  const bool prompt = std::chrono::steady_clock::now() - start < 500us;  // else they may have got threads of their own
  ASSERT_TRUE(eventually([&] { return low.ended && high.ended && gate.ended; }));
  if (prompt) {
    EXPECT_EQ(order, (std::vector<int>{5, 0}));
  }
}

TEST(Executor, WakesAfterALongRest) {
  Executor& executor = make(2);
  Job job([] {});
  for (int i = 1; i <= 5; ++i) {
    executor.schedule(job);
    ASSERT_TRUE(eventually([&] { return job.ended == i; }));
    std::this_thread::sleep_for(3ms);
  }
}

}  // namespace
}  // namespace vg::backend::cpu
