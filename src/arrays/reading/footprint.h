// What a pixel covers of a texture, from how coordinates change to the next pixels: the level to read and, for
// anisotropic filtering, the line along which samples lie. An H200 does this with 10 significant bits and a table of
// logarithms; so does this, with the answers that it gave for sweeps of gradients.
#pragma once

#include "arrays/reading/texture.h"

namespace vg::arrays {

struct Footprint {
  float level = 0;      // in whole 256ths
  float ratio = 1;      // of the longer axis to the shorter one; above 1: several samples
  float along[2] = {};  // the direction of the longer axis, an element long
};

// Of coordinates at `position` that change by dx and dy; directions for cubemaps.
Footprint footprintOf(const TextureView& view, const SamplerState& sampler, const float (&position)[3],
                      const float (&dx)[3], const float (&dy)[3]);

// Samplers of anisotropic filtering blend levels over a shorter stretch than from one to the next, unless told not to:
// it begins at `from` in 256ths, and is steeper, in quarters.
struct Blending {
  int from, steepness;
};
Blending blendingOf(const SamplerState& sampler);
// The level that is read for a level of detail, both in 256ths.
constexpr int blended(int level, Blending blending) {
  const int share = ((level & 255) - blending.from) * blending.steepness >> 2;
  return (level & ~255) + (share < 0 ? 0 : share > 256 ? 256 : share);
}

// One of the samples along the longer axis: how far from the middle, in elements, and its weight.
struct LineSample {
  float offset, weight;
};
inline constexpr int kMostLineSamples = 16;
// Answers how many there are.
int lineSamples(float ratio, LineSample (&samples)[kMostLineSamples]);

// The number of samples that a sampler may take, of what the application asked for.
unsigned anisotropyOf(unsigned asked);

}  // namespace vg::arrays
