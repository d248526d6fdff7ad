// The fixed compute threads, one a usable core: what runs the blocks of kernels and the parts of large copies.
//
// Threads are made at the first need, named "vg-worker-N", with all signals blocked but those of synchronous faults.
// They poll (idle_spin.h) before they sleep. Never joined: they end with the process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/sync/mutex.h"
#include "base/sync/spin_lock.h"

namespace vg::backend::cpu {

class IdleSpin;

class Workers {
 public:
  class Items;
  // Runs items on thread number `worker` until it is given no more. Must not throw: others may still be at work.
  using Body = void (*)(void* state, uint32_t worker, Items& items);

  // The workers that all emulated devices share; VERDIGRIS_WORKERS many, or one a usable core.
  static Workers& shared();

  // `count` includes the calling thread of a grid: `count - 1` threads are made. Never destroyed.
  explicit Workers(uint32_t count);
  Workers(const Workers&) = delete;

  // Which compute thread calls, 1 and up, the same for its life; 0 for every other thread.
  static uint32_t thisThread();

  // How many threads may run one grid at once, the calling thread included.
  uint32_t count() const { return count_; }

  // Runs the items 0 .. blocks-1 on the calling thread (always worker 0 of this grid) and on at most maxWorkers - 1
  // others; returns when all are done. A worker number below min(maxWorkers, count()) belongs to one thread of this
  // grid. Each thread begins with a share of its own, the same at every grid: what it touched the last time is in its
  // caches, and cores need not ask for one handful after the other in one place. Whoever is done helps the others.
  // The calling thread always gets the first items that nobody has, so that an item may wait for earlier ones. Several
  // grids may run at once. Any thread may call, a body too. `grain`: items handed out together, fewer towards the end;
  // 0 chooses. `firstWorkers`: how many threads are asked at first, where little work is expected; the others are asked
  // when the calling thread has worked for kSurprise and items are left. 0: all. `mayWait`: an item may wait inside for
  // one that only others would run, so they are asked also when no item ends for long. Returns how many threads there
  // were.
  uint32_t runGrid(uint64_t blocks, uint32_t maxWorkers, Body body, void* state, uint64_t grain = 0,
                   uint32_t firstWorkers = 0, bool mayWait = false);

  // How many threads should share so many nanoseconds of work: those that sleep are woken for a good deal of it only.
  uint32_t threadsFor(uint64_t work) const {
    return static_cast<uint32_t>(std::clamp<uint64_t>(
        std::max<uint64_t>(work / kWorthwhile, std::min<uint64_t>(work / kWorthwhileAwake, polling() + 1)), 1, count_));
  }

 private:
  struct Share;
  struct Grid;

  void start();
  void threadMain(uint32_t number);
  bool poll(uint32_t seen, IdleSpin& idle, uint64_t since);
  Grid* join(uint32_t* worker);
  void leave(Grid& grid);
  void work(Grid& grid, uint32_t worker);
  void finish(Grid& grid);
  void announce(uint32_t threads);
  void offer(Grid& grid);
  void askMore(Grid& grid);
  void withdraw(Grid& grid);
  bool startGuard();
  void guardMain();
  void awaitGuarded(uint32_t seen);
  bool askForLate();
  void wakeOne();
  uint32_t polling() const { return polling_.load(std::memory_order_seq_cst); }

  // ns of work for which it is worth waking a thread up, and of a thread that polls.
  static constexpr uint64_t kWorthwhile = 30'000, kWorthwhileAwake = 8'000;
  // ns after which a grid of which a thread expected kWorthwhile at most has turned out to be long.
  static constexpr uint64_t kSurprise = 3 * kWorthwhile;
  // ns after which others are asked for a grid none of whose items has ended, and how often that is looked for.
  static constexpr uint64_t kLate = 5'000'000;

  const uint32_t count_;
  std::atomic<bool> started_{false};
  std::atomic<uint32_t> offered_{0};    // grows with each grid: the futex word of idle threads
  std::atomic<uint64_t> offeredAt_{0};  // when that was, ns
  std::atomic<uint32_t> polling_{0};    // idle threads that see it grow
  std::atomic<uint32_t> sleeping_{0};   // idle threads that need a wake-up
  std::atomic<uint32_t> left_{0};       // grows when the last thread leaves a grid: the futex word of finish()
  std::atomic<uint32_t> finishing_{0};
  std::atomic<uint32_t> guarded_{0};   // grows with each grid that the guard is to look at: what it sleeps by
  std::atomic<bool> guarding_{false};  // the guard looks again before it sleeps
  std::atomic<bool> hasGuard_{false};  // there is the thread
  Mutex startMutex_;                   // held while it is started
  SpinLock listLock_;                  // guards grids_ and who joins which
  Grid* grids_ VG_GUARDED_BY(listLock_) = nullptr;
};

// What a thread is given of a grid, handful by handful.
class Workers::Items {
 public:
  // The next items, first .. end-1; false when none are left.
  bool next(uint64_t* first, uint64_t* end);

 private:
  friend class Workers;
  Items(Share* shares, uint32_t count, uint32_t own, uint64_t least, uint64_t most)
      : shares_(shares), count_(count), at_(own), least_(least), most_(most) {}

  void askMoreWhenLong();

  Share* const shares_;
  const uint32_t count_;
  uint32_t at_, finished_ = 0;   // the share to take from; how many were found empty
  const uint64_t least_, most_;  // of a handful
  // Of the thread that may ask for others later; null: all have been asked.
  Workers* workers_ = nullptr;
  Grid* grid_ = nullptr;
  uint64_t begin_ = 0;  // ns; 0 before the first items
};

}  // namespace vg::backend::cpu
