// The approximate functions against an H200's answers, millions of arguments at a time.
#include "ptx/operations/special_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <string>

using namespace vg::ptx;

namespace {

struct Sum {
  const char* function;
  bool ftz;
  uint32_t group;
  uint64_t sum;
};
const Sum kSums[] = {
#include "unit/ptx/special_sums.inc"
};

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// Functions without a form that flushes.
template <uint32_t (*Function)(uint32_t)>
uint32_t unflushed(uint32_t argument, bool) {
  return Function(argument);
}

template <class Function>
uint64_t sumOf(uint32_t group, Function answer) {
  uint64_t sum = 0;
  for (uint64_t k = 0; k < 1 << 20; ++k) {
    const uint64_t argument = uint64_t{group} << 20 | k;
    sum += mix(argument << 32 | answer(static_cast<uint32_t>(argument)));
  }
  return sum;
}

TEST(SpecialFunctions, AnswerToTheBit) {
  const std::map<std::string, uint32_t (*)(uint32_t, bool)> functions{
      {"reciprocal", special::reciprocal},
      {"reciprocalRoot", special::reciprocalRoot},
      {"root", special::root},
      {"power", special::power},
      {"logarithm", special::logarithm},
      {"sine", special::sine},
      {"cosine", special::cosine},
      {"tangent", unflushed<special::tangent>},
      {"reciprocal64", unflushed<special::reciprocal64>},
      {"reciprocalRoot64", unflushed<special::reciprocalRoot64>}};
  for (const Sum& s : kSums) {
    const auto known = functions.find(s.function);
    if (known == functions.end()) continue;
    EXPECT_EQ(sumOf(s.group, [&](uint32_t a) { return known->second(a, s.ftz); }), s.sum)
        << s.function << (s.ftz ? ".ftz" : "") << " of " << std::hex << s.group << "xxxxx";
  }
}

TEST(SpecialFunctions, DivideToTheBit) {
  const std::map<std::string, uint32_t (*)(uint32_t, uint32_t, bool)> functions{
      {"quotient", special::quotient}, {"fullQuotient", special::fullQuotient}};
  for (const Sum& s : kSums) {
    const auto known = functions.find(s.function);
    if (known == functions.end()) continue;
    const auto divide = [&](uint32_t number) {
      const uint64_t operands = mix(number);
      return known->second(static_cast<uint32_t>(operands), static_cast<uint32_t>(operands >> 32), s.ftz);
    };
    EXPECT_EQ(sumOf(s.group, divide), s.sum) << s.function << (s.ftz ? ".ftz" : "") << " " << std::hex << s.group;
  }
}

// All 65536, and what an H200's answers add up to.
TEST(SpecialFunctions, OfHalvesAnswerToTheBit) {
  struct {
    const char* name;
    uint16_t (*function)(uint16_t, bool);
    bool f16;
    uint64_t sum;
  } const cases[] = {{"tanh.approx.f16", special::tangentOfHalf, true, 0xab8e77a982fb5089},
                     {"tanh.approx.bf16", special::tangentOfHalf, false, 0xcf64f9fbc4eb2a6f},
                     {"ex2.approx.f16", special::powerOfHalf, true, 0x244fc835afdc5fba},
                     {"ex2.approx.ftz.bf16", special::powerOfHalf, false, 0x44175f299ecf9e24}};
  for (const auto& c : cases) {
    uint64_t sum = 0;
    for (uint64_t half = 0; half < 65536; ++half)
      sum += mix(half << 32 | c.function(static_cast<uint16_t>(half), c.f16));
    EXPECT_EQ(sum, c.sum) << c.name;
  }
}

// As recorded: with .ftz a quotient that only rounding lifts to the smallest normal number is zero.
TEST(SpecialFunctions, FlushQuotientsBeforeTheyAreRounded) {
  EXPECT_EQ(special::quotient(0x3effffff, 0x7e000000, true), 0u);
  EXPECT_EQ(special::fullQuotient(0xbeffffff, 0x7e000000, true), 0x80000000u);
  EXPECT_EQ(special::quotient(0x3f000000, 0x7e000000, true), 0x00800000u);
  EXPECT_EQ(special::quotient(0x3effffff, 0x7e000000, false), 0x00800000u);
}

TEST(SpecialFunctions, ReciprocalRootsOfF64KeepNaNs) {
  const auto of = [](uint64_t bits) {
    return std::bit_cast<uint64_t>(special::nearReciprocalRoot64(std::bit_cast<double>(bits)));
  };
  EXPECT_EQ(of(0x7ff0000000000001), 0x7ff8000000000001u);
  EXPECT_EQ(of(0xbff8000000000000), 0xfff8000000000000u);
  EXPECT_EQ(of(0xfff0000000000000), 0xfff8000000000000u);
  EXPECT_EQ(of(0x8000000000000000), 0xfff0000000000000u);
  EXPECT_EQ(of(0x7ff0000000000000), 0u);
}

// Positive finite arguments of [1, 4) halves, of any size, and subnormal ones.
TEST(SpecialFunctions, ReciprocalRootsOfF64AnswerToTheBit) {
  const uint64_t sums[] = {0x0a58e8925170a745, 0x17828e76a2f3597f, 0x66a2be38216a49d5};
  for (int kind = 0; kind < 3; ++kind) {
    uint64_t sum = 0;
    for (uint64_t k = 0; k < 1 << 18; ++k) {
      uint64_t bits = mix(k);
      if (kind == 0) bits = (bits & 0x001fffffffffffff) | 0x3fe0000000000000;
      if (kind == 2) bits &= 0x000fffffffffffff;
      const auto x = std::bit_cast<double>(bits);
      if (x > 0 && !std::isinf(x)) sum += mix(bits ^ mix(std::bit_cast<uint64_t>(special::nearReciprocalRoot64(x))));
    }
    EXPECT_EQ(sum, sums[kind]) << kind;
  }
}

}  // namespace
