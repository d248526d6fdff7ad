#include "ptx/operations/half.h"

#include <bit>
#include <cmath>

#include "ptx/text/ast.h"

namespace vg::ptx {
namespace {

int biasOf(const FloatFormat& f) { return (1 << (f.exponentBits - 1)) - 1; }

uint32_t signBit(const FloatFormat& f) { return 1u << (f.exponentBits + f.fractionBits); }

// All exponent bits set and fraction zero: infinity where the format has one.
uint32_t topExponent(const FloatFormat& f) { return ((1u << f.exponentBits) - 1) << f.fractionBits; }

uint32_t notANumber(const FloatFormat& f) { return f.hasNaN ? signBit(f) - 1 : largestFinite(f); }

// Whether a magnitude truncated with the given discarded part moves up by one unit in the last place.
bool movesUp(Rounding rounding, bool negative, bool odd, bool half, bool rest) {
  switch (rounding) {
    case Rounding::NearestEven:
      return half && (rest || odd);
    case Rounding::NearestAway:
      return half;
    case Rounding::Zero:
      return false;
    case Rounding::Down:
      return negative && (half || rest);
    case Rounding::Up:
      return !negative && (half || rest);
  }
  return false;
}

uint32_t overflow(const FloatFormat& f, Rounding rounding, bool negative, bool saturate) {
  const bool towardZero =
      rounding == Rounding::Zero || (rounding == Rounding::Down && !negative) || (rounding == Rounding::Up && negative);
  if (saturate || towardZero) return largestFinite(f);
  return f.hasInfinity ? topExponent(f) : f.hasNaN ? notANumber(f) : largestFinite(f);
}

}  // namespace

uint32_t largestFinite(const FloatFormat& f) {
  if (f.hasInfinity) return topExponent(f) - 1;
  return signBit(f) - (f.hasNaN ? 2 : 1);
}

const FloatFormat* formatOf(Type type) {
  switch (type) {
    case Type::F16:
    case Type::F16x2:
      return &kHalf;
    case Type::BF16:
    case Type::BF16x2:
      return &kBfloat;
    case Type::TF32:
      return &kTf32;
    case Type::F32:
      return &kSingle;
    case Type::E4M3:
    case Type::E4M3x2:
    case Type::E4M3x4:
      return &kE4M3;
    case Type::E5M2:
    case Type::E5M2x2:
    case Type::E5M2x4:
      return &kE5M2;
    case Type::E2M3x2:
    case Type::E2M3x4:
      return &kE2M3;
    case Type::E3M2x2:
    case Type::E3M2x4:
      return &kE3M2;
    case Type::E2M1x2:
    case Type::E2M1x4:
      return &kE2M1;
    default:
      return nullptr;
  }
}

uint32_t roundTo(double value, const FloatFormat& format, Rounding rounding, bool saturate) {
  return roundTo(value, 0, format, rounding, saturate);
}

uint32_t roundTo(double value, int sticky, const FloatFormat& f, Rounding rounding, bool saturate) {
  if (std::isnan(value)) return notANumber(f);
  const bool negative = std::signbit(value);
  const uint32_t sign = negative ? signBit(f) : 0;
  if (std::isinf(value)) {
    if (f.hasInfinity && !saturate) return sign | topExponent(f);
    return sign | (saturate || !f.hasNaN ? largestFinite(f) : notANumber(f));
  }
  if (value == 0) return sign;

  // magnitude = significand * 2^exponent with 54 extra low bits never needed: two guard bits hold the sticky part.
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  uint64_t significand = static_cast<uint64_t>(std::ldexp(fraction, 53)) << 2;
  if (sticky) significand = (sticky > 0) == negative ? significand - 1 : significand + 1;  // toward or away from zero
  exponent -= 55;

  const int unit = std::max(exponent + 55 - 1, 1 - biasOf(f)) - f.fractionBits;  // exponent of the last place
  const int drop = unit - exponent;
  uint64_t kept = drop < 64 ? significand >> drop : 0;
  const bool half = drop <= 64 && (significand >> (drop - 1) & 1);
  const bool rest = drop > 64 ? significand != 0 : (significand & ((1ull << (drop - 1)) - 1)) != 0;
  kept += movesUp(rounding, negative, kept & 1, half, rest);

  // A carry out of the fraction moves the exponent by itself, from subnormals to normals too.
  const int biased = unit + f.fractionBits + biasOf(f) - 1;  // what the implicit bit adds one to
  const uint64_t bits = (static_cast<uint64_t>(biased) << f.fractionBits) + kept;
  return sign | (bits > largestFinite(f) ? overflow(f, rounding, negative, saturate) : static_cast<uint32_t>(bits));
}

double widen(uint32_t bits, const FloatFormat& f) {
  const bool negative = bits & signBit(f);
  const uint32_t magnitude = bits & (signBit(f) - 1);
  double value;
  if (f.hasInfinity && magnitude >= topExponent(f)) {
    value = magnitude == topExponent(f) ? HUGE_VAL : NAN;
  } else if (!f.hasInfinity && f.hasNaN && magnitude == notANumber(f)) {
    value = NAN;
  } else {
    const uint32_t exponent = magnitude >> f.fractionBits, fraction = magnitude & ((1u << f.fractionBits) - 1);
    const uint32_t significand = exponent ? fraction | 1u << f.fractionBits : fraction;
    value = std::ldexp(significand, static_cast<int>(exponent ? exponent : 1) - biasOf(f) - f.fractionBits);
  }
  return negative ? -value : value;
}

uint16_t halfOf(double value, Rounding rounding) { return static_cast<uint16_t>(roundTo(value, kHalf, rounding)); }
uint16_t bfloatOf(double value, Rounding rounding) { return static_cast<uint16_t>(roundTo(value, kBfloat, rounding)); }
double doubleOfHalf(uint16_t bits) { return widen(bits, kHalf); }
double doubleOfBfloat(uint16_t bits) { return widen(bits, kBfloat); }

}  // namespace vg::ptx
