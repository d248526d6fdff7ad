#include <arm_neon.h>

#include "copy/engines.h"

namespace {
struct Isa {
  using Vector = uint32x4_t;
  static constexpr size_t kBytes = sizeof(Vector);
  static Vector splat(uint32_t x) { return vdupq_n_u32(x); }
  static Vector load(const std::byte* p) { return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(p))); }
  static void store(std::byte* p, Vector v) { vst1q_u8(reinterpret_cast<uint8_t*>(p), vreinterpretq_u8_u32(v)); }
  static void storeAligned(std::byte* p, Vector v) { store(p, v); }
  // Non-temporal stores are of pairs: a vector is two halves.
  static void storeStreaming(std::byte* p, Vector v) {
    const uint64x2_t words = vreinterpretq_u64_u32(v);
    const uint64x1_t low = vget_low_u64(words), high = vget_high_u64(words);
    asm volatile("stnp %d1, %d2, [%0]" : : "r"(p), "w"(low), "w"(high) : "memory");
  }
  // The first aligned address at or above p.
  static std::byte* alignUp(std::byte* p) { return p + (-reinterpret_cast<uintptr_t>(p) & (kBytes - 1)); }
};
}  // namespace
#include "copy/fill-inl.h"
#include "copy/move-inl.h"

namespace vg::copy {

extern const Engines kNeonEngines = {"neon",           [] { return true; }, move, stream,
                                     streamKeptSource, moveShortRows,       fill, streamFill};

// Non-temporal stores are ordered as others are: before what comes after a barrier.
void streamFence() { asm volatile("dmb ishst" : : : "memory"); }

}  // namespace vg::copy
