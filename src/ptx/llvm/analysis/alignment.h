// Low bits of values that are known to be zero. In lane 0, or in the first of each row where a warp has several: a
// value that starts at a multiple of 32 and counts on by one does not wrap inside a warp, so that indices like
// blockIdx.x * blockDim.x + threadIdx.x widen without a test. In all lanes: addresses that were made by adding
// multiples of what is accessed need no test of their alignment.
#pragma once

#include <vector>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

enum class Lanes { First, All };

// By value: how many low bits are zero, at least.
std::vector<uint8_t> alignments(const Program& program, const ShapeOptions& options, Lanes lanes);

}  // namespace vg::ptx::gen
