#include "backend/cpu/run/crowding.h"

namespace vg::backend::cpu {

uint32_t KernelCrowding::choose(uint32_t most) { return most < 2 || ways_.choose() == kTogether ? most : 1; }

void KernelCrowding::learn(uint32_t threads, uint32_t most, uint64_t warps, uint64_t nanoseconds) {
  if (most < 2 || nanoseconds < kWorthwhile) return;
  ways_.learn(threads == 1 ? kAlone : kTogether, warps, nanoseconds / threads);
}

}  // namespace vg::backend::cpu
