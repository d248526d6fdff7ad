// What is known of %tid.x in blocks whose rows are whole warps: lane 0 holds a multiple of 32, the others count on, and
// none reaches 1024. `if (threadIdx.x < 32)` then sends whole warps one way or the other, and where `if (threadIdx.x
// == 0)` parts the lanes of a warp at all, it is known which.
#pragma once

#include <optional>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Whether a value is %tid.x, possibly moved. For blocks whose rows are whole warps.
bool isRowThread(const Program& program, ValueId value);

// A comparison of %tid.x with a constant, read as one of whole warps: by lane 0's value, those below `mixed` answer
// `below` in all lanes, those above it `above`, and the one that is equal to it by the bits of `lanes`. Where all bits
// agree with one of the two, no warp is mixed.
struct RowComparison {
  uint32_t mixed = 0;
  uint32_t lanes = 0;
  bool below = false, above = false;

  bool neverMixed() const { return lanes == (below ? ~0u : 0u) || lanes == (above ? ~0u : 0u); }
};
// For blocks whose rows are whole warps.
std::optional<RowComparison> rowComparison(const Program& program, const Instruction& i);

}  // namespace vg::ptx::gen
