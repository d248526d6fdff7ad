// Copies to shared memory that run beside the threads that began them: cp.async and bulk copies. Nobody may count on
// what such a copy writes, nor touch its target, before its thread has waited for its group, or somebody at the barrier
// object of a bulk copy; others not before they have met who waited. Of one block.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "check/races/clocks.h"

namespace vg::check {

class AsyncCopies {
 public:
  // A new block.
  void reset();
  // The group of a copy that the thread begins now.
  uint32_t begin(uint32_t thread);
  // The same for `count` threads from `first` on where they all have one; false: they do not.
  bool beginTogether(uint32_t first, uint32_t count, uint32_t& group);
  // The thread begins another group.
  void commit(uint32_t thread) { ++at(thread).committed; }
  // The thread has waited, at its clock since the block began, for all its groups but the last ones; for all copies.
  void wait(uint32_t thread, uint32_t left, uint32_t clock);
  void waitForAll(uint32_t thread, uint32_t clock);
  // A bulk copy of which a barrier object tells; its number.
  uint32_t beginBulk(uint64_t barrier);
  // A thread has asked the object, and may know of all copies until now.
  void waitAt(uint64_t barrier, uint32_t thread, uint32_t clock);
  bool bulkOrdered(uint32_t number, uint32_t now, const Clocks& clocks) const;
  // Whether there may be copies that nobody has waited for.
  bool pending() const { return pending_ || !bulk_.empty(); }
  // Whether what a copy of the group has written is ordered before what `now` does.
  bool ordered(uint32_t thread, uint32_t group, uint32_t now, const Clocks& clocks) const;

 private:
  struct Wait {
    uint32_t groups, clock;  // those before `groups` are over
  };
  struct Thread {
    uint32_t committed = 0, begun = 0, forgotten = 0;  // begun: groups up to the last copy; forgotten: they are over
    std::vector<Wait> waits;

    uint32_t over() const { return waits.empty() ? 0 : waits.back().groups; }
  };
  // Who has asked a barrier object: the copies before `until` are over.
  struct Asked {
    uint32_t until, thread, clock;
  };
  Thread& at(uint32_t thread);
  void finish(Thread& thread, uint32_t groups, uint32_t clock);

  std::vector<Thread> threads_;
  uint32_t pending_ = 0;        // threads that have such copies
  std::vector<uint64_t> bulk_;  // barriers, by number
  std::unordered_map<uint64_t, std::vector<Asked>> asked_;
};

}  // namespace vg::check
