#include "backend/cpu/run/workers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "backend/cpu/run/idle_spin.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sync/core_use.h"
#include "base/sync/futex.h"
#include "base/sync/spin.h"
#include "base/sync/spin_lock.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::backend::cpu {
namespace {

constexpr uint64_t kSpin = 30'000;  // ns a launching thread polls for the last of its helpers
constexpr uint32_t kMost = 4096;
constexpr uint32_t kMostShares = 64;
constexpr uint64_t kParts = 8;      // of what is left of a share a handful is one of so many
constexpr uint64_t kSmallest = 64;  // ... but no less than the largest handful divided by this

constinit thread_local uint32_t threadNumber = 0;

uint32_t chosenCount() {
  const uint32_t cores = os::usableCores();
  const std::string& wanted = settings().workers;
  if (wanted.empty()) return cores;
  char* end = nullptr;
  const unsigned long count = std::strtoul(wanted.c_str(), &end, 10);
  if (*end || count < 1 || count > kMost) {
    VG_LOG(Warn, "VERDIGRIS_WORKERS=%s is no number from 1 to %u; using %u", wanted.c_str(), kMost, cores);
    return cores;
  }
  return static_cast<uint32_t>(count);
}

}  // namespace

// Consecutive items, taken from the front by whoever asks. In a cache line of its own.
struct alignas(64) Workers::Share {
  std::atomic<uint64_t> first;
  uint64_t end;

  Share(uint64_t begin, uint64_t behind) : first(begin), end(behind) {}

  bool left() const { return first.load(std::memory_order_relaxed) < end; }

  // The fewer are left the smaller the handful, so that nobody waits long for the last one. False when none are left.
  bool take(uint64_t least, uint64_t most, uint64_t* begin, uint64_t* behind) {
    const uint64_t seen = first.load(std::memory_order_relaxed);
    if (seen >= end) return false;
    const uint64_t wanted = std::clamp((end - seen) / kParts, least, most);
    *begin = first.fetch_add(wanted, std::memory_order_relaxed);
    *behind = std::min(*begin + wanted, end);
    return *begin < end;
  }
};

bool Workers::Items::next(uint64_t* first, uint64_t* end) {
  if (workers_) askMoreWhenLong();
  for (; finished_ < count_; ++finished_) {
    if (shares_[at_].take(least_, most_, first, end)) return true;
    if (++at_ == count_) at_ = 0;
  }
  return false;
}

// Lives on the stack of the thread that called runGrid. Invariants:
// 1. A thread is counted in `inside` from join(), which happens only while the grid is in the list, to leave(), after
//    which it never touches the grid.
// 2. The calling thread takes from the shares in their order and from the front, so no item before its own is left.
struct Workers::Grid {
  const Body body;
  void* const state;
  const uint64_t grain;
  const uint32_t most;  // threads, the calling one included
  const uint32_t shareCount;
  const bool asksLater;  // there are threads that are not asked at first
  uint32_t limit;        // threads that are asked so far; guarded by listLock_
  uint32_t joined = 1;   // guarded by listLock_
  bool offered = false;  // in the list, or was; the calling thread's
  uint64_t begun = 0;    // ns; of one whose items may wait for others
  std::atomic<uint32_t> inside{0};
  Grid* nextGrid = nullptr;
  alignas(Share) std::byte shareRoom[kMostShares * sizeof(Share)];

  // With `mayWait` there is a share for each thread that may be asked: a handful is a part of a share, and an item may
  // wait for one of its own handful.
  Grid(Body what, void* with, uint64_t blocks, uint64_t together, uint32_t firstThreads, uint32_t threads, bool mayWait)
      : body(what),
        state(with),
        grain(together),
        most(threads),
        shareCount(std::min(mayWait ? threads : firstThreads, kMostShares)),
        asksLater(firstThreads < threads),
        limit(firstThreads) {
    const uint64_t each = blocks / shareCount, more = blocks % shareCount;
    uint64_t begin = 0;
    for (uint32_t i = 0; i < shareCount; ++i) {
      const uint64_t end = begin + each + (i < more);
      new (shares() + i) Share(begin, end);
      begin = end;
    }
  }

  Share* shares() { return reinterpret_cast<Share*>(shareRoom); }
  bool wantsMore() {
    return joined < limit && std::any_of(shares(), shares() + shareCount, [](const Share& s) { return s.left(); });
  }
};

void Workers::Items::askMoreWhenLong() {
  const uint64_t now = monotonicNanoseconds();
  if (!begin_) {
    begin_ = now;
  } else if (now - begin_ > kSurprise) {
    workers_->askMore(*grid_);
    workers_ = nullptr;
  }
}

