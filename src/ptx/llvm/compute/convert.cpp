// cvt: between widths, integers and floats, with every rounding and saturation.
#include "ptx/llvm/compute/convert.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>

#include "ptx/llvm/compute/half_types.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

namespace {
// Roundings of a float result: nearest even, down, up, towards zero, to odd; as the x86 encoding where it has one.
enum Rounding { Nearest = 0, Down = 1, Up = 2, Zero = 3, Odd = 4, Away = 5 };

int roundingOf(const ptx::Instruction& i) {
  if (i.has(Mod::Rm) || i.has(Mod::Rmi)) return Down;
  if (i.has(Mod::Rp) || i.has(Mod::Rpi)) return Up;
  if (i.has(Mod::Rz) || i.has(Mod::Rzi)) return Zero;
  if (i.has(Mod::Rna)) return Away;
  return Nearest;
}
bool roundsToIntegral(const ptx::Instruction& i) {
  return i.has(Mod::Rni) || i.has(Mod::Rzi) || i.has(Mod::Rmi) || i.has(Mod::Rpi);
}
bool isKnown(Type t) {
  return (t >= Type::B8 && t <= Type::B64) || (t >= Type::U8 && t <= Type::S64) || isHalf(t) || t == Type::F32 ||
         t == Type::F64;
}
}  // namespace

// The upper bits of a NaN that came from f64.
static llvm::Value* narrowedNaN(llvm::IRBuilder<>& b, llvm::Value* bits, Type to) {
  const auto n32 = [&](uint64_t c) { return llvm::ConstantInt::get(bits->getType(), c); };
  llvm::Value* const high = b.CreateLShr(bits, n32(16));
  llvm::Value* const half = b.CreateOr(b.CreateOr(b.CreateAnd(high, n32(0x8000)), n32(0x7c00)),
                                       b.CreateAnd(b.CreateLShr(bits, n32(13)), n32(0x3ff)));
  return b.CreateTrunc(to == Type::BF16 ? high : half, bits->getType()->getWithNewBitWidth(16));
}

void Conversions::computeConvert(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const Type to = ast.types[0];
  if (ast.has(Mod::Pack)) {  // cvt.pack.sat.u8.s32.b32 d, a, b, c
    const Type from = ast.types[1];
    const uint32_t bits = ptx::bitsOf(to);
    if (bits > 16 || (s.size() > 2 && bits > 8)) unsupported(i, "packing of this width");
    const auto part = [&](Value* v) {
      Value* const limited = b_.asInteger(saturateInteger(b_.asType(v, from), to, from), 32);
      return b_.CreateAnd(limited, b_.number(limited, b_.getInt32Ty(), (1u << bits) - 1));
    };
    Value* out = part(s[1]);
    out = b_.CreateOr(b_.CreateShl(part(s[0]), b_.number(out, b_.getInt32Ty(), bits)), out);
    if (s.size() > 2)
      out = b_.CreateOr(out, b_.CreateShl(b_.asInteger(s[2], 32), b_.number(out, b_.getInt32Ty(), 2 * bits)));
    r.push_back(out);
    return;
  }
  if (ast.has(Mod::Rs)) {
    r.push_back(roundByChance(i, s));
    return;
  }
  if (ast.typeCount > 1 && (isNarrowPair(to) || isNarrowPair(ast.types[1]))) {
    r.push_back(convertPairs(i, s));
    return;
  }
  if (isHalfPair(to)) {
    if (ast.typeCount < 2 || ast.types[1] != Type::F32 || s.size() != 2) unsupported(i, "source of packed conversion");
    const Type half = halfIn(to);
    // The first operand goes to the upper half.
    Value* const high = convert(i, s[0], half, Type::F32);
    Value* const low = convert(i, s[1], half, Type::F32);
    r.push_back(
        b_.CreateOr(b_.CreateShl(b_.asInteger(high, 32), b_.number(high, b_.getInt32Ty(), 16)), b_.asInteger(low, 32)));
    return;
  }
  if (ast.typeCount < 2) unsupported(i);
  r.push_back(convert(i, s[0], to, ast.types[1]));
}

