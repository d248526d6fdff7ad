// Floating-point instructions. No fast-math flag is ever set: what PTX fuses or approximates is said by its opcode.

#include <cmath>

#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;
using P = llvm::CmpInst::Predicate;

static bool isHalf(Type t) { return t == Type::F16 || t == Type::BF16; }
static bool isHalfPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }

bool Emitter::computeFloat(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const Type type = i.ast->type();
  if (!ptx::isFloat(type) && !isHalfPair(type)) {
    // f16 and bf16 also come as .b16 with min, max, neg, abs; those are integer then.
    return false;
  }
  if (type == Type::F32x2) {
    Value* out = nullptr;
    for (uint32_t n = 0; n < 2; ++n) {
      llvm::SmallVector<Value*, 3> part;
      for (Value* v : s) {
        Value* const wide = asInteger(v, 64);
        part.push_back(
            asFloat(asInteger(n ? b_.CreateLShr(wide, number(wide, b_.getInt64Ty(), 32)) : wide, 32), b_.getFloatTy()));
      }
      Value* const v = asInteger(asInteger(floatOperation(i, Type::F32, part), 32), 64);
      out = out ? b_.CreateOr(out, b_.CreateShl(v, number(v, b_.getInt64Ty(), 32))) : v;
    }
    r.push_back(out);
    return true;
  }
  if (isHalfPair(type)) {
    const Type half = type == Type::F16x2 ? Type::F16 : Type::BF16;
    Value* out = nullptr;
    for (uint32_t n = 0; n < 2; ++n) {
      llvm::SmallVector<Value*, 3> part;
      for (Value* v : s) {
        Value* const wide = asInteger(v, 32);
        part.push_back(asInteger(n ? b_.CreateLShr(wide, number(wide, b_.getInt32Ty(), 16)) : wide, 16));
      }
      Value* const v = asInteger(halfOperation(i, half, part), 32);
      out = out ? b_.CreateOr(out, b_.CreateShl(v, number(v, b_.getInt32Ty(), 16))) : v;
    }
    r.push_back(out);
    return true;
  }
  llvm::SmallVector<Value*, 3> in;
  for (Value* v : s) in.push_back(v ? asType(v, type) : nullptr);
  // Mixed precision: the first operand of add and sub, the factors of fma are halves.
  if (type == Type::F32 && i.ast->typeCount > 1 && isHalf(i.ast->types[1]))
    for (size_t n = 0; n < (i.ast->op == Op::Fma ? 2u : 1u); ++n)
      in[n] = halfToFloat(asInteger(s[n], 16), i.ast->types[1]);
  if (isHalf(type)) {
    r.push_back(halfOperation(i, type, in));
    return true;
  }
  r.push_back(floatOperation(i, type, in));
  return true;
}

// --- Pieces
// ------------------------------------------------------------------------------------------------------------

llvm::Value* Emitter::absolute(Value* x) { return intrinsic(Intrinsic::fabs, {x}); }
llvm::Value* Emitter::negate(Value* x) { return b_.CreateFNeg(x); }

// Denormals to zero of the same sign.
llvm::Value* Emitter::flush(Value* x) {
  Value* const bits = asInteger(x, 32);
  Value* const exponent = b_.CreateAnd(bits, number(bits, b_.getInt32Ty(), 0x7f800000));
  Value* const small = b_.CreateICmpEQ(exponent, number(bits, b_.getInt32Ty(), 0));
  Value* const zero = b_.CreateAnd(bits, number(bits, b_.getInt32Ty(), 0x80000000u));
  return asFloat(b_.CreateSelect(small, zero, bits), b_.getFloatTy());
}

llvm::Value* Emitter::flushHalf(Value* bits) {
  Value* const exponent = b_.CreateAnd(bits, number(bits, b_.getInt16Ty(), 0x7c00));
  Value* const zero = b_.CreateAnd(bits, number(bits, b_.getInt16Ty(), 0x8000));
  return b_.CreateSelect(b_.CreateICmpEQ(exponent, number(bits, b_.getInt16Ty(), 0)), zero, bits);
}

