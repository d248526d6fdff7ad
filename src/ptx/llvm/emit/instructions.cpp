// One PTX instruction: who emits it, in scalar or vector form, and what a guard does to its results.
#include "ptx/llvm/emit/instructions.h"

#include "ptx/abi/kernel_blob.h"
#include "ptx/facts/async_form.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

void Instructions::emitInstruction(const Instruction& i) {
  emission_.present = &i;
  const Opcode& row = ptx::rowOf(i.ast->op);
  const bool described = b_.function->hasFnAttribute("frame-pointer");  // for debuggers
  const bool told = row.has(Trait::MayFault) || described;
  // What notes a place comes before its first instruction.
  const uint32_t line = kept::notes(*i.ast, *i.function) ? i.ast->line | kNoted : i.ast->line;
  b_.SetCurrentDebugLocation(told ? b_.lineAt(line) : llvm::DebugLoc());
  teller_.before(i);
  meetings_.before(i);
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
      if (row.has(Trait::Texture))
        textures_.emitTexture(i);
      else if (row.has(Trait::Matrix))
        matrices_.emitMatrix(i);
      else if (!emitWarpOperation(i))
        emitPointwise(i);
  }
  meetings_.after(i);
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
  llvm::SmallVector<Form, 2> forms(i.results.size());
  vector ? computeVectors(i, forms) : computeScalars(i, forms);
  for (size_t r = 0; r < i.results.size(); ++r)
    if (i.results[r] != kNone) values_.finish(i, r, std::move(forms[r]));
}

// The sources of an instruction, and the carry behind them.
Instructions::Scalars Instructions::sourcesOf(const Instruction& i, llvm::function_ref<Value*(ValueId)> read) {
  Scalars sources;
  for (ValueId s : i.sources) sources.push_back(s == kNone ? nullptr : read(s));
  if (i.carryIn != kNone) sources.push_back(read(i.carryIn));
  return sources;
}

void Instructions::computeVectors(const Instruction& i, llvm::SmallVectorImpl<Form>& forms) {
  for (uint32_t c = 0; c < k_; ++c) {
    const Scalars sources = sourcesOf(i, [&](ValueId id) { return values_.chunkOf(id, c); });
    llvm::SmallVector<Value*, 2> results;
    operations_.compute(i, sources, results);
    for (size_t r = 0; r < forms.size() && r < results.size(); ++r) {
      forms[r].shape = {Shape::Varying, 0, false};
      forms[r].chunks.push_back(results[r]);
    }
  }
}

// Widening an affine value: it may wrap between two lanes, and then the result's form is not right.
void Instructions::testWidening(const Instruction& i, uint32_t row, const Scalars& sources, Value*& holds) {
  const bool converts = i.ast->op == Op::Cvt;
  const Type type = converts ? i.ast->types[1] : i.ast->type();
  const bool widens = i.ast->has(Mod::Wide) || (converts && ptx::bitsOf(i.ast->types[0]) > ptx::bitsOf(type));
  if (!widens || i.results.empty() || i.results[0] == kNone || !program_.values[i.results[0]].shape.fragile) return;
  for (size_t s = 0; s < (converts ? 1u : 2u); ++s) {
    const Shape shape = program_.values[i.sources[s]].shape;
    // An affine one is straight from its first row to its last.
    if (!shape.straight() || (row && !shape.rows())) continue;
    const int64_t steps = shape.rows() ? rowLanes_ - 1 : kWarpSize - 1;
    Value* const first = b_.asInteger(sources[s], ptx::bitsOf(type));
    Value* const straight = widensStraight(b_, first, shape.stride * steps, isSigned(type));
    holds = holds ? b_.CreateAnd(holds, straight) : straight;
  }
}

void Instructions::computeScalars(const Instruction& i, llvm::SmallVectorImpl<Form>& forms) {
  uint32_t rows = 0;
  for (ValueId r : i.results)
    if (r != kNone && program_.values[r].shape.rows()) rows = std::max(rows, rowsIn(program_.values[r].shape));
  Value* holds = nullptr;
  for (ValueId s : i.sources)
    if (Value* const other = s == kNone ? nullptr : values_.formOf(s).holds)
      holds = holds ? b_.CreateAnd(holds, other) : other;
  for (uint32_t row = 0; row < std::max(rows, 1u); ++row) {
    // A uniform result of a varying source: any lane will do.
    const Scalars sources = sourcesOf(i, [&](ValueId id) -> Value* {
      const Form form = values_.formOf(id);
      if (rows || !form.rows.empty()) return values_.rowOfForm(form, row);
      return form.scalar ? form.scalar : b_.CreateExtractElement(form.chunks[0], uint64_t{0});
    });
    testWidening(i, row, sources, holds);
    llvm::SmallVector<Value*, 2> results;
    operations_.compute(i, sources, results);
    // %tid.x & 31 is the lane: lane 0's is known, and masks made of it become constants.
    const bool isAffine = i.ast->op == Op::And && i.results[0] != kNone && program_.values[i.results[0]].shape.affine();
    if (isAffine && program_.values[i.sources[1]].bits == kWarpSize - 1)
      results[0] = llvm::Constant::getNullValue(results[0]->getType());
    for (size_t r = 0; r < forms.size() && r < results.size(); ++r)
      rows ? forms[r].rows.push_back(results[r]) : void(forms[r].scalar = results[r]);
  }
  for (size_t r = 0; r < forms.size(); ++r) {
    if (i.results[r] == kNone) continue;
    forms[r].shape = program_.values[i.results[r]].shape;
    if (forms[r].shape.fragile) forms[r].holds = holds ? holds : b_.getTrue();
  }
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
    case Op::Activemask:
      lanes_.emitActiveMask(i);
      return true;
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
    case Op::Pmevent:
      kept::keeps(*i.ast) ? kept_.emit(i) : counts_.emitCount(i);
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
    case Op::Nanosleep:
      syscalls_.emitNanosleep(i);
      return true;
    default:
      return false;
  }
}

}  // namespace vg::ptx::gen
