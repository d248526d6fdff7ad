#include "backend/cpu/run/running_launches.h"

#include <atomic>
#include <cstdio>

#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/run/residents.h"
#include "base/log.h"
#include "base/sync/long_wait.h"
#include "base/sync/spin.h"
#include "base/sync/spin_lock.h"

namespace vg::backend::cpu::running {
namespace {

constinit SpinLock lock;  // guards the list
constinit Entry* first VG_GUARDED_BY(lock) = nullptr;

// What is said of a launch, copied, as it may end meanwhile.
struct Account {
  char kernel[256];
  double seconds;
  uint64_t done, blocks;
  bool inOrder;  // later blocks begin when earlier ones have ended
};

bool onlyWaits(const RunningLaunch& launch) {
  const uint32_t threads = launch.progress.threads.load(std::memory_order_relaxed);
  return threads && launch.progress.waiting.load(std::memory_order_relaxed) >= threads;
}

}  // namespace

Entry::Entry(RunningLaunch& launch) : launch_(launch), since_(monotonicNanoseconds()) {
  long_wait::tell.store(tellLong, std::memory_order_relaxed);
  const SpinGuard guard(lock);
  next_ = first;
  if (first) first->previous_ = this;
  first = this;
}

Entry::~Entry() {
  const SpinGuard guard(lock);
  (previous_ ? previous_->next_ : first) = next_;
  if (next_) next_->previous_ = previous_;
}

void tellLong(uint64_t waited) noexcept {
  const uint64_t limit = stuckAfter();
  if (!limit || waited < limit) return;
  constexpr size_t kMost = 8;
  Account accounts[kMost];
  size_t count = 0;
  {
    const SpinGuard guard(lock);
    const uint64_t now = monotonicNanoseconds();
    for (Entry* entry = first; entry && count < kMost; entry = entry->next_) {
      const RunningLaunch& launch = entry->launch_;
      if (entry->told_ || now - entry->since_ < limit || onlyWaits(launch)) continue;
      entry->told_ = true;
      Account& account = accounts[count++];
      std::snprintf(account.kernel, sizeof account.kernel, "%s", launch.kernelName);
      account.seconds = static_cast<double>(now - entry->since_) * 1e-9;
      account.done = launch.blocksDone.load(std::memory_order_relaxed);
      account.blocks = launch.blocks;
      account.inOrder = !launch.code->traits.polls;
    }
  }
  for (size_t i = 0; i < count; ++i)
    VG_LOG(Warn,
           "kernel %s has run for %.1f s and goes on: %llu of %llu blocks have ended (VERDIGRIS_LAUNCH_TIMEOUT ends "
           "kernels that never do%s)",
           accounts[i].kernel, accounts[i].seconds, static_cast<unsigned long long>(accounts[i].done),
           static_cast<unsigned long long>(accounts[i].blocks),
           accounts[i].inOrder && accounts[i].done < accounts[i].blocks
               ? "; blocks that wait for later ones need volatile loads, atomics or fences in the loop that waits, or "
                 "more VERDIGRIS_WORKERS"
               : "");
}

}  // namespace vg::backend::cpu::running