// To [0, 1]; NaN and negative zero give +0.
llvm::Value* Emitter::saturate(Value* x) {
  LType* const type = x->getType()->getScalarType();
  Value* const zero = real(x, type, 0.0);
  Value* const one = real(x, type, 1.0);
  Value* const low = b_.CreateSelect(b_.CreateFCmpOGT(x, zero), x, zero);
  return b_.CreateSelect(b_.CreateFCmpOLT(low, one), low, one);
}

llvm::Value* Emitter::fusedMultiplyAdd(Value* a, Value* b, Value* c) {
  if (options_.fma) return intrinsic(Intrinsic::fma, {a, b, c});
  if (!a->getType()->getScalarType()->isFloatTy()) return roundedByProcessor(Op::Fma, {a, b, c}, 0);
  // The product is exact in f64; the sum is rounded to odd, so that rounding it again is harmless.
  LType* const wide = like(a, b_.getDoubleTy());
  Value* const product = b_.CreateFMul(b_.CreateFPExt(a, wide), b_.CreateFPExt(b, wide));
  return b_.CreateFPTrunc(oddSum(product, b_.CreateFPExt(c, wide)), a->getType());
}

// a + b in f64, rounded to odd when it is not exact.
llvm::Value* Emitter::oddSum(Value* a, Value* b) {
  Value* const sum = b_.CreateFAdd(a, b);
  Value* const part = b_.CreateFSub(sum, a);
  Value* const error = b_.CreateFAdd(b_.CreateFSub(a, b_.CreateFSub(sum, part)), b_.CreateFSub(b, part));
  Value* const zero = real(sum, b_.getDoubleTy(), 0.0);
  Value* const bits = asInteger(sum, 64);
  const auto n64 = [&](uint64_t v) { return number(bits, b_.getInt64Ty(), v); };
  Value* const even = b_.CreateICmpEQ(b_.CreateAnd(bits, n64(1)), n64(0));
  Value* const inexact = b_.CreateAnd(b_.CreateFCmpONE(error, zero), even);
  Value* const outward = b_.CreateICmpEQ(b_.CreateFCmpOGT(error, zero), b_.CreateFCmpOGT(sum, zero));
  Value* const odd = b_.CreateSelect(outward, b_.CreateAdd(bits, n64(1)), b_.CreateSub(bits, n64(1)));
  return asFloat(b_.CreateSelect(inexact, odd, bits), b_.getDoubleTy());
}

llvm::Value* Emitter::minMax(const Instruction& i, Value* a, Value* b, bool isMin) {
  LType* const type = a->getType()->getScalarType();
  const uint32_t bits = type->getScalarSizeInBits();
  Value* sign = nullptr;
  if (i.ast->has(Mod::Xorsign)) {
    Value* const mask = number(a, integerType(bits), uint64_t{1} << (bits - 1));
    sign = b_.CreateAnd(b_.CreateXor(asInteger(a, bits), asInteger(b, bits)), mask);
    a = absolute(a);
    b = absolute(b);
  }
  Value* out = b_.CreateSelect(isMin ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b), a, b);
  // Equal values can only differ in the sign of zero.
  Value *const x = asInteger(a, bits), *const y = asInteger(b, bits);
  out = b_.CreateSelect(b_.CreateFCmpOEQ(a, b), asFloat(isMin ? b_.CreateOr(x, y) : b_.CreateAnd(x, y), type), out);
  if (i.ast->has(Mod::NaN)) {
    Value* const nan = asFloat(number(a, integerType(bits), bits == 32 ? 0x7fffffffull : 0x7fffffffffffffffull), type);
    out = b_.CreateSelect(b_.CreateFCmpUNO(a, b), nan, out);
  } else {
    out = b_.CreateSelect(b_.CreateFCmpUNO(b, b), a, out);
    // Of two NaNs the one NaN of f32, or the second, made quiet.
    Value* const quiet = bits == 32 ? number(a, integerType(bits), 0x7fffffff)
                                    : b_.CreateOr(y, number(a, integerType(bits), uint64_t{1} << 51));
    out = b_.CreateSelect(b_.CreateFCmpUNO(out, out), asFloat(quiet, type), out);
  }
  if (sign) {
    Value* const magnitude =
        b_.CreateAnd(asInteger(out, bits), number(a, integerType(bits), ~(uint64_t{1} << (bits - 1))));
    Value* const signedOut = asFloat(b_.CreateOr(magnitude, sign), type);
    out = b_.CreateSelect(b_.CreateFCmpUNO(out, out), out, signedOut);
  }
  return out;
}