llvm::Value* Conversions::convert(const Instruction& i, Value* v, Type to, Type from) {
  const ptx::Instruction& ast = *i.ast;
  if (to == Type::TF32 && from == Type::F32) return floatToTf32(ast, v);
  if (!isKnown(to) || !isKnown(from)) unsupported(i, "format");
  if (ast.has(Mod::Satfinite) && !isHalf(to)) unsupported(i, "format");
  const bool toFloat = ptx::isFloat(to), fromFloat = ptx::isFloat(from);
  if (!toFloat && !fromFloat) {
    Value* x = b_.asInteger(v, ptx::bitsOf(from));
    if (ast.has(Mod::Sat)) x = saturateInteger(x, to, from);
    return b_.extend(x, ptx::bitsOf(to), isSigned(from));
  }
  if (!fromFloat) return integerToFloat(i, b_.asInteger(v, ptx::bitsOf(from)), to, from);
  Value* const x = sourceAsFloat(ast, v, to, from);
  if (!toFloat) return floatToInteger(x, roundingOf(ast), to, from);
  return floatToFloat(ast, roundsToIntegral(ast) ? roundToIntegral(x, roundingOf(ast)) : x, to);
}

// 10 bits of mantissa are kept; rna is away from zero on a tie, rn to even, rz cuts.
llvm::Value* Conversions::floatToTf32(const ptx::Instruction& ast, Value* v) {
  Value* const bits = b_.asInteger(v, 32);
  const auto n32 = [&](uint64_t c) { return b_.number(bits, b_.getInt32Ty(), c); };
  Value* x = b_.asFloat(v, b_.getFloatTy());
  Value* add = n32(0x1000);
  const int mode = roundingOf(ast);
  if (mode == Nearest) add = b_.CreateAdd(n32(0xfff), b_.CreateAnd(b_.CreateLShr(bits, n32(13)), n32(1)));
  if (mode == Zero) add = n32(0);
  Value* out = b_.CreateAnd(b_.CreateAdd(bits, add), n32(0xffffe000u));
  Value* const special = b_.CreateFCmpUEQ(pieces_.absolute(x), b_.real(x, b_.getFloatTy(), HUGE_VAL));
  Value* const nan = b_.CreateFCmpUNO(x, x);
  // .rna is arithmetic on the bits, which may leave an infinity of a NaN.
  Value* const ofNaN = mode == Away ? b_.CreateAnd(bits, n32(0xffffe000u)) : n32(0x7fffe000);
  out = b_.CreateSelect(nan, ofNaN, b_.CreateSelect(special, bits, out));
  if (ast.has(Mod::Satfinite)) {  // infinities, and in .rna NaNs too, lose a unit
    Value* const magnitude = b_.CreateAnd(out, n32(0x7fffffff));
    Value* const large =
        mode == Away ? b_.CreateICmpUGE(magnitude, n32(0x7f800000)) : b_.CreateICmpEQ(magnitude, n32(0x7f800000));
    out = b_.CreateSelect(large, b_.CreateSub(out, n32(0x2000)), out);
  }
  if (ast.has(Mod::Relu)) out = b_.CreateSelect(b_.CreateICmpSLT(out, n32(0)), n32(0), out);
  return out;
}

// A float of some kind as f32 or f64.
llvm::Value* Conversions::sourceAsFloat(const ptx::Instruction& ast, Value* v, Type to, Type from) {
  const bool ftz = ast.has(Mod::Ftz);
  if (isHalf(from)) {
    Value* bits = b_.asInteger(v, 16);
    if (ftz && from == Type::F16 && to == Type::F16) bits = pieces_.flushHalf(bits);
    return halfToFloat(bits, from);
  }
  Value* const x = b_.asType(v, from);
  // Halves have room for what it would flush.
  return ftz && from == Type::F32 && to != Type::F16 ? pieces_.flush(x) : x;
}

