// cvt: between widths, integers and floats, with every rounding and saturation.
#include "ptx/llvm/compute/convert.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>

#include "ptx/llvm/ir/ptx_facts.h"

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
bool isHalf(Type t) { return t == Type::F16 || t == Type::BF16; }
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
  if (ast.has(Mod::Rs)) unsupported(i, "stochastic rounding");
  if (ast.typeCount > 1 && (isNarrowPair(to) || isNarrowPair(ast.types[1]))) {
    r.push_back(convertPairs(i, s));
    return;
  }
  if (to == Type::F16x2 || to == Type::BF16x2) {
    if (ast.typeCount < 2 || ast.types[1] != Type::F32 || s.size() != 2) unsupported(i, "source of packed conversion");
    const Type half = to == Type::F16x2 ? Type::F16 : Type::BF16;
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
  const bool ftz = ast.has(Mod::Ftz);
  const auto known = [](Type t) {
    switch (t) {
      case Type::U8:
      case Type::S8:
      case Type::B8:
      case Type::U16:
      case Type::S16:
      case Type::B16:
      case Type::U32:
      case Type::S32:
      case Type::B32:
      case Type::U64:
      case Type::S64:
      case Type::B64:
      case Type::F16:
      case Type::BF16:
      case Type::F32:
      case Type::F64:
        return true;
      default:
        return false;
    }
  };
  if (to == Type::TF32 && from == Type::F32) {
    // 10 bits of mantissa are kept; rna is away from zero on a tie, rn to even, rz cuts.
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
  if (!known(to) || !known(from)) unsupported(i, "format");
  if (ast.has(Mod::Satfinite) && !isHalf(to)) unsupported(i, "format");
  const bool toFloat = ptx::isFloat(to), fromFloat = ptx::isFloat(from);
  const uint32_t toBits = ptx::bitsOf(to);
  if (!toFloat && !fromFloat) {
    Value* x = b_.asInteger(v, ptx::bitsOf(from));
    if (ast.has(Mod::Sat)) x = saturateInteger(x, to, from);
    return b_.extend(x, toBits, isSigned(from));
  }
  if (toFloat && !fromFloat) return integerToFloat(i, b_.asInteger(v, ptx::bitsOf(from)), to, from);

  // A float of some kind: to f32 or f64 first.
  Value* x;
  if (isHalf(from)) {
    Value* bits = b_.asInteger(v, 16);
    if (ftz && from == Type::F16 && to == Type::F16) bits = pieces_.flushHalf(bits);
    x = halfToFloat(bits, from);
  } else {
    x = b_.asType(v, from);
    if (ftz && from == Type::F32 && to != Type::F16) x = pieces_.flush(x);  // halves have room for what it would flush
  }
  const bool integral = ast.has(Mod::Rni) || ast.has(Mod::Rzi) || ast.has(Mod::Rmi) || ast.has(Mod::Rpi);
  if (!toFloat) return floatToInteger(roundToIntegral(x, roundingOf(ast)), to, from);
  if (integral) x = roundToIntegral(x, roundingOf(ast));
  const auto finishFloat = [&](Value* y) {
    if (ast.has(Mod::Sat)) y = pieces_.saturate(y);
    if (ast.has(Mod::Relu)) {
      Value* const zero = b_.real(y, y->getType()->getScalarType(), 0.0);
      Value* const positive = b_.CreateSelect(b_.CreateFCmpOGT(y, zero), y, zero);
      y = b_.CreateSelect(b_.CreateFCmpUNO(y, y), y, positive);
    }
    return y;
  };
  if (to == Type::F64)
    return finishFloat(x->getType()->getScalarType()->isDoubleTy() ? x
                                                                   : b_.CreateFPExt(x, b_.like(x, b_.getDoubleTy())));
  if (to == Type::F32) {
    if (x->getType()->getScalarType()->isDoubleTy())
      x = doubleToFloat(x, integral ? static_cast<int>(Nearest) : roundingOf(ast));
    x = finishFloat(x);
    return ftz ? pieces_.flush(x) : x;
  }
  // Half results.
  const bool wide = x->getType()->getScalarType()->isDoubleTy();
  if (wide) x = doubleToFloat(x, Odd);
  Value* half = floatToHalf(finishFloat(x), to, integral ? static_cast<int>(Nearest) : roundingOf(ast));
  if (wide && !ast.has(Mod::Sat))
    half = b_.CreateSelect(b_.CreateFCmpUNO(x, x), narrowedNaN(b_, b_.asInteger(x, 32), to), half);
  return ast.has(Mod::Satfinite) ? finiteHalf(half, to) : half;
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
  LType* const word = b_.getInt32Ty();
  Value* const bits = b_.asInteger(x, 32);
  const auto n32 = [&](uint64_t c) { return b_.number(bits, word, c); };
  Value* const nan = b_.CreateFCmpUNO(x, x);
  Value* const canonical = b_.number(bits, b_.getInt16Ty(), 0x7fff);
  if (type == Type::BF16) {
    Value* add;
    Value* const negative = b_.CreateICmpSLT(bits, n32(0));
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
    Value* const out = b_.asInteger(b_.CreateLShr(b_.CreateAdd(bits, add), n32(16)), 16);
    return b_.CreateSelect(nan, canonical, out);
  }
  if (options_.f16c && rounding == Nearest) {
    Value* const out = b_.CreateBitCast(b_.CreateFPTrunc(x, b_.like(x, b_.getHalfTy())), b_.like(x, b_.getInt16Ty()));
    return b_.CreateSelect(nan, canonical, out);
  }
  // By integers: the magnitude cut to 11 bits with the part cut off deciding.
  Value* const magnitude = b_.CreateAnd(bits, n32(0x7fffffff));
  Value* const negative = b_.CreateICmpSLT(bits, n32(0));
  const auto roundUp = [&](Value* kept, Value* rest, Value* halfway) -> Value* {
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
  };
  // Normal results.
  Value* const rebased = b_.CreateSub(magnitude, n32(112u << 23));
  Value* const normalKept = b_.CreateLShr(rebased, n32(13));
  Value* const normalRest = b_.CreateAnd(rebased, n32(0x1fff));
  Value* const normal =
      b_.CreateAdd(normalKept, b_.CreateZExt(roundUp(normalKept, normalRest, n32(0x1000)), b_.like(bits, word)));
  // Denormal results: the mantissa with its leading one, shifted right by 14 to 25 places.
  Value* const exponent = b_.CreateLShr(magnitude, n32(23));
  Value* const mantissa = b_.CreateOr(b_.CreateAnd(magnitude, n32(0x7fffff)),
                                      b_.CreateSelect(b_.CreateICmpEQ(exponent, n32(0)), n32(0), n32(0x800000)));
  Value* const places = b_.intrinsic(Intrinsic::umin, {b_.CreateSub(n32(126), exponent), n32(31)});
  Value* const safePlaces = b_.CreateAnd(places, n32(31));
  Value* const smallKept = b_.CreateLShr(mantissa, safePlaces);
  Value* const one = n32(1);
  Value* const smallRest = b_.CreateAnd(mantissa, b_.CreateSub(b_.CreateShl(one, safePlaces), one));
  Value* const smallHalf = b_.CreateShl(one, b_.CreateAnd(b_.CreateSub(safePlaces, one), n32(31)));
  Value* const small =
      b_.CreateAdd(smallKept, b_.CreateZExt(roundUp(smallKept, smallRest, smallHalf), b_.like(bits, word)));
  Value* out = b_.CreateSelect(b_.CreateICmpULT(magnitude, n32(113u << 23)), small, normal);
  // Beyond the largest number: infinity, or the largest number where rounding does not go away from zero.
  Value* toInfinity;
  switch (rounding) {
    case Zero:
      toInfinity = b_.CreateICmpNE(bits, bits);
      break;
    case Down:
      toInfinity = negative;
      break;
    case Up:
      toInfinity = b_.CreateNot(negative);
      break;
    default:
      toInfinity = b_.CreateICmpEQ(bits, bits);
      break;
  }
  Value* const tooBig = b_.CreateICmpUGE(out, n32(0x7c00));
  out = b_.CreateSelect(tooBig, b_.CreateSelect(toInfinity, n32(0x7c00), n32(0x7bff)), out);
  out = b_.CreateSelect(b_.CreateICmpUGE(magnitude, n32(143u << 23)),
                        b_.CreateSelect(toInfinity, n32(0x7c00), n32(0x7bff)), out);
  out = b_.CreateSelect(b_.CreateICmpEQ(magnitude, n32(0x7f800000)), n32(0x7c00), out);
  out = b_.CreateOr(out, b_.CreateAnd(b_.CreateLShr(bits, n32(16)), n32(0x8000)));
  return b_.CreateSelect(nan, canonical, b_.asInteger(out, 16));
}

// --- Roundings -------------------------------------------------------------------------------------------------------

llvm::Value* Conversions::doubleToFloat(Value* x, int rounding) {
  LType* const type = b_.like(x, b_.getFloatTy());
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
  Value* out = bits;
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

// Saturates. NaN gives zero, or where 64 bits are involved the top bit.
llvm::Value* Conversions::floatToInteger(Value* x, Type to, Type from) {
  const uint32_t bits = ptx::bitsOf(to);
  LType* const target = b_.like(x, b_.integerType(bits));
  Value* const out =
      b_.callIntrinsic(isSigned(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat, {target, x->getType()}, {x});
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
  const bool isSignedType = isSigned(from);
  const uint32_t bits = ptx::bitsOf(from);
  const auto cast = [&](Value* x, LType* element) {
    LType* const type = b_.like(x, element);
    return isSignedType ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
  };
  Value* out;
  if (to == Type::F64) {
    if (rounding != Nearest && bits == 64) {
      // Split in two halves that are exact, and add them with the rounding wanted.
      LType* const type = b_.getDoubleTy();
      Value* const upper = isSignedType ? b_.CreateAShr(v, b_.number(v, b_.getInt64Ty(), 32))
                                        : b_.CreateLShr(v, b_.number(v, b_.getInt64Ty(), 32));
      Value* const lower = b_.CreateAnd(v, b_.number(v, b_.getInt64Ty(), 0xffffffffu));
      Value* const a = b_.CreateFMul(cast(upper, type), b_.real(v, type, 0x1p32));
      Value* const c = b_.CreateUIToFP(lower, b_.like(v, type));
      out = pieces_.rounded(i, Op::Add, {a, c});
      // An exact zero is +0 in every rounding.
      out = b_.CreateSelect(b_.CreateICmpEQ(v, b_.number(v, b_.getInt64Ty(), 0)), b_.real(v, type, 0.0), out);
    } else {
      out = cast(v, b_.getDoubleTy());
    }
    return i.ast->has(Mod::Sat) ? pieces_.saturate(out) : out;
  }
  // From 64 bits to f32. Rounds to odd at 64 - 11 bits first: the low bits are folded into one that only tells
  // "inexact".
  const auto fromWords = [&](int mode) {
    LType* const word = b_.getInt64Ty();
    Value* const negative = isSignedType ? b_.CreateICmpSLT(v, b_.number(v, word, 0)) : b_.CreateICmpNE(v, v);
    Value* const magnitude = b_.CreateSelect(negative, b_.CreateNeg(v), v);
    Value* const low = b_.CreateAnd(magnitude, b_.number(v, word, 0xfff));
    Value* const sticky = b_.CreateZExt(b_.CreateICmpNE(low, b_.number(v, word, 0)), v->getType());
    Value* const big = b_.CreateICmpUGE(magnitude, b_.number(v, word, uint64_t{1} << 52));
    Value* const folded = b_.CreateSelect(big,
                                          b_.CreateOr(b_.CreateAnd(magnitude, b_.number(v, word, ~uint64_t{0xfff})),
                                                      b_.CreateShl(sticky, b_.number(v, word, 12))),
                                          magnitude);
    Value* const wide = b_.CreateUIToFP(folded, b_.like(v, b_.getDoubleTy()));
    return doubleToFloat(b_.CreateSelect(negative, b_.CreateFNeg(wide), wide), mode);
  };
  if (to == Type::F32) {
    if (rounding == Nearest) {
      out = cast(v, b_.getFloatTy());
    } else if (bits <= 32) {
      out = doubleToFloat(cast(v, b_.getDoubleTy()), rounding);
    } else {
      out = fromWords(rounding);
    }
    return i.ast->has(Mod::Sat) ? pieces_.saturate(out) : out;
  }
  // Halves: through f32 rounded to odd when it is not exact.
  Value* wide;
  if (bits <= 16) {
    wide = cast(v, b_.getFloatTy());
  } else if (bits == 32) {
    wide = doubleToFloat(cast(v, b_.getDoubleTy()), Odd);
  } else {
    wide = fromWords(Odd);
  }
  if (i.ast->has(Mod::Sat)) wide = pieces_.saturate(wide);
  return floatToHalf(wide, to, rounding);
}

}  // namespace vg::ptx::gen
