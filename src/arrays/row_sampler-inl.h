// The loops of row_sampler.h, compiled once for each instruction set: everything here is in an unnamed namespace and
// calls nothing that the linker could take from another file. Each loop is over the 32 lanes and becomes vectors. Sums
// and products are done one by one, in the order of sampler.cpp, so that they round alike.
#include <cstring>

#include "arrays/row_sampler.h"

namespace vg::arrays {
namespace {

using Floats = float[kRowLanes];
using Ints = int32_t[kRowLanes];
using Words = uint32_t[kRowLanes];

constexpr float kNear = 4194304.0f;  // 2^22: closer coordinates have their 256ths in 32 bits

#define VG_LANES for (unsigned i = 0; i < kRowLanes; ++i)

inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
inline int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }

// Rounded down. Requires: |value| < 2^31.
inline int32_t wholeOf(float value) {
  const auto towardsZero = static_cast<int32_t>(value);
  return towardsZero - (value < static_cast<float>(towardsZero));
}

// What lanes gave; 0 for those that are not active.
template <class Word>
void keepActive(const RowPoints& points, const Word (&given)[kRowLanes], Word (&out)[kRowLanes]) {
  const uint32_t active = points.active;
  VG_LANES out[i] = (active >> i & 1) != 0 ? given[i] : 0;
}

// Coordinates in elements. False: some are too far away for 32 bits.
bool scale(const RowPlan& plan, const RowPoints& points, unsigned axis, Floats& out) {
  alignas(64) Ints given, far;
  const auto size = static_cast<float>(plan.size[axis]);
  const bool wraps = plan.normalized && plan.addressing[axis] == Addressing::Wrap;
  keepActive(points, points.whole[axis], given);
  VG_LANES {
    const float at = __builtin_bit_cast(float, given[i]);
    out[i] = at == at ? at : 0.0f;
  }
  if (wraps) VG_LANES {
      const float share = out[i] - __builtin_floorf(out[i]);
      out[i] = share >= 1.0f ? 0x1.fffffep-1f : share;
    }
  if (plan.normalized) VG_LANES out[i] = out[i] * size;
  VG_LANES far[i] = !(__builtin_fabsf(out[i]) < kNear);
  int32_t any = 0;
  VG_LANES any |= far[i];
  return !any;
}

// Brings coordinates inside; `outside` becomes all ones where only the border is. False: further than one size away.
bool resolve(int32_t size, Addressing how, Ints& at, Ints& outside) {
  int32_t bad = 0;
  switch (how) {
    case Addressing::Wrap:
      VG_LANES {
        int32_t x = at[i];
        x += x < 0 ? size : 0;
        x -= x >= size ? size : 0;
        bad |= (x < 0) | (x >= size);
        at[i] = x;
      }
      return !bad;
    case Addressing::Mirror:
      VG_LANES {
        int32_t x = at[i];
        x = x < 0 ? -1 - x : x;
        x = x >= size ? 2 * size - 1 - x : x;
        bad |= (x < 0) | (x >= size);
        at[i] = x;
      }
      return !bad;
    case Addressing::Clamp:
      VG_LANES at[i] = least(most(at[i], 0), size - 1);
      return true;
    case Addressing::Border:
      VG_LANES {
        const int32_t x = at[i];
        outside[i] |= x < 0 || x >= size ? -1 : 0;
        at[i] = least(most(x, 0), size - 1);
      }
      return true;
  }
  return false;
}

// Where elements begin, in bytes from the first one.
struct Offsets {
  alignas(64) Words slice;  // what layers add

  Offsets(const RowPlan& plan, const RowPoints& points) {
    if (!plan.layered) {
      VG_LANES slice[i] = 0;
      return;
    }
    const uint32_t first = plan.firstLayer, last = plan.layers - 1, pitch = plan.slicePitch;
    alignas(64) Words layer;
    keepActive(points, points.layer, layer);
    VG_LANES slice[i] = (first + (layer[i] < last ? layer[i] : last)) * pitch;
  }

