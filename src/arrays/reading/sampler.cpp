#include "arrays/reading/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "arrays/half_float.h"
#include "arrays/reading/cubemap.h"
#include "arrays/reading/element.h"
#include "arrays/reading/footprint.h"

namespace vg::arrays {
namespace {

constexpr int64_t kFraction = 256;          // steps between two elements
constexpr float kFarthest = 1073741824.0f;  // coordinates beyond are as far outside
constexpr float kBelowOne = 0x1.fffffep-1f;
constexpr float kMostLevels = 4096;

float floatOf(uint32_t word) { return std::bit_cast<float>(word); }
uint32_t wordOf(float value) { return std::bit_cast<uint32_t>(value); }

// Rounded down. Requires: |value| < 2^62.
int64_t wholeOf(float value) {
  const auto towardsZero = static_cast<int64_t>(value);
  return towardsZero - (value < static_cast<float>(towardsZero));
}

int64_t modulo(int64_t value, int64_t size) {
  const int64_t rest = value % size;
  return rest < 0 ? rest + size : rest;
}

// Inside 0 .. size-1, or -1: the border, which is all there is of no elements.
int64_t resolve(int64_t at, int64_t size, Addressing addressing) {
  if (at >= 0 && at < size) [[likely]]
    return at;
  if (size == 0) return -1;
  switch (addressing) {
    case Addressing::Wrap:
      return modulo(at, size);
    case Addressing::Mirror: {
      const int64_t twice = modulo(at, 2 * size);
      return twice < size ? twice : 2 * size - 1 - twice;
    }
    case Addressing::Clamp:
      return std::clamp<int64_t>(at, 0, size - 1);
    default:
      return -1;
  }
}

// Reads of one level by whole coordinates that may lie outside.
class LevelReader {
 public:
  // `mixed`: elements are for sums, in which the lowest signed numbers are beyond -1.
  LevelReader(const TextureView& view, const SamplerState& sampler, size_t level, bool mixed)
      : view_(view), sampler_(sampler), level_(view.levels[level]), mixed_(mixed) {
    size_[0] = static_cast<int64_t>(level_.extent.width);
    size_[1] = static_cast<int64_t>(std::max<size_t>(level_.extent.height, 1));
    size_[2] = view.kind == Kind::Box ? static_cast<int64_t>(std::max<size_t>(level_.extent.depth, 1)) : 1;
    if (view.format == CU_AD_FORMAT_FLOAT && view.base && !level_.tileRowBytes) floats_ = view.base + level_.offset;
  }

  int64_t size(int axis) const { return size_[axis]; }

  Texel at(const int64_t (&position)[3], size_t layer) const {
    int64_t inside[3];
    for (int axis = 0; axis < 3; ++axis) {
      const Addressing how = view_.buffer ? Addressing::Border : sampler_.addressing[axis];
      inside[axis] = resolve(position[axis], size_[axis], how);
      if (inside[axis] < 0) return borderOf(view_, sampler_);
    }
    return element(inside[0], inside[1], view_.kind == Kind::Box ? static_cast<size_t>(inside[2]) : layer);
  }

  // Where coordinates clamp, nothing is mixed beyond the middle of the elements at the edges.
  bool holdsInside(int axis, bool cube, int64_t first) const {
    const bool clamps = cube ? !view_.seamless : !view_.buffer && sampler_.addressing[axis] == Addressing::Clamp;
    return clamps && (first < 0 || first >= size_[axis] - 1);
  }

  // Only three elements meet at a corner of a cube.
  bool beyondCorner(int64_t x, int64_t y) const {
    return view_.seamless && (x < 0 || x >= size_[0]) && (y < 0 || y >= size_[0]);
  }

  // Of a face: edges clamp, or go on at the neighbour; beyond a corner is the element at it.
  Texel onFace(unsigned face, int64_t x, int64_t y, size_t cube) const {
    const int64_t edge = size_[0], cx = std::clamp<int64_t>(x, 0, edge - 1), cy = std::clamp<int64_t>(y, 0, edge - 1);
    if (!view_.seamless || (cx == x && cy == y) || beyondCorner(x, y)) return element(cx, cy, cube + face);
    const FaceElement beyond = acrossEdge(face, x, y, edge);
    return element(beyond.x, beyond.y, cube + beyond.face);
  }

