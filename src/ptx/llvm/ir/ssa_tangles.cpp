// Loops that can be entered at several places get one: a block before them goes on to the place that a variable names.
// Who enters the loop, and who goes to such a place inside it, sets the variable and comes by that block.
#include <algorithm>

#include "ptx/llvm/ir/ssa_builder.h"

namespace vg::ptx::gen {

std::vector<std::vector<uint32_t>> SsaBuilder::ways() const {
  std::vector<std::vector<uint32_t>> successors;
  for (const RawBlock& block : raw_) successors.push_back(block.successors);
  return successors;
}

void SsaBuilder::untangleLoops(uint32_t start) {
  while (const auto loop = tangledLoop(ways(), start)) enterThrough(newBlock(), *loop);
}

void SsaBuilder::enterThrough(uint32_t dispatch, const TangledLoop& loop) {
  const auto existing = static_cast<uint32_t>(raw_.size());
  const uint32_t place = newVariable(Class::I32);
  std::vector<bool> inside(existing, false);
  for (uint32_t b : loop.blocks) inside[b] = true;
  for (uint32_t n = 0; n < loop.entries.size(); ++n)
    // One block for each side: all that the loop is entered by is then the dispatching one.
    for (const bool within : {false, true}) {
      const uint32_t stub = newBlock();
      make(raw_[stub].items, Op::Mov, Type::U32, {inVariable(place), number(n)}, 0);
      for (uint32_t b = 0; b < existing; ++b)
        if (inside[b] == within) std::ranges::replace(raw_[b].successors, loop.entries[n], stub);
      jump(stub, dispatch);
    }
  raw_[dispatch].terminator = Block::Switch;
  raw_[dispatch].condition = place;
  raw_[dispatch].successors = loop.entries;
}

}  // namespace vg::ptx::gen
