#include <immintrin.h>

#include "base/system/processor.h"
#include "copy/engines.h"

namespace {
struct Isa {
  using Vector = __m512i;
  static constexpr size_t kBytes = sizeof(Vector);
  static Vector splat(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::byte* p) { return _mm512_loadu_si512(reinterpret_cast<const Vector*>(p)); }
  static void store(std::byte* p, Vector v) { _mm512_storeu_si512(reinterpret_cast<Vector*>(p), v); }
  static void storeAligned(std::byte* p, Vector v) { _mm512_store_si512(reinterpret_cast<Vector*>(p), v); }
  static void storeStreaming(std::byte* p, Vector v) { _mm512_stream_si512(reinterpret_cast<Vector*>(p), v); }
  // The first aligned address at or above p.
  static std::byte* alignUp(std::byte* p) { return p + (-reinterpret_cast<uintptr_t>(p) & (kBytes - 1)); }
};
}  // namespace
#include "copy/fill-inl.h"
#include "copy/move-inl.h"

namespace vg::copy {

extern const Engines kAvx512Engines = {
    "avx512",  [] { return processor::has(processor::kAvx512F); }, move, stream, streamKeptSource, moveShortRows, fill,
    streamFill};

}  // namespace vg::copy
