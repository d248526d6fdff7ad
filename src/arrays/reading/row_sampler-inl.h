// The loops of row_sampler.h, compiled once for each instruction set by a file that has defined `Isa`: everything here
// is in an unnamed namespace and calls nothing that the linker could take from another file. A row is done in strips, a
// vector of lanes each. Sums and products are done one by one, in the order of sampler.cpp, so that they round alike.
#include "arrays/reading/row_elements-inl.h"

namespace vg::arrays {
namespace {

constexpr float kNear = 4194304.0f;  // 2^22: closer coordinates have their 256ths in 32 bits

// Lanes of a row, from `first` on, and the level that some of them read.
struct Strip {
  const RowPlan& plan;
  const RowPoints& points;
  unsigned first;
  Ints active;
  const RowLevel* level;
  Ints lanes;          // that read it
  Ints left = {};      // lanes that are not for vectors
  Floats position[3];  // not a number is 0; along a face 0 to 1
  Ints face = {};

  Strip(const RowPlan& p, const RowPoints& q, unsigned lane)
      : plan(p), points(q), first(lane), active(lanesOf(q.active, lane)), level(p.levels), lanes(active) {}

  // What lanes gave; 0 for those that are not active.
  template <class Lane>
  Ints given(const Lane (&from)[kRowLanes]) const {
    return take<Ints>(from, first) & active;
  }
  void leave(Ints which) { left |= which & lanes; }
  void readLevel(unsigned number, Ints which) {
    level = &plan.levels[number];
    lanes = which;
  }
};

// As faceOf() of cubemap.cpp.
void chooseFace(Strip& strip) {
  const Floats x = strip.position[0], y = strip.position[1], z = strip.position[2];
  const Floats ax = magnitudeOf(x), ay = magnitudeOf(y), az = magnitudeOf(z), zero{};
  const Ints byX = (ax > ay) & (ax > az), byY = ~byX & (ay > az);
  const Floats m = byX ? ax : byY ? ay : az;
  const Ints back = (byX ? x : byY ? y : z) < zero;
  const Floats s = byX ? (back ? z : -z) : byY ? x : (back ? -x : x);
  const Floats t = byY ? (back ? -z : z) : -y;
  const auto share = [&](Floats along) {
    const Floats at = (along / m + 1.0f) / 2.0f;
    return (along < zero) & (at == all(0.5f)) ? all(0x1.fffffep-2f) : at;
  };
  const Floats across = share(s), down = share(t);
  const Ints endless = m >= all(0x1p126f), none = ~((across == across) & (down == down));
  strip.position[0] = endless | none ? all(0.5f) : across;
  strip.position[1] = endless | none ? all(0.5f) : down;
  strip.face = endless ? all(4) : (byX ? all(0) : byY ? all(2) : all(4)) - back;
}

void locate(Strip& strip) {
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (axis >= strip.plan.axes && !strip.plan.cube) break;
    strip.position[axis] = asFloats(asWords(strip.given(strip.points.whole[axis])));
  }
  if (strip.plan.cube) return chooseFace(strip);
  for (unsigned axis = 0; axis < strip.plan.axes; ++axis) {
    Floats& at = strip.position[axis];
    at = at == at ? at : Floats{};
    if (!strip.plan.normalized || strip.plan.addressing[axis] != Addressing::Wrap) continue;
    const Floats share = at - floored(at);
    at = share >= all(1.0f) ? all(0x1.fffffep-1f) : share;
  }
}

// Coordinates in elements. Lanes too far away are left, and read at 0.
Floats scaled(Strip& strip, unsigned axis) {
  Floats at = strip.position[axis];
  if (strip.plan.normalized || strip.plan.cube) at = at * static_cast<float>(strip.level->size[axis]);
  const Ints near = magnitudeOf(at) < all(kNear);
  strip.leave(~near);
  return near ? at : Floats{};
}

// Within 2^29 of the array, so that what follows does not overflow.
Ints displaced(const Strip& strip, unsigned axis, Ints at) {
  constexpr int32_t kFar = 1 << 29;
  if (!strip.points.displaced || strip.plan.cube) return at;
  const auto near = [](Ints value) { return least(most(value, all(-kFar)), all(kFar)); };
  return near(near(at) + near(strip.given(strip.points.offset[axis])));
}

// Inside 0 .. size-1; `outside` becomes all ones where only the border is. Lanes further than one size away are left.
Ints resolved(Strip& strip, unsigned axis, Ints at, Ints& outside) {
  const int32_t size = strip.level->size[axis];
  switch (strip.plan.addressing[axis]) {
    case Addressing::Wrap:
      at += (at < all(0)) & size;
      at -= (at >= all(size)) & size;
      strip.leave((at < all(0)) | (at >= all(size)));
      break;
    case Addressing::Mirror:
      at = at < all(0) ? -1 - at : at;
      at = at >= all(size) ? 2 * size - 1 - at : at;
      strip.leave((at < all(0)) | (at >= all(size)));
      break;
    case Addressing::Border:
      outside |= (at < all(0)) | (at >= all(size));
      break;
    case Addressing::Clamp:
      break;
  }
  return least(most(at, all(0)), all(size - 1));  // lanes that are left read there, too
}

// What an element's place along an axis adds to its offset.
Words alongAxis(const Strip& strip, unsigned axis, Ints at) {
  const uint32_t steps[] = {strip.plan.unitBytes, strip.level->rowPitch, strip.level->slicePitch};
  return asWords(at) * steps[axis];
}

// Where a layer or face begins, in bytes; a layer beyond the last one is the last one.
Words slicesOf(const Strip& strip) {
  const RowPlan& plan = strip.plan;
  if (!plan.layered) return asWords(strip.face) * strip.level->slicePitch;
  const Words layer = asWords(strip.given(strip.points.layer)), last = all(plan.layers - 1);
  const Words inside = layer < last ? layer : last;
  const Words slice = plan.cube ? inside * 6u + asWords(strip.face) : inside;
  return (plan.firstLayer + slice) * strip.level->slicePitch;
}

// Elements as kernels get them; the border where `outside` says so.
struct Elements {
  Words words[4];