// The instruction's float result of an f32 or f64.
llvm::Value* Conversions::floatToFloat(const ptx::Instruction& ast, Value* x, Type to) {
  const bool isDouble = x->getType()->getScalarType()->isDoubleTy();
  const int rounding = roundsToIntegral(ast) ? static_cast<int>(Nearest) : roundingOf(ast);
  if (to == Type::F64) return limited(ast, isDouble ? x : b_.CreateFPExt(x, b_.like(x, b_.getDoubleTy())));
  if (to == Type::F32) {
    if (isDouble) x = doubleToFloat(x, rounding);
    x = limited(ast, x);
    return ast.has(Mod::Ftz) ? pieces_.flush(x) : x;
  }
  if (isDouble) x = doubleToFloat(x, Odd);
  Value* half = floatToHalf(limited(ast, x), to, rounding);
  if (isDouble && !ast.has(Mod::Sat))
    half = b_.CreateSelect(b_.CreateFCmpUNO(x, x), narrowedNaN(b_, b_.asInteger(x, 32), to), half);
  return ast.has(Mod::Satfinite) ? finiteHalf(half, to) : half;
}

// .sat and .relu.
llvm::Value* Conversions::limited(const ptx::Instruction& ast, Value* x) {
  if (ast.has(Mod::Sat)) x = pieces_.saturate(x);
  return ast.has(Mod::Relu) ? pieces_.atLeastZero(x) : x;
}

llvm::Value* Conversions::finiteHalf(Value* bits, Type type) {
  const uint32_t infinity = type == Type::F16 ? 0x7c00 : 0x7f80;
  LType* const half = b_.getInt16Ty();
  Value* const infinite =
      b_.CreateICmpEQ(b_.CreateAnd(bits, b_.number(bits, half, 0x7fff)), b_.number(bits, half, infinity));
  return b_.CreateSub(bits, b_.CreateZExt(infinite, bits->getType()));
}

// --- Halves ----------------------------------------------------------------------------------------------------------

llvm::Value* Conversions::halfToFloat(Value* bits, Type type) {
  LType* const floatType = b_.like(bits, b_.getFloatTy());
  LType* const word = b_.getInt32Ty();
  if (type == Type::BF16)
    return b_.asFloat(b_.CreateShl(b_.asInteger(bits, 32), b_.number(bits, word, 16)), b_.getFloatTy());
  if (options_.f16c) return b_.CreateFPExt(b_.CreateBitCast(bits, b_.like(bits, b_.getHalfTy())), floatType);
  // Exponent and mantissa moved into place, scaled by a power of two that also handles denormals.
  Value* const x = b_.asInteger(bits, 32);
  const auto n32 = [&](uint64_t c) { return b_.number(x, word, c); };
  Value* const moved = b_.CreateShl(b_.CreateAnd(x, n32(0x7fff)), n32(13));
  Value* const scaled = b_.CreateFMul(b_.asFloat(moved, b_.getFloatTy()), b_.real(moved, b_.getFloatTy(), 0x1p112));
  Value* const special = b_.CreateICmpUGE(b_.CreateAnd(x, n32(0x7fff)), n32(0x7c00));
  Value* const magnitude = b_.CreateSelect(special, b_.CreateOr(moved, n32(0x7f800000)), b_.asInteger(scaled, 32));
  return b_.asFloat(b_.CreateOr(magnitude, b_.CreateShl(b_.CreateAnd(x, n32(0x8000)), n32(16))), b_.getFloatTy());
}

llvm::Value* Conversions::floatToHalf(Value* x, Type type, int rounding) {
  Value* const bits = b_.asInteger(x, 32);
  Value* const nan = b_.CreateFCmpUNO(x, x);
  Value* out;
  if (type == Type::BF16) {
    out = bfloatOfNumber(bits, rounding);
  } else if (options_.f16c && rounding == Nearest) {
    out = b_.CreateBitCast(b_.CreateFPTrunc(x, b_.like(x, b_.getHalfTy())), b_.like(x, b_.getInt16Ty()));
  } else {
    out = halfOfNumber(bits, rounding);
  }
  return b_.CreateSelect(nan, b_.number(bits, b_.getInt16Ty(), 0x7fff), out);
}

