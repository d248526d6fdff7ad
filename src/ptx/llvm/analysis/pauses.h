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
  auto operator<=>(const Point&) const = default;  // NOLINT(modernize-use-nullptr): its own zero
};

// Where all warps that can will have met: barriers, waits for barrier objects, pauses.
bool endsInterval(const Instruction& i);

// By loop: an interval ends in it.
std::vector<bool> loopsThatWait(const Program& program);

Point endOf(const Program& program, BlockId block);

// The last place that every way to `to` passes where warps may pause: where `may` says so of the block, and in no loop
// but those that wait (loopsThatWait). Without a block: there is none.
template <class May>
Point placeBefore(const Program& program, const std::vector<bool>& loopsWait, Point to, const May& may) {
  for (;;) {
    const LoopId loop = program.blocks[to.block].loop;
    if (may(to.block) && (loop == kNone || loopsWait[loop])) return to;
    const BlockId above = program.immediateDominator[to.block];
    if (above == kNone || above == to.block) return {};
    to = endOf(program, above);
  }
}

void insertPauses(Program& program, const std::set<Point>& points);

}  // namespace vg::ptx::gen
