#include <immintrin.h>

#include "copy/engines.h"

namespace {
struct Isa {
  using Vector = __m128i;
  static constexpr size_t kBytes = sizeof(Vector);
  static Vector splat(uint32_t x) { return _mm_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const Vector*>(p)); }
  static void store(std::byte* p, Vector v) { _mm_storeu_si128(reinterpret_cast<Vector*>(p), v); }
  static void storeAligned(std::byte* p, Vector v) { _mm_store_si128(reinterpret_cast<Vector*>(p), v); }
  static void storeStreaming(std::byte* p, Vector v) { _mm_stream_si128(reinterpret_cast<Vector*>(p), v); }
  // The first aligned address at or above p.
  static std::byte* alignUp(std::byte* p) { return p + (-reinterpret_cast<uintptr_t>(p) & (kBytes - 1)); }
};
}  // namespace
#include "copy/fill-inl.h"
#include "copy/move-inl.h"

namespace vg::copy {

extern const Engines kBaselineEngines = {"baseline",       [] { return true; }, move, stream,
                                         streamKeptSource, moveShortRows,       fill, streamFill};

void streamFence() { _mm_sfence(); }

}  // namespace vg::copy
