// Arithmetic in directed rounding modes.
#include "ptx/llvm/compute/float_pieces.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>

#include "ptx/llvm/emit/processor.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
namespace Intrinsic = llvm::Intrinsic;

namespace {
// As instructions of AVX-512 name roundings; their lower bits are those of MXCSR.
enum : int { kDown = 9, kUp = 10, kToZero = 11 };
}  // namespace

// The operation of an instruction in another rounding than its own; for what has a rounding at all.
llvm::Value* FloatPieces::directedOperation(const Instruction& i, ArrayRef<Value*> s, int mode) {
  const Op op = i.ast->op == Op::Mad ? Op::Fma : i.ast->op;
  if (op == Op::Rcp) return rounded(i, Op::Div, {b_.real(s[0], s[0]->getType()->getScalarType(), 1.0), s[0]}, mode);
  return rounded(i, op, s, mode);
}

llvm::Value* FloatPieces::rounded(const Instruction& i, Op op, ArrayRef<Value*> s, int mode) {
  if (!mode) mode = i.ast->has(Mod::Rm) ? kDown : i.ast->has(Mod::Rp) ? kUp : kToZero;
  if (options_.avx512) return roundedByOperand(op, s, mode);
  const bool single = s[0]->getType()->getScalarType()->isFloatTy();
  if (!single || (op != Op::Fma && !options_.fma)) return roundedByProcessor(op, s, static_cast<uint32_t>(mode) & 3);
  return roundedInDoubles(op, s, mode);
}

// With AVX-512, whose instructions name a rounding: in whole registers of 512 bits.
llvm::Value* FloatPieces::roundedByOperand(Op op, ArrayRef<Value*> s, int mode) {
  LType* const element = s[0]->getType()->getScalarType();
  const uint32_t lanes = element->isFloatTy() ? 16 : 8;
  const auto once = [&](ArrayRef<Value*> v) { return roundedRegister(op, v, mode); };
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(s[0]->getType());
  const uint32_t have = vector ? vector->getNumElements() : 1;
  auto* type = llvm::FixedVectorType::get(element, lanes);
  llvm::SmallVector<Value*, 3> v;
  if (!vector) {
    for (Value* x : s) v.push_back(b_.CreateInsertElement(llvm::Constant::getNullValue(type), x, uint64_t{0}));
    return b_.CreateExtractElement(once(v), uint64_t{0});
  }
  if (have == lanes) return once(s);
  if (have > lanes) {
    Value* parts[2];
    for (uint32_t n = 0; n < 2; ++n) {
      v.clear();
      for (Value* x : s) v.push_back(b_.slice(x, n * lanes, lanes));
      parts[n] = once(v);
    }
    return b_.concat(parts[0], parts[1]);
  }
  for (Value* x : s) v.push_back(b_.concat(x, llvm::Constant::getNullValue(x->getType())));
  return b_.slice(once(v), 0, have);
}

llvm::Value* FloatPieces::roundedRegister(Op op, ArrayRef<Value*> v, int mode) {
  const bool single = v[0]->getType()->getScalarType()->isFloatTy();
  const auto call = [&](Intrinsic::ID ofSingles, Intrinsic::ID ofDoubles) -> Value* {
    llvm::SmallVector<Value*, 4> operands(v.begin(), v.end());
    operands.push_back(b_.getInt32(static_cast<uint32_t>(mode)));
    return b_.callIntrinsic(single ? ofSingles : ofDoubles, {}, operands);
  };
  switch (op) {
    case Op::Add:
      return call(Intrinsic::x86_avx512_add_ps_512, Intrinsic::x86_avx512_add_pd_512);
    case Op::Sub:
      return call(Intrinsic::x86_avx512_sub_ps_512, Intrinsic::x86_avx512_sub_pd_512);
    case Op::Mul:
      return call(Intrinsic::x86_avx512_mul_ps_512, Intrinsic::x86_avx512_mul_pd_512);
    case Op::Div:
      return call(Intrinsic::x86_avx512_div_ps_512, Intrinsic::x86_avx512_div_pd_512);
    case Op::Fma:
      return call(Intrinsic::x86_avx512_vfmadd_ps_512, Intrinsic::x86_avx512_vfmadd_pd_512);
    default:
      return call(Intrinsic::x86_avx512_sqrt_ps_512, Intrinsic::x86_avx512_sqrt_pd_512);
  }
}

