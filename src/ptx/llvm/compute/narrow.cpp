// cvt to and from pairs of numbers of eight bits and less: e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0. And cvt.rs.
#include "ptx/llvm/compute/convert.h"

#include <cmath>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/operations/half.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

bool Conversions::isNarrowPair(Type type) {
  switch (type) {
    case Type::E4M3x2:
    case Type::E5M2x2:
    case Type::E2M3x2:
    case Type::E3M2x2:
    case Type::E2M1x2:
    case Type::UE8M0x2:
      return true;
    default:
      return false;
  }
}

// The bits of a float rounded to the format, to nearest even; too large ones are the largest there is.
llvm::Value* Conversions::narrowFloat(Value* x, Type type) {
  const FloatFormat& f = *formatOf(type);
  LType* const word = b_.getInt32Ty();
  Value* const bits = b_.asInteger(x, 32);
  const auto n32 = [&](uint64_t v) { return b_.number(bits, word, v); };
  Value* const magnitude = b_.CreateAnd(bits, n32(0x7fffffff));
  const uint32_t bias = (1u << (f.exponentBits - 1)) - 1, dropped = 23u - f.fractionBits;
  // Normal results: rounded in place, the exponent moved. A carry goes into the exponent by itself.
  Value* const odd = b_.CreateAnd(b_.CreateLShr(magnitude, n32(dropped)), n32(1));
  Value* const lifted = b_.CreateAdd(b_.CreateAdd(magnitude, odd), n32((1u << (dropped - 1)) - 1));
  Value* const normal = b_.CreateSub(b_.CreateLShr(lifted, n32(dropped)), n32((127 - bias) << f.fractionBits));
  // Subnormal ones: the sum with a number whose last place is theirs.
  const float unit = std::ldexp(1.0f, 1 - static_cast<int>(bias) - f.fractionBits + 23);
  Value* const magic = b_.real(x, b_.getFloatTy(), unit);
  Value* const sum = b_.CreateFAdd(b_.asFloat(magnitude, b_.getFloatTy()), magic);
  Value* const small = b_.CreateSub(b_.asInteger(sum, 32), b_.asInteger(magic, 32));
  const uint32_t smallestNormal = (128 - bias) << 23;
  Value* out = b_.CreateSelect(b_.CreateICmpULT(magnitude, n32(smallestNormal)), small, normal);
  const uint32_t largest = largestFinite(f);
  out = b_.CreateSelect(b_.CreateICmpUGE(magnitude, n32(uint64_t{127 + 16} << 23)), n32(largest), out);
  out = b_.callIntrinsic(llvm::Intrinsic::umin, {out->getType()}, {out, n32(largest)});
  const uint32_t sign = 1u << (f.exponentBits + f.fractionBits);
  out = b_.CreateOr(out, b_.CreateAnd(b_.CreateLShr(bits, n32(31 - f.exponentBits - f.fractionBits)), n32(sign)));
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), n32(f.hasNaN ? sign - 1 : largest), out);
}

llvm::Value* Conversions::widenNarrow(Value* element, Type type) {
  const FloatFormat& f = *formatOf(type);
  LType* const word = b_.getInt32Ty();
  const auto n32 = [&](uint64_t v) { return b_.number(element, word, v); };
  const uint32_t sign = 1u << (f.exponentBits + f.fractionBits), bias = (1u << (f.exponentBits - 1)) - 1;
  Value* const magnitude = b_.CreateAnd(element, n32(sign - 1));
  // The fields in a float's places, with the other bias; subnormals are right after the scaling too.
  Value* const moved = b_.asFloat(b_.CreateShl(magnitude, n32(23 - f.fractionBits)), b_.getFloatTy());
  Value* out = b_.CreateFMul(moved, b_.real(moved, b_.getFloatTy(), std::ldexp(1.0, 127 - static_cast<int>(bias))));
  Value* const nan = b_.real(moved, b_.getFloatTy(), std::nan(""));
  if (f.hasInfinity) {
    const uint32_t top = ((1u << f.exponentBits) - 1) << f.fractionBits;
    out = b_.CreateSelect(b_.CreateICmpEQ(magnitude, n32(top)), b_.real(moved, b_.getFloatTy(), HUGE_VAL), out);
    out = b_.CreateSelect(b_.CreateICmpUGT(magnitude, n32(top)), nan, out);
  } else if (f.hasNaN) {
    out = b_.CreateSelect(b_.CreateICmpEQ(magnitude, n32(sign - 1)), nan, out);
  }
  Value* const negative = b_.CreateICmpNE(b_.CreateAnd(element, n32(sign)), n32(0));
  return b_.CreateSelect(negative, b_.CreateFNeg(out), out);
}

