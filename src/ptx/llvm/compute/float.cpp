// Floating-point instructions. No fast-math flag is ever set: what PTX fuses or approximates is said by its opcode.
#include "ptx/llvm/compute/float.h"

#include <cmath>

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

static bool isHalf(Type t) { return t == Type::F16 || t == Type::BF16; }
static bool isHalfPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }

bool Floats::computeFloat(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
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
        Value* const wide = b_.asInteger(v, 64);
        part.push_back(b_.asFloat(
            b_.asInteger(n ? b_.CreateLShr(wide, b_.number(wide, b_.getInt64Ty(), 32)) : wide, 32), b_.getFloatTy()));
      }
      Value* const v = b_.asInteger(b_.asInteger(floatOperation(i, Type::F32, part), 32), 64);
      out = out ? b_.CreateOr(out, b_.CreateShl(v, b_.number(v, b_.getInt64Ty(), 32))) : v;
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
        Value* const wide = b_.asInteger(v, 32);
        part.push_back(b_.asInteger(n ? b_.CreateLShr(wide, b_.number(wide, b_.getInt32Ty(), 16)) : wide, 16));
      }
      Value* const v = b_.asInteger(halfOperation(i, half, part), 32);
      out = out ? b_.CreateOr(out, b_.CreateShl(v, b_.number(v, b_.getInt32Ty(), 16))) : v;
    }
    r.push_back(out);
    return true;
  }
  llvm::SmallVector<Value*, 3> in;
  for (Value* v : s) in.push_back(v ? b_.asType(v, type) : nullptr);
  // Mixed precision: the first operand of add and sub, the factors of fma are halves.
  if (type == Type::F32 && i.ast->typeCount > 1 && isHalf(i.ast->types[1]))
    for (size_t n = 0; n < (i.ast->op == Op::Fma ? 2u : 1u); ++n)
      in[n] = conversions_.halfToFloat(b_.asInteger(s[n], 16), i.ast->types[1]);
  if (isHalf(type)) {
    r.push_back(halfOperation(i, type, in));
    return true;
  }
  r.push_back(floatOperation(i, type, in));
  return true;
}

// --- Pieces

llvm::Value* Floats::minMax(const Instruction& i, Value* a, Value* b, bool isMin) {
  LType* const type = a->getType()->getScalarType();
  const uint32_t bits = type->getScalarSizeInBits();
  Value* sign = nullptr;
  if (i.ast->has(Mod::Xorsign)) {
    Value* const mask = b_.number(a, b_.integerType(bits), uint64_t{1} << (bits - 1));
    sign = b_.CreateAnd(b_.CreateXor(b_.asInteger(a, bits), b_.asInteger(b, bits)), mask);
    a = pieces_.absolute(a);
    b = pieces_.absolute(b);
  }
  Value* out = b_.CreateSelect(isMin ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b), a, b);
  // Equal values can only differ in the sign of zero.
  Value *const x = b_.asInteger(a, bits), *const y = b_.asInteger(b, bits);
  out = b_.CreateSelect(b_.CreateFCmpOEQ(a, b), b_.asFloat(isMin ? b_.CreateOr(x, y) : b_.CreateAnd(x, y), type), out);
  if (i.ast->has(Mod::NaN)) {
    Value* const nan =
        b_.asFloat(b_.number(a, b_.integerType(bits), bits == 32 ? 0x7fffffffull : 0x7fffffffffffffffull), type);
    out = b_.CreateSelect(b_.CreateFCmpUNO(a, b), nan, out);
  } else {
    out = b_.CreateSelect(b_.CreateFCmpUNO(b, b), a, out);
    // Of two NaNs the one NaN of f32, or the second, made quiet.
    Value* const quiet = bits == 32 ? b_.number(a, b_.integerType(bits), 0x7fffffff)
                                    : b_.CreateOr(y, b_.number(a, b_.integerType(bits), uint64_t{1} << 51));
    out = b_.CreateSelect(b_.CreateFCmpUNO(out, out), b_.asFloat(quiet, type), out);
  }
  if (sign) {
    Value* const magnitude =
        b_.CreateAnd(b_.asInteger(out, bits), b_.number(a, b_.integerType(bits), ~(uint64_t{1} << (bits - 1))));
    Value* const signedOut = b_.asFloat(b_.CreateOr(magnitude, sign), type);
    out = b_.CreateSelect(b_.CreateFCmpUNO(out, out), out, signedOut);
  }
  return out;
}

