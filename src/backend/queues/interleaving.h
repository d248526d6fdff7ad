// VERDIGRIS_SEED: the work of emulated devices runs one piece at a time, in an order that the seed decides. With the
// same calls of one thread of the application the order is the same in each run; other seeds try others.
//
// A piece is a command of a queue, or a kernel as far as the end of a block or to where its blocks only wait. Pieces
// run on threads of their own, but only while a thread of the application gives them time: in calls that wait, in
// questions whose answer is "not ready", and between calls as the seed decides. So nothing runs beside the application,
// and a piece that waits for the host or for another piece stands aside.
//
// Nothing hangs that would not hang otherwise: where the application has made no call for half a second while work is
// left, or a piece has run for long, the rest goes on beside it. The log says so, as runs may then differ.
//
// All functions are thread-safe. Without the setting each costs a load and a branch.
#pragma once

#include <atomic>
#include <cstdint>

#include "backend/queues/task.h"

namespace vg::backend::interleaving {

extern constinit std::atomic<bool> active;
inline bool on() { return active.load(std::memory_order_relaxed); }

// Reads the setting. Before the first work.
void begin();

// A number of 64 bits that the seed and `of` decide.
uint64_t numberOf(uint64_t of);

// Numbers that look random, the same for the same start.
class Dice {
 public:
  explicit Dice(uint64_t start) : state_(start) {}
  uint64_t roll();
  // A number below `limit`, which is not 0.
  uint64_t below(uint64_t limit) { return roll() % limit; }
  bool chance(double probability) { return static_cast<double>(roll() >> 11) * 0x1p-53 < probability; }

 private:
  uint64_t state_;
};

// In place of Executor::schedule.
void add(Task& task) noexcept;
// On a thread of the application, before a call does its work: runs some pieces, or none.
void betweenCalls() noexcept;

// In a piece: it can do nothing but wait. Others, and the application, go first; false where this thread runs no piece.
bool standAside() noexcept;
// In a piece: others may go first, as the seed decides.
void mayStandAside() noexcept;
// In a piece: it calls the application, which may wait for anything.
void mayBlock() noexcept;

}  // namespace vg::backend::interleaving
