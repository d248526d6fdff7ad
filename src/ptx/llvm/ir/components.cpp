// Divergent regions: the blocks between a branch whose lanes may disagree and the place where all of them meet.
#include <algorithm>
#include <map>

#include "base/walk.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/divergence.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {
namespace {

// Masked code goes through all of a region, in one order, wherever lanes come into it, and a region that takes turns
// begins at its beginning again. So a block outside that dominates only some of its blocks does not dominate them in
// the code.
void markBypassed(Program& program, uint32_t component) {
  const std::vector<BlockId>& blocks = program.components[component].blocks;
  BlockId common = blocks.front();  // dominates all of the region
  for (const BlockId inside : blocks)
    while (!program.dominates(common, inside)) common = program.immediateDominator[common];
  for (const BlockId inside : blocks) {
    BlockId b = program.immediateDominator[inside];
    if (b == kNone || program.blocks[b].component == component) continue;  // what is above is above that one, too
    for (; b != 0 && b != kNone && !program.dominates(b, common); b = program.immediateDominator[b])
      if (program.blocks[b].component != component) program.blocks[b].bypassed = true;
  }
}

// What the ways into a region and out of it mean for the lanes in it.
void noteEntriesAndExits(Program& program) {
  const BlockId end = endBlock(program);
  for (Component& c : program.components)
    for (BlockId b : c.blocks)
      for (BlockId s : program.blocks[b].successors)
        if (s == end && c.exit != end) c.hasLaneExits = true;
  for (uint32_t c = 0; c < program.components.size(); ++c) markBypassed(program, c);
}

}  // namespace

void formComponents(Program& program) {
  const uint32_t count = static_cast<uint32_t>(program.blocks.size());
  const BlockId end = endBlock(program);
  program.components.clear();
  for (Block& block : program.blocks) {
    block.component = kNone;
    block.bypassed = false;
  }
  std::vector<uint32_t> parent(count);
  std::vector<bool> member(count, false);
  for (uint32_t n = 0; n < count; ++n) parent[n] = n;
  const auto root = [&](uint32_t n) {
    while (parent[n] != n) n = parent[n] = parent[parent[n]];
    return n;
  };
  std::vector<std::pair<BlockId, BlockId>> exits;  // a member, the place where its lanes meet
  for (BlockId b = 0; b < count; ++b) {
    if (!program.blocks[b].divergent) continue;
    const BlockId exit = program.immediatePostDominator[b];
    Walk walk(count);
    BlockId first = kNone;
    const auto visit = [&](BlockId s) {
      if (s == exit || s == end || !walk.find(s)) return;
      member[s] = true;
      if (first == kNone) {
        first = s;
        exits.push_back({s, exit});
      }
      parent[root(s)] = root(first);
    };
    std::ranges::for_each(program.blocks[b].successors, visit);
    while (const auto at = walk.next()) std::ranges::for_each(program.blocks[*at].successors, visit);
  }
  std::map<uint32_t, uint32_t> numbers;
  for (BlockId b = 0; b < count; ++b) {
    if (!member[b]) continue;
    auto [at, inserted] = numbers.try_emplace(root(b), static_cast<uint32_t>(program.components.size()));
    if (inserted) program.components.emplace_back();
    Component& c = program.components[at->second];
    c.blocks.push_back(b);
    c.takesTurns |= program.blocks[b].takesTurns;
    c.holdsLanes |= std::ranges::any_of(program.blocks[b].instructions,
                                        [&](uint32_t n) { return isHold(*program.instructions[n].ast); });
    c.weight += static_cast<uint32_t>(program.blocks[b].instructions.size()) + 1;
    program.blocks[b].component = at->second;
  }
  for (auto [b, exit] : exits) {
    const uint32_t id = program.blocks[b].component;
    if (exit == end || program.blocks[exit].component != id) program.components[id].exit = exit;
  }
  noteEntriesAndExits(program);
}

}  // namespace vg::ptx::gen