// f32 in doubles: the result to nearest and the sign of what it misses decide whether to step by one.
llvm::Value* FloatPieces::roundedInDoubles(Op op, ArrayRef<Value*> s, int mode) {
  LType* const wide = b_.like(s[0], b_.getDoubleTy());
  llvm::SmallVector<Value*, 3> d;
  for (Value* x : s) d.push_back(b_.CreateFPExt(x, wide));
  Value* const zero = b_.real(d[0], b_.getDoubleTy(), 0.0);
  const auto [sum, error] = inDoubles(op, d);
  Value* const nearest = b_.CreateFPTrunc(sum, s[0]->getType());
  // Positive when the exact result lies above `nearest`.
  Value* const miss = b_.CreateFSub(sum, b_.CreateFPExt(nearest, wide));
  Value* const above = b_.CreateOr(b_.CreateFCmpOGT(miss, zero),
                                   b_.CreateAnd(b_.CreateFCmpOEQ(miss, zero), b_.CreateFCmpOGT(error, zero)));
  Value* const below = b_.CreateOr(b_.CreateFCmpOLT(miss, zero),
                                   b_.CreateAnd(b_.CreateFCmpOEQ(miss, zero), b_.CreateFCmpOLT(error, zero)));
  Value* const finite = b_.CreateFCmpOLT(absolute(sum), b_.real(sum, b_.getDoubleTy(), HUGE_VAL));
  Value* const bits = b_.asInteger(nearest, 32);
  const auto n32 = [&](uint64_t v) { return b_.number(bits, b_.getInt32Ty(), v); };
  Value* const isZero = b_.CreateFCmpOEQ(nearest, b_.real(nearest, b_.getFloatTy(), 0.0));
  Value* const negative = b_.CreateICmpSLT(bits, n32(0));
  Value* const down = b_.CreateSelect(
      isZero, n32(0x80000001u), b_.CreateSelect(negative, b_.CreateAdd(bits, n32(1)), b_.CreateSub(bits, n32(1))));
  Value* const up = b_.CreateSelect(isZero, n32(1),
                                    b_.CreateSelect(negative, b_.CreateSub(bits, n32(1)), b_.CreateAdd(bits, n32(1))));
  Value* out = nullptr;
  if (mode == kDown) {
    out = b_.CreateSelect(b_.CreateAnd(below, finite), down, bits);
    if (op == Op::Add || op == Op::Sub || op == Op::Fma) out = negativeWhereCancelled(op, d, sum, out);
  } else if (mode == kUp) {
    out = b_.CreateSelect(b_.CreateAnd(above, finite), up, bits);
    // From below zero upwards the result is -0, not +0.
    Value* const toZero = b_.CreateAnd(b_.CreateFCmpOLT(sum, zero), b_.CreateICmpEQ(out, n32(0)));
    out = b_.CreateSelect(toZero, n32(0x80000000u), out);
  } else {
    Value* const sumNegative = b_.CreateFCmpOLT(sum, zero);
    Value* const away = b_.CreateSelect(sumNegative, above, below);
    Value* const step = b_.CreateAnd(b_.CreateAnd(away, finite), b_.CreateNot(isZero));
    out = b_.CreateSelect(step, b_.CreateSub(bits, n32(1)), bits);
  }
  return b_.asFloat(out, b_.getFloatTy());
}

