#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/system/processor.h"

namespace {

struct Isa {
  static constexpr unsigned kLanes = 8;
  using Ints __attribute__((vector_size(32))) = int32_t;
  using Words __attribute__((vector_size(32))) = uint32_t;
  // By single loads: the processor's own gathers are no faster where there are any, and slower on many.
  static Words gather(const std::byte* base, Words offsets) {
    const auto word = [&](unsigned i) {
      int value;
      __builtin_memcpy(&value, base + offsets[i], sizeof value);
      return value;
    };
    return __builtin_bit_cast(
        Words, _mm256_setr_epi32(word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)));
  }
  static void gatherPairs(const std::byte* base, Words offsets, Words& first, Words& second) {
    const auto two = [&](unsigned a, unsigned b) {
      const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(base + offsets[a]));
      return _mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(base + offsets[b]));
    };
    const __m256 left = _mm256_set_m128(two(4, 5), two(0, 1)), right = _mm256_set_m128(two(6, 7), two(2, 3));
    first = __builtin_bit_cast(Words, _mm256_shuffle_ps(left, right, 0x88));
    second = __builtin_bit_cast(Words, _mm256_shuffle_ps(left, right, 0xdd));
  }
  static uint32_t bitsOf(Ints mask) {
    return static_cast<uint32_t>(_mm256_movemask_ps(__builtin_bit_cast(__m256, mask)));
  }
};

}  // namespace
#include "arrays/reading/row_sampler-inl.h"

namespace vg::arrays {

extern const RowSampler kAvx2RowSampler = {
    "avx2", [] { return processor::has(processor::kAvx2); }, sample, fetch, gather, toHalves};

}  // namespace vg::arrays
