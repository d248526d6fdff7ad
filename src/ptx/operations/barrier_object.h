// The 64-bit object of mbarrier instructions, in a layout of our own: bits 0-19 arrivals still expected in this phase,
// 20-39 arrivals of a whole phase, 40 the phase, 41-62 bytes still to come (two's complement). The state that arriving
// returns is the word before it. A cluster runs on one thread, so plain accesses do.
#pragma once

#include <cstdint>

namespace vg::ptx {

struct BarrierObject {
  uint64_t pending = 0, expected = 0, phase = 0;
  int64_t bytes = 0;

  static BarrierObject of(uint64_t word) {
    return {word & kCountMask, word >> kExpectedShift & kCountMask, word >> kPhaseShift & 1,
            static_cast<int64_t>(word << (64 - kBytesShift - kBytesBits)) >> (64 - kBytesBits)};
  }
  uint64_t word() const {
    constexpr uint64_t kBytesMask = (uint64_t{1} << kBytesBits) - 1;
    return (pending & kCountMask) | (expected & kCountMask) << kExpectedShift | (phase & 1) << kPhaseShift |
           (static_cast<uint64_t>(bytes) & kBytesMask) << kBytesShift;
  }
  // The phase ends when nobody and nothing is awaited. True when it did.
  bool advance() {
    if ((pending & kCountMask) != 0 || bytes != 0) return false;
    phase ^= 1;
    pending = expected;
    return true;
  }

  static constexpr uint64_t kCountMask = 0xfffff;

 private:
  static constexpr uint32_t kExpectedShift = 20, kPhaseShift = 40, kBytesShift = 41, kBytesBits = 22;
};

}  // namespace vg::ptx
