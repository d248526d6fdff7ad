// Loads of shared memory that compiled code has noted, and nobody has looked at yet (ptx::ReadNote).
//
// Behind a barrier of the whole block a load is in conflict with nothing until a store comes. So it is enough to look
// at them when a store does, or when some threads meet; the next barrier of the block makes them all over.
#pragma once

#include <cstddef>
#include <vector>

#include "check/memory/shared_memory.h"
#include "check/races/clocks.h"
#include "ptx/abi/check_abi.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::check {

// Of one running block.
class ReadNotes {
 public:
  // The whole block has met: what is noted is over, and loads may be noted from now on, if `may` says so.
  void begin(const ptx::BlockState& block, bool may);
  // Has what is noted looked at. Loads are told of at once until begin().
  void take(const ptx::BlockState& block, SharedMemory& shared, const Clocks& clocks) {
    if (block.checked && block.checked->end) takeAll(block, shared, clocks);
  }

 private:
  void takeAll(const ptx::BlockState& block, SharedMemory& shared, const Clocks& clocks);

  std::vector<ptx::ReadNote> room_;
};

}  // namespace vg::check