 private:
  Texel element(int64_t x, int64_t y, size_t slice) const {
    if (floats_) return plain(x, y, slice);
    return decodeElement(view_, level_, static_cast<size_t>(x), static_cast<size_t>(y), slice, mixed_);
  }

  // What needs no decoding.
  Texel plain(int64_t x, int64_t y, size_t slice) const {
    Texel texel{};
    const std::byte* at = floats_ + slice * level_.slicePitch + static_cast<size_t>(y) * level_.rowPitch +
                          static_cast<size_t>(x) * view_.unit.bytes;
    if (view_.channels == 1)
      std::memcpy(texel.words, at, 4);
    else if (view_.channels == 2)
      std::memcpy(texel.words, at, 8);
    else
      std::memcpy(texel.words, at, 16);
    return texel;
  }

  const TextureView& view_;
  const SamplerState& sampler_;
  const Level& level_;
  const bool mixed_;
  const std::byte* floats_ = nullptr;  // of elements that are floats one after another
  int64_t size_[3];
};

// A coordinate in elements, from what the kernel gave.
float scaled(const SamplerState& sampler, float position, int64_t size, int axis) {
  if (position != position) return 0;
  if (!sampler.normalized) return std::clamp(position, -kFarthest, kFarthest);
  const Addressing how = sampler.addressing[axis];
  const bool repeats = how == Addressing::Wrap || how == Addressing::Mirror;
  if (repeats && std::isinf(position)) return 0;
  // A little below a whole number is at the end, not at the beginning.
  if (how == Addressing::Wrap) position = std::min(position - std::floor(position), kBelowOne);
  // Whole periods go first, while they can be taken away exactly: elements that are far away have no 256ths left.
  if (how == Addressing::Mirror && std::fabs(position) >= 2) position -= 2 * std::floor(position / 2);
  return std::clamp(position * static_cast<float>(size), -kFarthest, kFarthest);
}

// The first of two neighbours and the share of the second, in 1/256.
struct Between {
  int64_t first;
  int share;
};
Between between(float position) {
  const int64_t fixed = wholeOf((position - 0.5f) * static_cast<float>(kFraction) + 0.5f);
  return {fixed >> 8, static_cast<int>(fixed & (kFraction - 1))};
}

// A sum of signed bytes, in 1/256, as 15 bits of a fraction: texture units multiply by 32767 / 32512 in shifts.
float widened(float sum) {
  const float parts = std::floor(sum * static_cast<float>(kFraction) + 0.5f);
  return parts + std::floor((parts + 16 * std::floor(parts / 4096) + 64) / 128);
}

// The sum of elements by weights in 1/256. Fractions are summed in whole steps and integers as they are: all of it is
// exact. Two by two elements of a plane are one group.
class Mixture {
 public:
  Mixture() = default;
  // Colours that are encoded for the eye are floats, their alpha is not.
  explicit Mixture(const TextureView& view)
      : encoded_(isEncoded(view.format, view.asIntegers, view.srgb) ? 3 : 0),
        half_(isHalf(view.format)),
        channels_(channelsOf(view.format, view.asIntegers)) {
    for (int c = encoded_; c < 4; ++c) steps_[c] = stepsOf(view.format);
  }
  // What is added next is a part of all.
  void partly(float part) { part_ = part; }
  void add(const Texel& texel, int weight) {
    if (weight == 0) return;  // infinities beside do not count
    if (channels_ != Channels::Float) return addWhole(texel, weight);
    const float share = static_cast<float>(weight) / static_cast<float>(kFraction) * part_;
    for (int c = 0; c < 4; ++c) {
      const float value = floatOf(texel.words[c]);
      if (measures_)
        coarsest_[c] = std::max(coarsest_[c], stepOfDecoded(value));
      else
        sums_[c] += share * summand(value, c);
    }
  }
  // Decoded colours of a group are cut to the steps of the brightest, so `add` runs twice for them.
  template <class Add>
  void addGroup(Add&& add) {
    if (encoded_ > 0) {
      std::fill_n(coarsest_, encoded_, 0.0f);
      measures_ = true;
      add();
      measures_ = false;
    }
    add();
  }
  Texel texel() const {
    Texel out;
    for (int c = 0; c < 4; ++c) {
      if (channels_ != Channels::Float)
        out.words[c] = keptWhole(wholes_[c]);
      else
        out.words[c] = wordOf(half_ || c < encoded_ ? roundedToHalf(sums_[c]) : kept(sums_[c], steps_[c]));
    }
    return out;
  }

