#include "ptx/llvm/analysis/lone_lane.h"

#include <algorithm>
#include <cstdlib>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

constexpr int kDepth = 12;                       // of expressions that are looked into
constexpr int64_t kLargestStride = 1 << 20;      // that does not wrap within a warp
enum : unsigned { kX = 1, kY = 2, kOther = 4 };  // what an index is made of

const Instruction* instructionOf(const Program& program, ValueId id) {
  const Value& v = program.values[id];
  return v.kind == Value::Result ? &program.instructions[v.instruction] : nullptr;
}

// The axes that a sum or union is made of, where it is zero only if the thread's index is zero along each of them.
unsigned axesOf(const Program& program, ValueId id, int depth) {
  const Value& v = program.values[id];
  if (v.kind == Value::Special && v.special == ptx::Special::TidX) return kX;
  if (v.kind == Value::Special && v.special == ptx::Special::TidY) return kY;
  if (v.shape.uniform() || (v.kind == Value::Special && v.special == ptx::Special::TidZ)) return 0;
  const Instruction* const i = instructionOf(program, id);
  if (!i || depth == 0 || i->guard != kNone) return kOther;
  switch (i->ast->op) {
    case Op::Mov:
    case Op::Cvt:
    case Op::Or:
    case Op::Add:
    case Op::Mul:
    case Op::Mad: {
      unsigned axes = 0;
      for (ValueId s : i->sources) axes |= axesOf(program, s, depth - 1);
      return axes;
    }
    default:
      return kOther;
  }
}

constexpr uint64_t kLaneBits = 5, kLanes = (1 << kLaneBits) - 1;

// Whether a value is the thread's rank in the block, or one that runs beside it.
bool runsWithLanes(const Program& program, ValueId id) {
  const Shape& shape = program.values[id].shape;
  return (shape.affine() && shape.stride == 1) || axesOf(program, id, kDepth) == (kX | kY);
}

// Whether a value is the rank's part that tells the lane.
bool isLane(const Program& program, ValueId id) {
  const Instruction* const i = instructionOf(program, id);
  return i && i->ast->op == Op::And && i->guard == kNone &&
         (knownBits(program, i->sources[1]).value_or(0) & kLanes) == kLanes && runsWithLanes(program, i->sources[0]);
}

// Whether a value is a part of the rank that tells the warp.
bool isWarp(const Program& program, const Instruction& i) {
  if (i.ast->op != Op::Shr && i.ast->op != Op::And) return false;
  const auto known = knownBits(program, i.sources[1]);
  return known && (i.ast->op == Op::Shr ? *known >= kLaneBits : !(*known & kLanes)) &&
         runsWithLanes(program, i.sources[0]);
}

// Whether `a` equals `b` in one lane at most.
bool equalsOnce(const Program& program, ValueId a, ValueId b) {
  const Shape &x = program.values[a].shape, &y = program.values[b].shape;
  if (!y.uniform()) return false;
  if (isLane(program, a)) return true;
  if (x.affine()) return x.stride != 0 && std::abs(x.stride) <= kLargestStride;
  return knownBits(program, b) == 0 && axesOf(program, a, kDepth) == (kX | kY);
}

// Whether `predicate` has this truth in one lane at most.
bool holdsOnce(const Program& program, ValueId predicate, bool truth, int depth) {
  const Instruction* const i = instructionOf(program, predicate);
  if (!i || depth == 0 || i->guard != kNone) return false;
  const uint32_t result = program.values[predicate].resultIndex;
  const auto source = [&](size_t n, bool wanted) {
    const bool negated = n < i->negated.size() && i->negated[n];
    return holdsOnce(program, i->sources[n], negated != wanted, depth - 1);
  };
  switch (i->ast->op) {
    case Op::Setp:
      if (i->sources.size() != 2 || result != 0 || !i->ast->has(truth ? Mod::Eq : Mod::Ne)) return false;
      return equalsOnce(program, i->sources[0], i->sources[1]) || equalsOnce(program, i->sources[1], i->sources[0]);
    case Op::And:
      return truth && (source(0, true) || source(1, true));
    case Op::Or:
      return !truth && (source(0, false) || source(1, false));
    case Op::Not:
      return source(0, !truth);
    case Op::Mov:
      return source(0, truth);
    case Op::Elect:
      return truth;
    default:
      return false;
  }
}

bool alike(const Program& program, ValueId id, int depth) {
  if (program.values[id].shape.uniform()) return true;
  const Instruction* const i = instructionOf(program, id);
  if (!i || depth == 0 || i->guard != kNone) return false;
  if (isWarp(program, *i)) return true;
  if (i->ast->op == Op::Shfl)  // from one lane to all
    return i->ast->has(Mod::Idx) && program.values[id].resultIndex == 0 && alike(program, i->sources[1], depth - 1);
  const int left = depth - std::max<int>(static_cast<int>(i->sources.size()) - 1, 1);  // more sources, less depth
  return left >= 0 && rowOf(i->ast->op).has(Trait::Pure) &&
         std::ranges::all_of(i->sources, [&](ValueId s) { return s != kNone && alike(program, s, left); });
}

