// Approximate functions as a GPU computes them, to the bit: of all arguments that an H200 was asked for. Those of f32
// first; those of halves and of f64's upper words are the same functions, cut.
//
// A fraction's upper six bits (seven for the reciprocal) choose a quadratic, whose variable is the bits below; the
// square leaves out all products of two bits that weigh less than 2^-15. Sums are exact and then cut, where no
// instruction is said to round. Pure.
#pragma once

#include <cstdint>

namespace vg::ptx::special {

// c0 * 2^13 + bias + c1 * x + c2 * 4 * square(x), in units of 2^-18 of the last place, of x with 17 bits.
struct Segment {
  int32_t c0, c1, c2;
};
inline constexpr int kReciprocalBias = 16188, kRootReciprocalBias = -2, kRootBias = -1, kPowerBias = 16148,
                     kLogarithmBias = 6700, kSineBias = 0;
// The tangent's segments lie one binade after the other, from 2^-8 to 2^3: below, a number is its own tangent, above it
// is 1. Of each binade how many bits of the fraction choose among its segments, which is its first, and the power of
// two that its sums, without the factor 4 at the square, are in units of.
struct TangentBinade {
  uint8_t first, choosing;
  int8_t unit;
};
inline constexpr int kLeastTangent = -8;
inline constexpr TangentBinade kTangentBinades[] = {{0, 0, -41},  {1, 0, -40},  {2, 0, -39},  {3, 1, -39},
                                                    {5, 1, -38},  {7, 2, -38},  {11, 2, -37}, {15, 2, -36},
                                                    {19, 3, -37}, {27, 4, -39}, {43, 3, -37}};

// What sine and cosine multiply their argument by, cutting the product, and the bits of a turn that count then.
inline constexpr float kTurnsOfRadian = 0.15915494f;
inline constexpr int kTurnBits = 25;

#include "ptx/operations/special_tables.inc"

// The bits of f32 in and out. `ftz`: subnormal arguments and results are zero.
uint32_t reciprocal(uint32_t bits, bool ftz);
uint32_t reciprocalRoot(uint32_t bits, bool ftz);
uint32_t root(uint32_t bits, bool ftz);
uint32_t power(uint32_t bits, bool ftz);  // of two
uint32_t logarithm(uint32_t bits, bool ftz);
uint32_t sine(uint32_t bits, bool ftz);
uint32_t cosine(uint32_t bits, bool ftz);
// Of angles in turns, always with .ftz: what a GPU makes of radians it looks up so. No GPU that has them was at hand.
uint32_t turnedSine(uint32_t bits);
uint32_t turnedCosine(uint32_t bits);
uint32_t tangent(uint32_t bits);                          // hyperbolic
uint32_t quotient(uint32_t a, uint32_t b, bool ftz);      // div.approx
uint32_t fullQuotient(uint32_t a, uint32_t b, bool ftz);  // div.full

// The bits of halves in and out.
uint16_t powerOfHalf(uint16_t bits, bool f16);
uint16_t tangentOfHalf(uint16_t bits, bool f16);

// Upper words of f64 in and out; lower ones do not count and are zero. Subnormal arguments and results are zero.
uint32_t reciprocal64(uint32_t upper);
uint32_t reciprocalRoot64(uint32_t upper);
// rsqrt.approx of f64 without .ftz: a step further from the upper word, within a unit of the last place.
double nearReciprocalRoot64(double x);

}  // namespace vg::ptx::special