// ue8m0: the exponent of the magnitude, up or towards zero. What is too large becomes the largest power if the result
// is to be finite, and NaN otherwise.
llvm::Value* Conversions::exponentOf(Value* x, bool upward, bool finite) {
  LType* const word = b_.getInt32Ty();
  Value* const magnitude = b_.CreateAnd(b_.asInteger(x, 32), b_.number(x, word, 0x7fffffff));
  const auto n32 = [&](uint64_t v) { return b_.number(x, word, v); };
  Value* code = b_.CreateLShr(magnitude, n32(23));
  if (upward) {
    Value* const fraction = b_.CreateAnd(magnitude, n32(0x7fffff));
    // Below the smallest normal number the step is at 2^-127.
    Value* const limit = b_.CreateSelect(b_.CreateICmpEQ(code, n32(0)), n32(0x400000), n32(0));
    code = b_.CreateAdd(code, b_.CreateZExt(b_.CreateICmpUGT(fraction, limit), code->getType()));
  }
  if (finite) code = b_.callIntrinsic(llvm::Intrinsic::umin, {code->getType()}, {code, n32(0xfe)});
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), n32(0xff), code);
}

llvm::Value* Conversions::powerOf(Value* code) {
  LType* const word = b_.getInt32Ty();
  const auto n32 = [&](uint64_t v) { return b_.number(code, word, v); };
  Value* bits = b_.CreateShl(code, n32(23));
  bits = b_.CreateSelect(b_.CreateICmpEQ(code, n32(0)), n32(0x400000), bits);
  bits = b_.CreateSelect(b_.CreateICmpEQ(code, n32(0xff)), n32(0x7fffffff), bits);
  return b_.asFloat(bits, b_.getFloatTy());
}

// One of a pair as a float.
llvm::Value* Conversions::pairElement(Value* pair, Type type, uint32_t n) {
  const uint32_t bits = ptx::bitsOf(type) / 2;
  LType* const word = b_.getInt32Ty();
  Value* const wide = b_.asInteger(pair, 32);
  Value* const element =
      b_.CreateAnd(b_.CreateLShr(wide, b_.number(wide, word, n * bits)), b_.number(wide, word, (1u << bits) - 1));
  if (type == Type::UE8M0x2) return powerOf(element);
  if (isNarrowPair(type)) return widenNarrow(element, type);
  return halfToFloat(b_.asInteger(element, 16), type == Type::F16x2 ? Type::F16 : Type::BF16);
}

llvm::Value* Conversions::convertPairs(const Instruction& i, ArrayRef<Value*> s) {
  const ptx::Instruction& ast = *i.ast;
  const Type to = ast.types[0], from = ast.types[1];
  const bool fromFloats = from == Type::F32;
  if (fromFloats ? s.size() != 2 : s.size() != 1) unsupported(i, "operands");
  if (!fromFloats && !isNarrowPair(from) && from != Type::F16x2 && from != Type::BF16x2) unsupported(i, "format");
  const uint32_t bits = ptx::bitsOf(to) / 2;
  Value* out = nullptr;
  for (uint32_t n = 0; n < 2; ++n) {  // the first source goes to the upper half
    Value* x = fromFloats ? b_.asFloat(s[1 - n], b_.getFloatTy()) : pairElement(s[0], from, n);
    if (ast.has(Mod::Relu)) {
      Value* const zero = b_.real(x, b_.getFloatTy(), 0.0);
      x = b_.CreateSelect(b_.CreateFCmpOLE(x, zero), zero, x);
    }
    Value* element;
    if (to == Type::UE8M0x2)
      element = exponentOf(x, ast.has(Mod::Rp), ast.has(Mod::Satfinite));
    else if (isNarrowPair(to))
      element = narrowFloat(x, to);
    else if (to == Type::F16x2 || to == Type::BF16x2)
      element = b_.asInteger(floatToHalf(x, to == Type::F16x2 ? Type::F16 : Type::BF16, 0), 32);
    else
      unsupported(i, "format");
    out = out ? b_.CreateOr(out, b_.CreateShl(element, b_.number(element, b_.getInt32Ty(), bits))) : element;
  }
  return out;
}

