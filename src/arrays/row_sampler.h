// Reading a texture for the 32 threads of a warp at once, by vectors: the forms that most programs use. What it answers
// is what sampler.h answers, bit for bit; it declines what it does not know, and then sampler.h does it lane by lane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arrays/texture.h"

namespace vg::arrays {

inline constexpr unsigned kRowLanes = 32;

// Where the lanes read. Lanes that are not active may hold anything.
struct RowPoints {
  uint32_t active = 0;  // a bit for each lane
  union {
    alignas(64) float position[3][kRowLanes];  // in elements, or 0 to 1
    alignas(64) int32_t whole[3][kRowLanes];   // in elements
  };
  alignas(64) uint32_t layer[kRowLanes];  // of layered textures; beyond the last one is the last one
};

struct RowTexels {
  alignas(64) uint32_t words[4][kRowLanes];  // as in Texel
};

// How the channels of an element are stored, and what becomes of them.
enum class RowDecoding : uint8_t { Word, Unsigned, Signed, Unorm, Snorm, Half };
// What sums are rounded to: narrowed() of texel.h. Fractions: multiples of 1 / RowPlan::mostSum.
enum class RowSums : uint8_t { Float, Fraction, Half };

// What there is to know about a texture of one level in linear memory, made once.
struct RowPlan {
  bool usable = false;
  bool linear = false, normalized = false;
  RowSums sums{};
  float mostSum = 0;
  RowDecoding decoding{};
  uint8_t axes = 1, channels = 1;
  uint8_t channelBytes = 4, unitBytes = 4;
  bool layered = false;
  Addressing addressing[3]{};
  int32_t size[3] = {1, 1, 1};
  uint32_t layers = 1, firstLayer = 0;
  uint32_t rowPitch = 0, slicePitch = 0;  // bytes; all that is read lies within 4 GiB of `base`
  const std::byte* base = nullptr;
  uint32_t border[4] = {};
};
RowPlan planOf(const TextureView& view);

// One set for each instruction set.
struct RowSampler {
  const char* name;
  bool (*supported)();
  // By coordinates. False: nothing was done. Requires: plan.usable.
  bool (*sample)(const RowPlan& plan, const RowPoints& points, RowTexels& texels);
  // By whole coordinates: outside is zero, nothing is mixed. Requires: plan.usable.
  void (*fetch)(const RowPlan& plan, const RowPoints& points, RowTexels& texels);
};

extern const RowSampler kBaselineRowSampler, kAvx2RowSampler, kAvx512RowSampler;
inline constexpr const RowSampler* kAllRowSamplers[] = {&kAvx512RowSampler, &kAvx2RowSampler, &kBaselineRowSampler};

// The one for the instruction set that copies use.
const RowSampler& rowSampler();

}  // namespace vg::arrays
