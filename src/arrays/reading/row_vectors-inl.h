// Vectors of lanes for row_sampler-inl.h, and what processors do with them that C++ has no words for. Included after
// `Isa` has been defined: how many lanes, gathers of words and of two words side by side, the bits of a mask.
#pragma once

#include "arrays/reading/row_sampler.h"

namespace vg::arrays {
namespace {

inline constexpr unsigned kLanes = Isa::kLanes;
using Floats __attribute__((vector_size(4 * kLanes))) = float;
using Ints __attribute__((vector_size(4 * kLanes))) = int32_t;  // comparisons give all ones or none
using Words __attribute__((vector_size(4 * kLanes))) = uint32_t;

inline Floats asFloats(Words bits) { return __builtin_bit_cast(Floats, bits); }
inline Words asWords(Floats value) { return __builtin_bit_cast(Words, value); }
inline Words asWords(Ints value) { return __builtin_bit_cast(Words, value); }
inline Ints asInts(Words value) { return __builtin_bit_cast(Ints, value); }
inline Floats floatsOf(Ints value) { return __builtin_convertvector(value, Floats); }

inline Ints all(int32_t value) { return Ints{} + value; }
inline Words all(uint32_t value) { return Words{} + value; }
inline Floats all(float value) { return Floats{} + value; }

// Lanes of an array from `first` on.
template <class Vector, class Lane>
inline Vector take(const Lane (&lanes)[kRowLanes], unsigned first) {
  Vector out;
  __builtin_memcpy(&out, &lanes[first], sizeof out);
  return out;
}
template <class Vector, class Lane>
inline void put(const Vector& from, Lane (&lanes)[kRowLanes], unsigned first) {
  __builtin_memcpy(&lanes[first], &from, sizeof from);
}

// All ones in the lanes whose bits are set.
inline Ints lanesOf(uint32_t bits, unsigned first) {
  Words bit;
  for (unsigned i = 0; i < kLanes; ++i) bit[i] = uint32_t{1} << i;
  return (all(bits >> first) & bit) != all(0u);
}

inline Ints least(Ints a, Ints b) { return a < b ? a : b; }
inline Ints most(Ints a, Ints b) { return a > b ? a : b; }

inline Floats magnitudeOf(Floats value) { return asFloats(asWords(value) & 0x7fffffffu); }

// Sums of what kernels gave wrap.
inline Ints sum(Ints a, Ints b) { return asInts(asWords(a) + asWords(b)); }

// Rounded down, where |value| < 2^31.
inline Ints wholeOf(Floats value) {
  const Ints towardsZero = __builtin_convertvector(value, Ints);
  return sum(towardsZero, value < floatsOf(towardsZero));
}
// The same of any value, except that what is not a number or endless stays so.
inline Floats floored(Floats value) {
  const Floats whole = floatsOf(wholeOf(value));
  return magnitudeOf(value) < all(0x1p23f) ? whole : value;
}

// Each channel by a number that is known where this is expanded, so that vectors stay in registers.
template <class Body>
[[gnu::always_inline]] inline void forChannels(unsigned count, Body&& body) {
  body(0u);
  if (count > 1) body(1u);
  if (count > 2) body(2u);
  if (count > 3) body(3u);
}

}  // namespace
}  // namespace vg::arrays
