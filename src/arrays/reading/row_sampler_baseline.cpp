#include <cstddef>
#include <cstdint>

namespace {

struct Isa {
  static constexpr unsigned kLanes = 4;
  using Ints __attribute__((vector_size(16))) = int32_t;
  using Words __attribute__((vector_size(16))) = uint32_t;
  static Words gather(const std::byte* base, Words offsets) {
    Words out;
    for (unsigned i = 0; i < kLanes; ++i) {
      uint32_t word;
      __builtin_memcpy(&word, base + offsets[i], sizeof word);
      out[i] = word;
    }
    return out;
  }
  static void gatherPairs(const std::byte* base, Words offsets, Words& first, Words& second) {
    first = gather(base, offsets);
    second = gather(base, offsets + 4u);
  }
  static uint32_t bitsOf(Ints mask) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < kLanes; ++i) bits |= (mask[i] & 1u) << i;
    return bits;
  }
};

}  // namespace
#include "arrays/reading/row_sampler-inl.h"

namespace vg::arrays {

extern const RowSampler kBaselineRowSampler = {"baseline", [] { return true; }, sample, fetch, gather, toHalves};

}  // namespace vg::arrays