  Elements() = default;
  [[gnu::always_inline]] Elements(const RowPlan& plan, const Stored& raw, Ints outside, const uint32_t (*border)[4]) {
    const unsigned bits = 8u * plan.channelBytes;
    forChannels(plan.channels, [&](unsigned c) {
      // Of channels of 32 bits there is one in a word, of others there may be four.
      const Words stored = bits == 32 ? raw.words[c] : bits == 16 ? raw.words[c / 2] : raw.words[0];
      const Words word = decode(plan.decoding, stored, c * bits % 32, bits);
      words[c] = border ? (outside ? all((*border)[c]) : word) : word;
    });
  }
  // Alone, not for a sum.
  Elements(const Strip& strip, Words offsets, Ints outside, const uint32_t (*border)[4])
      : Elements(strip.plan, load(strip.plan, *strip.level, offsets), outside, border) {
    if (strip.plan.decoding != RowDecoding::Snorm) return;
    forChannels(strip.plan.channels, [&](unsigned c) { words[c] = asWords(atLeastMinusOne(asFloats(words[c]))); });
  }
};

inline void put(const RowPlan& plan, const Elements& elements, RowTexels& out, unsigned first) {
  forChannels(plan.channels, [&](unsigned c) { put(elements.words[c], out.words[c], first); });
}

const uint32_t (*borderOf(const RowPlan& plan))[4] {
  for (unsigned axis = 0; axis < plan.axes; ++axis)
    if (plan.addressing[axis] == Addressing::Border) return &plan.border;
  return nullptr;
}

Elements nearest(Strip& strip) {
  Words offsets = slicesOf(strip);
  Ints outside{};
  for (unsigned axis = 0; axis < strip.plan.axes; ++axis) {
    const Ints at = displaced(strip, axis, wholeOf(scaled(strip, axis)));
    offsets += alongAxis(strip, axis, resolved(strip, axis, at, outside));
  }
  return Elements(strip, offsets, outside, borderOf(strip.plan));
}

// Neighbours along an axis, inside, as parts of offsets, and the share of the second in 256ths.
struct Along {
  Words offset[2];
  Ints outside[2] = {}, share;

