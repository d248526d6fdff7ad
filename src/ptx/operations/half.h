// f16 and bf16 as bits: exact widening, and rounding from double once, in any of the four PTX directions. Pure.
#pragma once

#include <cstdint>

namespace vg::ptx {

enum class Type : uint8_t;

enum class Rounding : uint8_t { NearestEven, Zero, Down, Up, NearestAway };

// A binary floating-point format with at most 52 fraction bits.
struct FloatFormat {
  uint8_t exponentBits, fractionBits;
  bool hasInfinity = true;  // e4m3 and the 4- and 6-bit formats have none
  bool hasNaN = true;       // the 4- and 6-bit formats have none
};
inline constexpr FloatFormat kHalf{5, 10}, kBfloat{8, 7}, kTf32{8, 10}, kSingle{8, 23}, kE5M2{5, 2},
    kE4M3{4, 3, false, true}, kE2M3{2, 3, false, false}, kE3M2{3, 2, false, false}, kE2M1{2, 1, false, false};

// The format of a type, or of each half of a pair; null for f64 and what is no floating-point type.
const FloatFormat* formatOf(Type type);
// The bits of its largest finite number.
uint32_t largestFinite(const FloatFormat& format);

// Rounds a double to the format. Overflow gives infinity or the largest finite value as IEEE 754 says for the
// direction; with `saturate`, or in a format without infinity, always the largest finite value (of NaN: the format's
// NaN, or the largest positive value where there is none).
uint32_t roundTo(double value, const FloatFormat& format, Rounding rounding = Rounding::NearestEven,
                 bool saturate = false);
// The same for `value` + a remainder too small to show in it: sticky is its sign, 0 when value is exact.
uint32_t roundTo(double value, int sticky, const FloatFormat& format, Rounding rounding, bool saturate);
double widen(uint32_t bits, const FloatFormat& format);

uint16_t halfOf(double value, Rounding rounding = Rounding::NearestEven);    // NaN is 0x7fff
uint16_t bfloatOf(double value, Rounding rounding = Rounding::NearestEven);  // NaN is 0x7fff
double doubleOfHalf(uint16_t bits);
double doubleOfBfloat(uint16_t bits);

}  // namespace vg::ptx
