// Raw blocks in their order, without the empty ones. Loops that can be entered at several places get one: a block
// before them goes on to the place that a variable names. Who enters the loop, and who goes to such a place inside it,
// sets the variable and comes by that block.
#include <algorithm>

#include "base/walk.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/raw_code.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

class BlockLayout {
 public:
  BlockLayout(RawCode& code, Program& program) : code_(code), program_(program) {}
  std::vector<uint32_t> run(uint32_t first);

 private:
  uint32_t thread(uint32_t b);  // follows empty blocks that only jump
  std::vector<std::vector<uint32_t>> ways() const;
  std::vector<std::vector<uint32_t>> waysInOrder() const;
  std::vector<bool> leadToMeetings() const;
  void untangleLoops(uint32_t start);
  void enterThrough(uint32_t dispatch, const TangledLoop& loop);

  RawCode& code_;
  Program& program_;
};

std::vector<std::vector<uint32_t>> BlockLayout::ways() const {
  std::vector<std::vector<uint32_t>> successors;
  for (const RawBlock& block : code_.blocks) successors.push_back(block.successors);
  return successors;
}

// By block: whether a way from it leads to a barrier, or to what lanes do together.
std::vector<bool> BlockLayout::leadToMeetings() const {
  const auto meets = [](const Item& item) {
    return item.ast && (rowOf(item.ast->op).meets != Meets::Apart || item.ast->op == Op::Call);
  };
  std::vector<std::vector<uint32_t>> from(code_.blocks.size());
  for (uint32_t b = 0; b < from.size(); ++b)
    for (const uint32_t s : code_.blocks[b].successors) from[s].push_back(b);
  Walk walk(from.size());
  for (uint32_t b = 0; b < from.size(); ++b)
    if (std::ranges::any_of(code_.blocks[b].items, meets)) walk.find(b);
  while (const auto at = walk.next()) walk.findAll(from[*at]);
  return walk.takeFound();
}

// The ways in the order in which they are gone behind each other, the last first: lanes that meet nobody before they
// end come before those that go on to a barrier, as these may want what they write.
std::vector<std::vector<uint32_t>> BlockLayout::waysInOrder() const {
  std::vector<std::vector<uint32_t>> all = ways();
  const std::vector<bool> leads = leadToMeetings();
  for (std::vector<uint32_t>& of : all)
    std::ranges::stable_partition(of, [&](uint32_t s) { return s == RawCode::kEnd || leads[s]; });
  return all;
}

void BlockLayout::untangleLoops(uint32_t start) {
  while (const auto loop = tangledLoop(ways(), start)) enterThrough(code_.newBlock(), *loop);
}

void BlockLayout::enterThrough(uint32_t dispatch, const TangledLoop& loop) {
  const auto existing = static_cast<uint32_t>(code_.blocks.size());
  const uint32_t place = code_.newVariable(Class::I32);
  std::vector<bool> inside(existing, false);
  for (uint32_t b : loop.blocks) inside[b] = true;
  for (uint32_t n = 0; n < loop.entries.size(); ++n)
    // One block for each side: all that the loop is entered by is then the dispatching one.
    for (const bool within : {false, true}) {
      const uint32_t stub = code_.newBlock();
      code_.make(code_.blocks[stub].items, Op::Mov, Type::U32, {operand::variable(place), operand::number(n)}, 0);
      for (uint32_t b = 0; b < existing; ++b)
        if (inside[b] == within) std::ranges::replace(code_.blocks[b].successors, loop.entries[n], stub);
      code_.jump(stub, dispatch);
    }
  code_.blocks[dispatch].terminator = Block::Switch;
  code_.blocks[dispatch].condition = place;
  code_.blocks[dispatch].successors = loop.entries;
}

uint32_t BlockLayout::thread(uint32_t b) {
  for (int limit = 0; limit < 100000; ++limit) {
    const RawBlock& block = code_.blocks[b];
    if (b == RawCode::kEnd || !block.items.empty() || block.terminator != Block::Jump || block.successors[0] == b)
      return b;
    b = block.successors[0];
  }
  return b;
}

std::vector<uint32_t> BlockLayout::run(uint32_t first) {
  for (RawBlock& block : code_.blocks) {
    for (uint32_t& s : block.successors) s = thread(s);
    if (block.terminator == Block::Branch && block.successors[0] == block.successors[1]) {
      block.terminator = Block::Jump;
      block.successors.resize(1);
    }
  }
  first = thread(first);
  // The entry gets a block of its own without predecessors.
  const uint32_t start = code_.newBlock();
  code_.jump(start, first);
  untangleLoops(start);
  std::vector<uint32_t> order = orderBlocks(waysInOrder(), start);
  std::vector<uint32_t> position(code_.blocks.size(), kNone);
  for (uint32_t n = 0; n < order.size(); ++n) position[order[n]] = n;
  program_.blocks.resize(order.size());
  for (uint32_t n = 0; n < order.size(); ++n) {
    const RawBlock& raw = code_.blocks[order[n]];
    Block& block = program_.blocks[n];
    block.terminator = order[n] == RawCode::kEnd ? Block::Exit : raw.terminator;
    block.conditionNegated = raw.negated;
    block.line = raw.line;
    for (uint32_t s : raw.successors) block.successors.push_back(position[s]);
  }
  for (uint32_t n = 0; n < order.size(); ++n)
    for (BlockId s : program_.blocks[n].successors) program_.blocks[s].predecessors.push_back(n);
  return order;
}

}  // namespace

std::vector<uint32_t> layOutBlocks(RawCode& code, Program& program, uint32_t first) {
  return BlockLayout(code, program).run(first);
}

}  // namespace vg::ptx::gen
