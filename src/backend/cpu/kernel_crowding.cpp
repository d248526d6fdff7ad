#include "backend/cpu/kernel_crowding.h"

namespace vg::backend::cpu {

uint32_t KernelCrowding::choose(uint32_t most) {
  const uint64_t together = together_.load(std::memory_order_relaxed), alone = alone_.load(std::memory_order_relaxed);
  if (most < 2 || !together) return most;
  if (!alone) return 1;
  const bool again = grids_.fetch_add(1, std::memory_order_relaxed) % kAgain == kAgain - 1;
  return (alone < together) != again ? 1 : most;
}

void KernelCrowding::learn(uint32_t threads, uint32_t most, uint64_t warps, uint64_t nanoseconds) {
  if (most < 2 || !warps || nanoseconds < kWorthwhile) return;
  std::atomic<uint64_t>& known = threads == 1 ? alone_ : together_;
  known.store(nanoseconds * 1000 / threads / warps + 1, std::memory_order_relaxed);
}

}  // namespace vg::backend::cpu
