#include <immintrin.h>

#include "base/system/processor.h"
#include "copy/engines.h"

namespace {
struct Isa {
  using Vector = __m256i;
  static constexpr size_t kBytes = sizeof(Vector);
  static Vector splat(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const Vector*>(p)); }
  static void store(std::byte* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<Vector*>(p), v); }
  static void storeAligned(std::byte* p, Vector v) { _mm256_store_si256(reinterpret_cast<Vector*>(p), v); }
  static void storeStreaming(std::byte* p, Vector v) { _mm256_stream_si256(reinterpret_cast<Vector*>(p), v); }
  // The first aligned address at or above p.
  static std::byte* alignUp(std::byte* p) { return p + (-reinterpret_cast<uintptr_t>(p) & (kBytes - 1)); }
};
}  // namespace
#include "copy/fill-inl.h"
#include "copy/move-inl.h"

namespace vg::copy {

extern const Engines kAvx2Engines = {
    "avx2",    [] { return processor::has(processor::kAvx2); }, move, stream, streamKeptSource, moveShortRows, fill,
    streamFill};

}  // namespace vg::copy
