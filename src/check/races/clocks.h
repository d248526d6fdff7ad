// What the threads of a block know of each other: happens-before by vector clocks.
//
// Every thread has a clock that moves on when it meets others. An access of thread u at its clock c is ordered before
// what thread t does now when t knows a clock of u that is at least c. A meeting of the whole block raises the floor:
// everything before it is ordered for everybody, so that blocks which only use __syncthreads never touch the table.
// Clocks only grow, also from block to block, so that nothing has to be cleared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace vg::check {

struct Known;  // known.h

class Clocks {
 public:
  using Threads = std::vector<uint32_t>;  // linear numbers

  // True when the clocks will soon have no room left: then a fresh object must take over, and what notes clocks of the
  // old one must be forgotten.
  bool nearlyFull() const { return last_ > 0xf000'0000; }
  // A new block of so many threads.
  void reset(uint32_t threads);
  uint32_t now(uint32_t thread) const { return clocks_[thread]; }
  // The same, and the floor, since the block began.
  uint32_t sinceBegin(uint32_t thread) const { return clocks_[thread] - begin_; }
  uint32_t floor() const { return floor_ - begin_; }
  // ordered() of a clock since then.
  bool orderedSinceBegin(uint32_t other, uint32_t clock, uint32_t thread) const {
    return ordered(other, clock + begin_, thread);
  }
  // What a thread knows of the block.
  std::shared_ptr<const Known> knownTo(uint32_t thread) const;
  // Whether what `other` did at `clock` is ordered before what `thread` does now.
  bool ordered(uint32_t other, uint32_t clock, uint32_t thread) const {
    return clock < floor_ || other == thread || known_[size_t{thread} * threads_ + other] >= clock;
  }

  void meetAll();
  // Those who come make their accesses known to those who wait.
  void meet(const Threads& come, const Threads& wait);
  // Lanes of one warp.
  void meetWarp(uint32_t warp, uint32_t mask);
  // A thread uses a location that carries order from one thread to the next: an atomic, a flag.
  void pass(uint32_t thread, uint64_t location);

 private:
  uint32_t* row(uint32_t thread) { return known_.data() + size_t{thread} * threads_; }
  void advance(uint32_t thread) { clocks_[thread] = ++last_; }

  uint32_t threads_ = 0;
  uint32_t last_ = 0, floor_ = 1;
  uint32_t begin_ = 0;            // the floor when the block began
  bool crossed_ = false;          // since the floor rose, threads of different warps met
  std::vector<uint32_t> clocks_;  // by thread
  std::vector<uint32_t> known_;   // [thread][other]
  std::vector<uint32_t> joined_;
  std::map<uint64_t, std::vector<uint32_t>> locations_;
};

}  // namespace vg::check
