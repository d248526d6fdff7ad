// The answer to clusterlaunchcontrol.try_cancel: 16 bytes that only clusterlaunchcontrol.query_cancel reads. The first
// three words are the index of the first block of the cluster that was cancelled, the fourth is 1; all are 0 where none
// was.
#pragma once

#include <cstdint>

namespace vg::ptx {

struct CancelledCluster {
  uint64_t low = 0, high = 0;

  static CancelledCluster at(uint32_t x, uint32_t y, uint32_t z) {
    return {x | uint64_t{y} << 32, z | uint64_t{1} << 32};
  }
};
// Bits of the 128 from which a word begins.
inline constexpr uint32_t kFirstBlockX = 0, kFirstBlockY = 32, kFirstBlockZ = 64, kWasCancelled = 96;

}  // namespace vg::ptx