Workers& Workers::shared() {
  return undyingFrom<Workers>([] { return Workers(chosenCount()); });
}

Workers::Workers(uint32_t count) : count_(std::max(count, 1u)) {}

void Workers::start() {
  if (started_.exchange(true)) return;
  struct Argument {
    Workers* workers;
    uint32_t number;
  };
  for (uint32_t number = 1; number < count_; ++number) {
    char name[32];
    std::snprintf(name, sizeof name, "vg-worker-%u", number);
    auto* argument = new (std::nothrow) Argument{this, number};
    if (!argument) return;  // fewer helpers
    const bool ok = os::startThread(
        name,
        [](void* raw) {
          const Argument a = *static_cast<Argument*>(raw);
          delete static_cast<Argument*>(raw);
          a.workers->threadMain(a.number);
        },
        argument);
    if (!ok) {
      delete argument;
      return;
    }
  }
}

uint32_t Workers::thisThread() { return threadNumber; }

void Workers::threadMain(uint32_t number) {
  threadNumber = number;
  core_use::begin();
  IdleSpin idle;
  uint64_t idleSince = monotonicNanoseconds();
  for (;;) {
    const uint32_t seen = offered_.load(std::memory_order_seq_cst);
    const uint64_t begin = monotonicNanoseconds();
    uint64_t end = begin;
    uint32_t worker;
    if (Grid* grid = join(&worker)) {
      const uint64_t offered = offeredAt_.load(std::memory_order_relaxed);
      idle.followed(offered - std::min(offered, idleSince));
      do {
        work(*grid, worker);
        leave(*grid);
      } while ((grid = join(&worker)));
      idleSince = end = monotonicNanoseconds();
      idle.worked(end - begin);
    }
    if (poll(seen, idle, end - idleSince)) continue;
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    core_use::end();
    if (offered_.load(std::memory_order_seq_cst) == seen) futex::wait(offered_, seen);
    core_use::begin();
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
  }
}

// True when a grid was offered since `seen` was.
bool Workers::poll(uint32_t seen, IdleSpin& idle, uint64_t since) {
  const uint64_t begin = monotonicNanoseconds();
  polling_.fetch_add(1, std::memory_order_seq_cst);
  const bool found = spinUntil([&] { return offered_.load(std::memory_order_seq_cst) != seen; }, idle.allowed(since));
  polling_.fetch_sub(1, std::memory_order_seq_cst);
  idle.polled(monotonicNanoseconds() - begin);
  return found;
}

// The grid with the fewest threads that can use one more, so that grids share the threads. Passes the wake-up on: a
// thread that found work wakes the next one, which costs the launching thread a single system call. Threads that poll
// need none.
Workers::Grid* Workers::join(uint32_t* worker) {
  Grid* best = nullptr;
  bool more = false;
  {
    SpinGuard guard(listLock_);
    for (Grid* grid = grids_; grid; grid = grid->nextGrid)
      if (grid->wantsMore() && (!best || grid->joined < best->joined)) best = grid;
    if (!best) return nullptr;
    *worker = best->joined++;
    best->inside.fetch_add(1, std::memory_order_relaxed);
    for (Grid* grid = grids_; grid; grid = grid->nextGrid) more |= grid->wantsMore();
  }
  if (more && !polling()) wakeOne();
  return best;
}

void Workers::leave(Grid& grid) {
  if (grid.inside.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  left_.fetch_add(1, std::memory_order_seq_cst);
  if (finishing_.load(std::memory_order_seq_cst)) futex::wakeAll(left_);
}

void Workers::work(Grid& grid, uint32_t worker) {
  const uint32_t own = worker ? threadNumber % grid.shareCount : 0;
  Items items(grid.shares(), grid.shareCount, own, (grid.grain + kSmallest - 1) / kSmallest, grid.grain);
  if (!worker && grid.asksLater) items.workers_ = this, items.grid_ = &grid;
  grid.body(grid.state, worker, items);
}

void Workers::wakeOne() {
  if (sleeping_.load(std::memory_order_seq_cst)) futex::wake(offered_, 1);
}

// Requires: the grid is out of the list.
void Workers::finish(Grid& grid) {
  const auto empty = [&] { return grid.inside.load(std::memory_order_seq_cst) == 0; };
  if (spinUntil(empty, kSpin)) return;
  finishing_.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const uint32_t seen = left_.load(std::memory_order_seq_cst);
    if (empty()) break;
    futex::wait(left_, seen);
  }
  finishing_.fetch_sub(1, std::memory_order_relaxed);
}

