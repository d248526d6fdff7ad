// Elements of row_sampler-inl.h: from where they lie to channels of 32 bits. Sums and products are done one by one, in
// the order of texel.cpp, so that they round alike.
#pragma once

#include "arrays/reading/row_vectors-inl.h"

namespace vg::arrays {
namespace {

// A word of each element; a narrow element is the lowest bits of its word. What lies beside it in the same aligned
// word is read too, never what lies in another page.
inline Words loadNarrow(const RowLevel& level, Words offsets) {
  const auto shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(level.base) & 3);
  const Words at = offsets + shift;
  return Isa::gather(level.base - shift, at & ~3u) >> (8 * (at & 3u));
}

// Elements as they are stored.
struct Stored {
  Words words[4];
};
[[gnu::always_inline]] inline Stored load(const RowPlan& plan, const RowLevel& level, Words offsets) {
  Stored raw;
  switch (plan.unitBytes) {
    case 4:
      raw.words[0] = Isa::gather(level.base, offsets);
      break;
    case 16:
      Isa::gatherPairs(level.base, offsets + 8, raw.words[2], raw.words[3]);
      [[fallthrough]];
    case 8:
      Isa::gatherPairs(level.base, offsets, raw.words[0], raw.words[1]);
      break;
    default:
      raw.words[0] = loadNarrow(level, offsets);
  }
  return raw;
}

// As floatOfHalf and roundedToHalf of half_float.h.
inline Words widened(Words half) {
  const Words magnitude = half & 0x7fffu, shifted = magnitude << 13;
  const Words subnormal = asWords(floatsOf(asInts(magnitude)) * 0x1p-24f);
  const Words finite = magnitude < all(0x400u) ? subnormal : shifted + (112u << 23);
  return (half & 0x8000u) << 16 | (magnitude < all(0x7c00u) ? finite : shifted + (224u << 23));
}
inline Floats roundedToHalf(Floats value) {
  const Words bits = asWords(value), magnitude = bits & 0x7fffffffu;
  const Ints isTiny = magnitude < all(0x38800000u);
  const Floats steps = isTiny ? asFloats(magnitude) * 0x1p24f : Floats{};
  const Ints whole = __builtin_convertvector(steps, Ints), up = steps - floatsOf(whole) >= all(0.5f);  // -1 for yes
  const Words tiny = asWords(floatsOf(whole - up) * 0x1p-24f);
  const Words finite = isTiny ? tiny : (magnitude + 0x1000u) & ~0x1fffu;
  const Words number = (bits & 0x80000000u) | (magnitude < all(0x477ff000u) ? finite : all(0x7f800000u));
  return asFloats(magnitude > all(0x7f800000u) ? all(0x7fffe000u) : number);
}

// As halfOfFloat of half_float.h.
inline Words halfOf(Floats value) {
  const Words bits = asWords(value), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  const Words tiny = asWords(asFloats(magnitude) + 0x1p-1f) - 0x3f000000u;
  const Words normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  const Words finite = magnitude < all(0x38800000u) ? tiny : normal;
  const Words half = sign | (magnitude >= all(0x477ff000u) ? all(0x7c00u) : finite);
  return magnitude > all(0x7f800000u) ? all(0x7fffu) : half;
}

inline Floats atLeastMinusOne(Floats value) { return value < all(-1.0f) ? all(-1.0f) : value; }

// One channel of `bits` bits that begins at bit `shift` of `raw`.
inline Words decode(RowDecoding decoding, Words raw, unsigned shift, unsigned bits) {
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  const unsigned up = 32 - bits - shift, down = 32 - bits;
  switch (decoding) {
    case RowDecoding::Word:
      return raw;
    case RowDecoding::Unsigned:
      return raw >> shift & mask;
    case RowDecoding::Signed:
      return asWords(asInts(raw << up) >> down);
    case RowDecoding::Unorm:
      return asWords(floatsOf(asInts(raw >> shift & mask)) / static_cast<float>(mask));
    case RowDecoding::Snorm:  // as for sums
      return asWords(floatsOf(asInts(raw << up) >> down) / static_cast<float>(mask >> 1));
    case RowDecoding::Half:
      return widened(raw >> shift & 0xffffu);
  }
  return raw;
}

// What is summed up, and what is kept of the sum: as Mixture in sampler.cpp.
inline Floats summand(const RowPlan& plan, Words element) {
  if (plan.sums == RowSums::Whole) return floatsOf(asInts(element));
  const Floats value = asFloats(element);
  const bool ofSteps = plan.sums == RowSums::Steps || plan.sums == RowSums::Bytes;
  return ofSteps ? floored(value * plan.steps.summed + 0.5f) : value;
}
inline Floats widened(Floats sum) {
  const Floats parts = floored(sum * 256.0f + 0.5f);
  return parts + floored((parts + 16.0f * floored(parts / 4096.0f) + 64.0f) / 128.0f);
}
inline Floats keptFraction(const RowPlan& plan, Floats sum) {
  if (plan.sums == RowSums::Half) return roundedToHalf(sum);
  if (plan.sums == RowSums::Steps) return atLeastMinusOne(floored(sum + 0.5f) / plan.steps.kept);
  if (plan.sums == RowSums::Bytes) return atLeastMinusOne(widened(sum) / plan.steps.kept);
  return sum;
}
inline Words kept(const RowPlan& plan, Floats sum) {
  if (plan.sums == RowSums::Whole) return asWords(__builtin_convertvector(floored(sum + 0.5f), Ints));
  return asWords(keptFraction(plan, sum));
}

}  // namespace
}  // namespace vg::arrays