// --- f32 and f64

// div.approx by finite divisors beyond 2^126 gives zero.
llvm::Value* Floats::farDivisorsGiveZero(Value* dividend, Value* divisor, Value* quotient) {
  LType* const element = b_.getFloatTy();
  Value* const b = pieces_.absolute(divisor);
  Value* const huge = b_.CreateAnd(b_.CreateFCmpOGT(b, b_.real(b, element, 0x1p126)),
                                   b_.CreateFCmpOLT(b, b_.real(b, element, HUGE_VAL)));
  Value* const zero = b_.asFloat(b_.CreateAnd(b_.CreateXor(b_.asInteger(dividend, 32), b_.asInteger(divisor, 32)),
                                              b_.number(dividend, b_.getInt32Ty(), 0x80000000u)),
                                 element);
  Value* const inf = b_.CreateFCmpOEQ(pieces_.absolute(dividend), b_.real(b, element, HUGE_VAL));
  Value* const nan = b_.asFloat(b_.number(dividend, b_.getInt32Ty(), 0x7fffffff), element);
  Value* const nanIn = b_.CreateFCmpUNO(dividend, dividend);
  return b_.CreateSelect(b_.CreateAnd(huge, b_.CreateNot(nanIn)), b_.CreateSelect(inf, nan, zero), quotient);
}

// rsqrt.approx.f64 to the bit: a step further from the upper word, as in special::nearReciprocalRoot64.
llvm::Value* Floats::nearReciprocalRoot64(Value* in) {
  const auto n = [&](double value) { return b_.real(in, b_.getDoubleTy(), value); };
  Value* const tiny = b_.CreateFCmpOLT(pieces_.absolute(in), n(0x1p-1022));
  Value* const x = b_.CreateSelect(tiny, b_.CreateFMul(in, n(0x1p54)), in);
  Value* const y = approximations_.approxReciprocal64(x, true);
  Value* const rest = pieces_.fusedMultiplyAdd(x, pieces_.negate(b_.CreateFMul(y, y)), n(1.0));
  Value* const series = pieces_.fusedMultiplyAdd(rest, n(0.375), n(0.5));
  Value* const near = pieces_.fusedMultiplyAdd(series, b_.CreateFMul(rest, y), y);
  Value* const scaled = b_.CreateSelect(tiny, b_.CreateFMul(near, n(0x1p27)), near);
  Value* const ordinary = b_.CreateAnd(b_.CreateFCmpOLT(in, n(HUGE_VAL)), b_.CreateFCmpOGT(in, n(0)));
  Value* const none = b_.asFloat(b_.number(in, b_.getInt64Ty(), 0xfff8000000000000), b_.getDoubleTy());
  Value* const valid = b_.CreateSelect(b_.CreateFCmpOLT(in, n(0)), none, b_.CreateSelect(ordinary, scaled, y));
  return b_.CreateSelect(b_.CreateFCmpUNO(in, in), b_.CreateFAdd(in, in), valid);
}

// What is too small before rounding is zero, even when rounding would lift it to the smallest normal number.
llvm::Value* Floats::flushLifted(const Instruction& i, ArrayRef<Value*> s, Value* out) {
  const auto n32 = [&](uint32_t value) { return b_.number(out, b_.getInt32Ty(), value); };
  Value* const bits = b_.asInteger(out, 32);
  Value* const cut = b_.asInteger(pieces_.directedOperation(i, s, 11), 32);
  Value* const tiny = b_.CreateICmpULT(b_.CreateAnd(cut, n32(0x7fffffff)), n32(0x00800000));
  Value* const lifted = b_.CreateAnd(b_.CreateICmpEQ(b_.CreateAnd(bits, n32(0x7fffffff)), n32(0x00800000)), tiny);
  return b_.asFloat(b_.CreateSelect(lifted, b_.CreateAnd(bits, n32(0x80000000u)), bits), b_.getFloatTy());
}

