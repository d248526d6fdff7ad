// The bits of NaNs in f32. A GPU's arithmetic makes one NaN of all, 0x7fffffff; the processor's makes another one or
// hands on the bits of an operand. No arithmetic and no comparison tells them apart, so that values are left as they
// come, through moves and shuffles too, and only where something looks at bits that may be such a NaN's (stores,
// integers, votes, atomics, conversions to f64) an instruction is put before it that makes the NaN a GPU has.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Requires: shapes have not been analysed yet.
void settleNaNs(Program& program);

// For tests: whether that was done, found out again from the instructions of a settled program. The PTX line of one
// that sees a NaN of the processor's making, or at which such a value joins one whose bits must stay; 0 where there is
// none.
uint32_t lineOfWrongNaN(Program& settled);

}  // namespace vg::ptx::gen
