// The approximate functions against an H200's answers, millions of arguments at a time.
#include "ptx/operations/special_functions.h"

#include <gtest/gtest.h>

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
      {"reciprocal", special::reciprocal}, {"reciprocalRoot", special::reciprocalRoot}, {"root", special::root},
      {"power", special::power},           {"logarithm", special::logarithm},           {"sine", special::sine},
      {"cosine", special::cosine}};
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

}  // namespace
