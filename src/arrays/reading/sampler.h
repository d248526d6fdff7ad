// Reading a texture: coordinates, addressing, filtering, levels, cubemaps, gathers.
//
// Linear filtering weighs with 8 bits of fraction, as the texture units of an H200 do: a coordinate is rounded to 1/256
// of an element first, and every element's weight to 1/256. Sums of every format are the device's to the bit, but for
// a few in 100,000 of boxes of colours that are encoded for the eye.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arrays/reading/texel.h"
#include "arrays/reading/texture.h"

namespace vg::arrays {

struct SamplePoint {
  float position[3] = {0, 0, 0};  // in elements, or 0 to 1; a direction for cubemaps
  int64_t layer = 0;              // of layered textures, clamped; cubemaps: of 6 faces each
  float level = 0;
  float ratio = 1, along[2] = {0, 0};  // above 1 and where samples lie: see Footprint
  bool biased = true;                  // the sampler's bias is added to the level
  int offset[3] = {0, 0, 0};           // elements
  bool cube = false;
};

Texel sample(const TextureView& view, const SamplerState& sampler, const SamplePoint& point);
// One channel of the four elements that linear filtering would mix: (0,1), (1,1), (1,0), (0,0).
Texel gather(const TextureView& view, const SamplerState& sampler, const SamplePoint& point, unsigned channel);

// A read by whole coordinates: no filtering, no normalised coordinates; outside is zero. Where a level is given,
// coordinates and layers clamp, and only what has no level is zero.
struct FetchPoint {
  int64_t position[3] = {0, 0, 0};
  int64_t layer = 0;
  int64_t level = 0;
  bool levelGiven = false;
  bool cube = false;  // position[2] is no coordinate
};
Texel fetch(const TextureView& view, const SamplerState& sampler, const FetchPoint& point);

// Whether reads give floats; levels of what gives integers are not mixed.
bool ofFloats(const TextureView& view);
// What reads beyond the edges give where the sampler says border.
Texel borderOf(const TextureView& view, const SamplerState& sampler);

}  // namespace vg::arrays