// --- f32 and f64
// -------------------------------------------------------------------------------------------------------

// div.approx by finite divisors beyond 2^126 gives zero.
llvm::Value* Emitter::farDivisorsGiveZero(Value* dividend, Value* divisor, Value* quotient) {
  LType* const element = b_.getFloatTy();
  Value* const b = absolute(divisor);
  Value* const huge =
      b_.CreateAnd(b_.CreateFCmpOGT(b, real(b, element, 0x1p126)), b_.CreateFCmpOLT(b, real(b, element, HUGE_VAL)));
  Value* const zero = asFloat(b_.CreateAnd(b_.CreateXor(asInteger(dividend, 32), asInteger(divisor, 32)),
                                           number(dividend, b_.getInt32Ty(), 0x80000000u)),
                              element);
  Value* const inf = b_.CreateFCmpOEQ(absolute(dividend), real(b, element, HUGE_VAL));
  Value* const nan = asFloat(number(dividend, b_.getInt32Ty(), 0x7fffffff), element);
  Value* const nanIn = b_.CreateFCmpUNO(dividend, dividend);
  return b_.CreateSelect(b_.CreateAnd(huge, b_.CreateNot(nanIn)), b_.CreateSelect(inf, nan, zero), quotient);
}

// rsqrt.approx.f64 to the bit: a step further from the upper word, as in special::nearReciprocalRoot64.
llvm::Value* Emitter::nearReciprocalRoot64(Value* in) {
  const auto n = [&](double value) { return real(in, b_.getDoubleTy(), value); };
  Value* const tiny = b_.CreateFCmpOLT(absolute(in), n(0x1p-1022));
  Value* const x = b_.CreateSelect(tiny, b_.CreateFMul(in, n(0x1p54)), in);
  Value* const y = approxReciprocal64(x, true);
  Value* const rest = fusedMultiplyAdd(x, negate(b_.CreateFMul(y, y)), n(1.0));
  Value* const series = fusedMultiplyAdd(rest, n(0.375), n(0.5));
  Value* const near = fusedMultiplyAdd(series, b_.CreateFMul(rest, y), y);
  Value* const scaled = b_.CreateSelect(tiny, b_.CreateFMul(near, n(0x1p27)), near);
  Value* const ordinary = b_.CreateAnd(b_.CreateFCmpOLT(in, n(HUGE_VAL)), b_.CreateFCmpOGT(in, n(0)));
  Value* const none = asFloat(number(in, b_.getInt64Ty(), 0xfff8000000000000), b_.getDoubleTy());
  Value* const valid = b_.CreateSelect(b_.CreateFCmpOLT(in, n(0)), none, b_.CreateSelect(ordinary, scaled, y));
  return b_.CreateSelect(b_.CreateFCmpUNO(in, in), b_.CreateFAdd(in, in), valid);
}

// What is too small before rounding is zero, even when rounding would lift it to the smallest normal number.
llvm::Value* Emitter::flushLifted(const Instruction& i, ArrayRef<Value*> s, Value* out) {
  const auto n32 = [&](uint32_t value) { return number(out, b_.getInt32Ty(), value); };
  Value* const bits = asInteger(out, 32);
  Value* const cut = asInteger(directedOperation(i, s, 11), 32);
  Value* const tiny = b_.CreateICmpULT(b_.CreateAnd(cut, n32(0x7fffffff)), n32(0x00800000));
  Value* const lifted = b_.CreateAnd(b_.CreateICmpEQ(b_.CreateAnd(bits, n32(0x7fffffff)), n32(0x00800000)), tiny);
  return asFloat(b_.CreateSelect(lifted, b_.CreateAnd(bits, n32(0x80000000u)), bits), b_.getFloatTy());
}

