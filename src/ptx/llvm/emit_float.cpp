// Floating-point instructions. No fast-math flag is ever set: what PTX fuses or approximates is said by its opcode.
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>

#include "ptx/llvm/emitter.h"
#include "ptx/llvm/ptx_facts.h"

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
  if (!a->getType()->getScalarType()->isFloatTy())
    throw Unsupported{"f64 fma on a processor without it", present_ ? present_->ast->line : 0};
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
    Value* const nan = asFloat(number(a, integerType(bits), bits == 32 ? 0x7fffffffull : 0x7ff8000000000000ull), type);
    out = b_.CreateSelect(b_.CreateFCmpUNO(out, out), nan, out);
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
  Value* out = nullptr;
  switch (ast.op) {
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
      if (ast.has(Mod::Approx) || ast.has(Mod::Full)) {
        if (!ast.has(Mod::Approx)) break;
        // Divisors beyond 2^126 give zero.
        Value* const b = absolute(s[1]);
        Value* const huge = b_.CreateAnd(b_.CreateFCmpOGT(b, real(b, element, 0x1p126)),
                                         b_.CreateFCmpOLT(b, real(b, element, HUGE_VAL)));
        Value* const zero =
            asFloat(b_.CreateAnd(b_.CreateXor(asInteger(s[0], 32), asInteger(s[1], 32)), signBit()), element);
        Value* const inf = b_.CreateFCmpOEQ(absolute(s[0]), real(b, element, HUGE_VAL));
        Value* const nan = asFloat(number(s[0], b_.getInt32Ty(), 0x7fffffff), element);
        Value* const nanIn = b_.CreateFCmpUNO(s[0], s[0]);
        out = b_.CreateSelect(b_.CreateAnd(huge, b_.CreateNot(nanIn)), b_.CreateSelect(inf, nan, zero), out);
      }
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
      if (!single) {
        out = ast.has(Mod::Ftz) ? approxReciprocal64(s[0], true)
                                : b_.CreateFDiv(real(s[0], element, 1.0), intrinsic(Intrinsic::sqrt, {s[0]}));
      } else {
        out = b_.CreateFDiv(real(s[0], element, 1.0), intrinsic(Intrinsic::sqrt, {s[0]}));
      }
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
  if (ftz && directed && !ast.has(Mod::Rz)) {
    // What is too small before rounding is zero, even when rounding would lift it to the smallest normal number.
    Value* const low = number(out, b_.getInt32Ty(), 0x00800000);
    Value* const magnitude = b_.CreateAnd(asInteger(out, 32), number(out, b_.getInt32Ty(), 0x7fffffff));
    Value* const cut = asInteger(directedOperation(i, s, 11), 32);
    Value* const tiny = b_.CreateICmpULT(b_.CreateAnd(cut, number(out, b_.getInt32Ty(), 0x7fffffff)), low);
    Value* const lifted = b_.CreateAnd(b_.CreateICmpEQ(magnitude, low), tiny);
    Value* const zero = b_.CreateAnd(asInteger(out, 32), number(out, b_.getInt32Ty(), 0x80000000u));
    out = asFloat(b_.CreateSelect(lifted, zero, asInteger(out, 32)), element);
  }
  return out;
}

// rcp and rsqrt .approx.ftz.f64: the upper half of the argument gives the upper half of the result.
llvm::Value* Emitter::approxReciprocal64(Value* x, bool root) {
  LType* const type = b_.getDoubleTy();
  Value* const high = number(x, b_.getInt64Ty(), 0xffffffff00000000ull);
  Value* in = b_.CreateAnd(asInteger(x, 64), high);
  const auto flushed = [&](Value* bits) {
    Value* const exponent = b_.CreateAnd(bits, number(bits, b_.getInt64Ty(), 0x7ff0000000000000ull));
    Value* const zero = b_.CreateAnd(bits, number(bits, b_.getInt64Ty(), 0x8000000000000000ull));
    return b_.CreateSelect(b_.CreateICmpEQ(exponent, number(bits, b_.getInt64Ty(), 0)), zero, bits);
  };
  in = flushed(in);
  Value* const v = asFloat(in, type);
  Value* const q = b_.CreateFDiv(real(v, type, 1.0), root ? intrinsic(Intrinsic::sqrt, {v}) : v);
  Value* const out = flushed(b_.CreateAnd(asInteger(q, 64), high));
  return asFloat(b_.CreateSelect(b_.CreateFCmpUNO(q, q), number(q, b_.getInt64Ty(), 0x7fffffff00000000ull), out), type);
}

