#include "arrays/compressed/block_codec.h"

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "arrays/compressed/block_codec_bc6h.h"
#include "arrays/compressed/block_codec_bc7.h"

namespace vg::arrays {
namespace {

uint64_t bitsOf(const std::byte* at, unsigned bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

struct Colour {
  float red, green, blue;
};

Colour from565(uint32_t packed) {
  return {static_cast<float>(packed >> 11 & 31) / 31, static_cast<float>(packed >> 5 & 63) / 63,
          static_cast<float>(packed & 31) / 31};
}

Colour mix(const Colour& a, const Colour& b, float share) {
  return {a.red + (b.red - a.red) * share, a.green + (b.green - a.green) * share, a.blue + (b.blue - a.blue) * share};
}

// Two colours of 16 bits and an index of 2 bits an element. `cut`: the first colour not above the second means three
// colours and transparent black (BC1).
void colourBlock(const std::byte* block, unsigned element, bool cut, float (&values)[4]) {
  const auto first = static_cast<uint32_t>(bitsOf(block, 2)), second = static_cast<uint32_t>(bitsOf(block + 2, 2));
  const unsigned index = bitsOf(block + 4, 4) >> (2 * element) & 3;
  const Colour a = from565(first), b = from565(second);
  Colour chosen = index == 0 ? a : b;
  if (index >= 2) chosen = mix(a, b, index == 2 ? 1.0f / 3 : 2.0f / 3);
  if (cut && first <= second && index >= 2) {
    chosen = index == 2 ? mix(a, b, 0.5f) : Colour{0, 0, 0};
    if (index == 3) values[3] = 0;
  }
  values[0] = chosen.red, values[1] = chosen.green, values[2] = chosen.blue;
}

// Two values of 8 bits and an index of 3 bits an element.
float gradient(const std::byte* block, unsigned element, bool isSigned) {
  const auto value = [&](unsigned at) {
    const auto raw = static_cast<uint8_t>(block[at]);
    if (!isSigned) return static_cast<float>(raw) / 255;
    return std::max(static_cast<float>(static_cast<int8_t>(raw)) / 127, -1.0f);
  };
  const float a = value(0), b = value(1);
  const unsigned index = bitsOf(block + 2, 6) >> (3 * element) & 7;
  if (index < 2) return index == 0 ? a : b;
  if (a > b) return (a * static_cast<float>(8 - index) + b * static_cast<float>(index - 1)) / 7;
  if (index == 6) return isSigned ? -1.0f : 0.0f;
  if (index == 7) return 1.0f;
  return (a * static_cast<float>(6 - index) + b * static_cast<float>(index - 1)) / 5;
}

}  // namespace

bool hasCodec(int format) { return format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB; }

void decodeBlockElement(const std::byte* block, int format, unsigned x, unsigned y, float (&values)[4]) {
  const unsigned element = 4 * y + x;
  switch (format) {
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
      return colourBlock(block, element, true, values);
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
      values[3] = static_cast<float>(bitsOf(block, 8) >> (4 * element) & 15) / 15;
      return colourBlock(block + 8, element, false, values);
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
      values[3] = gradient(block, element, false);
      return colourBlock(block + 8, element, false, values);
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
      values[0] = gradient(block, element, format == CU_AD_FORMAT_BC4_SNORM);
      return;
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
      return decodeBc6h(block, element, format == CU_AD_FORMAT_BC6H_SF16, values);
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
      return decodeBc7(block, element, values);
    default:
      values[0] = gradient(block, element, format == CU_AD_FORMAT_BC5_SNORM);
      values[1] = gradient(block + 8, element, format == CU_AD_FORMAT_BC5_SNORM);
  }
}

}  // namespace vg::arrays