llvm::Value* Emitter::floatOperation(const Instruction& i, Type type, ArrayRef<Value*> in) {
  const ptx::Instruction& ast = *i.ast;
  const bool single = type == Type::F32;
  const bool ftz = ast.has(Mod::Ftz) && single;
  const bool directed = ast.has(Mod::Rz) || ast.has(Mod::Rm) || ast.has(Mod::Rp);
  LType* const element = single ? b_.getFloatTy() : b_.getDoubleTy();
  const uint32_t bits = single ? 32 : 64;
  llvm::SmallVector<Value*, 3> s(in.begin(), in.end());
  if (ast.has(Mod::Oob)) unsupported(i, "oob");
  if (ftz && ast.op != Op::Copysign)
    for (Value*& v : s)
      if (v) v = flush(v);
  const auto signBit = [&] { return number(s[0], integerType(bits), uint64_t{1} << (bits - 1)); };
  const auto onBits = [&](auto&& f) { return asFloat(f(asInteger(s[0], bits)), element); };
  const bool exact = single && options_.exactApproximations && (ast.has(Mod::Approx) || ast.has(Mod::Full));
  Value* out = nullptr;
  switch (exact ? Op::Invalid : ast.op) {
    case Op::Invalid:
      out = ast.op == Op::Div ? exactQuotient(s[0], s[1], !ast.has(Mod::Approx), ftz) : exactSpecial(ast.op, s[0], ftz);
      break;
    case Op::Add:
      out = directed ? rounded(i, Op::Add, s) : b_.CreateFAdd(s[0], s[1]);
      break;
    case Op::Sub:
      out = directed ? rounded(i, Op::Sub, s) : b_.CreateFSub(s[0], s[1]);
      break;
    case Op::Mul:
      out = directed ? rounded(i, Op::Mul, s) : b_.CreateFMul(s[0], s[1]);
      break;
    case Op::Fma:
    case Op::Mad:
      out = directed ? rounded(i, Op::Fma, s) : fusedMultiplyAdd(s[0], s[1], s[2]);
      break;
    case Op::Div:
      out = directed ? rounded(i, Op::Div, s) : b_.CreateFDiv(s[0], s[1]);
      if (ast.has(Mod::Approx)) out = farDivisorsGiveZero(s[0], s[1], out);
      break;
    case Op::Rcp:
      if (!single && ast.has(Mod::Approx)) {
        out = approxReciprocal64(s[0], false);
      } else if (directed) {
        out = rounded(i, Op::Div, {real(s[0], element, 1.0), s[0]});
      } else {
        out = b_.CreateFDiv(real(s[0], element, 1.0), s[0]);
      }
      break;
    case Op::Sqrt:
      out = directed ? rounded(i, Op::Sqrt, s) : intrinsic(Intrinsic::sqrt, {s[0]});
      break;
    case Op::Rsqrt:
      if (!single && (ast.has(Mod::Ftz) || options_.exactApproximations))
        out = ast.has(Mod::Ftz) ? approxReciprocal64(s[0], true) : nearReciprocalRoot64(s[0]);
      else
        out = b_.CreateFDiv(real(s[0], element, 1.0), intrinsic(Intrinsic::sqrt, {s[0]}));
      break;
    case Op::Abs:
      out = onBits([&](Value* v) { return b_.CreateAnd(v, b_.CreateNot(signBit())); });
      break;
    case Op::Neg:
      out = onBits([&](Value* v) { return b_.CreateXor(v, signBit()); });
      break;
    case Op::Copysign:
      // The sign of the first on the magnitude of the second.
      out = asFloat(b_.CreateOr(b_.CreateAnd(asInteger(s[0], bits), signBit()),
                                b_.CreateAnd(asInteger(s[1], bits), b_.CreateNot(signBit()))),
                    element);
      break;
    case Op::Min:
    case Op::Max:
      out = minMax(i, s[0], s[1], ast.op == Op::Min);
      for (size_t n = 2; n < s.size(); ++n) out = minMax(i, out, s[n], ast.op == Op::Min);
      break;
    case Op::Ex2:
      out = exp2Approx(s[0]);
      break;
    case Op::Lg2:
      out = log2Approx(s[0]);
      break;
    case Op::Sin:
      out = sinCosApprox(s[0], false);
      break;
    case Op::Cos:
      out = sinCosApprox(s[0], true);
      break;
    case Op::Tanh:
      out = tanhApprox(s[0]);
      break;
    default:
      unsupported(i);
  }
  if (ast.has(Mod::Sat)) out = saturate(out);
  if (ftz && ast.op != Op::Copysign) out = flush(out);
  if (ftz && directed && !ast.has(Mod::Rz)) out = flushLifted(i, s, out);
  return out;
}

