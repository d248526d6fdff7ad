// Low bits of values that are known to be zero in lane 0. A value that starts at a multiple of 32 and counts on by one
// does not wrap inside a warp, so that indices like blockIdx.x * blockDim.x + threadIdx.x widen without a test.
#pragma once

#include <vector>

#include "ptx/llvm/warp_ir.h"

namespace vg::ptx::gen {

// By value: how many low bits of lane 0's value are zero, at least. `rowsOf32`: a block's rows are whole warps.
std::vector<uint8_t> alignments(const Program& program, bool rowsOf32);

}  // namespace vg::ptx::gen