// From the bits of an f32 that is no NaN.
llvm::Value* Conversions::bfloatOfNumber(Value* bits, int rounding) {
  const auto n32 = [&](uint64_t c) { return b_.number(bits, b_.getInt32Ty(), c); };
  Value* const negative = b_.CreateICmpSLT(bits, n32(0));
  Value* add;
  switch (rounding) {
    case Nearest:
      add = b_.CreateAdd(n32(0x7fff), b_.CreateAnd(b_.CreateLShr(bits, n32(16)), n32(1)));
      break;
    case Zero:
      add = n32(0);
      break;
    case Down:
      add = b_.CreateSelect(negative, n32(0xffff), n32(0));
      break;
    case Up:
      add = b_.CreateSelect(negative, n32(0), n32(0xffff));
      break;
    default:
      add = n32(0x8000);
      break;
  }
  return b_.asInteger(b_.CreateLShr(b_.CreateAdd(bits, add), n32(16)), 16);
}

// Likewise, by integers: the magnitude cut to 11 bits with the part cut off deciding.
llvm::Value* Conversions::halfOfNumber(Value* bits, int rounding) {
  const auto n32 = [&](uint64_t c) { return b_.number(bits, b_.getInt32Ty(), c); };
  Value* const magnitude = b_.CreateAnd(bits, n32(0x7fffffff));
  Value* const negative = b_.CreateICmpSLT(bits, n32(0));
  Value* const normal = normalHalf(magnitude, negative, rounding);
  Value* const small = denormalHalf(magnitude, negative, rounding);
  Value* out = b_.CreateSelect(b_.CreateICmpULT(magnitude, n32(113u << 23)), small, normal);
  // Beyond the largest number: infinity, or the largest number where rounding does not go away from zero.
  Value* const toInfinity = overflowsToInfinity(bits, negative, rounding);
  Value* const tooBig = b_.CreateICmpUGE(out, n32(0x7c00));
  out = b_.CreateSelect(tooBig, b_.CreateSelect(toInfinity, n32(0x7c00), n32(0x7bff)), out);
  out = b_.CreateSelect(b_.CreateICmpUGE(magnitude, n32(143u << 23)),
                        b_.CreateSelect(toInfinity, n32(0x7c00), n32(0x7bff)), out);
  out = b_.CreateSelect(b_.CreateICmpEQ(magnitude, n32(0x7f800000)), n32(0x7c00), out);
  out = b_.CreateOr(out, b_.CreateAnd(b_.CreateLShr(bits, n32(16)), n32(0x8000)));
  return b_.asInteger(out, 16);
}

llvm::Value* Conversions::normalHalf(Value* magnitude, Value* negative, int rounding) {
  const auto n32 = [&](uint64_t c) { return b_.number(magnitude, b_.getInt32Ty(), c); };
  Value* const rebased = b_.CreateSub(magnitude, n32(112u << 23));
  Value* const kept = b_.CreateLShr(rebased, n32(13));
  Value* const rest = b_.CreateAnd(rebased, n32(0x1fff));
  Value* const up = roundsUp(kept, rest, n32(0x1000), negative, rounding);
  return b_.CreateAdd(kept, b_.CreateZExt(up, magnitude->getType()));
}