// Threads that poll see it: they look once more before they sleep.
void Workers::announce(uint32_t threads) {
  offeredAt_.store(monotonicNanoseconds(), std::memory_order_relaxed);
  offered_.fetch_add(1, std::memory_order_seq_cst);
  if (polling() < threads) wakeOne();
}

void Workers::offer(Grid& grid) {
  if (!started_.load(std::memory_order_acquire)) start();
  const uint32_t threads = grid.limit - 1;
  {
    SpinGuard guard(listLock_);
    grid.nextGrid = grids_;
    grids_ = &grid;
  }
  grid.offered = true;
  if (threads) announce(threads);
}

// By the calling thread of the grid.
void Workers::askMore(Grid& grid) {
  {
    SpinGuard guard(listLock_);
    grid.limit = grid.most;
  }
  grid.offered ? announce(grid.most - 1) : offer(grid);
}

void Workers::withdraw(Grid& grid) {
  {
    SpinGuard guard(listLock_);
    Grid** link = &grids_;
    while (*link != &grid) link = &(*link)->nextGrid;
    *link = grid.nextGrid;
  }
  finish(grid);
}

// A thread that looks at grids whose items may wait for others, while there are any. False: the system refuses it.
bool Workers::startGuard() {
  if (hasGuard_.load(std::memory_order_acquire)) [[likely]]
    return true;
  const MutexLock lock(startMutex_);
  if (hasGuard_.load(std::memory_order_relaxed)) return true;
  const bool started = os::startThread(
      "vg-late-grids", [](void* self) { static_cast<Workers*>(self)->guardMain(); }, this);
  hasGuard_.store(started, std::memory_order_release);
  return started;
}

void Workers::guardMain() {
  guarding_.store(true, std::memory_order_seq_cst);
  for (uint32_t seen = guarded_.load(std::memory_order_seq_cst);;) {
    constexpr timespec kLook{0, kLate};
    nanosleep(&kLook, nullptr);
    const uint32_t now = guarded_.load(std::memory_order_seq_cst);
    if (!askForLate() && now == seen) awaitGuarded(seen);
    seen = now;
  }
}

// Until there is another one.
void Workers::awaitGuarded(uint32_t seen) {
  guarding_.store(false, std::memory_order_seq_cst);
  while (guarded_.load(std::memory_order_seq_cst) == seen) futex::wait(guarded_, seen);
  guarding_.store(true, std::memory_order_seq_cst);
}

// Whether there are grids that may be late the next time.
bool Workers::askForLate() {
  const uint64_t now = monotonicNanoseconds();
  uint32_t threads = 0;
  bool others = false;
  {
    SpinGuard guard(listLock_);
    for (Grid* grid = grids_; grid; grid = grid->nextGrid) {
      if (!grid->begun || grid->limit == grid->most) continue;
      if (grid->begun + kLate > now) {
        others = true;
      } else {
        grid->limit = grid->most;
        threads += grid->most - 1;
      }
    }
  }
  if (threads) announce(threads);
  return others;
}

uint32_t Workers::runGrid(uint64_t blocks, uint32_t maxWorkers, Body body, void* state, uint64_t grain,
                          uint32_t firstWorkers, bool mayWait) {
  const uint32_t limit = static_cast<uint32_t>(std::min<uint64_t>({maxWorkers, count_, blocks}));
  if (limit <= 1) {
    if (!blocks) return 0;
    Share all(0, blocks);
    Items items(&all, 1, 0, blocks, blocks);
    body(state, 0, items);
    return 1;
  }
  if (!grain) grain = std::clamp<uint64_t>(blocks / (uint64_t{limit} * 32), 1, 64);
  // However short they were: the smallest handful goes by the largest.
  if (mayWait) grain = std::min(grain, std::max<uint64_t>(blocks / limit / kParts, 1));
  const bool asksAll = !firstWorkers || firstWorkers >= limit, isGuarded = !asksAll && mayWait && startGuard();
  Grid grid(body, state, blocks, grain, asksAll || (mayWait && !isGuarded) ? limit : firstWorkers, limit, mayWait);
  if (isGuarded) grid.begun = monotonicNanoseconds();
  if (grid.limit > 1 || isGuarded) offer(grid);
  if (isGuarded) {
    guarded_.fetch_add(1, std::memory_order_seq_cst);
    if (!guarding_.load(std::memory_order_seq_cst)) futex::wake(guarded_, 1);
  }
  work(grid, 0);
  if (grid.offered) withdraw(grid);
  return grid.joined;
}

}  // namespace vg::backend::cpu
