// Floating-point instructions. No fast-math flag is ever set: what PTX fuses or approximates is said by its opcode.
#include "ptx/llvm/compute/float.h"

#include <cmath>

#include "ptx/llvm/compute/half_types.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

namespace {
bool isDirected(const ptx::Instruction& i) { return i.has(Mod::Rz) || i.has(Mod::Rm) || i.has(Mod::Rp); }
}  // namespace

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
    Value* out = nullptr;
    for (uint32_t n = 0; n < 2; ++n) {
      llvm::SmallVector<Value*, 3> part;
      for (Value* v : s) {
        Value* const wide = b_.asInteger(v, 32);
        part.push_back(b_.asInteger(n ? b_.CreateLShr(wide, b_.number(wide, b_.getInt32Ty(), 16)) : wide, 16));
      }
      Value* const v = b_.asInteger(halfOperation(i, halfIn(type), part), 32);
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

// What is too small after rounding to 24 bits, whatever its exponent, is zero, even where rounding to the step of
// subnormal numbers lifts it to the smallest normal one. So the same is rounded where there are no subnormal numbers.
llvm::Value* Floats::flushLifted(const Instruction& i, ArrayRef<Value*> s, Value* out) {
  const auto n32 = [&](uint32_t value) { return b_.number(out, b_.getInt32Ty(), value); };
  const Op op = i.ast->op;
  llvm::SmallVector<Value*, 3> larger(s.begin(), s.end());
  for (size_t k = 0; k < larger.size(); ++k) {
    const bool factor = k == 1 && op != Op::Add && op != Op::Sub;  // or divisor
    if (larger[k] && !factor)
      larger[k] = b_.CreateFMul(larger[k], b_.real(larger[k], b_.getFloatTy(), op == Op::Rcp ? 0x1p-32 : 0x1p32));
  }
  Value* const bits = b_.asInteger(out, 32);
  Value* const rounded = pieces_.absolute(pieces_.directedOperation(i, larger));
  Value* const tiny = b_.CreateFCmpOLT(rounded, b_.real(rounded, b_.getFloatTy(), 0x1p-94));
  Value* const lifted = b_.CreateAnd(b_.CreateICmpEQ(b_.CreateAnd(bits, n32(0x7fffffff)), n32(0x00800000)), tiny);
  return b_.asFloat(b_.CreateSelect(lifted, b_.CreateAnd(bits, n32(0x80000000u)), bits), b_.getFloatTy());
}

llvm::Value* Floats::floatOperation(const Instruction& i, Type type, ArrayRef<Value*> in) {
  const ptx::Instruction& ast = *i.ast;
  const bool single = type == Type::F32;
  const bool flushes = ast.has(Mod::Ftz) && single && ast.op != Op::Copysign;
  llvm::SmallVector<Value*, 3> s(in.begin(), in.end());
  if (ast.has(Mod::Oob)) unsupported(i, "oob");
  if (flushes)
    for (Value*& v : s)
      if (v) v = pieces_.flush(v);
  Value* out = nullptr;
  const bool recorded = !ast.has(Mod::TwoPi);  // no GPU has told what it makes of turns
  if (single && recorded && options_.exactApproximations && (ast.has(Mod::Approx) || ast.has(Mod::Full))) {
    out = ast.op == Op::Div ? exact_.exactQuotient(s[0], s[1], !ast.has(Mod::Approx), flushes)
                            : exact_.exactSpecial(ast.op, s[0], flushes);
  } else {
    out = floatResult(i, s);
  }
  if (ast.has(Mod::Sat)) out = pieces_.saturate(out);
  if (flushes) out = pieces_.flush(out);
  if (flushes && isDirected(ast) && !ast.has(Mod::Rz)) out = flushLifted(i, s, out);
  return out;
}

// Of an angle in turns: whole turns are left out first, which is exact.
llvm::Value* Floats::radians(Value* turns) {
  Value* const rest = b_.CreateFSub(turns, b_.intrinsic(Intrinsic::rint, {turns}));
  return b_.CreateFMul(rest, b_.real(rest, b_.getFloatTy(), 6.28318530717958647693));
}

// Before anything of it is saturated or flushed. All of `s` have one type.
llvm::Value* Floats::floatResult(const Instruction& i, ArrayRef<Value*> s) {
  Value* out = nullptr;
  switch (i.ast->op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Fma:
    case Op::Mad:
    case Op::Div:
    case Op::Rcp:
    case Op::Sqrt:
    case Op::Rsqrt:
      return arithmetic(i, s);
    case Op::Abs:
    case Op::Neg:
    case Op::Copysign:
      return signOperation(i.ast->op, s);
    case Op::Min:
    case Op::Max:
      out = minMax(i, s[0], s[1], i.ast->op == Op::Min);
      for (size_t n = 2; n < s.size(); ++n) out = minMax(i, out, s[n], i.ast->op == Op::Min);
      return out;
    case Op::Ex2:
      return approximations_.exp2Approx(s[0]);
    case Op::Lg2:
      return approximations_.log2Approx(s[0]);
    case Op::Sin:
    case Op::Cos:
      return approximations_.sinCosApprox(i.ast->has(Mod::TwoPi) ? radians(s[0]) : s[0], i.ast->op == Op::Cos);
    case Op::Tanh:
      return approximations_.tanhApprox(s[0]);
    default:
      unsupported(i);
  }
}

llvm::Value* Floats::arithmetic(const Instruction& i, ArrayRef<Value*> s) {
  const Op op = i.ast->op;
  if (op == Op::Rcp || op == Op::Rsqrt) {
    if (Value* const approximate = approximateReciprocal64(*i.ast, s[0])) return approximate;
  }
  if (isDirected(*i.ast) && op != Op::Rsqrt) return pieces_.directedOperation(i, s);
  switch (op) {
    case Op::Add:
      return b_.CreateFAdd(s[0], s[1]);
    case Op::Sub:
      return b_.CreateFSub(s[0], s[1]);
    case Op::Mul:
      return b_.CreateFMul(s[0], s[1]);
    case Op::Div: {
      Value* const out = b_.CreateFDiv(s[0], s[1]);
      return i.ast->has(Mod::Approx) ? farDivisorsGiveZero(s[0], s[1], out) : out;
    }
    case Op::Rcp:
      return reciprocal(s[0]);
    case Op::Sqrt:
      return b_.intrinsic(Intrinsic::sqrt, {s[0]});
    case Op::Rsqrt:
      return reciprocal(b_.intrinsic(Intrinsic::sqrt, {s[0]}));
    default:
      return pieces_.fusedMultiplyAdd(s[0], s[1], s[2]);
  }
}

llvm::Value* Floats::reciprocal(Value* x) { return b_.CreateFDiv(b_.real(x, x->getType()->getScalarType(), 1.0), x); }

// The forms of rcp and rsqrt in f64 that PTX rounds to less than a double has; nothing for others.
llvm::Value* Floats::approximateReciprocal64(const ptx::Instruction& ast, Value* x) {
  if (!x->getType()->getScalarType()->isDoubleTy()) return nullptr;
  if (ast.op == Op::Rcp) return ast.has(Mod::Approx) ? approximations_.approxReciprocal64(x, false) : nullptr;
  if (ast.has(Mod::Ftz)) return approximations_.approxReciprocal64(x, true);
  return options_.exactApproximations ? nearReciprocalRoot64(x) : nullptr;
}

llvm::Value* Floats::signOperation(Op op, ArrayRef<Value*> s) {
  LType* const element = s[0]->getType()->getScalarType();
  const uint32_t bits = element->getScalarSizeInBits();
  Value* const sign = b_.number(s[0], b_.integerType(bits), uint64_t{1} << (bits - 1));
  const auto signOf = [&](Value* v) { return b_.CreateAnd(b_.asInteger(v, bits), sign); };
  const auto magnitude = [&](Value* v) { return b_.CreateAnd(b_.asInteger(v, bits), b_.CreateNot(sign)); };
  if (op == Op::Abs) return b_.asFloat(magnitude(s[0]), element);
  if (op == Op::Neg) return b_.asFloat(b_.CreateXor(b_.asInteger(s[0], bits), sign), element);
  return b_.asFloat(b_.CreateOr(signOf(s[0]), magnitude(s[1])), element);  // copysign
}

}  // namespace vg::ptx::gen
