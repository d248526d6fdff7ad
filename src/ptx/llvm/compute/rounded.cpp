// Arithmetic in directed rounding modes.
#include "ptx/llvm/compute/float_pieces.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
namespace Intrinsic = llvm::Intrinsic;

// --- Directed rounding ---------------------------------------------------------------------------------------------

// The operation of an instruction in another rounding than its own; for what has a rounding at all.
llvm::Value* FloatPieces::directedOperation(const Instruction& i, ArrayRef<Value*> s, int mode) {
  const Op op = i.ast->op == Op::Mad ? Op::Fma : i.ast->op;
  if (op == Op::Rcp) return rounded(i, Op::Div, {b_.real(s[0], s[0]->getType()->getScalarType(), 1.0), s[0]}, mode);
  return rounded(i, op, s, mode);
}

llvm::Value* FloatPieces::rounded(const Instruction& i, Op op, ArrayRef<Value*> s, int mode) {
  if (!mode) mode = i.ast->has(Mod::Rm) ? 9 : i.ast->has(Mod::Rp) ? 10 : 11;
  LType* const element = s[0]->getType()->getScalarType();
  const bool single = element->isFloatTy();
  if (options_.avx512) {
    const uint32_t lanes = single ? 16 : 8;
    const auto once = [&](ArrayRef<Value*> v) -> Value* {
      Value* const imm = b_.getInt32(static_cast<uint32_t>(mode));
      switch (op) {
        case Op::Add:
          return b_.callIntrinsic(single ? Intrinsic::x86_avx512_add_ps_512 : Intrinsic::x86_avx512_add_pd_512, {},
                                  {v[0], v[1], imm});
        case Op::Sub:
          return b_.callIntrinsic(single ? Intrinsic::x86_avx512_sub_ps_512 : Intrinsic::x86_avx512_sub_pd_512, {},
                                  {v[0], v[1], imm});
        case Op::Mul:
          return b_.callIntrinsic(single ? Intrinsic::x86_avx512_mul_ps_512 : Intrinsic::x86_avx512_mul_pd_512, {},
                                  {v[0], v[1], imm});
        case Op::Div:
          return b_.callIntrinsic(single ? Intrinsic::x86_avx512_div_ps_512 : Intrinsic::x86_avx512_div_pd_512, {},
                                  {v[0], v[1], imm});
        case Op::Fma:
          return b_.callIntrinsic(single ? Intrinsic::x86_avx512_vfmadd_ps_512 : Intrinsic::x86_avx512_vfmadd_pd_512,
                                  {}, {v[0], v[1], v[2], imm});
        default:
          return b_.callIntrinsic(single ? Intrinsic::x86_avx512_sqrt_ps_512 : Intrinsic::x86_avx512_sqrt_pd_512, {},
                                  {v[0], imm});
      }
    };
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
  if (!single || (op != Op::Fma && !options_.fma)) return roundedByProcessor(op, s, static_cast<uint32_t>(mode) & 3);
  // In doubles: the result to nearest and the sign of what it misses decide whether to step by one.
  LType* const wide = b_.like(s[0], b_.getDoubleTy());
  llvm::SmallVector<Value*, 3> d;
  for (Value* x : s) d.push_back(b_.CreateFPExt(x, wide));
  Value* zero = b_.real(d[0], b_.getDoubleTy(), 0.0);
  Value *sum = nullptr, *error = zero;
  const auto twoSum = [&](Value* a, Value* c) {
    sum = b_.CreateFAdd(a, c);
    Value* const part = b_.CreateFSub(sum, a);
    error = b_.CreateFAdd(b_.CreateFSub(a, b_.CreateFSub(sum, part)), b_.CreateFSub(c, part));
  };
  switch (op) {
    case Op::Add:
      twoSum(d[0], d[1]);
      break;
    case Op::Sub:
      twoSum(d[0], b_.CreateFNeg(d[1]));
      break;
    case Op::Mul:
      sum = b_.CreateFMul(d[0], d[1]);
      break;
    case Op::Fma:
      twoSum(b_.CreateFMul(d[0], d[1]), d[2]);
      break;
    case Op::Div: {
      sum = b_.CreateFDiv(d[0], d[1]);
      Value* const rest = b_.intrinsic(Intrinsic::fma, {b_.CreateFNeg(sum), d[1], d[0]});
      error = b_.CreateSelect(b_.CreateFCmpOLT(d[1], zero), b_.CreateFNeg(rest), rest);
      break;
    }
    default: {
      sum = b_.intrinsic(Intrinsic::sqrt, {d[0]});
      error = b_.intrinsic(Intrinsic::fma, {b_.CreateFNeg(sum), sum, d[0]});
      break;
    }
  }
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
  Value* out = bits;
  if (mode == 9) {
    out = b_.CreateSelect(b_.CreateAnd(below, finite), down, bits);
    // A sum that cancels exactly is -0 when rounding down.
    if (op == Op::Add || op == Op::Sub || op == Op::Fma) {
      Value* const a = op == Op::Fma ? b_.CreateFMul(d[0], d[1]) : d[0];
      Value* const c = op == Op::Fma ? d[2] : op == Op::Sub ? b_.CreateFNeg(d[1]) : d[1];
      Value* const opposite =
          b_.CreateICmpSLT(b_.CreateXor(b_.asInteger(a, 64), b_.asInteger(c, 64)), b_.number(a, b_.getInt64Ty(), 0));
      Value* const cancels = b_.CreateAnd(b_.CreateFCmpOEQ(sum, zero), opposite);
      out = b_.CreateSelect(cancels, n32(0x80000000u), out);
    }
  } else if (mode == 10) {
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

// By a function of the module that sets the processor's rounding for one operation: 1 down, 2 up, 3 to zero. It stands
// apart so that nothing else of the kernel is moved to where the rounding is another one. Products and sums in f64 that
// the processor cannot do at once are the runner's, 0 to nearest among them.
llvm::Value* FloatPieces::roundedByProcessor(Op op, ArrayRef<Value*> s, uint32_t rounding) {
  if (op == Op::Fma && !options_.fma) {
    constexpr uint32_t kMost = 8, kOperands = 7, kResults = 8;  // lanes a call; scratch arrays of nobody else
    const auto* const chunk = llvm::dyn_cast<llvm::FixedVectorType>(s[0]->getType());
    const uint32_t lanes = chunk ? chunk->getNumElements() : 1;
    const auto part = [&](uint32_t first) {
      llvm::SmallVector<Value*, 3> parts;
      for (Value* x : s) parts.push_back(b_.slice(x, first, lanes / 2));
      return roundedByProcessor(op, parts, rounding);
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
  constexpr uint32_t kRoundingAt = 13;  // in MXCSR
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
    llvm::IRBuilder<> b(BB::Create(context_, "entry", f));
    b.setIsFPConstrained(true);
    b.setDefaultConstrainedRounding(llvm::RoundingMode::Dynamic);
    b.setDefaultConstrainedExcept(llvm::fp::ebStrict);
    LType* const word = b.getInt32Ty();
    Value* const kept = b.CreateAlloca(word);
    Value* const wanted = b.CreateAlloca(word);
    b.CreateIntrinsic(Intrinsic::x86_sse_stmxcsr, {}, {kept});
    Value* const others = b.CreateAnd(b.CreateLoad(word, kept), ~(uint64_t{3} << kRoundingAt) & 0xffffffffu);
    b.CreateStore(b.CreateOr(others, uint64_t{rounding} << kRoundingAt), wanted);
    b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {}, {wanted});
    const auto v = [&](unsigned n) -> Value* { return f->getArg(n); };
    const auto constrained = [&](Intrinsic::ID id) { return Intrinsic::getDeclaration(&module_, id, {type}); };
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
        out = b.CreateConstrainedFPCall(constrained(Intrinsic::experimental_constrained_fma), {v(0), v(1), v(2)});
        break;
      default:
        out = b.CreateConstrainedFPCall(constrained(Intrinsic::experimental_constrained_sqrt), {v(0)});
    }
    b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {}, {kept});
    b.CreateRet(out);
  }
  return b_.CreateCall(f, s);
}

}  // namespace vg::ptx::gen
