#include "backend/cpu/workers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "backend/cpu/idle_spin.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/os.h"
#include "base/settings.h"
#include "base/spin.h"

namespace vg::backend::cpu {
namespace {

constexpr uint64_t kSpin = 30'000;  // ns a launching thread polls for the last of its helpers
constexpr uint32_t kMost = 4096;

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

// Lives on the stack of the thread that called runGrid. Invariant: a thread is counted in `inside` from join(), which
// happens only while the grid is in the list, to leave(), after which it never touches the grid.
struct Workers::Grid {
  Body body;
  void* state;
  uint64_t blocks, grain;
  uint32_t limit;       // threads, the calling one included
  uint32_t joined = 1;  // guarded by listLock_
  std::atomic<uint64_t> next{0};
  std::atomic<uint32_t> inside{0};
  Grid* nextGrid = nullptr;

  bool wantsMore() const { return joined < limit && next.load(std::memory_order_relaxed) < blocks; }
};

Workers& Workers::shared() {
  static Workers* const instance = new Workers(chosenCount());
  return *instance;
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
    auto* argument = new Argument{this, number};
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
  for (;;) {
    const uint32_t seen = offered_.load(std::memory_order_seq_cst);
    const uint64_t begin = monotonicNanoseconds();
    uint32_t worker;
    while (Grid* grid = join(&worker)) {
      work(*grid, worker);
      leave(*grid);
    }
    const uint64_t spin = idleSpin(monotonicNanoseconds() - begin);
    if (spinUntil([&] { return offered_.load(std::memory_order_relaxed) != seen; }, spin)) continue;
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    if (offered_.load(std::memory_order_seq_cst) == seen) futex::wait(offered_, seen);
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
  }
}

// The grid with the fewest threads that can use one more, so that grids share the threads. Passes the wake-up on: a
// thread that found work wakes the next one, which costs the launching thread a single system call.
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
  if (more) wakeOne();
  return best;
}

void Workers::leave(Grid& grid) {
  if (grid.inside.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  left_.fetch_add(1, std::memory_order_seq_cst);
  if (finishing_.load(std::memory_order_seq_cst)) futex::wakeAll(left_);
}

void Workers::work(Grid& grid, uint32_t worker) {
  for (;;) {
    const uint64_t first = grid.next.fetch_add(grid.grain, std::memory_order_relaxed);
    if (first >= grid.blocks) return;
    grid.body(grid.state, worker, first, std::min(first + grid.grain, grid.blocks));
  }
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

void Workers::runGrid(uint64_t blocks, uint32_t maxWorkers, Body body, void* state, uint64_t grain) {
  const uint32_t limit = static_cast<uint32_t>(std::min<uint64_t>({maxWorkers, count_, blocks}));
  if (limit <= 1) {
    if (blocks) body(state, 0, 0, blocks);
    return;
  }
  if (!grain) grain = std::clamp<uint64_t>(blocks / (uint64_t{limit} * 32), 1, 64);
  if (!started_.load(std::memory_order_acquire)) start();
  Grid grid{body, state, blocks, grain, limit};
  {
    SpinGuard guard(listLock_);
    grid.nextGrid = grids_;
    grids_ = &grid;
  }
  offered_.fetch_add(1, std::memory_order_seq_cst);
  wakeOne();
  work(grid, 0);
  {
    SpinGuard guard(listLock_);
    Grid** link = &grids_;
    while (*link != &grid) link = &(*link)->nextGrid;
    *link = grid.nextGrid;
  }
  finish(grid);
}

}  // namespace vg::backend::cpu
