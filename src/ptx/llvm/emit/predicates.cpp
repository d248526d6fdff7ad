// Tests of predicates by scalars: whether all lanes hold or none does, without making the mask.
#include "ptx/llvm/emit/predicates.h"

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/row_thread.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using PtxValue = vg::ptx::gen::Value;

// --- Tests of predicates by scalars --------------------------------------------------------------------------------

std::pair<llvm::Value*, llvm::Value*> Predicates::rowTests(const Instruction& i, const RowComparison& comparison,
                                                           bool negated) {
  Value* const first = b_.asInteger(values_.laneZero(i.sources[0]), 32);
  Value* const mixed = b_.getInt32(comparison.mixed);
  Value *const before = b_.CreateICmpULT(first, mixed), *const behind = b_.CreateICmpUGT(first, mixed);
  const auto allAnswer = [&](bool answer) -> Value* {
    if (comparison.below == answer && comparison.above == answer) return b_.CreateICmpNE(first, mixed);
    if (comparison.below == answer) return before;
    return comparison.above == answer ? behind : b_.getFalse();
  };
  return {allAnswer(!negated), allAnswer(negated)};
}

// Whether a number stays in the range of its type when `distance` is added.
static llvm::Value* staysStraight(llvm::IRBuilder<>& b, llvm::Value* base, int64_t distance, bool isSignedType) {
  using llvm::APInt;
  using P = llvm::CmpInst::Predicate;
  const uint32_t bits = base->getType()->getScalarSizeInBits();
  const APInt step(bits, static_cast<uint64_t>(distance));
  const bool ascends = distance > 0;
  const APInt limit = ascends ? (isSignedType ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits))
                              : (isSignedType ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits));
  const P within = ascends ? (isSignedType ? P::ICMP_SLE : P::ICMP_ULE) : (isSignedType ? P::ICMP_SGE : P::ICMP_UGE);
  return b.CreateICmp(within, base, llvm::ConstantInt::get(base->getType(), limit - step));
}

// The mask of a predicate where quickTests found that neither all lanes nor none hold.
Mask Predicates::mixedMask(ValueId predicate, bool negated) {
  const auto& v = program_.values[predicate];
  const auto comparison = options_.rowsOf32 && v.kind == vg::ptx::gen::Value::Result
                              ? rowComparison(program_, program_.instructions[v.instruction])
                              : std::nullopt;
  if (!comparison) return maskOf(predicate, negated);
  return masks_.constantMask(negated ? ~comparison->lanes : comparison->lanes);
}

std::pair<llvm::Value*, llvm::Value*> Predicates::quickTests(ValueId id, bool negated, int depth) {
  const auto& v = program_.values[id];
  const std::pair<Value*, Value*> nothing{nullptr, nullptr};
  if (depth > 6) return nothing;
  if (v.shape.uniform()) {
    Value* bit = values_.scalarOf(id);
    if (negated) bit = b_.CreateNot(bit);
    return {bit, b_.CreateNot(bit)};
  }
  if (v.shape.sameInRow()) {
    Value *every = values_.rowOf(id, 0), *some = every;
    for (uint32_t r = 1; r < rows_; ++r) {
      every = b_.CreateAnd(every, values_.rowOf(id, r));
      some = b_.CreateOr(some, values_.rowOf(id, r));
    }
    return negated ? std::pair{b_.CreateNot(some), every} : std::pair{every, b_.CreateNot(some)};
  }
  if (v.kind != vg::ptx::gen::Value::Result) return nothing;
  const Instruction& i = program_.instructions[v.instruction];
  if (i.guard != kNone) return nothing;
  for (ValueId s : i.sources)
    if (s != kNone && !values_.readable(s)) return nothing;
  if (i.ast->op == Op::Not) return quickTests(i.sources[0], negated == i.negated[0], depth + 1);
  if ((i.ast->op == Op::And || i.ast->op == Op::Or) && i.ast->type() == Type::Pred) {
    const auto a = quickTests(i.sources[0], i.negated[0] != negated, depth + 1);
    const auto c = quickTests(i.sources[1], i.negated[1] != negated, depth + 1);
    if (!a.first || !c.first) return nothing;
    // De Morgan: a negated "or" is the "and" of the negated parts.
    const bool conjunction = (i.ast->op == Op::And) != negated;
    if (conjunction) return {b_.CreateAnd(a.first, c.first), b_.CreateOr(a.second, c.second)};
    return {b_.CreateOr(a.first, c.first), b_.CreateAnd(a.second, c.second)};
  }
  if (i.ast->op != Op::Setp || i.results.size() != 1 || i.sources.size() != 2) return nothing;
  if (const auto comparison = options_.rowsOf32 ? rowComparison(program_, i) : std::nullopt)
    return rowTests(i, *comparison, negated);
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type);
  if (ptx::isFloat(type) || (bits != 32 && bits != 64)) return nothing;
  const Shape x = program_.values[i.sources[0]].shape, y = program_.values[i.sources[1]].shape;
  if (x.varying() || y.varying() || x.fragile || y.fragile) return nothing;
  const auto oneValue = [](Shape s) { return s.uniform() || s.sameInRow(); };
  if (!oneValue(x) && !oneValue(y)) return nothing;
  const bool swapped = oneValue(x), inRows = x.rows() || y.rows();
  const int64_t steps = inRows && (x.affine() || y.affine()) ? 0 : inRows ? rowLanes_ - 1 : kWarpSize - 1;
  const int64_t distance = (swapped ? y.stride : x.stride) * steps;
  if (!distance || (bits == 32 && (distance > 0x7fffffff || distance < -0x7fffffff))) return nothing;
  std::pair<Value*, Value*> out = nothing;
  for (uint32_t r = 0; r < std::max(rowsIn(x), rowsIn(y)); ++r) {
    const auto read = [&](size_t n) {
      return b_.asInteger(inRows ? values_.rowOf(i.sources[n], r) : values_.laneZero(i.sources[n]), bits);
    };
    const auto tests = straightTests(i, read(swapped ? 1 : 0), read(swapped ? 0 : 1), distance, swapped);
    if (!tests.first) return nothing;
    out.first = out.first ? b_.CreateAnd(out.first, tests.first) : tests.first;
    out.second = out.second ? b_.CreateAnd(out.second, tests.second) : tests.second;
  }
  return negated ? std::pair{out.second, out.first} : out;
}

