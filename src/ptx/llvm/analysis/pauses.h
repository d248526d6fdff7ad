// Pauses: places where a warp stops until the others of its block have come as far as they can. They cost what a
// barrier costs and mean nothing to a program that is right.
#pragma once

#include <cstdint>
#include <set>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// In front of the instruction at `position` of a block, or of its terminator.
struct Point {
  BlockId block = kNone;
  uint32_t position = 0;
  auto operator<=>(const Point&) const = default;
};

// Where all warps that can will have met: barriers, waits for barrier objects, pauses.
bool endsInterval(const Instruction& i);

// By loop: a barrier is in it.
std::vector<bool> loopsThatWait(const Program& program);

void insertPauses(Program& program, const std::set<Point>& points);

}  // namespace vg::ptx::gen
