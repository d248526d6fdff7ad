// The approximate functions of f32 as a GPU computes them, to the bit: of all arguments that an H200 was asked for.
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
uint32_t quotient(uint32_t a, uint32_t b, bool ftz);      // div.approx
uint32_t fullQuotient(uint32_t a, uint32_t b, bool ftz);  // div.full

}  // namespace vg::ptx::special
