// Which meetings of lanes are held (lane_turns.h).
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/walk.h"
#include "ptx/llvm/analysis/lane_turns.h"
#include "ptx/llvm/analysis/lone_lane.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

constexpr int kDepth = 6;  // of expressions that masks are made by

using Blocks = std::vector<bool>;

bool isWarpBarrier(const Instruction& i) { return isBarrier(i.ast->op) && i.ast->has(Mod::Warp) && !isHold(*i.ast); }

// A meeting of lanes that its mask names.
bool isNamed(const Instruction& i) {
  return isWarpBarrier(i) || (rowOf(i.ast->op).meets == Meets::Warp && i.ast->has(Mod::Sync));
}

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {
    for (const Instruction& i : program.instructions)
      if (isNamed(i)) meetings_.push_back(&i);
  }

  // What is found tells that masks made by it name lanes of other sides, too, and so more is found.
  Meetings run() {
    for (size_t before = 0; meetings_.size() > 1;) {
      for (BlockId b = 0; b < program_.blocks.size(); ++b)
        if (parts(b)) look(b);
      if (std::exchange(before, found_.size()) == found_.size()) break;
    }
    return std::move(found_);
  }

 private:
  bool parts(BlockId b) const {
    const Block& block = program_.blocks[b];
    return block.divergent && !alikeInWarp(program_, block.condition) && !onlyOneLaneReaches(program_, b);
  }

  void look(BlockId branch) {
    std::vector<Blocks> sides;
    for (BlockId s : program_.blocks[branch].successors) sides.push_back(sideFrom(branch, s));
    for (size_t n = 0; n < sides.size(); ++n)
      for (size_t other = 0; other < n; ++other) compare(sides[n], sides[other]);
  }

  // The blocks between a way out of a branch and where all its ways meet.
  Blocks sideFrom(BlockId branch, BlockId first) const {
    const BlockId meeting = program_.immediatePostDominator[branch], end = endBlock(program_);
    Walk side(program_.blocks.size());
    const auto visit = [&](BlockId b) {
      if (b != meeting && b != end && b != branch) side.find(b);
    };
    visit(first);
    while (const auto at = side.next()) std::ranges::for_each(program_.blocks[*at].successors, visit);
    return side.takeFound();
  }

  using Instructions = std::vector<const Instruction*>;

  void compare(const Blocks& side, const Blocks& other) {
    const Instructions ours = onlyIn(side, other), theirs = onlyIn(other, side);
    if (allFound(ours) && allFound(theirs)) return;
    for (const Instruction* one : ours)
      for (const Instruction* two : theirs)
        if (meetAlike(*one->ast, *two->ast) && !apart(*one, *two)) found_.insert({one->ast, two->ast});
  }

  // Those that may name lanes of another side.
  Instructions onlyIn(const Blocks& side, const Blocks& other) const {
    Instructions all;
    for (const Instruction* i : meetings_)
      if (side[i->block] && !other[i->block] && !namesPresent(maskOf(*i), side)) all.push_back(i);
    return all;
  }

  bool allFound(const Instructions& meetings) const {
    return std::ranges::all_of(meetings, [&](const Instruction* i) { return found_.contains(i->ast); });
  }

  static ValueId maskOf(const Instruction& i) { return i.sources.empty() ? kNone : i.sources.back(); }

  // Whether two masks are known to have no lane in common.
  bool apart(const Instruction& one, const Instruction& two) const {
    const auto known = [&](ValueId mask) { return mask == kNone ? std::nullopt : knownBits(program_, mask); };
    const auto a = known(maskOf(one)), b = known(maskOf(two));
    return a && b && !(static_cast<uint32_t>(*a) & static_cast<uint32_t>(*b));
  }

  // Whether a mask is made of what lanes of this side found out there about each other alone: it names no others.
  bool namesPresent(ValueId mask, const Blocks& side, int depth = kDepth) const {
    if (mask == kNone || depth == 0 || program_.values[mask].kind != Value::Result) return false;
    const Instruction& i = program_.instructions[program_.values[mask].instruction];
    const Op op = i.ast->op;
    if (op == Op::Activemask || op == Op::Vote || op == Op::Match) return side[i.block] && !found_.contains(i.ast);
    return rowOf(op).has(Trait::Pure) &&
           std::ranges::any_of(i.sources, [&](ValueId s) { return namesPresent(s, side, depth - 1); });
  }

  const Program& program_;
  Instructions meetings_;
  Meetings found_;
};

}  // namespace

Meetings partedMeetings(const Program& program) { return Finder(program).run(); }

Meetings groupMeetings(const Program& program) {
  Meetings found;
  for (const Instruction& i : program.instructions) {
    if (isNamed(i) && i.ast->has(Mod::Sync) && !isHold(*i.ast) && !lanesMeetAt(*i.ast, *i.function))
      found.insert(i.ast);
  }
  return found;
}

}  // namespace vg::ptx::gen