 private:
  float summand(float value, int c) const {
    if (c < encoded_) return std::floor(value / coarsest_[c]) * coarsest_[c];
    return steps_[c].summed == 0 ? value : std::floor(value * steps_[c].summed + 0.5f);
  }
  static float kept(float sum, Steps steps) {
    if (steps.kept == 0) return sum;
    const float whole = steps.summed == steps.kept ? std::floor(sum + 0.5f) : widened(sum);
    return std::max(whole / steps.kept, -1.0f);
  }
  void addWhole(const Texel& texel, int weight) {
    for (int c = 0; c < 4; ++c) {
      const int64_t value =
          channels_ == Channels::Signed ? static_cast<int32_t>(texel.words[c]) : int64_t{texel.words[c]};
      wholes_[c] += value * weight;
    }
  }
  // Bytes and words are rounded, what has 32 bits is rounded down.
  uint32_t keptWhole(int64_t sum) const {
    return static_cast<uint32_t>((sum + (steps_[0].kept != 0 ? kFraction / 2 : 0)) >> 8);
  }

  float sums_[4] = {0, 0, 0, 0}, coarsest_[4] = {0, 0, 0, 0}, part_ = 1;
  Steps steps_[4] = {};
  int encoded_ = 0;  // channels, from the first on
  bool half_ = false, measures_ = false;
  Channels channels_ = Channels::Float;
  int64_t wholes_[4] = {0, 0, 0, 0};  // of integers, in 1/256
};

size_t layerOf(const TextureView& view, int64_t layer, unsigned slicesEach) {
  if (!layered(view.kind) || view.layers == 0) return 0;
  const auto count = static_cast<int64_t>(std::max<size_t>(view.layers / slicesEach, 1));
  return view.firstLayer + static_cast<size_t>(std::clamp<int64_t>(layer, 0, count - 1)) * slicesEach;
}

constexpr unsigned kFaces = 6;

// The position on a level, in elements, and the slice or the first face.
struct Place {
  float at[3];
  int offset[3] = {0, 0, 0};
  unsigned face = 0;
  size_t layer = 0;
};

Place placeOf(const TextureView& view, const SamplerState& sampler, const SamplePoint& point,
              const LevelReader& level) {
  Place place{};
  if (point.cube) {
    const FacePoint onFace = faceOf(point.position);
    place.at[0] = onFace.s * static_cast<float>(level.size(0));
    place.at[1] = onFace.t * static_cast<float>(level.size(0));
    place.face = onFace.face;
    place.layer = layerOf(view, point.layer, kFaces);
    return place;
  }
  for (int axis = 0; axis < axesOf(view.kind); ++axis) {
    place.at[axis] = scaled(sampler, point.position[axis], level.size(axis), axis);
    place.offset[axis] = point.offset[axis];
  }
  place.layer = layerOf(view, point.layer, 1);
  return place;
}

Place displaced(const Place& from, const SamplePoint& point, float offset) {
  Place place = from;
  for (int axis = 0; axis < 2; ++axis) place.at[axis] += offset * point.along[axis];
  return place;
}

Texel read(const LevelReader& level, const Place& place, bool cube, const int64_t (&at)[3]) {
  return cube ? level.onFace(place.face, at[0], at[1], place.layer) : level.at(at, place.layer);
}

Texel nearest(const LevelReader& level, const Place& place, bool cube) {
  int64_t at[3];
  for (int axis = 0; axis < 3; ++axis) {
    at[axis] = wholeOf(place.at[axis]) + place.offset[axis];
    if (cube) at[axis] = std::min(at[axis], level.size(0) - 1);  // the far edge of a face belongs to it
  }
  return read(level, place, cube, at);
}

// Weights of the 2 x 2 x 2 elements in 1/256, as an H100's texture units round them: z is split first, then x, then y.
// The second part gets halves of a step, but not along y where x is the first. Their sum is the weight of all.
struct Weights {
  int of[8] = {static_cast<int>(kFraction)};  // bit 0 of the index: the second along x, bit 1: y, bit 2: z
  void split(int axis, int share) {
    for (int i = 7; i >= 0; --i) {
      if (i >> axis & 1) continue;
      const int second = (of[i] * share + (axis == 2 || (axis == 1 && !(i & 1)) ? 127 : 128)) >> 8;
      of[i | 1 << axis] = second;
      of[i] -= second;
    }
  }
};

// What lies beyond a corner of a cube is not there: its weight goes to the three elements that meet.
void addCorner(Mixture& mixture, const LevelReader& level, const Place& place, int64_t x, int64_t y, int weight) {
  const int64_t last = level.size(0) - 1, cx = std::clamp<int64_t>(x, 0, last), cy = std::clamp<int64_t>(y, 0, last);
  const int third = (2 * weight + 3) / 6;  // rounded
  mixture.add(level.onFace(place.face, x, cy, place.layer), third);
  mixture.add(level.onFace(place.face, cx, y, place.layer), third);
  mixture.add(level.onFace(place.face, cx, cy, place.layer), weight - 2 * third);
}

// The axes along which elements are mixed. A line is read as a plane of one row, at its upper edge: half of what is
// mixed there lies above, where only the border is.
int mixedAxes(const TextureView& view, const SamplerState& sampler) {
  const bool above = view.kind == Kind::Line && sampler.addressing[1] == Addressing::Border;
  return above ? 2 : axesOf(view.kind);
}

// Adds what is mixed at a place, with weights whose sum is `weight`.
void addMixed(Mixture& mixture, const LevelReader& level, const Place& place, bool cube, int axes, int weight) {
  Between along[3] = {{0, 0}, {0, 0}, {0, 0}};
  for (int axis = 0; axis < axes; ++axis) {
    along[axis] = between(place.at[axis]);
    along[axis].first += place.offset[axis];
    if (level.holdsInside(axis, cube, along[axis].first)) along[axis].share = 0;
  }
  Weights weights;
  weights.of[0] = weight;
  for (const int axis : {2, 0, 1})
    if (along[axis].share) weights.split(axis, along[axis].share);
  const auto addPlane = [&](int first) {
    for (int i = first; i < first + 4; ++i) {
      if (weights.of[i] == 0) continue;
      const int64_t at[3] = {along[0].first + (i & 1), along[1].first + (i >> 1 & 1), along[2].first + (i >> 2)};
      if (cube && level.beyondCorner(at[0], at[1]))
        addCorner(mixture, level, place, at[0], at[1], weights.of[i]);
      else
        mixture.add(read(level, place, cube, at), weights.of[i]);
    }
  };
  mixture.addGroup([&] { addPlane(0); });
  if (along[2].share) mixture.addGroup([&] { addPlane(4); });
}

bool mixes(const TextureView& view, const SamplerState& sampler) { return sampler.linear && !view.buffer; }

// A place on one level.
struct OnLevel {
  LevelReader level;
  bool cube;
  Place place;