// The same of a comparison of `bound` with lanes that hold base .. base + distance without wrap; else neither test is
// true.
std::pair<llvm::Value*, llvm::Value*> Predicates::straightTests(const Instruction& i, Value* base, Value* bound,
                                                                int64_t distance, bool swapped) {
  const std::pair<Value*, Value*> nothing{nullptr, nullptr};
  const bool isSignedType = isSigned(i.ast->type());
  const bool ascends = distance > 0;
  Value* const reach = llvm::ConstantInt::get(base->getType(), static_cast<uint64_t>(ascends ? distance : -distance));
  Value* const last = ascends ? b_.CreateAdd(base, reach) : b_.CreateSub(base, reach);
  Value* const straight = staysStraight(b_, base, distance, isSignedType);
  Value* const low = ascends ? base : last;
  Value* const high = ascends ? last : base;
  using P = llvm::CmpInst::Predicate;
  const P lt = isSignedType ? P::ICMP_SLT : P::ICMP_ULT, le = isSignedType ? P::ICMP_SLE : P::ICMP_ULE;
  Value *all = nullptr, *none = nullptr;
  enum { Lt, Le, Gt, Ge, Eq, Ne } kind;
  const ModSet& m = i.ast->mods;
  const auto has = [&](Mod mod) { return m.test(static_cast<size_t>(mod)); };
  if (has(Mod::Lt) || has(Mod::Lo)) {
    kind = Lt;
  } else if (has(Mod::Le) || has(Mod::Ls)) {
    kind = Le;
  } else if (has(Mod::Gt) || has(Mod::Hi)) {
    kind = Gt;
  } else if (has(Mod::Ge) || has(Mod::Hs)) {
    kind = Ge;
  } else if (has(Mod::Eq)) {
    kind = Eq;
  } else if (has(Mod::Ne)) {
    kind = Ne;
  } else {
    return nothing;
  }
  if (swapped) kind = kind == Lt ? Gt : kind == Le ? Ge : kind == Gt ? Lt : kind == Ge ? Le : kind;
  switch (kind) {
    case Lt:
    case Ge:
      all = b_.CreateICmp(lt, high, bound);
      none = b_.CreateICmp(le, bound, low);
      break;
    case Le:
    case Gt:
      all = b_.CreateICmp(le, high, bound);
      none = b_.CreateICmp(lt, bound, low);
      break;
    case Eq:
    case Ne: {
      // Some lane equals only when the bound lies in the range; the exact answer is left to the mask.
      Value* const outside = b_.CreateOr(b_.CreateICmp(lt, bound, low), b_.CreateICmp(lt, high, bound));
      all = kind == Ne ? outside : b_.getFalse();
      none = kind == Eq ? outside : b_.getFalse();
      break;
    }
  }
  if (kind == Gt || kind == Ge) std::swap(all, none);  // the opposites of Le and Lt
  all = b_.CreateAnd(all, straight);
  none = b_.CreateAnd(none, straight);
  return {all, none};
}

Mask Predicates::maskOf(ValueId predicate, bool negated) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* bit = values_.chunkOf(predicate, c);
    out.chunks.push_back(negated ? b_.CreateNot(bit) : bit);
  }
  return out;
}

PartedMask Predicates::partedMaskOf(ValueId predicate, bool negated) {
  const PtxValue& v = program_.values[predicate];
  if (v.kind == PtxValue::Result) {
    const Instruction& i = program_.instructions[v.instruction];
    const bool combines = (i.ast->op == Op::And || i.ast->op == Op::Or) && i.ast->type() == Type::Pred;
    const bool parts = !options_.avx512 && combines && i.guard == kNone;  // registers for masks take a bit in one step
    for (size_t n = 0; parts && n < 2; ++n) {
      const ValueId same = i.sources[n], own = i.sources[1 - n];
      if (!values_.readable(same) || !values_.readable(own)) break;
      if (!program_.values[same].shape.uniform() || program_.values[own].shape.uniform()) continue;
      Value* const bit = b_.CreateFreeze(values_.scalarOf(same));
      return {maskOf(own, i.negated[1 - n] != negated), i.negated[n] != negated ? b_.CreateNot(bit) : bit,
              (i.ast->op == Op::And) != negated};
    }
  }
  return {maskOf(predicate, negated)};
}

Mask Predicates::guardedMask(const Instruction& i) {
  if (i.guard == kNone) return masks_.here;
  return masks_.both(masks_.here, maskOf(i.guard, i.guardNegated));
}

}  // namespace vg::ptx::gen