  Along() = default;
  Along(Strip& strip, unsigned axis) {
    const RowPlan& plan = strip.plan;
    const Ints fixed = wholeOf((scaled(strip, axis) - 0.5f) * 256.0f + 0.5f);
    const Ints at = displaced(strip, axis, fixed >> 8);
    share = fixed & 255;
    if (plan.addressing[axis] == Addressing::Clamp) {
      const Ints beyond = (at < all(0)) | (at >= all(strip.level->size[axis] - 1));
      if (plan.cube && plan.seamless) strip.leave(beyond);  // they go on at another face
      share = beyond ? Ints{} : share;                      // see holdsInside() in sampler.cpp
    }
    for (int side = 0; side < 2; ++side)
      offset[side] = alongAxis(strip, axis, resolved(strip, axis, at + side, outside[side]));
  }
};

// As Weights in sampler.cpp: a share of 0 leaves all as it is.
template <int kCount>
void split(Ints (&weights)[kCount], int axis, Ints share) {
  for (int k = kCount - 1; k >= 0; --k) {
    if (k >> axis & 1) continue;
    const int32_t half = axis == 2 || (axis == 1 && !(k & 1)) ? 127 : 128;
    const Ints part = (weights[k] * share + half) >> 8;
    weights[k | 1 << axis] = part;
    weights[k] -= part;
  }
}

// Sums of elements by weights in 256ths.
struct Mixture {
  Floats sums[4] = {};

  [[gnu::always_inline]] void add(const RowPlan& plan, const Elements& elements, Ints weight) {
    const Floats share = floatsOf(weight) / 256.0f;
    forChannels(plan.channels, [&](unsigned c) {
      const Floats part = share * summand(plan, elements.words[c]);
      sums[c] += weight != all(0) ? part : Floats{};  // infinities beside do not count
    });
  }
};

// Adds what is mixed at a place, with weights whose sum is `weight`.
template <int kAxes>
[[gnu::always_inline]] inline void addMixed(Strip& strip, Ints weight, Mixture& mixture) {
  Along along[kAxes];
  for (unsigned axis = 0; axis < kAxes; ++axis) along[axis] = Along(strip, axis);
  constexpr int kCount = 1 << kAxes;
  Ints weights[kCount] = {weight};
  if constexpr (kAxes > 2) split(weights, 2, along[2].share);
  split(weights, 0, along[0].share);
  if constexpr (kAxes > 1) split(weights, 1, along[1].share);
  const RowPlan& plan = strip.plan;
  const Words slices = slicesOf(strip);
  const auto border = borderOf(plan);
  const bool sideBySide = plan.unitBytes == 4 && !Isa::bitsOf(along[0].offset[1] != along[0].offset[0] + 4u);
  for (int k = 0; k < kCount; k += 2) {  // two along x
    Words offsets = slices;
    Ints outside{};
    for (int axis = 1; axis < kAxes; ++axis) {
      offsets += along[axis].offset[k >> axis & 1];
      outside |= along[axis].outside[k >> axis & 1];
    }
    Stored first, second;
    if (sideBySide) {
      Isa::gatherPairs(strip.level->base, offsets + along[0].offset[0], first.words[0], second.words[0]);
    } else {
      first = load(plan, *strip.level, offsets + along[0].offset[0]);
      second = load(plan, *strip.level, offsets + along[0].offset[1]);
    }
    mixture.add(plan, Elements(plan, first, outside | along[0].outside[0], border), weights[k]);
    mixture.add(plan, Elements(plan, second, outside | along[0].outside[1], border), weights[k + 1]);
  }
}

// What lanes read where there is one level to mix on.
template <int kAxes>
void mixStrip(Strip& strip, RowTexels& out) {
  Mixture mixture;
  addMixed<kAxes>(strip, all(256), mixture);
  forChannels(strip.plan.channels,
              [&](unsigned c) { put(kept(strip.plan, mixture.sums[c]), out.words[c], strip.first); });
}
void mixStrip(Strip& strip, RowTexels& out) {
  if (strip.plan.axes == 2) return mixStrip<2>(strip, out);
  strip.plan.axes == 1 ? mixStrip<1>(strip, out) : mixStrip<3>(strip, out);
}

void addMixed(Strip& strip, Ints weight, Mixture& mixture) {
  if (strip.plan.axes == 2) return addMixed<2>(strip, weight, mixture);
  strip.plan.axes == 1 ? addMixed<1>(strip, weight, mixture) : addMixed<3>(strip, weight, mixture);
}

// Which level each lane reads, and the share of the next one in 256ths; levelOf() of sampler.cpp.
struct LevelChoice {
  Ints number, share = {};