  OnLevel(const TextureView& view, const SamplerState& sampler, const SamplePoint& point, size_t number)
      : level(view, sampler, number, mixes(view, sampler)), cube(point.cube && isCube(view.kind)) {
    SamplePoint here = point;
    here.cube = cube;
    place = placeOf(view, sampler, here, level);
  }
};

bool inLine(const TextureView& view, const SamplePoint& point) { return point.ratio > 1 && ofFloats(view); }

// Samples in line lie as far apart as an element of the level would be wide that is between two: `level` is that.
void addLevel(Mixture& mixture, const TextureView& view, const SamplerState& sampler, const SamplePoint& point,
              float level, size_t number, int weight) {
  const OnLevel on(view, sampler, point, number);
  LineSample samples[kMostLineSamples];
  const int count = lineSamples(inLine(view, point) ? point.ratio : 1, samples);
  const float apart = count > 1 ? std::exp2(level - static_cast<float>(number)) : 1;
  for (int k = 0; k < count; ++k) {
    const Place place = displaced(on.place, point, samples[k].offset * apart);
    mixture.partly(samples[k].weight);
    if (mixes(view, sampler))
      addMixed(mixture, on.level, place, on.cube, mixedAxes(view, sampler), weight);
    else
      mixture.addGroup([&] { mixture.add(nearest(on.level, place, on.cube), weight); });
  }
}

Texel sampleLevel(const TextureView& view, const SamplerState& sampler, const SamplePoint& point, float level,
                  size_t number) {
  if (!mixes(view, sampler) && !inLine(view, point)) {
    const OnLevel on(view, sampler, point, number);
    return nearest(on.level, on.place, on.cube);
  }
  Mixture mixture(view);
  addLevel(mixture, view, sampler, point, level, number, static_cast<int>(kFraction));
  return mixture.texel();
}

// The level as a number between the first and the last.
float levelOf(const TextureView& view, const SamplerState& sampler, const SamplePoint& point) {
  const auto last = static_cast<float>(view.levels.size() - 1);
  float level = point.level == point.level ? point.level : 0;
  level = std::trunc(level * static_cast<float>(kFraction)) / static_cast<float>(kFraction);
  if (point.biased) level += sampler.bias;
  if (!sampler.blendsWidely) {
    const int steps = static_cast<int>(wholeOf(std::clamp(level, -kMostLevels, kMostLevels) * kFraction));
    level = static_cast<float>(blended(steps, blendingOf(sampler))) / static_cast<float>(kFraction);
  }
  level = std::min(std::max(level, sampler.minLevel), sampler.maxLevel);
  return std::clamp(level, 0.0f, last);
}

}  // namespace

bool ofFloats(const TextureView& view) {
  return view.format == CU_AD_FORMAT_FLOAT || channelsOf(view.format, view.asIntegers) == Channels::Float;
}

Texel borderOf(const TextureView& view, const SamplerState& sampler) {
  Texel texel{};
  if (view.buffer) return texel;
  for (unsigned c = 0; c < std::min(view.channels, 4u); ++c)
    texel.words[c] = borderWord(sampler.border[c], view.format, view.asIntegers);
  return texel;
}

Texel sample(const TextureView& view, const SamplerState& sampler, const SamplePoint& point) {
  if (!view.whole || view.levels.size() == 1) return sampleLevel(view, sampler, point, 0, 0);
  const float level = levelOf(view, sampler, point);
  if (!sampler.linearLevels) {
    const float nearest = std::floor(level + 0.5f);
    return sampleLevel(view, sampler, point, nearest, static_cast<size_t>(nearest));
  }
  const auto fixed = static_cast<size_t>(level * static_cast<float>(kFraction));
  const size_t first = fixed / kFraction;
  const auto share = static_cast<int>(fixed % kFraction);
  if (share == 0) return sampleLevel(view, sampler, point, level, first);
  Mixture mixture(view);
  addLevel(mixture, view, sampler, point, level, first, static_cast<int>(kFraction) - share);
  addLevel(mixture, view, sampler, point, level, first + 1, share);
  return mixture.texel();
}

Texel gather(const TextureView& view, const SamplerState& sampler, const SamplePoint& point, unsigned channel) {
  static constexpr int kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  const LevelReader level(view, sampler, 0, false);
  SamplePoint here = point;
  here.cube = point.cube && isCube(view.kind);
  const Place place = placeOf(view, sampler, here, level);
  const int64_t x = between(place.at[0]).first + place.offset[0], y = between(place.at[1]).first + place.offset[1];
  Texel gathered;
  for (int i = 0; i < 4; ++i) {
    const int64_t at[3] = {x + kOrder[i][0], y + kOrder[i][1], 0};
    Mixture corner;
    const bool beyond = here.cube && level.beyondCorner(at[0], at[1]) && ofFloats(view);
    if (beyond) addCorner(corner, level, place, at[0], at[1], static_cast<int>(kFraction));
    gathered.words[i] = (beyond ? corner.texel() : read(level, place, here.cube, at)).words[channel];
  }
  return gathered;
}

Texel fetch(const TextureView& view, const SamplerState& sampler, const FetchPoint& point) {
  const auto levels = static_cast<int64_t>(view.levels.size()), layers = static_cast<int64_t>(view.layers);
  if (point.level < 0 || point.level >= levels) return {};
  const bool clamps = point.levelGiven && !view.buffer;
  const bool beyond = layered(view.kind) && (point.layer < 0 || point.layer >= layers);
  if (beyond && !clamps) return {};
  SamplerState outside = sampler;
  std::fill_n(outside.addressing, 3, clamps ? Addressing::Clamp : Addressing::Border);
  std::fill_n(outside.border, 4, 0.0f);
  const LevelReader level(view, outside, static_cast<size_t>(point.level), false);
  int64_t at[3] = {0, 0, 0};
  for (int axis = 0; axis < axesOf(view.kind); ++axis) at[axis] = point.position[axis];
  return level.at(at, layerOf(view, beyond ? layers - 1 : point.layer, 1));
}

}  // namespace vg::arrays