// One element of cvt.rs as roundRandomly makes it, on integers.
llvm::Value* Conversions::randomlyRounded(Value* x, Value* random, const RandomRounding& rounding) {
  const FloatFormat& f = rounding.format;
  LType* const word = b_.getInt32Ty();
  Value* const bits = b_.asInteger(x, 32);
  const auto n32 = [&](uint64_t v) { return b_.number(bits, word, v); };
  const uint32_t bias = (1u << (f.exponentBits - 1)) - 1, dropped = 23u - f.fractionBits,
                 sign = 1u << (f.exponentBits + f.fractionBits);
  Value* const magnitude = b_.CreateAnd(bits, n32(0x7fffffff));
  Value* const lifted = b_.CreateAdd(magnitude, b_.CreateShl(random, n32(dropped - rounding.randomBits)));
  Value* out = b_.CreateSub(b_.CreateLShr(lifted, n32(dropped)), n32(uint64_t{127 - bias} << f.fractionBits));
  if (bias < 127) {  // subnormal results: in units of the last random bit
    Value* const isSmall = b_.CreateICmpULT(magnitude, n32(uint64_t{128 - bias} << 23));
    Value* const small = b_.asFloat(b_.CreateSelect(isSmall, magnitude, n32(0)), b_.getFloatTy());
    const double units = std::ldexp(1.0, static_cast<int>(bias - 1 + f.fractionBits + rounding.randomBits));
    Value* const scaled =
        b_.CreateFPToSI(b_.CreateFMul(small, b_.real(small, b_.getFloatTy(), units)), bits->getType());
    out = b_.CreateSelect(isSmall, b_.CreateLShr(b_.CreateAdd(scaled, random), n32(rounding.randomBits)), out);
  }
  const uint32_t largest = largestFinite(f) + !rounding.isFinite;  // infinity follows the largest number
  out = b_.callIntrinsic(llvm::Intrinsic::umin, {out->getType()}, {out, n32(largest)});
  out = b_.CreateOr(out, b_.CreateAnd(b_.CreateLShr(bits, n32(31 - f.exponentBits - f.fractionBits)), n32(sign)));
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), n32(f.hasNaN ? sign - 1 : largest), out);
}

llvm::Value* Conversions::roundByChance(const Instruction& i, ArrayRef<Value*> s) {
  const auto rounding = describeRandomRounding(*i.ast, *i.function);
  if (!rounding || s.size() != rounding->count + 1) unsupported(i, "operands");
  Value* const word = b_.asInteger(s[rounding->count], 32);
  const auto n32 = [&](uint64_t v) { return b_.number(word, b_.getInt32Ty(), v); };
  Value* out = nullptr;
  for (uint32_t n = 0; n < rounding->count; ++n) {
    Value* x = b_.asFloat(s[rounding->source(n)], b_.getFloatTy());
    if (rounding->isNeverNegative) {
      Value* const zero = b_.real(x, b_.getFloatTy(), 0.0);
      x = b_.CreateSelect(b_.CreateFCmpOLE(x, zero), zero, x);
    }
    Value* const random =
        b_.CreateAnd(b_.CreateLShr(word, n32(rounding->randomAt(n))), n32((uint64_t{1} << rounding->randomBits) - 1));
    Value* const element = randomlyRounded(x, random, *rounding);
    out = out ? b_.CreateOr(out, b_.CreateShl(element, n32(uint64_t{n} * rounding->elementBits))) : element;
  }
  return out;
}

}  // namespace vg::ptx::gen