// --- Directed rounding ---------------------------------------------------------------------------------------------

// The operation of an instruction in another rounding than its own; for what has a rounding at all.
llvm::Value* Emitter::directedOperation(const Instruction& i, ArrayRef<Value*> s, int mode) {
  const Op op = i.ast->op == Op::Mad ? Op::Fma : i.ast->op;
  if (op == Op::Rcp) return rounded(i, Op::Div, {real(s[0], s[0]->getType()->getScalarType(), 1.0), s[0]}, mode);
  return rounded(i, op, s, mode);
}

llvm::Value* Emitter::rounded(const Instruction& i, Op op, ArrayRef<Value*> s, int mode) {
  if (!mode) mode = i.ast->has(Mod::Rm) ? 9 : i.ast->has(Mod::Rp) ? 10 : 11;
  LType* const element = s[0]->getType()->getScalarType();
  const bool single = element->isFloatTy();
  if (options_.avx512) {
    const uint32_t lanes = single ? 16 : 8;
    const auto once = [&](ArrayRef<Value*> v) -> Value* {
      Value* const imm = b_.getInt32(static_cast<uint32_t>(mode));
      switch (op) {
        case Op::Add:
          return callIntrinsic(single ? Intrinsic::x86_avx512_add_ps_512 : Intrinsic::x86_avx512_add_pd_512, {},
                               {v[0], v[1], imm});
        case Op::Sub:
          return callIntrinsic(single ? Intrinsic::x86_avx512_sub_ps_512 : Intrinsic::x86_avx512_sub_pd_512, {},
                               {v[0], v[1], imm});
        case Op::Mul:
          return callIntrinsic(single ? Intrinsic::x86_avx512_mul_ps_512 : Intrinsic::x86_avx512_mul_pd_512, {},
                               {v[0], v[1], imm});
        case Op::Div:
          return callIntrinsic(single ? Intrinsic::x86_avx512_div_ps_512 : Intrinsic::x86_avx512_div_pd_512, {},
                               {v[0], v[1], imm});
        case Op::Fma:
          return callIntrinsic(single ? Intrinsic::x86_avx512_vfmadd_ps_512 : Intrinsic::x86_avx512_vfmadd_pd_512, {},
                               {v[0], v[1], v[2], imm});
        default:
          return callIntrinsic(single ? Intrinsic::x86_avx512_sqrt_ps_512 : Intrinsic::x86_avx512_sqrt_pd_512, {},
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
        for (Value* x : s) v.push_back(slice(x, n * lanes, lanes));
        parts[n] = once(v);
      }
      return concat(parts[0], parts[1]);
    }
    for (Value* x : s) v.push_back(concat(x, llvm::Constant::getNullValue(x->getType())));
    return slice(once(v), 0, have);
  }
  if (!single || !options_.fma) unsupported(i, "directed rounding");
  // In doubles: the result to nearest and the sign of what it misses decide whether to step by one.
  LType* const wide = like(s[0], b_.getDoubleTy());
  llvm::SmallVector<Value*, 3> d;
  for (Value* x : s) d.push_back(b_.CreateFPExt(x, wide));
  Value* zero = real(d[0], b_.getDoubleTy(), 0.0);
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
      Value* const rest = intrinsic(Intrinsic::fma, {b_.CreateFNeg(sum), d[1], d[0]});
      error = b_.CreateSelect(b_.CreateFCmpOLT(d[1], zero), b_.CreateFNeg(rest), rest);
      break;
    }
    default: {
      sum = intrinsic(Intrinsic::sqrt, {d[0]});
      error = intrinsic(Intrinsic::fma, {b_.CreateFNeg(sum), sum, d[0]});
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
  Value* const finite = b_.CreateFCmpOLT(absolute(sum), real(sum, b_.getDoubleTy(), HUGE_VAL));
  Value* const bits = asInteger(nearest, 32);
  const auto n32 = [&](uint64_t v) { return number(bits, b_.getInt32Ty(), v); };
  Value* const isZero = b_.CreateFCmpOEQ(nearest, real(nearest, b_.getFloatTy(), 0.0));
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
          b_.CreateICmpSLT(b_.CreateXor(asInteger(a, 64), asInteger(c, 64)), number(a, b_.getInt64Ty(), 0));
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
  return asFloat(out, b_.getFloatTy());
}

// --- Half precision ------------------------------------------------------------------------------------------------

// The smaller or larger of two halves, as bits; a NaN loses, or with `nanWins` wins.
llvm::Value* Emitter::halfExtreme(Value* a, Value* b, bool isMin, bool nanWins, bool f16) {
  LType* const half = b_.getInt16Ty();
  const auto isNan = [&](Value* v) {
    return b_.CreateICmpUGT(b_.CreateAnd(v, number(v, half, 0x7fff)), number(v, half, f16 ? 0x7c00 : 0x7f80));
  };
  // Ordered as integers once the negative half is turned around.
  const auto key = [&](Value* v) {
    return b_.CreateXor(v, b_.CreateLShr(b_.CreateAShr(v, number(v, half, 15)), number(v, half, 1)));
  };
  Value* const less = b_.CreateICmpSLT(key(a), key(b));
  Value* const out = b_.CreateSelect(isMin ? less : b_.CreateNot(less), a, b);
  Value *const nanA = isNan(a), *const nanB = isNan(b), *const nan = number(a, half, 0x7fff);
  if (nanWins) return b_.CreateSelect(b_.CreateOr(nanA, nanB), nan, out);
  Value* const known = b_.CreateSelect(nanA, b, b_.CreateSelect(nanB, a, out));
  return b_.CreateSelect(b_.CreateAnd(nanA, nanB), nan, known);
}

// Operands and result are 16-bit integers. One operation in f32 and one rounding is exact for everything but fma.
llvm::Value* Emitter::halfOperation(const Instruction& i, Type type, ArrayRef<Value*> in) {
  const ptx::Instruction& ast = *i.ast;
  const bool f16 = type == Type::F16;
  const bool ftz = ast.has(Mod::Ftz) && f16;
  llvm::SmallVector<Value*, 3> s;
  for (Value* v : in) {
    Value* const bits = asInteger(v, 16);
    s.push_back(ftz ? flushHalf(bits) : bits);
  }
  LType* const half = b_.getInt16Ty();
  const auto zeroFlush = [&](Value* v) { return ftz ? flushHalf(v) : v; };
  const auto isNan = [&](Value* v) {
    return b_.CreateICmpUGT(b_.CreateAnd(v, number(v, half, 0x7fff)), number(v, half, f16 ? 0x7c00 : 0x7f80));
  };
  switch (ast.op) {
    case Op::Neg:
      return zeroFlush(b_.CreateXor(s[0], number(s[0], half, 0x8000)));
    case Op::Abs:
      return zeroFlush(b_.CreateAnd(s[0], number(s[0], half, 0x7fff)));
    case Op::Min:
    case Op::Max: {
      Value* a = s[0];
      const bool isMin = ast.op == Op::Min;
      for (size_t n = 1; n < s.size(); ++n) {
        Value* b = s[n];
        Value* sign = nullptr;
        if (ast.has(Mod::Xorsign)) {
          sign = b_.CreateAnd(b_.CreateXor(a, b), number(a, half, 0x8000));
          a = b_.CreateAnd(a, number(a, half, 0x7fff));
          b = b_.CreateAnd(b, number(b, half, 0x7fff));
        }
        Value* out = halfExtreme(a, b, isMin, ast.has(Mod::NaN), f16);
        if (sign) out = b_.CreateSelect(isNan(out), out, b_.CreateOr(out, sign));
        a = out;
      }
      return zeroFlush(a);
    }
    default:
      break;
  }
  llvm::SmallVector<Value*, 3> x;
  for (Value* v : s) x.push_back(halfToFloat(v, type));
  Value* out = nullptr;
  switch (ast.op) {
    case Op::Add:
      out = b_.CreateFAdd(x[0], x[1]);
      break;
    case Op::Sub:
      out = b_.CreateFSub(x[0], x[1]);
      break;
    case Op::Mul:
      out = b_.CreateFMul(x[0], x[1]);
      break;
    case Op::Ex2:
      out = exp2Approx(x[0]);
      break;
    case Op::Tanh:
      out = tanhApprox(x[0]);
      break;
    case Op::Rcp:
      out = b_.CreateFDiv(real(x[0], b_.getFloatTy(), 1.0), x[0]);
      break;
    case Op::Fma: {
      // The product is exact in f64; the sum is rounded to odd, so that rounding again is harmless.
      LType* const wide = like(x[0], b_.getDoubleTy());
      Value* const product = b_.CreateFMul(b_.CreateFPExt(x[0], wide), b_.CreateFPExt(x[1], wide));
      Value* const exact = oddSum(product, b_.CreateFPExt(x[2], wide));
      out = doubleToFloat(exact, 4);
      break;
    }
    default:
      unsupported(i);
  }
  if (ast.has(Mod::Sat)) out = saturate(out);
  if (ast.has(Mod::Relu)) {
    Value* const zero = real(out, b_.getFloatTy(), 0.0);
    Value* const positive = b_.CreateSelect(b_.CreateFCmpOGT(out, zero), out, zero);
    out = b_.CreateSelect(b_.CreateFCmpUNO(out, out), out, positive);
  }
  out = zeroFlush(floatToHalf(out, type, 0));
  if (ast.has(Mod::Oob)) {  // the NaN that fills tensors out of bounds makes zero
    const auto outside = [&](Value* v) { return b_.CreateICmpEQ(v, number(v, half, 0x7ff7)); };
    out = b_.CreateSelect(b_.CreateOr(outside(s[0]), outside(s[1])), number(out, half, 0), out);
  }
  return out;
}

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
    a = halfToFloat(a, f16 ? Type::F16 : Type::BF16);
    b = halfToFloat(b, f16 ? Type::F16 : Type::BF16);
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

// --- Approximations
// ----------------------------------------------------------------------------------------------------

// Coefficients from the highest power down.
llvm::Value* Emitter::polynomial(Value* x, ArrayRef<double> coefficients) {
  LType* const type = x->getType()->getScalarType();
  Value* out = real(x, type, coefficients[0]);
  for (size_t n = 1; n < coefficients.size(); ++n) {
    Value* const c = real(x, type, coefficients[n]);
    out = options_.fma ? fusedMultiplyAdd(out, x, c) : b_.CreateFAdd(b_.CreateFMul(out, x), c);
  }
  return out;
}

llvm::Value* Emitter::exp2Approx(Value* x) {
  LType* const type = b_.getFloatTy();
  // Outside of this range the result is 0 or infinity anyway; NaN passes through the comparisons.
  Value* v = b_.CreateSelect(b_.CreateFCmpOGT(x, real(x, type, 130.0)), real(x, type, 130.0), x);
  v = b_.CreateSelect(b_.CreateFCmpOLT(v, real(x, type, -160.0)), real(x, type, -160.0), v);
  Value* const magic = real(x, type, 12582912.0);  // 1.5 * 2^23: adding it rounds to an integer
  Value* const t = b_.CreateFAdd(v, magic);
  Value* const n = b_.CreateSub(asInteger(t, 32), number(t, b_.getInt32Ty(), 0x4b400000));
  Value* const f = b_.CreateFSub(v, b_.CreateFSub(t, magic));
  const double ln2 = 0.69314718055994530942;
  double c[8], power = 1, factorial = 1;
  for (int k = 0; k < 8; ++k) {
    c[7 - k] = power / factorial;
    power *= ln2;
    factorial *= k + 1;
  }
  Value* const p = polynomial(f, c);
  // Two factors, so that denormal results come out.
  const auto scale = [&](Value* e) {
    Value* const biased = b_.CreateAdd(e, number(e, b_.getInt32Ty(), 127));
    return asFloat(b_.CreateShl(biased, number(e, b_.getInt32Ty(), 23)), type);
  };
  Value* const half = b_.CreateAShr(n, number(n, b_.getInt32Ty(), 1));
  return b_.CreateFMul(b_.CreateFMul(p, scale(half)), scale(b_.CreateSub(n, half)));
}

llvm::Value* Emitter::log2Approx(Value* x) {
  LType* const type = b_.getFloatTy();
  LType* const word = b_.getInt32Ty();
  Value* const tiny = b_.CreateFCmpOLT(x, real(x, type, 0x1p-126));
  Value* const v = b_.CreateSelect(tiny, b_.CreateFMul(x, real(x, type, 0x1p24)), x);
  Value* const bits = asInteger(v, 32);
  const auto n32 = [&](uint64_t c) { return number(bits, word, c); };
  Value* const e = b_.CreateAShr(b_.CreateSub(bits, n32(0x3f3504f3)), n32(23));
  Value* const m = asFloat(b_.CreateSub(bits, b_.CreateShl(e, n32(23))), type);
  Value* const exponent =
      b_.CreateFSub(b_.CreateSIToFP(e, like(x, type)), b_.CreateSelect(tiny, real(x, type, 24.0), real(x, type, 0.0)));
  Value* const t = b_.CreateFDiv(b_.CreateFSub(m, real(x, type, 1.0)), b_.CreateFAdd(m, real(x, type, 1.0)));
  const double k = 2.8853900817779268;  // 2 / ln 2
  Value* const t2 = b_.CreateFMul(t, t);
  Value* const series = polynomial(t2, {k / 11, k / 9, k / 7, k / 5, k / 3, k});
  Value* out = options_.fma ? fusedMultiplyAdd(t, series, exponent) : b_.CreateFAdd(b_.CreateFMul(t, series), exponent);
  Value* const infinity = real(x, type, HUGE_VAL);
  out = b_.CreateSelect(b_.CreateFCmpOEQ(x, infinity), infinity, out);
  out = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(x, type, 0.0)), real(x, type, -HUGE_VAL), out);
  return b_.CreateSelect(b_.CreateFCmpULT(x, real(x, type, 0.0)), asFloat(n32(0x7fffffff), type), out);
}

