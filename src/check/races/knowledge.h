// What blocks know of other blocks of running kernels: atomics and flags in memory hand it on, where a kernel has
// fences or the like.
//
// Who writes such a word leaves there what its thread knows of its own block, and of others; who reads it takes that.
// Within a block it spreads as everything else does (clocks.h): a thread knows what was taken by a thread whose clock
// it knows. Sizes are bounded: where a word or a block would know of too many, whoever takes that knows everything.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "check/races/clocks.h"
#include "check/races/known.h"

namespace vg::check {

class Knowledge {
 public:
  // A new block.
  void reset(uint64_t id, uint64_t horizon);
  // A thread writes, or reads, a word that carries order.
  void release(uint64_t word, uint32_t thread, const Clocks& clocks);
  void acquire(uint64_t word, uint32_t thread, const Clocks& clocks) {
    acquire(word, thread, clocks.now(thread), clocks);
  }
  // The same of a read at an earlier clock of the thread.
  void acquire(uint64_t word, uint32_t thread, uint32_t clock, const Clocks& clocks);
  // Whether what a thread of another block did at its clock is ordered before what `thread` does now.
  bool orders(uint64_t id, uint32_t other, uint32_t clock, uint32_t thread, const Clocks& clocks) const;
  // Nobody can say what this block knows.
  void loseOrder() { knowsAll_ = true; }
  bool knowsAll() const { return knowsAll_; }

  // From now on whoever reads the word knows everything.
  static void open(uint64_t word);

 private:
  struct Taken {
    uint32_t thread, clock;  // who took it, and when
    KnownPointer known;
    bool byAnybody = false;  // too many took it to say who
    bool isKnownTo(uint32_t other, const Clocks& clocks) const {
      return byAnybody || clocks.ordered(thread, clock, other);
    }
  };
  void take(uint64_t id, const KnownPointer& known, uint32_t thread, uint32_t clock, const Clocks& clocks);

  uint64_t id_ = 0, horizon_ = 0;
  bool knowsAll_ = false;
  std::unordered_map<uint64_t, std::vector<Taken>> taken_;  // by the other block
};

}  // namespace vg::check
