#include "arrays/reading/footprint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "arrays/reading/cubemap.h"

namespace vg::arrays {
namespace {

constexpr float kLongest = 0x1p60f;
constexpr int kSteps = 256;         // of levels
constexpr int kNothing = -1 << 20;  // the logarithm of 0

constexpr uint8_t kLogarithms[256] = {
#include "arrays/reading/logarithms.inc"
};

// The 10 leading bits of a number as a whole number from 512 to 1023, and what its last bit is worth.
struct Leading {
  int bits;
  int exponent;
  explicit Leading(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    bits = static_cast<int>(word >> 14 & 511) | 512;
    exponent = static_cast<int>(word >> 23 & 255) - 127 - 9;
  }
};
bool isTiny(float magnitude) { return magnitude < 0x1p-100f; }

// With 10 leading bits.
float shortened(float value) {
  return isTiny(std::fabs(value)) ? 0 : std::bit_cast<float>(std::bit_cast<uint32_t>(value) & ~0x3fffu);
}

int logarithmOf(float length) {
  if (isTiny(length)) return kNothing;
  const uint32_t word = std::bit_cast<uint32_t>(length);
  return (static_cast<int>(word >> 23) - 127) * kSteps + kLogarithms[word >> 15 & 255];
}

struct Vector {
  float x = 0, y = 0, z = 0;
};
Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

// 11/32 of the middle side and 1/4 of the shortest, which has only bits that the middle one has.
float partOfShorter(float middle, float shortest) {
  if (isTiny(middle)) return 0;
  const Leading leading(middle);
  const auto aligned = static_cast<int>(std::ldexp(shortened(shortest), -leading.exponent));
  return std::ldexp(static_cast<float>(11 * leading.bits + 8 * aligned + 4), leading.exponent - 5);
}

// The longest side, 11/32 of the next and 1/4 of the shortest.
float lengthOf(Vector v) {
  float sides[3] = {std::fabs(v.x), std::fabs(v.y), std::fabs(v.z)};
  std::sort(sides, sides + 3);
  if (isTiny(sides[2])) return 0;
  const float more = partOfShorter(sides[1], sides[0]);
  const int exponent = Leading(sides[2]).exponent;
  return shortened(sides[2]) + std::ldexp(std::floor(std::ldexp(more, -exponent)), exponent);
}

// 11/16, for 1 / sqrt(2).
Vector partOf(Vector v) { return {shortened(v.x) * 0.6875f, shortened(v.y) * 0.6875f, shortened(v.z) * 0.6875f}; }

// A change of a coordinate from 0 to 1 in elements. The units' product is a little larger than the exact one.
float inElements(float change, float size) {
  if (isTiny(std::fabs(change))) return 0;
  constexpr int kMore = 448;
  const Leading leading(change);
  const int exponent = std::ilogb(size) - 9;
  const float product = static_cast<float>(leading.bits) * std::ldexp(size, -exponent) + kMore;
  return std::copysign(shortened(std::ldexp(product, leading.exponent + exponent)), change);
}

float finite(float change) { return change != change ? 0 : std::clamp(change, -kLongest, kLongest); }

// Of boxes and cubemaps the change is that of coordinates, of which what is no number counts as 0: from where they are
// to where they would be. The change along an axis where a coordinate is infinite does not end.
float changeInBox(const TextureView& view, const SamplerState& sampler, unsigned axis, float position, float change) {
  const Extent& extent = view.levels[0].extent;
  const size_t sizes[3] = {extent.width, extent.height, extent.depth};
  const float at = sampler.normalized ? position * static_cast<float>(sizes[axis]) : position;
  if (std::isinf(at)) return kLongest;
  const float next = position + change;
  return (next == next ? next : 0) - (position == position ? position : 0);
}

// How far coordinates go, in elements; whether that is in the plane of one face of a cube.
struct Change {
  Vector along;
  bool inPlane = true;
};
Change changeOf(const TextureView& view, const SamplerState& sampler, const float (&position)[3],
                const float (&change)[3]) {
  Change result;
  Vector& v = result.along;
  if (isCube(view.kind)) {
    const float next[3] = {position[0] + change[0], position[1] + change[1], position[2] + change[2]};
    const FaceChange onFaces = changeOnFaces(position, next);
    v = {onFaces.along[0], onFaces.along[1]};
    result.inPlane = onFaces.onOneFace;
  } else if (view.kind == Kind::Box) {
    const auto along = [&](unsigned axis) { return changeInBox(view, sampler, axis, position[axis], change[axis]); };
    v = {along(0), along(1), along(2)};
  } else {
    v = {change[0], axesOf(view.kind) > 1 ? change[1] : 0, 0};
  }
  v = {finite(v.x), finite(v.y), finite(v.z)};
  if (!sampler.normalized && !isCube(view.kind)) return result;
  const Extent& extent = view.levels[0].extent;
  const auto scaled = [](float along, size_t size) {
    return inElements(along, static_cast<float>(std::max<size_t>(size, 1)));
  };
  v = {scaled(v.x, extent.width), scaled(v.y, extent.height), scaled(v.z, extent.depth)};
  return result;
}

// How many samples a sampler may take, and the logarithm of that.
struct Anisotropy {
  unsigned samples;
  int logarithm;
  Blending blending;
};
constexpr Anisotropy kAnisotropies[] = {{16, 1024, {64, 8}}, {12, 912, {64, 8}}, {10, 848, {64, 8}}, {8, 768, {64, 8}},
                                        {6, 656, {54, 7}},   {4, 512, {54, 7}},  {2, 256, {42, 6}},  {1, 0, {0, 4}}};
const Anisotropy& anisotropyWith(unsigned samples) {
  return *std::find_if(std::begin(kAnisotropies), std::end(kAnisotropies) - 1,
                       [&](const Anisotropy& a) { return a.samples <= samples; });
}

// Directions by their slope: where one begins, and its parts in 64ths. Found with an H200 at 97 angles.
struct Direction {
  float slope, longer, shorter;
};
constexpr Direction kDirections[] = {{0.984f, 45, 45},  {0.892f, 47, 44},  {0.863f, 48, 42}, {0.755f, 50, 40},
                                     {0.567f, 54, 35},  {0.483f, 57, 30},  {0.443f, 58, 27}, {0.312f, 60, 22},
                                     {0.2074f, 62, 16}, {0.1068f, 63, 10}, {0.0246f, 64, 3}, {0, 64, 0}};

void direct(Vector axis, float (&along)[2]) {
  const float ax = std::fabs(axis.x), ay = std::fabs(axis.y);
  if (ax == 0 && ay == 0) return;
  const float slope = std::min(ax, ay) / std::max(ax, ay);
  const Direction& direction = *std::find_if(std::begin(kDirections), std::end(kDirections) - 1,
                                             [&](const Direction& d) { return slope >= d.slope; });
  along[0] = std::copysign((ax >= ay ? direction.longer : direction.shorter) / 64, axis.x);
  along[1] = std::copysign((ax >= ay ? direction.shorter : direction.longer) / 64, axis.y);
}

}  // namespace

Footprint footprintOf(const TextureView& view, const SamplerState& sampler, const float (&position)[3],
                      const float (&dx)[3], const float (&dy)[3]) {
  const Change changes[] = {changeOf(view, sampler, position, dx), changeOf(view, sampler, position, dy)};
  const Vector x = changes[0].along, y = changes[1].along, px = partOf(x), py = partOf(y);
  const Vector axes[] = {x, y, px + py, px - py};
  const size_t axisCount =
      changes[0].inPlane && changes[1].inPlane ? 4 : 2;  // what lies between two faces does not count
  Vector longest;
  int longer = kNothing;
  for (const Vector& axis : std::span(axes, axisCount)) {
    const int logarithm = logarithmOf(lengthOf(axis));
    if (logarithm > longer) longest = axis, longer = logarithm;
  }
  Footprint footprint;
  const Anisotropy& most = anisotropyWith(view.kind == Kind::Box ? 1 : sampler.anisotropy);
  int level = longer;
  if (most.samples > 1 && longer > kNothing) {
    const float area = std::fabs(shortened(x.x) * shortened(y.y) - shortened(x.y) * shortened(y.x));
    const int shorter = logarithmOf(area) - longer;
    const int apart = longer - std::max(shorter, 0);
    level = std::max(shorter, longer - most.logarithm);
    footprint.ratio = apart >= most.logarithm ? static_cast<float>(most.samples)
                                              : std::exp2(static_cast<float>(apart) / static_cast<float>(kSteps));
    direct(longest, footprint.along);
  }
  footprint.level = static_cast<float>(level) / static_cast<float>(kSteps);
  return footprint;
}

Blending blendingOf(const SamplerState& sampler) {
  return sampler.blendsWidely ? Blending{0, 4} : anisotropyWith(sampler.anisotropy).blending;
}

int lineSamples(float ratio, LineSample (&samples)[kMostLineSamples]) {
  constexpr float kWeights = 1024;
  if (ratio <= 1) {
    samples[0] = {0, 1};
    return 1;
  }
  if (ratio <= 2) {
    const float offset = std::nearbyint((1 - 1 / ratio) * 128 + 0.25f) / 128;
    samples[0] = {-offset, 0.5f}, samples[1] = {offset, 0.5f};
    return 2;
  }
  // As many as there are whole elements along the axis; the outermost two have what is left.
  int half = static_cast<int>(std::ceil(ratio / 2));
  float outer = std::nearbyint((ratio - static_cast<float>(2 * half - 2)) / 2 / ratio * kWeights) / kWeights;
  if (outer == 0) outer = 0.5f / static_cast<float>(--half);
  const float inner = half > 1 ? (0.5f - outer) / static_cast<float>(half - 1) : 0;
  for (int k = 0; k < half; ++k) {
    const float offset = static_cast<float>(k) + 0.5f, weight = k == half - 1 ? outer : inner;
    samples[2 * k] = {-offset, weight}, samples[2 * k + 1] = {offset, weight};
  }
  return 2 * half;
}

unsigned anisotropyOf(unsigned asked) { return anisotropyWith(std::max(asked, 1u)).samples; }

}  // namespace vg::arrays