// Whether a comparison of the rank with this number, below which the first of two ranges ends, parts a warp.
bool partsRanks(const ptx::Instruction& i, uint64_t number) {
  if (i.has(Mod::Eq) || i.has(Mod::Ne)) return true;
  const bool isIncluded = i.has(Mod::Le) || i.has(Mod::Ls) || i.has(Mod::Gt) || i.has(Mod::Hi);
  return ((number + isIncluded) & kLanes) != 0;
}

// The same for a number on the left.
bool partsRanksBehind(const ptx::Instruction& i, uint64_t number) {
  if (i.has(Mod::Eq) || i.has(Mod::Ne)) return true;
  const bool isIncluded = i.has(Mod::Lt) || i.has(Mod::Lo) || i.has(Mod::Ge) || i.has(Mod::Hs);
  return ((number + isIncluded) & kLanes) != 0;
}

// Whether an operation with a number takes something out of the rank that is not alike in a warp.
bool takesLaneBits(const ptx::Instruction& i, uint64_t number) {
  switch (i.op) {
    case Op::And:
      return (number & kLanes) != 0;
    case Op::Shr:
      return number < kLaneBits;
    case Op::Div:
    case Op::Rem:
      return (number & kLanes) != 0;
    default:
      return false;
  }
}

bool differsByRank(const Program& program, const Instruction& i) {
  if (i.sources.size() != 2) return false;
  const auto left = knownBits(program, i.sources[0]), right = knownBits(program, i.sources[1]);
  if (right && runsWithLanes(program, i.sources[0]))
    return i.ast->op == Op::Setp ? partsRanks(*i.ast, *right) : takesLaneBits(*i.ast, *right);
  return left && i.ast->op == Op::Setp && runsWithLanes(program, i.sources[1]) && partsRanksBehind(*i.ast, *left);
}

bool differs(const Program& program, ValueId id, int depth);

// What is added or subtracted from a value, alike in a warp, taken away.
ValueId withoutSteps(const Program& program, ValueId id) {
  for (int steps = 0; steps < kDepth; ++steps) {
    const Instruction* const i = id == kNone ? nullptr : instructionOf(program, id);
    if (!i || i->guard != kNone || (i->ast->op != Op::Add && i->ast->op != Op::Sub) || i->sources.size() != 2) break;
    if (!alike(program, i->sources[1], kDepth)) break;
    id = i->sources[0];
  }
  return id;
}

// Whether a loop counts, by steps that are alike, from what differs to a number that is known: each lane has its own
// number of rounds.
bool countsFromWhatDiffers(const Program& program, const Instruction& i, int depth) {
  if (i.ast->op != Op::Setp || i.sources.size() != 2 || !(i.ast->has(Mod::Eq) || i.ast->has(Mod::Ne))) return false;
  if (!knownBits(program, i.sources[1])) return false;
  const ValueId counter = withoutSteps(program, i.sources[0]);
  if (counter == kNone || program.values[counter].kind != Value::Phi) return false;
  bool isCounter = false, begins = false;
  for (const ValueId in : program.values[counter].incoming) {
    const bool again = withoutSteps(program, in) == counter;
    isCounter |= again;
    begins |= !again && in != kNone && differs(program, in, depth - 1);
  }
  return isCounter && begins;
}

bool differs(const Program& program, ValueId id, int depth) {
  const Instruction* const i = instructionOf(program, id);
  if (!i || depth == 0 || i->guard != kNone || !rowOf(i->ast->op).has(Trait::Pure)) return false;
  return differsByRank(program, *i) || countsFromWhatDiffers(program, *i, depth) ||
         std::ranges::any_of(i->sources, [&](ValueId s) { return s != kNone && differs(program, s, depth - 1); });
}

}  // namespace

bool alikeInWarp(const Program& program, ValueId value) { return alike(program, value, kDepth); }

bool differsInWarp(const Program& program, ValueId value) { return differs(program, value, kDepth); }

bool onlyOneLaneReaches(const Program& program, BlockId block) {
  for (BlockId below = block; below != 0;) {
    const BlockId above = program.immediateDominator[below];
    if (above == kNone || above == below) break;
    const Block& branch = program.blocks[above];
    // The way that leads here must lead nowhere else first.
    if (branch.terminator == Block::Branch && program.blocks[below].predecessors.size() == 1)
      for (size_t n = 0; n < 2; ++n)
        if (branch.successors[n] == below && branch.successors[1 - n] != below &&
            holdsOnce(program, branch.condition, (n == 0) != branch.conditionNegated, kDepth))
          return true;
    below = above;
  }
  return false;
}

}  // namespace vg::ptx::gen
