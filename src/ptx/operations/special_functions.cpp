#include "ptx/operations/special_functions.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ptx/operations/half.h"

namespace vg::ptx::special {
namespace {

constexpr uint32_t kNaN = 0x7fffffff, kInfinity = 0x7f800000, kSign = 0x80000000;
constexpr uint32_t kInfinity64 = 0x7ff00000, kSmallest64 = 0x00100000;  // upper words
constexpr int kFractionBits = 18;                                       // of a sum, below the last place

float floatOf(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bitsOf(double value) {
  const float f = static_cast<float>(value);
  return f != f ? kNaN : std::bit_cast<uint32_t>(f);
}
bool isNaN(uint32_t bits) { return (bits & ~kSign) > kInfinity; }
uint32_t flushed(uint32_t bits, bool ftz) { return ftz && (bits & kInfinity) == 0 ? bits & kSign : bits; }

// The square of a fraction of 17 bits without what weighs less than 2^-15.
uint32_t square(uint32_t x) {
  uint32_t sum = 0;
  for (int i = 1; i <= 7; ++i)
    if (x >> (17 - i) & 1) sum += ((x & ((1u << (17 - i)) - 1)) + (1u << (16 - i))) >> (i + 1);
  return sum;
}

int64_t sumOf(const Segment* table, int bias, uint32_t index, uint32_t x) {
  const Segment& s = table[index];
  return int64_t{s.c0} * (1 << 13) + bias + int64_t{s.c1} * x + int64_t{s.c2} * 4 * square(x);
}
// Of a fraction of 23 bits.
int64_t sumOf(const Segment* table, int bias, uint32_t fraction) {
  return sumOf(table, bias, fraction >> 17, fraction & 0x1ffff);
}

// The largest f32 not above a sum of so many units.
double cut(int64_t sum) {
  const int width = 64 - std::countl_zero(static_cast<uint64_t>(sum));
  return static_cast<double>(width > 24 ? sum >> (width - 24) << (width - 24) : sum);
}

// Of a magnitude in one of the tangent's binades.
double tangentOf(uint32_t magnitude) {
  const uint32_t fraction = magnitude & 0x7fffff;
  const TangentBinade& binade = kTangentBinades[static_cast<int>(magnitude >> 23) - 127 - kLeastTangent];
  const uint32_t bits = 23u - binade.choosing, within = fraction & ((1u << bits) - 1), x = within >> (bits - 17);
  const Segment& s = kTangent[binade.first + (fraction >> bits)];
  return std::ldexp(cut(int64_t{s.c0} * (1 << 13) + int64_t{s.c1} * x + int64_t{s.c2} * square(x)), binade.unit);
}

// What f32 has beyond a half is cut; what is too large for one is infinite, not the largest.
uint16_t cutToHalf(uint32_t single, bool f16) {
  const double value = floatOf(single);
  if (f16) return std::fabs(value) >= 65536 ? halfOf(value) : halfOf(value, Rounding::Zero);
  return isNaN(single) ? 0x7fff : static_cast<uint16_t>(single >> 16);
}
uint32_t widened(uint16_t half, bool f16) { return f16 ? bitsOf(doubleOfHalf(half)) : bitsOf(doubleOfBfloat(half)); }

// A positive number: 1.fraction * 2^exponent.
struct Parts {
  int exponent;
  uint32_t fraction;
};
Parts partsOf(uint32_t bits) {
  int shift = 0;
  if ((bits & kInfinity) == 0) {
    bits = std::bit_cast<uint32_t>(floatOf(bits & ~kSign) * 0x1p24f);
    shift = 24;
  }
  return {static_cast<int>(bits >> 23 & 0xff) - 127 - shift, bits & 0x7fffff};
}

double logarithmOf(const Parts& p) {
  const int64_t sum = sumOf(kLogarithm, kLogarithmBias, p.fraction) + (int64_t{p.exponent} - 1) * (int64_t{1} << 41);
  const double magnitude = cut((sum < 0 ? -sum : sum) & ~int64_t{31});  // the unit has 36 places behind the point
  return std::ldexp(sum < 0 ? -magnitude : magnitude, -41);
}

// Of a magnitude of less than 512 or so; larger ones give what 512 gives.
double powerOf(float x) {
  const double magnitude = std::fmin(std::fabs(static_cast<double>(x)), 512);
  const auto places = static_cast<int64_t>(magnitude * 0x1p23);
  // Below zero all bits are turned, but whole numbers are exact.
  const int64_t turned = !(x < 0) ? places : places & 0x7fffff ? ~places : -places;
  const int64_t sum = sumOf(kPower, kPowerBias, static_cast<uint32_t>(turned & 0x7fffff));
  return std::ldexp(static_cast<double>(sum >> kFractionBits), static_cast<int>(turned >> 23) - 23);
}

// Sine of so many quarters of a turn and turns.
uint32_t sineOfTurns(double turns, uint32_t quarters) {
  const auto place = static_cast<uint32_t>(std::floor(std::fmod(turns, 1.0) * (1 << kTurnBits)));
  const uint32_t at = (place + (quarters << (kTurnBits - 2))) & ((1u << kTurnBits) - 1),
                 quarter = at >> (kTurnBits - 2);
  const uint32_t within = (quarter & 1 ? ~at : at) & 0x7fffff;
  return bitsOf(std::ldexp(cut(sumOf(kSine, kSineBias, within)), -42)) ^ (quarter >> 1) << 31;
}

// Sine of so many quarters of a turn and what its magnitude's turns are behind the point.
uint32_t sineOf(uint32_t magnitude, uint32_t quarters) {
  const double product = static_cast<double>(floatOf(magnitude)) * kTurnsOfRadian;
  auto turns = static_cast<double>(static_cast<float>(product));
  if (turns > product) turns = std::nextafterf(static_cast<float>(product), 0.0f);
  return sineOfTurns(turns, quarters);
}

}  // namespace

uint32_t reciprocal(uint32_t bits, bool ftz) {
  bits = flushed(bits, ftz);
  const uint32_t sign = bits & kSign, magnitude = bits & ~kSign;
  if (isNaN(bits)) return kNaN;
  if (magnitude == 0) return sign | kInfinity;
  if (magnitude == kInfinity) return sign;
  const Parts p = partsOf(magnitude);
  const int64_t sum = sumOf(kReciprocal, kReciprocalBias, p.fraction >> 16, (p.fraction & 0xffff) << 1);
  return flushed(sign | bitsOf(std::ldexp(static_cast<double>(sum >> kFractionBits), -24 - p.exponent)), ftz);
}

uint32_t reciprocalRoot(uint32_t bits, bool ftz) {
  bits = flushed(bits, ftz);
  if ((bits & ~kSign) == 0) return bits | kInfinity;
  if (isNaN(bits) || (bits & kSign)) return kNaN;
  if (bits == kInfinity) return 0;
  const Parts p = partsOf(bits);
  if (p.fraction == 0 && !(p.exponent & 1)) return bitsOf(std::ldexp(1.0, -(p.exponent >> 1)));  // exact
  const int64_t sum = sumOf(p.exponent & 1 ? kRootReciprocalOdd : kRootReciprocalEven, kRootReciprocalBias, p.fraction);
  return bitsOf(std::ldexp(static_cast<double>(sum >> kFractionBits), -24 - (p.exponent >> 1)));
}

uint32_t root(uint32_t bits, bool ftz) {
  bits = flushed(bits, ftz);
  if ((bits & ~kSign) == 0 || bits == kInfinity) return bits;
  if (isNaN(bits) || (bits & kSign)) return kNaN;
  const Parts p = partsOf(bits);
  const int64_t sum = sumOf(p.exponent & 1 ? kRootOdd : kRootEven, kRootBias, p.fraction);
  return bitsOf(std::ldexp(static_cast<double>(sum >> kFractionBits), -23 + (p.exponent >> 1)));
}

uint32_t power(uint32_t bits, bool ftz) {
  if (isNaN(bits)) return kNaN;
  const float x = floatOf(flushed(bits, ftz));
  if (ftz || !(x < -126)) return flushed(bitsOf(powerOf(x)), ftz);
  const double half = powerOf(x / 2);  // squared, so that subnormal results come out
  return bitsOf(half * half);
}

uint32_t logarithm(uint32_t bits, bool ftz) {
  bits = flushed(bits, ftz);
  if ((bits & ~kSign) == 0) return kSign | kInfinity;
  if (isNaN(bits) || (bits & kSign)) return kNaN;
  if (bits == kInfinity) return bits;
  if (bits == 0x3f800000) return 0;  // exact
  Parts p = partsOf(bits);
  if (p.exponent >= -126) return bitsOf(logarithmOf(p));
  p.exponent += 24;
  return bitsOf(logarithmOf(p) - 24);
}

uint32_t sine(uint32_t bits, bool ftz) {
  if ((bits & kInfinity) == kInfinity) return kNaN;
  return sineOf(flushed(bits, ftz) & ~kSign, 0) ^ (bits & kSign);
}

uint32_t cosine(uint32_t bits, bool ftz) {
  if ((bits & kInfinity) == kInfinity) return kNaN;
  return sineOf(flushed(bits, ftz) & ~kSign, 1);
}

uint32_t turnedSine(uint32_t bits) {
  if ((bits & kInfinity) == kInfinity) return kNaN;
  return sineOfTurns(floatOf(flushed(bits, true) & ~kSign), 0) ^ (bits & kSign);
}

uint32_t turnedCosine(uint32_t bits) {
  if ((bits & kInfinity) == kInfinity) return kNaN;
  return sineOfTurns(floatOf(flushed(bits, true) & ~kSign), 1);
}

uint32_t tangent(uint32_t bits) {
  const uint32_t sign = bits & kSign, magnitude = bits & ~kSign;
  if (isNaN(bits)) return kNaN;
  if (magnitude < static_cast<uint32_t>(127 + kLeastTangent) << 23) return bits;
  if (magnitude >= 0x41000000) return sign | 0x3f800000;  // 8
  return sign | bitsOf(tangentOf(magnitude));
}

uint16_t powerOfHalf(uint16_t bits, bool f16) { return cutToHalf(power(widened(bits, f16), true), f16); }
uint16_t tangentOfHalf(uint16_t bits, bool f16) { return cutToHalf(tangent(widened(bits, f16)), f16); }

uint32_t reciprocal64(uint32_t upper) {
  const uint32_t sign = upper & kSign, magnitude = upper & ~kSign, fraction = (magnitude & 0xfffff) << 3;
  if (magnitude > kInfinity64) return kNaN;
  if (magnitude < kSmallest64) return sign | kInfinity64;
  const int64_t sum = sumOf(kReciprocal, kReciprocalBias, fraction >> 16, (fraction & 0xffff) << 1);
  const int64_t bits = (2044 - int64_t{magnitude >> 20}) * kSmallest64 + (sum >> (kFractionBits + 3));
  return magnitude == kInfinity64 || bits < kSmallest64 ? sign : sign | static_cast<uint32_t>(bits);
}

uint32_t reciprocalRoot64(uint32_t upper) {
  const uint32_t fraction = (upper & 0xfffff) << 3;
  if ((upper & ~kSign) < kSmallest64) return (upper & kSign) | kInfinity64;
  if (upper > kInfinity64) return kNaN;
  if (upper == kInfinity64) return 0;
  const int exponent = static_cast<int>(upper >> 20) - 1023, half = exponent >> 1;
  if (!fraction && !(exponent & 1)) return static_cast<uint32_t>(1023 - half) << 20;
  const int64_t sum = sumOf(exponent & 1 ? kRootReciprocalOdd : kRootReciprocalEven, kRootReciprocalBias, fraction);
  return (static_cast<uint32_t>(1021 - half) << 20) + static_cast<uint32_t>(sum >> (kFractionBits + 3));
}

double nearReciprocalRoot64(double x) {
  if (std::isnan(x)) return x + x;
  if (x < 0) return -std::numeric_limits<double>::quiet_NaN();
  const bool tiny = std::fabs(x) < 0x1p-1022;
  const double scaled = tiny ? x * 0x1p54 : x;
  const uint32_t upper = reciprocalRoot64(static_cast<uint32_t>(std::bit_cast<uint64_t>(scaled) >> 32));
  const auto first = std::bit_cast<double>(uint64_t{upper} << 32);
  if (x == 0 || std::isinf(x)) return first;
  const double rest = std::fma(scaled, -(first * first), 1.0);
  const double near = std::fma(std::fma(rest, 0.375, 0.5), rest * first, first);
  return tiny ? near * 0x1p27 : near;
}

uint32_t quotient(uint32_t a, uint32_t b, bool ftz) {
  const uint32_t magnitude = b & ~kSign;
  if (magnitude <= 0x7e800000 || isNaN(b)) return fullQuotient(a, b, ftz);
  // The reciprocal of a divisor beyond 2^126 is lost.
  return flushed(bitsOf(static_cast<double>(floatOf(flushed(a, ftz))) * floatOf(b & kSign)), ftz);
}

uint32_t fullQuotient(uint32_t a, uint32_t b, bool ftz) {
  a = flushed(a, ftz);
  b = flushed(b, ftz);
  const uint32_t magnitude = b & ~kSign;
  const float scale = magnitude > 0x7e800000 ? 0.25f : magnitude < 0x800000 ? 0x1p24f : 1.0f;
  const uint32_t inverse = reciprocal(std::bit_cast<uint32_t>(floatOf(b) * scale), true);
  const double product = static_cast<double>(floatOf(a) * scale) * floatOf(inverse);
  // With .ftz what is too small before it is rounded is zero.
  if (ftz && std::fabs(product) < 0x1p-126) return bitsOf(product) & kSign;
  return bitsOf(product);
}

}  // namespace vg::ptx::special
