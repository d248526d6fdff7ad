#include "ptx/operations/random_rounding.h"

#include <algorithm>
#include <cmath>

namespace vg::ptx {
namespace {

struct TypeRow {
  Type type;
  uint8_t count, elementBits, randomBits;
};
constexpr TypeRow kTypes[] = {{Type::F16x2, 2, 16, 13}, {Type::BF16x2, 2, 16, 16}, {Type::E4M3x4, 4, 8, 8},
                              {Type::E5M2x4, 4, 8, 8},  {Type::E3M2x4, 4, 8, 8},   {Type::E2M3x4, 4, 8, 8},
                              {Type::E2M1x4, 4, 4, 8}};

bool hasOperandsFor(const Instruction& i, const Function& f, uint32_t count) {
  const auto kindOf = [&](uint32_t k) { return f.operands[i.first + k].kind; };
  if (count == 2) return i.count == 4 && kindOf(1) != Operand::Kind::Vector && kindOf(2) != Operand::Kind::Vector;
  return i.count == 3 && kindOf(1) == Operand::Kind::Vector && f.operands[i.first + 1].count == count;
}

}  // namespace

std::optional<RandomRounding> describeRandomRounding(const Instruction& i, const Function& f) {
  const auto* const row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) { return r.type == i.type(); });
  if (row == std::end(kTypes) || i.typeCount != 2 || i.types[1] != Type::F32) return {};
  const bool isFinite = i.has(Mod::Satfinite);
  for (const Mod other : {Mod::Sat, Mod::Ftz, Mod::Rn, Mod::Rz})
    if (i.has(other)) return {};
  if (!hasOperandsFor(i, f, row->count) || (row->count == 4 && !isFinite)) return {};
  return RandomRounding{*formatOf(row->type), row->count, row->elementBits,
                        row->randomBits,      isFinite,   i.has(Mod::Relu)};
}

uint32_t roundRandomly(float value, uint32_t random, const RandomRounding& rounding) {
  const FloatFormat& f = rounding.format;
  if (rounding.isNeverNegative && value <= 0) value = 0;
  const bool narrow = rounding.count == 4;
  if (!std::isfinite(value))
    return roundTo(value, f, Rounding::Zero, rounding.isFinite && (narrow || !std::isnan(value)));
  // The place of the result's last bit, and the number with the random bits behind it: exact, or so far below that
  // there is no carry.
  const int bias = (1 << (f.exponentBits - 1)) - 1;
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), 1 - bias) : 1 - bias;
  const int below = exponent - f.fractionBits - static_cast<int>(rounding.randomBits);
  const double sum = magnitude + std::ldexp(random, below);
  const bool isTooLarge = f.hasInfinity && !rounding.isFinite && sum >= std::ldexp(1.0, bias + 1);
  return roundTo(std::copysign(isTooLarge ? HUGE_VAL : sum, value), f, Rounding::Zero, rounding.isFinite);
}

}  // namespace vg::ptx