llvm::Value* Floats::floatOperation(const Instruction& i, Type type, ArrayRef<Value*> in) {
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
      if (v) v = pieces_.flush(v);
  const auto signBit = [&] { return b_.number(s[0], b_.integerType(bits), uint64_t{1} << (bits - 1)); };
  const auto onBits = [&](auto&& f) { return b_.asFloat(f(b_.asInteger(s[0], bits)), element); };
  const bool exact = single && options_.exactApproximations && (ast.has(Mod::Approx) || ast.has(Mod::Full));
  Value* out = nullptr;
  switch (exact ? Op::Invalid : ast.op) {
    case Op::Invalid:
      out = ast.op == Op::Div ? exact_.exactQuotient(s[0], s[1], !ast.has(Mod::Approx), ftz)
                              : exact_.exactSpecial(ast.op, s[0], ftz);
      break;
    case Op::Add:
      out = directed ? pieces_.rounded(i, Op::Add, s) : b_.CreateFAdd(s[0], s[1]);
      break;
    case Op::Sub:
      out = directed ? pieces_.rounded(i, Op::Sub, s) : b_.CreateFSub(s[0], s[1]);
      break;
    case Op::Mul:
      out = directed ? pieces_.rounded(i, Op::Mul, s) : b_.CreateFMul(s[0], s[1]);
      break;
    case Op::Fma:
    case Op::Mad:
      out = directed ? pieces_.rounded(i, Op::Fma, s) : pieces_.fusedMultiplyAdd(s[0], s[1], s[2]);
      break;
    case Op::Div:
      out = directed ? pieces_.rounded(i, Op::Div, s) : b_.CreateFDiv(s[0], s[1]);
      if (ast.has(Mod::Approx)) out = farDivisorsGiveZero(s[0], s[1], out);
      break;
    case Op::Rcp:
      if (!single && ast.has(Mod::Approx)) {
        out = approximations_.approxReciprocal64(s[0], false);
      } else if (directed) {
        out = pieces_.rounded(i, Op::Div, {b_.real(s[0], element, 1.0), s[0]});
      } else {
        out = b_.CreateFDiv(b_.real(s[0], element, 1.0), s[0]);
      }
      break;
    case Op::Sqrt:
      out = directed ? pieces_.rounded(i, Op::Sqrt, s) : b_.intrinsic(Intrinsic::sqrt, {s[0]});
      break;
    case Op::Rsqrt:
      if (!single && (ast.has(Mod::Ftz) || options_.exactApproximations))
        out = ast.has(Mod::Ftz) ? approximations_.approxReciprocal64(s[0], true) : nearReciprocalRoot64(s[0]);
      else
        out = b_.CreateFDiv(b_.real(s[0], element, 1.0), b_.intrinsic(Intrinsic::sqrt, {s[0]}));
      break;
    case Op::Abs:
      out = onBits([&](Value* v) { return b_.CreateAnd(v, b_.CreateNot(signBit())); });
      break;
    case Op::Neg:
      out = onBits([&](Value* v) { return b_.CreateXor(v, signBit()); });
      break;
    case Op::Copysign:
      // The sign of the first on the magnitude of the second.
      out = b_.asFloat(b_.CreateOr(b_.CreateAnd(b_.asInteger(s[0], bits), signBit()),
                                   b_.CreateAnd(b_.asInteger(s[1], bits), b_.CreateNot(signBit()))),
                       element);
      break;
    case Op::Min:
    case Op::Max:
      out = minMax(i, s[0], s[1], ast.op == Op::Min);
      for (size_t n = 2; n < s.size(); ++n) out = minMax(i, out, s[n], ast.op == Op::Min);
      break;
    case Op::Ex2:
      out = approximations_.exp2Approx(s[0]);
      break;
    case Op::Lg2:
      out = approximations_.log2Approx(s[0]);
      break;
    case Op::Sin:
      out = approximations_.sinCosApprox(s[0], false);
      break;
    case Op::Cos:
      out = approximations_.sinCosApprox(s[0], true);
      break;
    case Op::Tanh:
      out = approximations_.tanhApprox(s[0]);
      break;
    default:
      unsupported(i);
  }
  if (ast.has(Mod::Sat)) out = pieces_.saturate(out);
  if (ftz && ast.op != Op::Copysign) out = pieces_.flush(out);
  if (ftz && directed && !ast.has(Mod::Rz)) out = flushLifted(i, s, out);
  return out;
}

}  // namespace vg::ptx::gen