// An operation on f32 in doubles, and what has the sign of its error.
FloatPieces::WithError FloatPieces::inDoubles(Op op, ArrayRef<Value*> d) {
  Value* const zero = b_.real(d[0], b_.getDoubleTy(), 0.0);
  switch (op) {
    case Op::Add:
      return twoSum(d[0], d[1]);
    case Op::Sub:
      return twoSum(d[0], b_.CreateFNeg(d[1]));
    case Op::Mul:
      return {b_.CreateFMul(d[0], d[1]), zero};
    case Op::Fma:
      return twoSum(b_.CreateFMul(d[0], d[1]), d[2]);
    case Op::Div: {
      Value* const quotient = b_.CreateFDiv(d[0], d[1]);
      Value* const rest = b_.intrinsic(Intrinsic::fma, {b_.CreateFNeg(quotient), d[1], d[0]});
      return {quotient, b_.CreateSelect(b_.CreateFCmpOLT(d[1], zero), b_.CreateFNeg(rest), rest)};
    }
    default: {
      Value* const root = b_.intrinsic(Intrinsic::sqrt, {d[0]});
      return {root, b_.intrinsic(Intrinsic::fma, {b_.CreateFNeg(root), root, d[0]})};
    }
  }
}

FloatPieces::WithError FloatPieces::twoSum(Value* a, Value* b) {
  Value* const sum = b_.CreateFAdd(a, b);
  Value* const part = b_.CreateFSub(sum, a);
  return {sum, b_.CreateFAdd(b_.CreateFSub(a, b_.CreateFSub(sum, part)), b_.CreateFSub(b, part))};
}

// A sum that cancels exactly is -0 when rounding down.
llvm::Value* FloatPieces::negativeWhereCancelled(Op op, ArrayRef<Value*> d, Value* sum, Value* bits) {
  Value* const a = op == Op::Fma ? b_.CreateFMul(d[0], d[1]) : d[0];
  Value* const c = op == Op::Fma ? d[2] : op == Op::Sub ? b_.CreateFNeg(d[1]) : d[1];
  Value* const opposite =
      b_.CreateICmpSLT(b_.CreateXor(b_.asInteger(a, 64), b_.asInteger(c, 64)), b_.number(a, b_.getInt64Ty(), 0));
  Value* const cancels = b_.CreateAnd(b_.CreateFCmpOEQ(sum, b_.real(d[0], b_.getDoubleTy(), 0.0)), opposite);
  return b_.CreateSelect(cancels, b_.number(bits, b_.getInt32Ty(), 0x80000000u), bits);
}

// By a function of the module that sets the processor's rounding for one operation: 1 down, 2 up, 3 to zero. It stands
// apart so that nothing else of the kernel is moved to where the rounding is another one. Products and sums in f64 that
// the processor cannot do at once are the runner's, 0 to nearest among them.
llvm::Value* FloatPieces::roundedByProcessor(Op op, ArrayRef<Value*> s, uint32_t rounding) {
  if (op == Op::Fma && !options_.fma) return fusedByRunner(s, rounding);
  LType* const type = s[0]->getType();
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const std::string name = "vg_rounded_" + std::to_string(static_cast<int>(op)) + "_" + std::to_string(rounding) + "_" +
                           std::to_string(type->getScalarSizeInBits()) + "x" +
                           std::to_string(vector ? vector->getNumElements() : 1);
  llvm::Function* f = module_.getFunction(name);
  if (!f) {
    const llvm::SmallVector<LType*, 3> parameters(s.size(), type);
    f = llvm::Function::Create(llvm::FunctionType::get(type, parameters, false), llvm::GlobalValue::InternalLinkage,
                               name, module_);
    f->copyAttributesFrom(b_.function);
    f->setDSOLocal(true);  // as nothing outside calls it
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr(llvm::Attribute::StrictFP);
    fillRounded(*f, op, rounding);
  }
  return b_.CreateCall(f, s);
}

