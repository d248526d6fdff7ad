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
      if (isNamed(i)) {
        meetings_.push_back(&i);
        masksJoin_ |= maskOf(i) != kNone && program.values[maskOf(i)].kind == Value::Phi;
      }
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
    const auto& successors = program_.blocks[branch].successors;
    std::vector<Blocks> sides;
    for (BlockId s : successors) sides.push_back(sideFrom(branch, s));
    for (size_t n = 0; n < sides.size(); ++n)
      for (size_t other = 0; other < sides.size(); ++other) {
        if (other == n) continue;
        if (other < n) compare(sides[n], sides[other]);
        lookBehind(branch, sides[n], sides[other], successors[n], successors[other]);
      }
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

  // Lanes that go round a meeting of one side come to others behind it: the first of its kind is the same meeting where
  // the masks are. Masks are taken to be where lanes part for certain, and where one is what that side has made of
  // what all had before, as in a loop that a compiler has unrolled, whose last rounds are a loop of their own; and so
  // are the results of operations that are such meetings. Lanes that part for certain stay behind by as many meetings
  // as they have missed, so all later ones may be the same.
  void lookBehind(BlockId branch, const Blocks& side, const Blocks& other, BlockId in, BlockId round) {
    const bool surely = differsInWarp(program_, program_.blocks[branch].condition);
    if (!surely && !masksJoin_ && found_.empty()) return;
    for (const Instruction* one : surely ? onlyIn(withRounds(branch, side, in), other) : onlyIn(side, other)) {
      const auto isLater = [&](const Instruction& two) {
        return !side[two.block] && meetAlike(*one->ast, *two.ast) &&
               ((surely && sameMask(maskOf(*one), maskOf(two))) || madeIn(side, maskOf(two), kDepth) ||
                (isFound(maskOf(*one)) && isFound(maskOf(two))));
      };
      for (const Instruction* two : surely ? allFrom(round, isLater) : firstFrom(round, isLater)) {
        if (two == one) continue;
        found_.insert(one->ast);
        found_.insert(two->ast);
      }
    }
  }

  // The side of a loop's branch that leads to its next round has what stands before the branch, too.
  Blocks withRounds(BlockId branch, const Blocks& side, BlockId first) const {
    Blocks all = side;
    all[branch] = first == branch ||
                  std::ranges::any_of(program_.blocks[branch].predecessors, [&](BlockId b) { return side[b]; });
    return all;
  }

  // The first meetings of a kind that lanes come to from a block.
  template <class Kind>
  Instructions firstFrom(BlockId from, Kind isOne) const {
    Instructions all;
    Walk walk(program_.blocks.size());
    walk.find(from);
    while (const auto at = walk.next()) {
      const size_t before = all.size();
      for (const Instruction* i : meetings_)
        if (i->block == *at && isOne(*i)) all.push_back(i);
      if (all.size() == before) walk.findAll(program_.blocks[*at].successors);
    }
    return all;
  }

  template <class Kind>
  Instructions allFrom(BlockId from, Kind isOne) const {
    Instructions all;
    Walk walk(program_.blocks.size());
    walk.find(from);
    while (const auto at = walk.next()) walk.findAll(program_.blocks[*at].successors);
    const Blocks reached = walk.takeFound();
    for (const Instruction* i : meetings_)
      if (reached[i->block] && isOne(*i)) all.push_back(i);
    return all;
  }

  bool sameMask(ValueId a, ValueId b) const {
    if (a == kNone || b == kNone) return false;
    const auto known = knownMask(a);
    return a == b || (known && known == knownMask(b));
  }

  // A constant is one behind a loop, too, where ways meet that bring the same.
  std::optional<uint64_t> knownMask(ValueId mask, int depth = kDepth) const {
    if (mask == kNone || program_.values[mask].kind != Value::Phi)
      return mask == kNone ? std::nullopt : knownBits(program_, mask);
    std::optional<uint64_t> known;
    for (const ValueId in : program_.values[mask].incoming) {
      const auto other = depth ? knownMask(in, depth - 1) : std::nullopt;
      if (!other || (known && known != other)) return {};
      known = other;
    }
    return known;
  }

  bool isFound(ValueId mask) const {
    return mask != kNone && program_.values[mask].kind == Value::Result &&
           found_.contains(program_.instructions[program_.values[mask].instruction].ast);
  }

  // Whether a mask is, for lanes that have come through these blocks, what an operation there said.
  bool madeIn(const Blocks& side, ValueId mask, int depth) const {
    if (mask == kNone || depth == 0 || program_.values[mask].kind != Value::Phi) return false;
    return std::ranges::any_of(program_.values[mask].incoming, [&](ValueId v) {
      if (v == kNone || program_.values[v].kind != Value::Result) return madeIn(side, v, depth - 1);
      const Instruction& i = program_.instructions[program_.values[v].instruction];
      return isNamed(i) && side[i.block];
    });
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
  bool masksJoin_ = false;  // where ways meet
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
