#include <cpuid.h>

#include <initializer_list>

#include "base/system/os.h"

size_t vg::os::lastCacheBytes() {
  constexpr unsigned kIntelLeaf = 4, kAmdLeaf = 0x8000001D, kLevel3 = 3;
  for (unsigned leaf : {kIntelLeaf, kAmdLeaf}) {
    unsigned a, b, c, d;
    for (unsigned index = 0; __get_cpuid_count(leaf, index, &a, &b, &c, &d) && (a & 31); ++index)
      if ((a >> 5 & 7) == kLevel3)
        return size_t{(b >> 22) + 1} * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * (size_t{c} + 1);
  }
  return size_t{16} << 20;
}
