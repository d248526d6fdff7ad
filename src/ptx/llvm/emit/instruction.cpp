// One PTX instruction: who emits it, in scalar or vector form, and what a guard does to its results.
#include <llvm/IR/DebugInfoMetadata.h>

#include "ptx/facts/async_form.h"
#include "ptx/facts/matrix_form.h"
#include "ptx/facts/texture_form.h"
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

void Emitter::emitInstruction(const Instruction& i) {
  present_ = &i;
  b_.SetCurrentDebugLocation(ptx::rowOf(i.ast->op).has(Trait::MayFault)
                                 ? llvm::DebugLoc(llvm::DILocation::get(context_, i.ast->line, 0, debugScope_))
                                 : llvm::DebugLoc());
  if (tellsWarp_ == TellsWarp::AtAccesses && !warpTold_ && accessesMemory(i)) {
    tellWarp();
    warpTold_ = true;
  }
  if (isAsync(*i.ast)) {
    emitAsync(i);
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    return;
  }
  switch (i.ast->op) {
    case Op::Ld:
    case Op::Ldu:
      i.sources[0] == kNone ? emitConversionOfArgument(i) : emitLoad(i);
      break;
    case Op::St:
      emitStore(i);
      break;
    case Op::Atom:
    case Op::Red:
      emitAtomic(i);
      break;
    case Op::Membar:
    case Op::Fence:
      emitFence(i);
      break;
    case Op::Cp:
      copyAsync(i);
      break;
    default:
      if (isTextureOp(i.ast->op))
        emitTexture(i);
      else if (isMatrixOp(i.ast->op))
        emitMatrix(i);
      else if (!emitWarpOperation(i))
        emitPointwise(i);
  }
  b_.SetCurrentDebugLocation(llvm::DebugLoc());
}

// Whether the affine form of a narrow value stays right when each lane is widened, the last one `distance` away.
static llvm::Value* widensStraight(llvm::IRBuilder<>& b, llvm::Value* base, int64_t distance, bool isSignedType) {
  llvm::Value* const step =
      llvm::ConstantInt::get(base->getType(), static_cast<uint64_t>(distance < 0 ? -distance : distance));
  const llvm::Intrinsic::ID id =
      isSignedType ? (distance < 0 ? llvm::Intrinsic::ssub_with_overflow : llvm::Intrinsic::sadd_with_overflow)
                   : (distance < 0 ? llvm::Intrinsic::usub_with_overflow : llvm::Intrinsic::uadd_with_overflow);
  llvm::Value* const sum = b.CreateIntrinsic(id, {base->getType()}, {base, step});
  return b.CreateNot(b.CreateExtractValue(sum, 1));
}

void Emitter::emitPointwise(const Instruction& i) {
  bool vector = false;
  for (ValueId r : i.results) vector |= r != kNone && program_.values[r].shape.varying();
  llvm::SmallVector<Value*, 8> sources(i.sources.size() + (i.carryIn != kNone));
  const auto finishAll = [&](llvm::SmallVectorImpl<Form>& forms) {
    for (size_t r = 0; r < i.results.size(); ++r)
      if (i.results[r] != kNone) finish(i, r, std::move(forms[r]));
  };
  llvm::SmallVector<Form, 2> forms(i.results.size());
  llvm::SmallVector<Value*, 2> results;
  if (vector) {
    for (uint32_t c = 0; c < k_; ++c) {
      for (size_t s = 0; s < i.sources.size(); ++s)
        sources[s] = i.sources[s] == kNone ? nullptr : chunkOf(i.sources[s], c);
      if (i.carryIn != kNone) sources.back() = chunkOf(i.carryIn, c);
      results.clear();
      compute(i, sources, results);
      for (size_t r = 0; r < forms.size() && r < results.size(); ++r) {
        forms[r].shape = {Shape::Varying, 0, false};
        forms[r].chunks.push_back(results[r]);
      }
    }
    return finishAll(forms);
  }
  Value* holds = nullptr;
  const auto holdsIf = [&](Value* condition) { holds = holds ? b_.CreateAnd(holds, condition) : condition; };
  uint32_t rows = 0;
  for (ValueId r : i.results)
    if (r != kNone && program_.values[r].shape.rows()) rows = std::max(rows, rowsIn(program_.values[r].shape));
  for (ValueId s : i.sources)
    if (s != kNone && formOf(s).holds) holdsIf(formOf(s).holds);
  const Type type = i.ast->op == Op::Cvt ? i.ast->types[1] : i.ast->type();
  const bool widens =
      i.ast->has(Mod::Wide) || (i.ast->op == Op::Cvt && ptx::bitsOf(i.ast->types[0]) > ptx::bitsOf(i.ast->types[1]));
  const bool mayWrap =
      widens && !i.results.empty() && i.results[0] != kNone && program_.values[i.results[0]].shape.fragile;
  for (uint32_t row = 0; row < std::max(rows, 1u); ++row) {
    // A uniform result of a varying source: any lane will do.
    const auto read = [&](ValueId id) -> Value* {
      if (id == kNone) return nullptr;
      const Form form = formOf(id);
      if (rows || !form.rows.empty()) return rowOfForm(form, row);
      return form.scalar ? form.scalar : b_.CreateExtractElement(form.chunks[0], uint64_t{0});
    };
    for (size_t s = 0; s < i.sources.size(); ++s) sources[s] = read(i.sources[s]);
    if (i.carryIn != kNone) sources.back() = read(i.carryIn);
    // Widening an affine value: it may wrap between two lanes.
    const size_t factors = !mayWrap ? 0 : i.ast->op == Op::Cvt ? 1 : 2;
    for (size_t s = 0; s < factors; ++s) {
      const Shape shape = program_.values[i.sources[s]].shape;
      if (!shape.straight()) continue;
      const int64_t steps = shape.rows() ? rowLanes_ - 1 : kWarpSize - 1;
      // An affine one is straight from its first row to its last.
      if (shape.rows() || !row)
        holdsIf(widensStraight(b_, asInteger(sources[s], ptx::bitsOf(type)), shape.stride * steps, isSigned(type)));
    }
    results.clear();
    compute(i, sources, results);
    // %tid.x & 31 is the lane: lane 0's is known, and masks made of it become constants.
    if (i.ast->op == Op::And && i.results[0] != kNone && program_.values[i.results[0]].shape.affine())
      results[0] = llvm::Constant::getNullValue(results[0]->getType());
    for (size_t r = 0; r < forms.size() && r < results.size(); ++r) {
      if (rows)
        forms[r].rows.push_back(results[r]);
      else
        forms[r].scalar = results[r];
    }
  }
  for (size_t r = 0; r < forms.size(); ++r) {
    if (i.results[r] == kNone) continue;
    forms[r].shape = program_.values[i.results[r]].shape;
    if (forms[r].shape.fragile) forms[r].holds = holds ? holds : b_.getTrue();
  }
  finishAll(forms);
}

