// Reading a texture for the 32 threads of a warp at once, by vectors: the forms that most programs use. What it answers
// is what sampler.h answers, bit for bit; what it does not know it leaves to sampler.h, lane by lane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arrays/reading/texel.h"
#include "arrays/reading/texture.h"

namespace vg::arrays {

inline constexpr unsigned kRowLanes = 32;
inline constexpr unsigned kMostRowLevels = 16;

// Where the lanes read. Lanes that are not active may hold anything, and so may what the texture does not ask for.
struct RowPoints {
  uint32_t active = 0;      // a bit for each lane
  bool displaced = false;   // offsets count
  bool biased = false;      // the sampler's bias is added to levels
  bool levelGiven = false;  // reads by whole coordinates clamp
  union {
    alignas(64) float position[3][kRowLanes];  // in elements, or 0 to 1; a direction for cubemaps
    alignas(64) int32_t whole[3][kRowLanes];   // in elements
  };
  alignas(64) uint32_t layer[kRowLanes];  // of layered textures; beyond the last one is the last one
  union {
    alignas(64) float level[kRowLanes];  // of textures of several levels
    alignas(64) int32_t wholeLevel[kRowLanes];
  };
  alignas(64) int32_t offset[3][kRowLanes];  // elements
};

struct RowTexels {
  alignas(64) uint32_t words[4][kRowLanes];  // as in Texel
};

// How the channels of an element are stored, and what becomes of them.
enum class RowDecoding : uint8_t { Word, Unsigned, Signed, Unorm, Snorm, Half };
// What sums are rounded to; see Steps of texel.h. Bytes: steps are kept otherwise than summed; whole: of integers.
enum class RowSums : uint8_t { Float, Bytes, Steps, Half, Whole };

// A level in linear memory. All that is read of it lies within 4 GiB of `base`.
struct RowLevel {
  int32_t size[3] = {1, 1, 1};
  uint32_t rowPitch = 0, slicePitch = 0;  // bytes
  const std::byte* base = nullptr;
};

// What there is to know about a texture in linear memory, made once.
struct RowPlan {
  bool usable = false;
  bool samples = false;  // else only fetches and gathers
  bool linear = false, normalized = false;
  RowSums sums{};
  Steps steps{};
  RowDecoding decoding{};
  uint8_t axes = 1, channels = 1;
  uint8_t channelBytes = 4, unitBytes = 4;
  bool layered = false, cube = false, seamless = false;  // a cubemap's layers have six faces each
  Addressing addressing[3]{};
  uint32_t layers = 1, firstLayer = 0;
  uint32_t border[4] = {};
  // Which levels coordinates are for: the first, the nearest one, or the last before and the next one, mixed.
  enum class Levels : uint8_t { First, Nearest, Mixed } chooses{};
  float bias = 0, minLevel = 0, maxLevel = 0;
  int32_t blendsFrom = 0, steepness = 4;  // see Blending
  uint32_t levelCount = 1;
  RowLevel levels[kMostRowLevels];
};
RowPlan planOf(const TextureView& view);

// One set for each instruction set. All answer which of the active lanes were read. Requires: plan.usable.
struct RowSampler {
  using Read = uint32_t (*)(const RowPlan& plan, const RowPoints& points, RowTexels& texels);
  const char* name;
  bool (*supported)();
  Read sample;  // by coordinates
  Read fetch;   // by whole coordinates: outside is zero, nothing is mixed
  // A channel of the four elements around coordinates.
  uint32_t (*gather)(const RowPlan& plan, const RowPoints& points, unsigned channel, RowTexels& texels);
  // Floats as halves in their lower 16 bits.
  void (*toHalves)(RowTexels& texels);
};

extern const RowSampler kBaselineRowSampler;  // of vectors of 16 bytes, which every processor has
#if defined(__x86_64__)
extern const RowSampler kAvx2RowSampler, kAvx512RowSampler;
inline constexpr const RowSampler* kAllRowSamplers[] = {&kAvx512RowSampler, &kAvx2RowSampler, &kBaselineRowSampler};
#else
inline constexpr const RowSampler* kAllRowSamplers[] = {&kBaselineRowSampler};
#endif

// The one for the instruction set that copies use.
const RowSampler& rowSampler();

}  // namespace vg::arrays