  explicit LevelChoice(const Strip& strip) {
    const RowPlan& plan = strip.plan;
    Floats level = asFloats(asWords(strip.given(strip.points.wholeLevel)));
    level = level == level ? level : Floats{};
    level = level < all(-kNear) ? all(-kNear) : level;
    level = level > all(kNear) ? all(kNear) : level;
    level = floatsOf(__builtin_convertvector(level * 256.0f, Ints)) / 256.0f;
    if (strip.points.biased) level += plan.bias;
    if (plan.steepness != 4) {  // see blended()
      const Ints steps = wholeOf(level * 256.0f);
      const Ints part = (steps & 255) - plan.blendsFrom;
      level = floatsOf((steps & ~255) + least(most(part * plan.steepness >> 2, all(0)), all(256))) / 256.0f;
    }
    const auto keep = [&](float lowest, float highest) {
      level = level < all(lowest) ? all(lowest) : level;
      level = level > all(highest) ? all(highest) : level;
    };
    keep(plan.minLevel, plan.maxLevel);
    keep(0, static_cast<float>(plan.levelCount - 1));
    const Ints fixed = __builtin_convertvector(level * 256.0f, Ints);
    number = plan.chooses == RowPlan::Levels::Nearest ? wholeOf(level + 0.5f) : fixed >> 8;
    if (plan.chooses == RowPlan::Levels::Mixed) share = fixed & 255;
  }
};

void addLevel(Strip& strip, Ints weight, Mixture& mixture) {
  strip.plan.linear ? addMixed(strip, weight, mixture) : mixture.add(strip.plan, nearest(strip), weight);
}

// What lanes read of one level, or where there is a share for the next one of both.
Elements readLevels(Strip& strip, unsigned number, Ints lanes, const Ints* share) {
  strip.readLevel(number, lanes);
  if (!strip.plan.linear && !share) return nearest(strip);
  Mixture mixture;
  addLevel(strip, share ? 256 - *share : all(256), mixture);
  if (share) {
    strip.readLevel(number + 1, lanes);
    addLevel(strip, *share, mixture);
  }
  Elements out;
  for (unsigned c = 0; c < strip.plan.channels; ++c) out.words[c] = kept(strip.plan, mixture.sums[c]);
  return out;
}

void sampleStrip(Strip& strip, RowTexels& out) {
  const RowPlan& plan = strip.plan;
  locate(strip);
  if (plan.chooses == RowPlan::Levels::First)
    return plan.linear ? mixStrip(strip, out) : put(plan, nearest(strip), out, strip.first);
  const LevelChoice choice(strip);
  const Ints between = choice.share != all(0);
  Words words[4] = {};
  for (uint32_t pending = Isa::bitsOf(strip.active); pending;) {  // lanes that read the same levels at a time
    const int lane = __builtin_ctz(pending);
    const int32_t number = choice.number[lane];
    const Ints lanes = strip.active & (choice.number == all(number)) & (between == all(between[lane]));
    pending &= ~Isa::bitsOf(lanes);
    const Elements elements =
        readLevels(strip, static_cast<unsigned>(number), lanes, between[lane] ? &choice.share : nullptr);
    for (unsigned c = 0; c < plan.channels; ++c) words[c] = lanes ? elements.words[c] : words[c];
  }
  for (unsigned c = 0; c < plan.channels; ++c) put(words[c], out.words[c], strip.first);
}

void fetchStrip(Strip& strip, RowTexels& out) {
  static constexpr uint32_t kNothing[4] = {};
  const RowPlan& plan = strip.plan;
  const bool zeroBeyond = !strip.points.levelGiven;
  const Ints beyond =
      plan.layered && zeroBeyond ? Ints(take<Words>(strip.points.layer, strip.first) >= all(plan.layers)) : Ints{};
  const Ints chosen = strip.given(strip.points.wholeLevel);
  Words words[4] = {};
  for (uint32_t n = 0; n < plan.levelCount; ++n) {
    const Ints lanes = strip.active & (chosen == all(static_cast<int32_t>(n)));
    if (!Isa::bitsOf(lanes)) continue;
    strip.readLevel(n, lanes);
    Words offsets = slicesOf(strip);
    Ints outside = beyond;
    for (unsigned axis = 0; axis < plan.axes; ++axis) {
      const Ints at = displaced(strip, axis, strip.given(strip.points.whole[axis]));
      const int32_t last = strip.level->size[axis] - 1;
      if (zeroBeyond) outside |= (at < all(0)) | (at > all(last));
      offsets += alongAxis(strip, axis, least(most(at, all(0)), all(last)));
    }
    const Elements elements(strip, offsets, outside, &kNothing);
    for (unsigned c = 0; c < plan.channels; ++c) words[c] = lanes ? elements.words[c] : words[c];
  }
  for (unsigned c = 0; c < plan.channels; ++c) put(words[c], out.words[c], strip.first);
}

void gatherStrip(Strip& strip, unsigned channel, RowTexels& out) {
  static constexpr int kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  const RowPlan& plan = strip.plan;
  locate(strip);
  const Along along[2] = {Along(strip, 0), Along(strip, 1)};
  const Words slices = slicesOf(strip);
  for (unsigned n = 0; n < 4; ++n) {
    const int x = kOrder[n][0], y = kOrder[n][1];
    const Elements elements(strip, slices + along[0].offset[x] + along[1].offset[y],
                            along[0].outside[x] | along[1].outside[y], borderOf(plan));
    put(channel < plan.channels ? elements.words[channel] : Words{}, out.words[n], strip.first);
  }
}

template <class Read>
uint32_t inStrips(const RowPlan& plan, const RowPoints& points, Read&& read) {
  uint32_t left = 0;
  for (unsigned first = 0; first < kRowLanes; first += kLanes) {
    Strip strip(plan, points, first);
    read(strip);
    left |= Isa::bitsOf(strip.left) << first;
  }
  return points.active & ~left;
}

void clear(RowTexels& out, unsigned from) {
  for (unsigned c = from; c < 4; ++c) __builtin_memset(out.words[c], 0, sizeof out.words[c]);
}

uint32_t sample(const RowPlan& plan, const RowPoints& points, RowTexels& texels) {
  if (!plan.samples) return 0;
  clear(texels, plan.channels);
  return inStrips(plan, points, [&](Strip& strip) { sampleStrip(strip, texels); });
}

uint32_t fetch(const RowPlan& plan, const RowPoints& points, RowTexels& texels) {
  clear(texels, plan.channels);
  return inStrips(plan, points, [&](Strip& strip) { fetchStrip(strip, texels); });
}

uint32_t gather(const RowPlan& plan, const RowPoints& points, unsigned channel, RowTexels& texels) {
  return inStrips(plan, points, [&](Strip& strip) { gatherStrip(strip, channel, texels); });
}

void toHalves(RowTexels& texels) {
  for (auto& channel : texels.words)
    for (unsigned first = 0; first < kRowLanes; first += kLanes)
      put(halfOf(asFloats(take<Words>(channel, first))), channel, first);
}

}  // namespace
}  // namespace vg::arrays
