#include "base/system/processor.h"

#include <cpuid.h>

namespace vg::processor {
namespace {

struct Leaf {
  uint32_t number;
  unsigned a = 0, b = 0, c = 0, d = 0;

  explicit Leaf(uint32_t leaf) : number(leaf) { __get_cpuid_count(leaf, 0, &a, &b, &c, &d); }
  bool bit(char word, uint8_t which) const { return (word == 'b' ? b : word == 'c' ? c : d) >> which & 1; }
};

// Which registers the system saves.
uint64_t savedState(const Leaf& first) {
  constexpr uint8_t kOsXsave = 27;
  if (!first.bit('c', kOsXsave)) return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

struct Facts {
  Leaf vendor{0}, leaves[3] = {Leaf(1), Leaf(7), Leaf(0x80000001)};
  uint64_t saved = savedState(leaves[0]);
};

const Facts& facts() {
  static const Facts found;
  return found;
}

bool saves(State state) {
  constexpr uint64_t kAvx = 0x6, kAvx512 = 0xE6;
  const uint64_t wanted = state == State::Avx512 ? kAvx512 : state == State::Avx ? kAvx : 0;
  return (facts().saved & wanted) == wanted;
}

bool isOf(unsigned b, unsigned c, unsigned d) {
  const Leaf& vendor = facts().vendor;
  return vendor.b == b && vendor.c == c && vendor.d == d;
}

}  // namespace

bool has(const Feature& feature) {
  for (const Leaf& leaf : facts().leaves)
    if (leaf.number == feature.leaf) return leaf.bit(feature.word, feature.bit) && saves(feature.state);
  return false;
}

bool isIntel() { return isOf(signature_INTEL_ebx, signature_INTEL_ecx, signature_INTEL_edx); }
bool isAmd() { return isOf(signature_AMD_ebx, signature_AMD_ecx, signature_AMD_edx); }

}  // namespace vg::processor
