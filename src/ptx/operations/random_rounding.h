// cvt.rs: floats rounded by random bits. They are added to the upper bits of what is cut off, and a carry counts. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/operations/half.h"
#include "ptx/text/ast.h"

namespace vg::ptx {

// Several floats become one register, the first of them its upper part. The word of random bits is parted alike.
struct RandomRounding {
  FloatFormat format;
  uint32_t count;        // of floats: 2 or 4
  uint32_t elementBits;  // of each in the result
  uint32_t randomBits;   // that count for each
  bool isFinite, isNeverNegative;

  // Of element n, the lowest first.
  uint32_t source(uint32_t n) const { return count - 1 - n; }
  uint32_t randomAt(uint32_t n) const { return n * (32 / count); }
};

// Nothing for forms that do not exist. Requires: cvt.rs; `f` holds the operands.
std::optional<RandomRounding> describeRandomRounding(const Instruction& i, const Function& f);

// The bits of one element. `random`: no more than the bits that count.
uint32_t roundRandomly(float value, uint32_t random, const RandomRounding& rounding);

}  // namespace vg::ptx
