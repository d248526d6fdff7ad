// Orders of blocks, dominators, loops.
#pragma once

#include <optional>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// The blocks reachable from `start` so that every block follows its dominators and a loop's blocks stand together;
// block 0, the end of the program, comes last. Throws Unsupported for control flow that no nesting of loops describes.
std::vector<uint32_t> orderBlocks(const std::vector<std::vector<uint32_t>>& successors, uint32_t start);

// A loop that can be entered at several places, which come first, and its other blocks behind them; none: there is no
// such loop. One that contains others of the kind comes before those.
struct TangledLoop {
  std::vector<uint32_t> entries, blocks;
};
std::optional<TangledLoop> tangledLoop(const std::vector<std::vector<uint32_t>>& successors, uint32_t start);

// Fills Block::loop, loops, immediateDominator and immediatePostDominator of a program whose blocks are ordered.
// Branches that let lanes leave the kernel do not count for post-dominance: lanes that are gone need not be met again.
// Of two ways that come by a block in different rounds of a loop around both, it is no post-dominator.
void findLoops(Program& program);

inline BlockId endBlock(const Program& program) { return static_cast<BlockId>(program.blocks.size() - 1); }

}  // namespace vg::ptx::gen