  void at(const RowPlan& plan, const Ints (&inside)[3], Words& out) const {
    const uint32_t unit = plan.unitBytes, row = plan.rowPitch, box = plan.slicePitch;
    VG_LANES out[i] = slice[i] + static_cast<uint32_t>(inside[0][i]) * unit;
    if (plan.axes > 1) VG_LANES out[i] += static_cast<uint32_t>(inside[1][i]) * row;
    if (plan.axes > 2) VG_LANES out[i] += static_cast<uint32_t>(inside[2][i]) * box;
  }
};

template <class Type>
void loadNarrow(const std::byte* base, const Words& offsets, Words& raw) {
  VG_LANES {
    Type value;
    std::memcpy(&value, base + offsets[i], sizeof value);
    raw[i] = value;
  }
}

template <unsigned kWords>
void loadWide(const std::byte* base, const Words& offsets, Words (&raw)[4]) {
  VG_LANES {
    uint32_t words[kWords];
    std::memcpy(words, base + offsets[i], sizeof words);
    for (unsigned w = 0; w < kWords; ++w) raw[w][i] = words[w];
  }
}

// The elements as they are stored, in words of 32 bits.
void load(const RowPlan& plan, const Words& offsets, Words (&raw)[4]) {
  switch (plan.unitBytes) {
    case 1:
      return loadNarrow<uint8_t>(plan.base, offsets, raw[0]);
    case 2:
      return loadNarrow<uint16_t>(plan.base, offsets, raw[0]);
    case 4:
      return loadNarrow<uint32_t>(plan.base, offsets, raw[0]);
    case 8:
      return loadWide<2>(plan.base, offsets, raw);
    default:
      return loadWide<4>(plan.base, offsets, raw);
  }
}

inline uint32_t bitsOf(float value) { return __builtin_bit_cast(uint32_t, value); }

// As floatOfHalf and roundedToHalf of texel.h.
inline uint32_t widened(uint32_t half) {
  const uint32_t magnitude = half & 0x7fff, shifted = magnitude << 13;
  const uint32_t subnormal = bitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t finite = magnitude < 0x400 ? subnormal : shifted + (112u << 23);
  return (half & 0x8000) << 16 | (magnitude < 0x7c00 ? finite : shifted + (224u << 23));
}
inline float roundedToHalf(float value) {
  const uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffff;
  const bool isTiny = magnitude < 0x38800000;
  const float steps = isTiny ? __builtin_bit_cast(float, magnitude) * 0x1p24f + 0.5f : 0.0f;
  const uint32_t tiny = bitsOf(static_cast<float>(static_cast<int32_t>(steps)) * 0x1p-24f);
  const uint32_t finite = isTiny ? tiny : (magnitude + 0x1000) & ~0x1fffu;
  const uint32_t large = magnitude > 0x7f800000 ? 0x7fffe000 : 0x7f800000;
  return __builtin_bit_cast(float, (bits & 0x80000000) | (magnitude < 0x477ff000 ? finite : large));
}

// One channel of `bits` bits that begins at bit `shift` of `raw`.
void decode(RowDecoding decoding, const Words& raw, unsigned shift, unsigned bits, Words& out) {
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  const unsigned up = 32 - bits - shift, down = 32 - bits;
  switch (decoding) {
    case RowDecoding::Word:
      VG_LANES out[i] = raw[i];
      return;
    case RowDecoding::Unsigned:
      VG_LANES out[i] = raw[i] >> shift & mask;
      return;
    case RowDecoding::Signed:
      VG_LANES out[i] = static_cast<uint32_t>(static_cast<int32_t>(raw[i] << up) >> down);
      return;
    case RowDecoding::Unorm: {
      const auto scale = static_cast<float>(mask);
      VG_LANES out[i] = bitsOf(static_cast<float>(static_cast<int32_t>(raw[i] >> shift & mask)) / scale);
      return;
    }
    case RowDecoding::Snorm: {
      const auto scale = static_cast<float>(mask >> 1);
      VG_LANES {
        const float value = static_cast<float>(static_cast<int32_t>(raw[i] << up) >> down) / scale;
        out[i] = bitsOf(value < -1.0f ? -1.0f : value);
      }
      return;
    }
    case RowDecoding::Half:
      VG_LANES out[i] = widened(raw[i] >> shift & 0xffff);
      return;
  }
}

// The elements at `offsets`; the border where `outside` says so.
void read(const RowPlan& plan, const Words& offsets, const Ints& outside, bool bordered, const uint32_t (&border)[4],
          RowTexels& out) {
  alignas(64) Words raw[4];
  load(plan, offsets, raw);
  const unsigned bits = 8u * plan.channelBytes;
  for (unsigned c = 0; c < plan.channels; ++c) {
    decode(plan.decoding, raw[c * bits / 32], c * bits % 32, bits, out.words[c]);
    const uint32_t beyond = border[c];
    if (bordered) VG_LANES out.words[c][i] = outside[i] ? beyond : out.words[c][i];
  }
}

void clear(RowTexels& out, unsigned from) {
  for (unsigned c = from; c < 4; ++c) VG_LANES out.words[c][i] = 0;
}

bool borders(const RowPlan& plan) {
  for (unsigned axis = 0; axis < plan.axes; ++axis)
    if (plan.addressing[axis] == Addressing::Border) return true;
  return false;
}

bool nearest(const RowPlan& plan, const RowPoints& points, RowTexels& out) {
  alignas(64) Ints at[3], outside;
  alignas(64) Floats place;
  VG_LANES outside[i] = 0;
  for (unsigned axis = 0; axis < plan.axes; ++axis) {
    if (!scale(plan, points, axis, place)) return false;
    VG_LANES at[axis][i] = wholeOf(place[i]);
    if (!resolve(plan.size[axis], plan.addressing[axis], at[axis], outside)) return false;
  }
  alignas(64) Words offsets;
  Offsets(plan, points).at(plan, at, offsets);
  read(plan, offsets, outside, borders(plan), plan.border, out);
  clear(out, plan.channels);
  return true;
}

// Neighbours along an axis, inside, and the share of the second in 256ths.
struct Along {
  alignas(64) Ints at[2], outside[2], share;
};

bool between(const RowPlan& plan, const RowPoints& points, unsigned axis, Along& along) {
  alignas(64) Floats place;
  if (!scale(plan, points, axis, place)) return false;
  VG_LANES {
    const int32_t fixed = wholeOf((place[i] - 0.5f) * 256.0f + 0.5f);
    along.at[0][i] = fixed >> 8;
    along.at[1][i] = (fixed >> 8) + 1;
    along.share[i] = fixed & 255;
    along.outside[0][i] = along.outside[1][i] = 0;
  }
  if (plan.addressing[axis] == Addressing::Clamp) {  // see holdsInside() in sampler.cpp
    const int32_t last = plan.size[axis] - 1;
    VG_LANES along.share[i] = along.at[0][i] < 0 || along.at[0][i] >= last ? 0 : along.share[i];
  }
  return resolve(plan.size[axis], plan.addressing[axis], along.at[0], along.outside[0]) &&
         resolve(plan.size[axis], plan.addressing[axis], along.at[1], along.outside[1]);
}

// As Weights in sampler.cpp: a share of 0 leaves all as it is.
void split(Ints (&weights)[8], int count, unsigned axis, const Ints& share) {
  for (int k = count - 1; k >= 0; --k) {
    if (k >> axis & 1) continue;
    const int32_t half = axis == 1 && !(k & 1) ? 127 : 128;
    Ints& first = weights[k];
    Ints& second = weights[k | 1 << axis];
    VG_LANES {
      const int32_t part = (first[i] * share[i] + half) >> 8;
      second[i] = part;
      first[i] -= part;
    }
  }
}

void add(const RowTexels& texels, const Ints& weights, unsigned channels, Floats (&sums)[4]) {
  for (unsigned c = 0; c < channels; ++c) VG_LANES {
      const float share = static_cast<float>(weights[i]) / 256.0f;
      const float part = share * __builtin_bit_cast(float, texels.words[c][i]);
      sums[c][i] += weights[i] ? part : 0.0f;  // infinities beside do not count
    }
}

bool mixed(const RowPlan& plan, const RowPoints& points, RowTexels& out) {
  Along along[3];
  for (unsigned axis = 0; axis < plan.axes; ++axis)
    if (!between(plan, points, axis, along[axis])) return false;
  const int count = 1 << plan.axes;
  alignas(64) Ints weights[8];
  VG_LANES weights[0][i] = 256;
  for (int k = 1; k < count; ++k) VG_LANES weights[k][i] = 0;
  if (plan.axes > 2) split(weights, count, 2, along[2].share);
  split(weights, count, 0, along[0].share);
  if (plan.axes > 1) split(weights, count, 1, along[1].share);
  alignas(64) Floats sums[4];
  for (unsigned c = 0; c < plan.channels; ++c) VG_LANES sums[c][i] = 0;
  const Offsets places(plan, points);
  const bool bordered = borders(plan);
  for (int k = 0; k < count; ++k) {
    alignas(64) Ints at[3], outside;
    alignas(64) Words offsets;
    VG_LANES outside[i] = 0;
    for (unsigned axis = 0; axis < plan.axes; ++axis) {
      const int second = k >> axis & 1;
      VG_LANES at[axis][i] = along[axis].at[second][i];
      VG_LANES outside[i] |= along[axis].outside[second][i];
    }
    places.at(plan, at, offsets);
    RowTexels texels;
    read(plan, offsets, outside, bordered, plan.border, texels);
    add(texels, weights[k], plan.channels, sums);
  }
  for (unsigned c = 0; c < plan.channels; ++c) {
    if (plan.sums == RowSums::Half) VG_LANES sums[c][i] = roundedToHalf(sums[c][i]);
    if (plan.sums == RowSums::Fraction) {
      const float most = plan.mostSum;
      VG_LANES sums[c][i] = __builtin_floorf(sums[c][i] * most + 0.5f) / most;
    }
    VG_LANES out.words[c][i] = bitsOf(sums[c][i]);
  }
  clear(out, plan.channels);
  return true;
}

bool sample(const RowPlan& plan, const RowPoints& points, RowTexels& texels) {
  return plan.linear ? mixed(plan, points, texels) : nearest(plan, points, texels);
}

void fetch(const RowPlan& plan, const RowPoints& points, RowTexels& texels) {
  static constexpr uint32_t kNothing[4] = {};
  alignas(64) Ints at[3], outside;
  VG_LANES outside[i] = 0;
  for (unsigned axis = 0; axis < plan.axes; ++axis) {
    keepActive(points, points.whole[axis], at[axis]);
    resolve(plan.size[axis], Addressing::Border, at[axis], outside);
  }
  if (plan.layered) {
    const uint32_t count = plan.layers;
    VG_LANES outside[i] |= points.layer[i] >= count ? -1 : 0;
  }
  alignas(64) Words offsets;
  Offsets(plan, points).at(plan, at, offsets);
  read(plan, offsets, outside, true, kNothing, texels);
  clear(texels, plan.channels);
}

#undef VG_LANES

}  // namespace
}  // namespace vg::arrays
