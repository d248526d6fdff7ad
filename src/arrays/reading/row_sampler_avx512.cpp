#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/system/processor.h"

namespace {

struct Isa {
  static constexpr unsigned kLanes = 16;
  using Ints __attribute__((vector_size(64))) = int32_t;
  using Words __attribute__((vector_size(64))) = uint32_t;
  // Offsets are signed to the processor.
  static __m512i placesOf(Words offsets) { return __builtin_bit_cast(__m512i, offsets ^ 0x80000000u); }
  static const std::byte* middleOf(const std::byte* base) { return base + (size_t{1} << 31); }
  static Words gather(const std::byte* base, Words offsets) {
    return __builtin_bit_cast(Words,
                              _mm512_mask_i32gather_epi32(__m512i{}, 0xffff, placesOf(offsets), middleOf(base), 1));
  }
  static void gatherPairs(const std::byte* base, Words offsets, Words& first, Words& second) {
    struct Halves {
      __m256i low, high;
    };
    const auto places = __builtin_bit_cast(Halves, placesOf(offsets));
    const auto eight = [&](__m256i at) {
      return __builtin_bit_cast(Words, _mm512_mask_i32gather_epi64(__m512i{}, 0xff, at, middleOf(base), 1));
    };
    const Words low = eight(places.low), high = eight(places.high);
    first = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    second = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
  static uint32_t bitsOf(Ints mask) { return _mm512_movepi32_mask(__builtin_bit_cast(__m512i, mask)); }
};

}  // namespace
#include "arrays/reading/row_sampler-inl.h"

namespace vg::arrays {

extern const RowSampler kAvx512RowSampler = {
    "avx512", [] { return processor::has(processor::kAvx512Dq) && processor::has(processor::kAvx512Bw); },
    sample,   fetch,
    gather,   toHalves};

}  // namespace vg::arrays