llvm::Value* Emitter::sinCosApprox(Value* x, bool cosine) {
  LType* const type = b_.getFloatTy();
  LType* const word = b_.getInt32Ty();
  Value* const bound = real(x, type, 4194304.0);
  Value* const finite = b_.CreateFCmpOLT(absolute(x), real(x, type, HUGE_VAL));
  // Far away no accuracy is promised, only a result in [-1, 1].
  Value* const v = b_.CreateSelect(b_.CreateFCmpOLT(absolute(x), bound), x, real(x, type, 0.0));
  Value* const magic = real(x, type, 12582912.0);
  Value* const t = b_.CreateFAdd(b_.CreateFMul(v, real(x, type, 0.63661977236758134308)), magic);
  Value* n = asInteger(t, 32);
  Value* const q = b_.CreateFSub(t, magic);
  const auto step = [&](Value* from, double part) {
    Value* const c = real(x, type, -part);
    return options_.fma ? fusedMultiplyAdd(q, c, from) : b_.CreateFAdd(b_.CreateFMul(q, c), from);
  };
  // pi/2 in three parts of which the first two have few bits.
  Value* const r = step(step(step(v, 1.5703125), 4.837512969970703125e-4), 7.5497899548918821691639e-8);
  Value* const r2 = b_.CreateFMul(r, r);
  Value* const sine = b_.CreateFMul(r, polynomial(r2, {2.7557319e-6, -1.9841270e-4, 8.3333333e-3, -1.6666667e-1, 1.0}));
  Value* const cosineOf = polynomial(r2, {2.4801587e-5, -1.3888889e-3, 4.1666667e-2, -0.5, 1.0});
  if (cosine) n = b_.CreateAdd(n, number(n, word, 1));
  Value* const odd = b_.CreateICmpNE(b_.CreateAnd(n, number(n, word, 1)), number(n, word, 0));
  Value* out = b_.CreateSelect(odd, cosineOf, sine);
  Value* const sign = b_.CreateShl(b_.CreateAnd(n, number(n, word, 2)), number(n, word, 30));
  out = asFloat(b_.CreateXor(asInteger(out, 32), sign), type);
  return b_.CreateSelect(finite, out, asFloat(number(n, word, 0x7fffffff), type));
}

llvm::Value* Emitter::tanhApprox(Value* x) {
  LType* const type = b_.getFloatTy();
  Value* const a = absolute(x);
  Value* const e = exp2Approx(b_.CreateFMul(a, real(x, type, 2.8853900817779268)));
  Value* const one = real(x, type, 1.0);
  Value* const far = b_.CreateFSub(one, b_.CreateFDiv(real(x, type, 2.0), b_.CreateFAdd(e, one)));
  Value* const a2 = b_.CreateFMul(a, a);
  Value* const near = b_.CreateFMul(a, polynomial(a2, {62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1.0}));
  Value* const out = b_.CreateSelect(b_.CreateFCmpOLT(a, real(x, type, 0.5)), near, far);
  Value* const sign = b_.CreateAnd(asInteger(x, 32), number(x, b_.getInt32Ty(), 0x80000000u));
  Value* const result = asFloat(b_.CreateOr(asInteger(out, 32), sign), type);
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, result);
}

}  // namespace vg::ptx::gen