llvm::Value* FloatPieces::fusedByRunner(ArrayRef<Value*> s, uint32_t rounding) {
  constexpr uint32_t kMost = 8, kOperands = 7, kResults = 8;  // lanes a call; scratch arrays of nobody else
  const auto* const chunk = llvm::dyn_cast<llvm::FixedVectorType>(s[0]->getType());
  const uint32_t lanes = chunk ? chunk->getNumElements() : 1;
  const auto part = [&](uint32_t first) {
    llvm::SmallVector<Value*, 3> parts;
    for (Value* x : s) parts.push_back(b_.slice(x, first, lanes / 2));
    return fusedByRunner(parts, rounding);
  };
  if (lanes > kMost) {
    Value* const low = part(0);
    return b_.concat(low, part(lanes / 2));
  }
  auto *const operands = b_.scratch(kOperands), *const results = b_.scratch(kResults);
  for (uint32_t n = 0; n < 3; ++n)
    b_.CreateAlignedStore(s[n], b_.CreateConstInBoundsGEP1_64(b_.getDoubleTy(), operands, n * lanes), llvm::Align(8));
  runner_.runtimeCall(offsetof(RuntimeCalls, fusedMultiplyAdd), b_.getVoidTy(),
                      {b_.getInt32(lanes), b_.getInt32(rounding), operands, results});
  return b_.CreateAlignedLoad(s[0]->getType(), results, llvm::Align(8));
}

namespace {

// Changes the rounding to 1 down, 2 up, 3 to zero, and back. Kernels begin with rounding to nearest.
class RoundingChange {
 public:
  RoundingChange(llvm::IRBuilder<>& b, uint32_t rounding, bool arm) : b_(b), arm_(arm) {
    arm ? setOnArm(rounding == 3 ? 0 : 4 - rounding) : setOnX86(rounding);
  }
  RoundingChange(const RoundingChange&) = delete;
  void undo() {
    if (arm_) return setOnArm(1);
    b_.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {}, {kept_});
  }

 private:
  void setOnX86(uint32_t rounding) {
    constexpr uint32_t kRoundingAt = 13;  // in MXCSR
    llvm::Type* const word = b_.getInt32Ty();
    kept_ = b_.CreateAlloca(word);
    llvm::Value* const wanted = b_.CreateAlloca(word);
    b_.CreateIntrinsic(Intrinsic::x86_sse_stmxcsr, {}, {kept_});
    llvm::Value* const others = b_.CreateAnd(b_.CreateLoad(word, kept_), ~(uint64_t{3} << kRoundingAt) & 0xffffffffu);
    b_.CreateStore(b_.CreateOr(others, uint64_t{rounding} << kRoundingAt), wanted);
    b_.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {}, {wanted});
  }
  // Numbered as by FLT_ROUNDS: 0 to zero, 1 to nearest, 2 up, 3 down.
  void setOnArm(uint32_t rounding) { b_.CreateIntrinsic(Intrinsic::set_rounding, {}, {b_.getInt32(rounding)}); }

  llvm::IRBuilder<>& b_;
  const bool arm_;
  llvm::Value* kept_ = nullptr;
};

}  // namespace

// One operation between two changes of the processor's rounding.
void FloatPieces::fillRounded(llvm::Function& f, Op op, uint32_t rounding) {
  llvm::IRBuilder<> b(BB::Create(context_, "entry", &f));
  b.setIsFPConstrained(true);
  b.setDefaultConstrainedRounding(llvm::RoundingMode::Dynamic);
  b.setDefaultConstrainedExcept(llvm::fp::ebStrict);
  RoundingChange change(b, rounding, isArm(options_));
  const auto v = [&](unsigned n) -> Value* { return f.getArg(n); };
  const auto constrained = [&](Intrinsic::ID id, ArrayRef<Value*> operands) {
    return b.CreateConstrainedFPCall(Intrinsic::getDeclaration(&module_, id, {f.getReturnType()}), operands);
  };
  Value* out;
  switch (op) {
    case Op::Add:
      out = b.CreateFAdd(v(0), v(1));
      break;
    case Op::Sub:
      out = b.CreateFSub(v(0), v(1));
      break;
    case Op::Mul:
      out = b.CreateFMul(v(0), v(1));
      break;
    case Op::Div:
      out = b.CreateFDiv(v(0), v(1));
      break;
    case Op::Fma:
      out = constrained(Intrinsic::experimental_constrained_fma, {v(0), v(1), v(2)});
      break;
    default:
      out = constrained(Intrinsic::experimental_constrained_sqrt, {v(0)});
  }
  change.undo();
  b.CreateRet(out);
}

}  // namespace vg::ptx::gen
