#include "arrays/half_float.h"

#include <algorithm>
#include <bit>

namespace vg::arrays {

float floatOfHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -small : small;
}

uint16_t truncatedHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7c00 | std::max(magnitude >> 13 & 0x3ff, 1u));
  if (magnitude == 0x7f800000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7bff);
  if (magnitude < 0x38800000)
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p24f));
  return static_cast<uint16_t>(sign | (magnitude - 0x38000000) >> 13);
}

float roundedToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff, sign = bits & 0x80000000;
  if (magnitude > 0x7f800000) return std::bit_cast<float>(0x7fffe000);
  if (magnitude >= 0x477ff000) return std::bit_cast<float>(sign | 0x7f800000);
  // Not by adding a half: the sum would be rounded itself. What is no tiny number is found in another way.
  const float steps = std::min(std::bit_cast<float>(magnitude) * 0x1p24f, 0x1p10f);
  const int32_t whole = static_cast<int32_t>(steps), up = steps - static_cast<float>(whole) >= 0.5f;
  const uint32_t tiny = std::bit_cast<uint32_t>(static_cast<float>(whole + up) * 0x1p-24f);
  return std::bit_cast<float>(sign | (magnitude < 0x38800000 ? tiny : (magnitude + 0x1000) & ~0x1fffu));
}

uint16_t halfOfFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds beyond the largest
  if (magnitude < 0x38800000) {  // subnormal: adding this puts the rounding where it belongs
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p-1f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0x1p-1f)));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

}  // namespace vg::arrays
