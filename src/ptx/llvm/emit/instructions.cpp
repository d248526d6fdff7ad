// One PTX instruction: who emits it, in scalar or vector form, and what a guard does to its results.
#include "ptx/llvm/emit/instructions.h"

#include "ptx/facts/async_form.h"
#include "ptx/facts/matrix_form.h"
#include "ptx/facts/texture_form.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

void Instructions::emitInstruction(const Instruction& i) {
  emission_.present = &i;
  b_.SetCurrentDebugLocation(ptx::rowOf(i.ast->op).has(Trait::MayFault) ? b_.lineAt(i.ast->line) : llvm::DebugLoc());
  teller_.before(i);
  if (isAsync(*i.ast)) {
    async_.emitAsync(i);
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    return;
  }
  switch (i.ast->op) {
    case Op::Ld:
    case Op::Ldu:
      i.sources[0] == kNone ? loads_.emitConversionOfArgument(i) : loads_.emitLoad(i);
      break;
    case Op::St:
      stores_.emitStore(i);
      break;
    case Op::Atom:
    case Op::Red:
      atomics_.emitAtomic(i);
      break;
    case Op::Membar:
    case Op::Fence:
      atomics_.emitFence(i);
      break;
    case Op::Cp:
      copies_.copyAsync(i);
      break;
    default:
      if (isTextureOp(i.ast->op))
        textures_.emitTexture(i);
      else if (isMatrixOp(i.ast->op))
        matrices_.emitMatrix(i);
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

void Instructions::emitPointwise(const Instruction& i) {
  bool vector = false;
  for (ValueId r : i.results) vector |= r != kNone && program_.values[r].shape.varying();
  llvm::SmallVector<Value*, 8> sources(i.sources.size() + (i.carryIn != kNone));
  const auto finishAll = [&](llvm::SmallVectorImpl<Form>& forms) {
    for (size_t r = 0; r < i.results.size(); ++r)
      if (i.results[r] != kNone) values_.finish(i, r, std::move(forms[r]));
  };
  llvm::SmallVector<Form, 2> forms(i.results.size());
  llvm::SmallVector<Value*, 2> results;
  if (vector) {
    for (uint32_t c = 0; c < k_; ++c) {
      for (size_t s = 0; s < i.sources.size(); ++s)
        sources[s] = i.sources[s] == kNone ? nullptr : values_.chunkOf(i.sources[s], c);
      if (i.carryIn != kNone) sources.back() = values_.chunkOf(i.carryIn, c);
      results.clear();
      operations_.compute(i, sources, results);
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
    if (s != kNone && values_.formOf(s).holds) holdsIf(values_.formOf(s).holds);
  const Type type = i.ast->op == Op::Cvt ? i.ast->types[1] : i.ast->type();
  const bool widens =
      i.ast->has(Mod::Wide) || (i.ast->op == Op::Cvt && ptx::bitsOf(i.ast->types[0]) > ptx::bitsOf(i.ast->types[1]));
  const bool mayWrap =
      widens && !i.results.empty() && i.results[0] != kNone && program_.values[i.results[0]].shape.fragile;
  for (uint32_t row = 0; row < std::max(rows, 1u); ++row) {
    // A uniform result of a varying source: any lane will do.
    const auto read = [&](ValueId id) -> Value* {
      if (id == kNone) return nullptr;
      const Form form = values_.formOf(id);
      if (rows || !form.rows.empty()) return values_.rowOfForm(form, row);
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
        holdsIf(widensStraight(b_, b_.asInteger(sources[s], ptx::bitsOf(type)), shape.stride * steps, isSigned(type)));
    }
    results.clear();
    operations_.compute(i, sources, results);
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

bool Instructions::emitWarpOperation(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  switch (ast.op) {
    case Op::Shfl:
      lanes_.emitShuffle(i);
      return true;
    case Op::Vote:
      lanes_.emitVote(i);
      return true;
    case Op::Match:
      lanes_.emitMatch(i);
      return true;
    case Op::Redux:
      lanes_.emitRedux(i);
      return true;
    case Op::Elect:
      lanes_.emitElect(i);
      return true;
    case Op::Fns:
      lanes_.emitFns(i);
      return true;
    case Op::Activemask: {
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = masks_.maskBits(masks_.here);
      values_.finish(i, 0, std::move(form));
      return true;
    }
    case Op::Bar:
    case Op::Barrier:
      barriers_.emitBarrier(i);
      return true;
    case Op::Call:
      syscalls_.emitSyscall(i);
      return true;
    case Op::Invalid:  // a call of what is no function
    case Op::Trap:
      syscalls_.emitTrap(i);
      return true;
    case Op::Alloca:
      stacks_.emitAlloca(i);
      return true;
    case Op::Stacksave:
      stacks_.emitStackSave(i);
      return true;
    case Op::Stackrestore:
      stacks_.emitStackRestore(i);
      return true;
    case Op::Nanosleep: {
      const auto act = [&] {
        const ValueId id = i.sources[0];
        Value* const time = program_.values[id].shape.uniform()
                                ? b_.asInteger(values_.scalarOf(id), 32)
                                : b_.CreateExtractElement(b_.asInteger(values_.chunkOf(id, 0), 32), uint64_t{0});
        runner_.runtimeCall(offsetof(RuntimeCalls, nanosleep), b_.getVoidTy(), {runner_.block, runner_.warp, time});
      };
      i.guard == kNone ? act() : b_.ifTrue(masks_.anyLane(predicates_.guardedMask(i)), act);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace vg::ptx::gen