// The mantissa with its leading one, shifted right by 14 to 25 places.
llvm::Value* Conversions::denormalHalf(Value* magnitude, Value* negative, int rounding) {
  const auto n32 = [&](uint64_t c) { return b_.number(magnitude, b_.getInt32Ty(), c); };
  Value* const exponent = b_.CreateLShr(magnitude, n32(23));
  Value* const mantissa = b_.CreateOr(b_.CreateAnd(magnitude, n32(0x7fffff)),
                                      b_.CreateSelect(b_.CreateICmpEQ(exponent, n32(0)), n32(0), n32(0x800000)));
  Value* const places = b_.intrinsic(Intrinsic::umin, {b_.CreateSub(n32(126), exponent), n32(31)});
  Value* const safePlaces = b_.CreateAnd(places, n32(31));
  Value* const kept = b_.CreateLShr(mantissa, safePlaces);
  Value* const one = n32(1);
  Value* const rest = b_.CreateAnd(mantissa, b_.CreateSub(b_.CreateShl(one, safePlaces), one));
  Value* const halfway = b_.CreateShl(one, b_.CreateAnd(b_.CreateSub(safePlaces, one), n32(31)));
  Value* const up = roundsUp(kept, rest, halfway, negative, rounding);
  return b_.CreateAdd(kept, b_.CreateZExt(up, magnitude->getType()));
}

// Whether what is kept of a magnitude grows by one for the rest that is cut off.
llvm::Value* Conversions::roundsUp(Value* kept, Value* rest, Value* halfway, Value* negative, int rounding) {
  const auto n32 = [&](uint64_t c) { return b_.number(kept, b_.getInt32Ty(), c); };
  Value* const inexact = b_.CreateICmpNE(rest, n32(0));
  switch (rounding) {
    case Nearest: {
      Value* const odd = b_.CreateICmpNE(b_.CreateAnd(kept, n32(1)), n32(0));
      return b_.CreateOr(b_.CreateICmpUGT(rest, halfway), b_.CreateAnd(b_.CreateICmpEQ(rest, halfway), odd));
    }
    case Down:
      return b_.CreateAnd(inexact, negative);
    case Up:
      return b_.CreateAnd(inexact, b_.CreateNot(negative));
    case Away:
      return b_.CreateICmpUGE(rest, halfway);
    default:
      return b_.CreateICmpNE(kept, kept);
  }
}

llvm::Value* Conversions::overflowsToInfinity(Value* bits, Value* negative, int rounding) {
  switch (rounding) {
    case Zero:
      return b_.CreateICmpNE(bits, bits);
    case Down:
      return negative;
    case Up:
      return b_.CreateNot(negative);
    default:
      return b_.CreateICmpEQ(bits, bits);
  }
}

// --- Roundings -------------------------------------------------------------------------------------------------------

llvm::Value* Conversions::doubleToFloat(Value* x, int rounding) {
  LType* const type = b_.like(x, b_.getFloatTy());
  // There and back is not nothing: a signalling NaN comes back as a quiet one. Arithmetic on the way may become that of
  // f32, which makes a quiet one too.
  if (!llvm::isa<llvm::Constant, llvm::BinaryOperator>(x)) x = b_.CreateArithmeticFence(x, x->getType());
  Value* const nearest = b_.CreateFPTrunc(x, type);
  if (rounding == Nearest) return nearest;
  Value* const back = b_.CreateFPExt(nearest, x->getType());
  Value* const bits = b_.asInteger(nearest, 32);
  const auto n32 = [&](uint64_t c) { return b_.number(bits, b_.getInt32Ty(), c); };
  Value* const finite = b_.CreateFCmpOLT(pieces_.absolute(x), b_.real(x, b_.getDoubleTy(), HUGE_VAL));
  // Larger or smaller in magnitude than the exact value. One step of the bits is one step of the magnitude.
  Value* const larger = b_.CreateAnd(b_.CreateFCmpOGT(pieces_.absolute(back), pieces_.absolute(x)), finite);
  Value* const smaller = b_.CreateAnd(b_.CreateFCmpOLT(pieces_.absolute(back), pieces_.absolute(x)), finite);
  Value* const negative = b_.CreateFCmpOLT(x, b_.real(x, b_.getDoubleTy(), 0.0));
  Value* const less = b_.CreateSub(bits, n32(1));
  Value* const more = b_.CreateAdd(bits, n32(1));
  Value* out = nullptr;
  switch (rounding) {
    case Zero:
      out = b_.CreateSelect(larger, less, bits);
      break;
    case Down:
      out = b_.CreateSelect(b_.CreateAnd(larger, b_.CreateNot(negative)), less, bits);
      out = b_.CreateSelect(b_.CreateAnd(smaller, negative), more, out);
      break;
    case Up:
      out = b_.CreateSelect(b_.CreateAnd(larger, negative), less, bits);
      out = b_.CreateSelect(b_.CreateAnd(smaller, b_.CreateNot(negative)), more, out);
      break;
    default: {
      Value* const truncated = b_.CreateSelect(larger, less, bits);
      out = b_.CreateSelect(b_.CreateOr(larger, smaller), b_.CreateOr(truncated, n32(1)), bits);
      break;
    }
  }
  return b_.asFloat(out, b_.getFloatTy());
}