void Emitter::finish(const Instruction& i, size_t result, Form form) {
  const ValueId id = i.results[result];
  const auto& v = program_.values[id];
  const uint32_t bits = bitsOf(v.type);
  const auto fit = [&](Value* x) {
    const uint32_t have = x->getType()->getScalarSizeInBits();
    if (have == bits) return x;
    return extend(asInteger(x, have), bits, isSigned(i.ast->type()));
  };
  if (v.shape.varying() && form.chunks.empty()) {
    Chunks chunks;
    for (uint32_t c = 0; c < k_; ++c) chunks.push_back(chunkOfForm(form, c));
    form.chunks = std::move(chunks);
    form.scalar = nullptr;
    form.rows.clear();
  }
  if (v.shape.rows() && form.rows.size() != rowsIn(v.shape)) {
    Chunks rows;
    for (uint32_t r = 0; r < rowsIn(v.shape); ++r) rows.push_back(rowOfForm(form, r));
    form.rows = std::move(rows);
    form.scalar = nullptr;
  }
  form.shape = v.shape;
  if (form.scalar) form.scalar = fit(form.scalar);
  for (Value*& row : form.rows) row = fit(row);
  for (Value*& chunk : form.chunks) chunk = fit(chunk);
  if (i.guard != kNone && i.old[result] != kNone) {
    const auto cast = [&](Value* x, Value* to) {
      if (x->getType() == to->getType()) return x;
      LType* const element = to->getType()->getScalarType();
      return element->isFloatingPointTy() ? asFloat(x, element) : asInteger(x, element->getScalarSizeInBits());
    };
    if (form.scalar) {
      Value* guard = scalarOf(i.guard);
      if (i.guardNegated) guard = b_.CreateNot(guard);
      form.scalar = b_.CreateSelect(guard, form.scalar, cast(scalarOf(i.old[result]), form.scalar));
    } else if (v.shape.rows()) {
      for (uint32_t r = 0; r < form.rows.size(); ++r) {
        Value* guard = rowOf(i.guard, r);
        if (i.guardNegated) guard = b_.CreateNot(guard);
        form.rows[r] = b_.CreateSelect(guard, form.rows[r], cast(rowOf(i.old[result], r), form.rows[r]));
      }
    } else {
      for (uint32_t c = 0; c < k_; ++c) {
        Value* guard = chunkOf(i.guard, c);
        if (i.guardNegated) guard = b_.CreateNot(guard);
        form.chunks[c] = b_.CreateSelect(guard, form.chunks[c], cast(chunkOf(i.old[result], c), form.chunks[c]));
      }
    }
  }
  define(id, std::move(form));
}

// Negated predicate operands (`!p`) are turned around before anything looks at them.
void Emitter::compute(const Instruction& i, llvm::ArrayRef<Value*> sourcesIn, llvm::SmallVectorImpl<Value*>& results) {
  llvm::SmallVector<Value*, 8> s(sourcesIn.begin(), sourcesIn.end());
  for (size_t n = 0; n < i.negated.size(); ++n)
    if (i.negated[n] && s[n] && i.ast->op != Op::Vmad) s[n] = b_.CreateNot(asType(s[n], Type::Pred));
  if (i.ast->op == Op::Cvt) return computeConvert(i, s, results);
  if (computePredicate(i, s, results) || computeMove(i, s, results) || computeCluster(i, s, results) ||
      computeFloat(i, s, results) || computeVideo(i, s, results) || computeInteger(i, s, results))
    return;
  unsupported(i);
}

}  // namespace vg::ptx::gen
