// How values go on from one round of a loop to the next.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

enum class Course : uint8_t {
  Stays,    // the same in each round
  GoesOn,   // always up or always down: it never comes back to what it was
  Returns,  // it may stay, or come back: steps that not every round takes, rings, what memory says
};

// Of a value that is used in the loop. A step of unknown size that the loop does not change is taken for more than
// nothing, up or down; two such steps may be a ring.
Course courseOf(const Program& program, ValueId value, LoopId loop);

}  // namespace vg::ptx::gen