llvm::Value* Conversions::roundToIntegral(Value* x, int mode) {
  switch (mode) {
    case Down:
      return b_.intrinsic(Intrinsic::floor, {x});
    case Up:
      return b_.intrinsic(Intrinsic::ceil, {x});
    case Zero:
      return b_.intrinsic(Intrinsic::trunc, {x});
    default:
      return b_.intrinsic(Intrinsic::roundeven, {x});
  }
}

// Saturates, NaN gives zero. LLVM would convert the lanes of a vector one by one.
llvm::Value* Conversions::saturatedVector(Value* x, uint32_t bits, bool isSigned) {
  LType *const real = x->getType()->getScalarType(), *const target = b_.integerType(bits);
  LType* const wide = b_.like(x, b_.integerType(std::max(bits, 32u)));
  const double beyond = std::ldexp(1.0, static_cast<int>(bits - isSigned));
  Value *const end = b_.real(x, real, beyond), *const least = b_.real(x, real, isSigned ? -beyond : 0);
  Value* const large = b_.CreateFCmpOGE(x, end);
  Value* inside = b_.CreateSelect(b_.CreateFCmpOLT(x, end), x, b_.real(x, real, 0));
  inside = b_.CreateSelect(b_.CreateFCmpOGT(inside, least), inside, least);
  Value* const whole = isSigned || bits < 32 ? b_.CreateFPToSI(inside, wide) : b_.CreateFPToUI(inside, wide);
  Value* const out = b_.CreateTrunc(whole, b_.like(x, target));
  return b_.CreateSelect(large, b_.number(out, target, ~uint64_t{0} >> (64 - bits + isSigned)), out);
}

// Saturates. NaN gives zero, or where 64 bits are involved the top bit.
llvm::Value* Conversions::floatToInteger(Value* x, int mode, Type to, Type from) {
  const uint32_t bits = ptx::bitsOf(to);
  LType* const target = b_.like(x, b_.integerType(bits));
  const bool isVector = x->getType()->isVectorTy();
  if (mode != Zero || !isVector) x = roundToIntegral(x, mode);
  Value* const out = isVector ? saturatedVector(x, bits, isSigned(to))
                              : b_.callIntrinsic(isSigned(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                                 {target, x->getType()}, {x});
  if (bits != 64 && from != Type::F64) return out;
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), b_.number(out, b_.integerType(bits), uint64_t{1} << (bits - 1)), out);
}

llvm::Value* Conversions::saturateInteger(Value* v, Type to, Type from) {
  const uint32_t fromBits = ptx::bitsOf(from), toBits = ptx::bitsOf(to);
  LType* const type = b_.integerType(fromBits);
  const bool fromSigned = isSigned(from), toSigned = isSigned(to);
  const auto high = [&](uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; };
  if (!fromSigned) {
    const uint64_t limit = toSigned ? high(toBits - 1) : high(toBits);
    if (limit >= high(fromBits)) return v;
    return b_.intrinsic(Intrinsic::umin, {v, b_.number(v, type, limit)});
  }
  if (!toSigned) {
    v = b_.intrinsic(Intrinsic::smax, {v, b_.number(v, type, 0)});
    if (toBits >= fromBits) return v;
    return b_.intrinsic(Intrinsic::umin, {v, b_.number(v, type, high(toBits))});
  }
  if (toBits >= fromBits) return v;
  const uint64_t limit = high(toBits - 1);
  v = b_.intrinsic(Intrinsic::smin, {v, b_.number(v, type, limit)});
  return b_.intrinsic(Intrinsic::smax, {v, b_.number(v, type, ~limit)});
}

