#include "backend/cpu/code/upgrades.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <new>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "base/sync/futex.h"
#include "base/sync/mutex.h"
#include "base/sync/patience.h"
#include "base/sync/spin.h"
#include "base/system/compile_attempts.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::backend::cpu::upgrades {
namespace {

struct Upgrade {
  std::weak_ptr<const void> owner;
  std::shared_ptr<const void> kept;  // the owner, of what is owed
  Upgradable* kernel;
  CodeVariant variant;
  CompileAttempt attempt;
  bool begun = false;

  Upgrade(std::weak_ptr<const void> of, Upgradable& what, const CodeVariant& wanted, const CompileAttempt& counted)
      : owner(std::move(of)), kernel(&what), variant(wanted), attempt(counted) {
    if (attempt.owed()) kept = owner.lock();
  }
};
using Shared = std::shared_ptr<Upgrade>;

// Never destroyed: the threads may be at work while the process exits.
struct Queue {
  Mutex mutex;
  std::list<Shared> waiting VG_GUARDED_BY(mutex);
  std::vector<Shared> owed VG_GUARDED_BY(mutex);  // waiting or at work
  uint32_t threads VG_GUARDED_BY(mutex) = 0;      // each looks again before it ends
  bool exiting VG_GUARDED_BY(mutex) = false;      // what is not owed is left
  std::atomic<uint32_t> done{0};                  // grows with each that was owed
  // Waits that overlap count once.
  uint32_t waiters VG_GUARDED_BY(mutex) = 0;
  uint64_t waitingSince VG_GUARDED_BY(mutex) = 0;  // ns; since there are some
  uint64_t waited VG_GUARDED_BY(mutex) = 0;        // ns, before that
};

Queue& queue() { return undying<Queue, Queue>(); }

// Nanoseconds that a process waits in all.
uint64_t patience() {
  constexpr uint64_t kUsual = 3;
  constexpr double kMost = 3600;
  const std::string& text = settings().exitWait;
  if (text.empty()) return kUsual * 1'000'000'000;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (!*end && seconds >= 0) return static_cast<uint64_t>(std::min(seconds, kMost) * 1e9);
  VG_LOG(Warn, "VERDIGRIS_EXIT_WAIT=%s is no number of seconds; using %u", text.c_str(), unsigned{kUsual});
  return kUsual * 1'000'000'000;
}

// Of what is waiting; null when the thread has to end.
Shared takeNext() {
  const MutexLock lock(queue().mutex);
  auto& waiting = queue().waiting;
  if (queue().exiting) waiting.remove_if([](const Shared& one) { return !one->attempt.owed(); });
  if (waiting.empty()) {
    --queue().threads;
    return nullptr;
  }
  Shared next = std::move(waiting.front());
  waiting.pop_front();
  next->begun = true;
  return next;
}

void upgrade(Upgrade& one) {
  const std::shared_ptr<const void> owner = one.owner.lock();
  if (!owner) return;
  try {
    const CUresult result =
        one.kernel->upgrade(one.variant, one.attempt.owed() ? engine::Effort::Good : engine::Effort::Background);
    const MutexLock lock(queue().mutex);
    if (result != CUDA_ERROR_OUT_OF_MEMORY) one.attempt.over(result == CUDA_SUCCESS);
  } catch (const std::bad_alloc&) {
    VG_LOG(Info, "no memory to compile optimised code of kernel %s", one.kernel->name().c_str());
  }
}

void tellThatSomeAreDone() {
  queue().done.fetch_add(1, std::memory_order_release);
  futex::wakeAll(queue().done);
}

void settle(const Shared& one) {
  {
    const MutexLock lock(queue().mutex);
    if (!std::erase(queue().owed, one)) return;
  }
  tellThatSomeAreDone();
}

void work(void*) {
  while (const Shared next = takeNext()) {
    upgrade(*next);
    settle(next);
  }
}

constexpr uint32_t kMostThreads = 4;  // each compile takes memory

// Whether the caller has to start a thread. `first`: one that somebody waits for; it gets a thread of its own if it
// can.
bool add(const Shared& one, bool first) {
  const MutexLock lock(queue().mutex);
  if (queue().exiting) return false;
  auto& waiting = queue().waiting;
  waiting.insert(first ? waiting.begin() : waiting.end(), one);
  if (one->attempt.owed()) queue().owed.push_back(one);
  if (queue().threads >= (first ? kMostThreads : 1)) return false;
  ++queue().threads;
  return true;
}

// A thread that was counted could not be started.
void lackThread() {
  {
    const MutexLock lock(queue().mutex);
    if (--queue().threads) return;
    queue().waiting.clear();
    queue().owed.clear();
  }
  tellThatSomeAreDone();
}

void startThread() {
  if (!os::startThread("vg-upgrades", work, nullptr)) lackThread();
}

// Until when the caller may wait.
uint64_t beginToWait() {
  const uint64_t all = patience();
  const MutexLock lock(queue().mutex);
  if (!queue().waiters++) queue().waitingSince = monotonicNanoseconds();
  return queue().waitingSince + all - std::min(all, queue().waited);
}

bool hasPatience() {
  const uint64_t all = patience();
  const MutexLock lock(queue().mutex);
  return queue().waited < all;
}

void endWait() {
  const MutexLock lock(queue().mutex);
  if (!--queue().waiters) queue().waited += monotonicNanoseconds() - queue().waitingSince;
}

// Until `over` says so, as long as the process has patience.
template <class Over>
void await(const Over& over) {
  const uint64_t end = beginToWait();
  for (uint64_t now; (now = monotonicNanoseconds()) < end;) {
    const uint32_t seen = queue().done.load(std::memory_order_acquire);
    if (over()) break;
    const uint64_t left = end - now;
    futex::wait(queue().done, seen, &left);
  }
  endWait();
}

bool isOwed(const Shared& one) {
  const MutexLock lock(queue().mutex);
  return std::ranges::find(queue().owed, one) != queue().owed.end();
}

void awaitOne(const Shared& one) {
  if (!isOwed(one) || !hasPatience()) return;
  VG_LOG(Info, "kernel %s: the launch waits for optimised code, which processes before were killed too soon to make",
         one->kernel->name().c_str());
  {
    const MutexLock lock(queue().mutex);
    one->attempt.waitedInVain();  // unless the code is made, also if the process is killed meanwhile
  }
  await([&] { return !isOwed(one); });
}

// Leaves what is not owed. False: nothing else is left, or this is not the first call. An application may exit in a
// handler of a signal that came while this thread held the lock: that is not waited for.
bool stopsTheRest() {
  for (int tries = kTriesOfAMoment; !queue().mutex.try_lock(); --tries) {
    if (!tries) return false;
    napForOthers();
  }
  const MutexLock lock(queue().mutex, std::adopt_lock);
  return !std::exchange(queue().exiting, true) && !queue().owed.empty();
}

// How many threads are wanted besides those at work, and says that the code is waited for.
uint32_t beginToExit() {
  const MutexLock lock(queue().mutex);
  uint32_t waiting = 0;
  for (const Shared& one : queue().owed) {
    one->attempt.waits();
    waiting += !one->begun;
    VG_LOG(Info, "kernel %s: this process waits for optimised code, which earlier ones were too short to make",
           one->kernel->name().c_str());
  }
  const uint32_t threads = std::min({waiting, os::cores(), kMostThreads});
  queue().threads += threads;
  return threads;
}

void giveUp() {
  const MutexLock lock(queue().mutex);
  for (const Shared& one : queue().owed) {
    if (one->begun) one->attempt.waitedInVain();
    VG_LOG(Info, "kernel %s: no optimised code yet", one->kernel->name().c_str());
  }
}

bool owesNothing() {
  const MutexLock lock(queue().mutex);
  return queue().owed.empty();
}

}  // namespace

bool enqueue(std::weak_ptr<const void> owner, Upgradable& kernel, const CodeVariant& variant, bool mayWait) {
  try {
    const CompileAttempt attempt = CompileAttempt::begin(KernelCache::shared(), kernel.keyOfGood(variant));
    const Shared one = std::make_shared<Upgrade>(std::move(owner), kernel, variant, attempt);
    const bool waits = mayWait && one->attempt.owedAtOnce();
    if (add(one, waits)) startThread();
    if (waits) awaitOne(one);
    return waits;
  } catch (const std::bad_alloc&) {
    VG_LOG(Info, "no memory to schedule optimised code of kernel %s", kernel.name().c_str());
    return false;
  }
}

void finish() noexcept {
  if (!stopsTheRest() || !patience()) return;
  for (uint32_t threads = beginToExit(); threads; --threads) startThread();
  await(owesNothing);
  giveUp();
}

}  // namespace vg::backend::cpu::upgrades
