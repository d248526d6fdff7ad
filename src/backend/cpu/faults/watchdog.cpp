#include "backend/cpu/faults/watchdog.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <vector>

#include "backend/cpu/code/kernel_launch.h"
#include "backend/launches/launch_limit.h"
#include "base/log.h"
#include "base/sync/mutex.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::backend::cpu::watchdog {
namespace {

using Clock = std::chrono::steady_clock;
// How often threads of a launch that has ended are asked again: one may have been inside the C library.
constexpr auto kAskAgain = std::chrono::milliseconds(10);
// When none of them has said where it stands, the launch has failed all the same.
constexpr auto kPatience = std::chrono::seconds(1);

struct Watched {
  RunningLaunch* launch;
  Clock::time_point deadline;  // not counting the time in which code was made

  Clock::time_point deadlineNow() const {
    return deadline + std::chrono::nanoseconds(launch->waitedForCode.load(std::memory_order_relaxed));
  }
};

// Never destroyed, its thread never joined.
struct Dog {
  Mutex mutex;
  std::condition_variable changed;
  std::vector<Watched> watched VG_GUARDED_BY(mutex);
  bool running VG_GUARDED_BY(mutex) = false;

  void start() VG_REQUIRES(mutex) {
    running = os::startThread(
        "vg-watchdog", [](void* self) { static_cast<Dog*>(self)->watch(); }, this);
    if (!running)
      VG_LOG(Error, "VERDIGRIS_LAUNCH_TIMEOUT has no effect: the system refused the thread that watches kernels");
  }

  void watch() VG_EXCLUDES(mutex) {
    ReleasableLock lock(mutex);
    for (;;) {
      if (watched.empty()) {
        lock.wait(changed);
        continue;
      }
      const auto now = Clock::now();
      auto next = now + std::chrono::hours(1);
      for (const Watched& one : watched) {
        const auto deadline = one.deadlineNow();
        if (one.launch->waitForCode.load(std::memory_order_relaxed)) {
          next = std::min(next, now + kAskAgain);
          continue;
        }
        if (now < deadline) {
          next = std::min(next, deadline);
          continue;
        }
        if (!one.launch->cancelled())
          one.launch->stop(CUDA_ERROR_LAUNCH_TIMEOUT, "ran longer than VERDIGRIS_LAUNCH_TIMEOUT");
        if (now >= deadline + kPatience) one.launch->tellStopped(nullptr);
        one.launch->interruptThreads();
        next = std::min(next, now + kAskAgain);
      }
      lock.waitUntil(changed, next);
    }
  }
};

Dog& dog() { return undying<Dog, Dog>(); }

}  // namespace

Watch::Watch(RunningLaunch& launch) : launch_(launchLimit() ? &launch : nullptr) {
  if (!launch_) [[likely]]
    return;
  Dog& watcher = dog();
  const MutexLock lock(watcher.mutex);
  watcher.watched.push_back({launch_, Clock::now() + std::chrono::nanoseconds(launchLimit())});
  if (!watcher.running) watcher.start();
  watcher.changed.notify_one();
}

Watch::~Watch() {
  if (!launch_) [[likely]]
    return;
  Dog& watcher = dog();
  const MutexLock lock(watcher.mutex);
  std::erase_if(watcher.watched, [&](const Watched& one) { return one.launch == launch_; });
}

}  // namespace vg::backend::cpu::watchdog