llvm::Value* Conversions::integerToFloat(const Instruction& i, Value* v, Type to, Type from) {
  const int rounding = roundingOf(*i.ast);
  const uint32_t bits = ptx::bitsOf(from);
  const auto saturated = [&](Value* x) { return i.ast->has(Mod::Sat) ? pieces_.saturate(x) : x; };
  if (to == Type::F64) {
    const bool inexact = rounding != Nearest && bits == 64;
    return saturated(inexact ? roundedDoubleOf(i, v, from) : castToFloat(v, b_.getDoubleTy(), from));
  }
  if (to == Type::F32) return saturated(singleOf(v, from, rounding));
  // Halves: through f32 rounded to odd when it is not exact.
  return floatToHalf(saturated(singleOf(v, from, bits <= 16 ? static_cast<int>(Nearest) : Odd)), to, rounding);
}

llvm::Value* Conversions::castToFloat(Value* v, LType* element, Type from) {
  LType* const type = b_.like(v, element);
  return isSigned(from) ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
}

// From 64 bits: split in two halves that are exact, which are added with the rounding wanted.
llvm::Value* Conversions::roundedDoubleOf(const Instruction& i, Value* v, Type from) {
  LType* const type = b_.getDoubleTy();
  const auto word = [&](uint64_t c) { return b_.number(v, b_.getInt64Ty(), c); };
  Value* const upper = isSigned(from) ? b_.CreateAShr(v, word(32)) : b_.CreateLShr(v, word(32));
  Value* const lower = b_.CreateAnd(v, word(0xffffffffu));
  Value* const a = b_.CreateFMul(castToFloat(upper, type, from), b_.real(v, type, 0x1p32));
  Value* const c = b_.CreateUIToFP(lower, b_.like(v, type));
  Value* const sum = pieces_.rounded(i, Op::Add, {a, c});
  // An exact zero is +0 in every rounding.
  return b_.CreateSelect(b_.CreateICmpEQ(v, word(0)), b_.real(v, type, 0.0), sum);
}

llvm::Value* Conversions::singleOf(Value* v, Type from, int rounding) {
  if (rounding == Nearest) return castToFloat(v, b_.getFloatTy(), from);
  if (ptx::bitsOf(from) <= 32) return doubleToFloat(castToFloat(v, b_.getDoubleTy(), from), rounding);
  return singleOfWord(v, isSigned(from), rounding);
}

// From 64 bits. Rounds to odd at 64 - 11 bits first: the low bits are folded into one that only tells "inexact".
llvm::Value* Conversions::singleOfWord(Value* v, bool isSignedType, int rounding) {
  const auto word = [&](uint64_t c) { return b_.number(v, b_.getInt64Ty(), c); };
  Value* const negative = isSignedType ? b_.CreateICmpSLT(v, word(0)) : b_.CreateICmpNE(v, v);
  Value* const magnitude = b_.CreateSelect(negative, b_.CreateNeg(v), v);
  Value* const low = b_.CreateAnd(magnitude, word(0xfff));
  Value* const sticky = b_.CreateZExt(b_.CreateICmpNE(low, word(0)), v->getType());
  Value* const big = b_.CreateICmpUGE(magnitude, word(uint64_t{1} << 52));
  Value* const folded = b_.CreateSelect(
      big, b_.CreateOr(b_.CreateAnd(magnitude, word(~uint64_t{0xfff})), b_.CreateShl(sticky, word(12))), magnitude);
  Value* const wide = b_.CreateUIToFP(folded, b_.like(v, b_.getDoubleTy()));
  return doubleToFloat(b_.CreateSelect(negative, b_.CreateFNeg(wide), wide), rounding);
}

}  // namespace vg::ptx::gen