// rcp and rsqrt .approx.ftz.f64: the upper half of the argument gives the upper half of the result.

// --- Comparison ------------------------------------------------------------------------------------------------------

llvm::Value* Emitter::compareFloat(const Instruction& i, Value* a, Value* b) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.op == Op::Set && ast.typeCount > 1 ? ast.types[1] : ast.type();
  if (type == Type::F16 || type == Type::BF16 || type == Type::F16x2 || type == Type::BF16x2) {
    const bool f16 = type == Type::F16 || type == Type::F16x2;
    a = asInteger(a, 16);
    b = asInteger(b, 16);
    if (ast.has(Mod::Ftz) && f16) {
      a = flushHalf(a);
      b = flushHalf(b);
    }
    // Frozen, so that nothing compares the halves themselves instead: few processors can, and LLVM does it lane by
    // lane.
    a = b_.CreateFreeze(halfToFloat(a, f16 ? Type::F16 : Type::BF16));
    b = b_.CreateFreeze(halfToFloat(b, f16 ? Type::F16 : Type::BF16));
  } else {
    a = asType(a, type);
    b = asType(b, type);
    if (ast.has(Mod::Ftz) && type == Type::F32) {
      a = flush(a);
      b = flush(b);
    }
  }
  P predicate;
  if (ast.has(Mod::Eq)) {
    predicate = P::FCMP_OEQ;
  } else if (ast.has(Mod::Ne)) {
    predicate = P::FCMP_ONE;
  } else if (ast.has(Mod::Lt)) {
    predicate = P::FCMP_OLT;
  } else if (ast.has(Mod::Le)) {
    predicate = P::FCMP_OLE;
  } else if (ast.has(Mod::Gt)) {
    predicate = P::FCMP_OGT;
  } else if (ast.has(Mod::Ge)) {
    predicate = P::FCMP_OGE;
  } else if (ast.has(Mod::Equ)) {
    predicate = P::FCMP_UEQ;
  } else if (ast.has(Mod::Neu)) {
    predicate = P::FCMP_UNE;
  } else if (ast.has(Mod::Ltu)) {
    predicate = P::FCMP_ULT;
  } else if (ast.has(Mod::Leu)) {
    predicate = P::FCMP_ULE;
  } else if (ast.has(Mod::Gtu)) {
    predicate = P::FCMP_UGT;
  } else if (ast.has(Mod::Geu)) {
    predicate = P::FCMP_UGE;
  } else if (ast.has(Mod::Num)) {
    predicate = P::FCMP_ORD;
  } else if (ast.has(Mod::Nan)) {
    predicate = P::FCMP_UNO;
  } else {
    unsupported(i, "comparison");
  }
  return b_.CreateFCmp(predicate, a, b);
}

llvm::Value* Emitter::testProperty(const Instruction& i, Value* x) {
  const uint32_t bits = x->getType()->getScalarSizeInBits();
  LType* const type = x->getType()->getScalarType();
  Value* const magnitude = absolute(x);
  Value* const infinity = real(x, type, HUGE_VAL);
  Value* const smallest = real(x, type, bits == 32 ? 0x1p-126 : 0x1p-1022);
  Value* const zero = real(x, type, 0.0);
  const ptx::Instruction& ast = *i.ast;
  if (ast.has(Mod::Finite)) return b_.CreateFCmpOLT(magnitude, infinity);
  if (ast.has(Mod::Infinite)) return b_.CreateFCmpOEQ(magnitude, infinity);
  if (ast.has(Mod::Number)) return b_.CreateFCmpORD(x, x);
  if (ast.has(Mod::Notanumber)) return b_.CreateFCmpUNO(x, x);
  if (ast.has(Mod::Normal))
    return b_.CreateAnd(b_.CreateOr(b_.CreateFCmpOGE(magnitude, smallest), b_.CreateFCmpOEQ(magnitude, zero)),
                        b_.CreateFCmpOLT(magnitude, infinity));
  if (ast.has(Mod::Subnormal))
    return b_.CreateAnd(b_.CreateFCmpOLT(magnitude, smallest), b_.CreateFCmpOGT(magnitude, zero));
  unsupported(i, "property");
}

}  // namespace vg::ptx::gen
