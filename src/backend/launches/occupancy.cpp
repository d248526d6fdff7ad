#include "backend/launches/occupancy.h"

#include <algorithm>

#include "base/round.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::backend::occupancy {
namespace {

// The same for every capability since 5.0.
constexpr uint32_t kRegisterUnit = 256;  // registers, allocated a warp
constexpr uint32_t kPartitions = 4;      // a multiprocessor's register file and warps are split among them
constexpr uint64_t kSharedUnit = 128;    // bytes, since 8.0
// KiB that a multiprocessor can set apart for shared memory, as far as it has them.
constexpr uint64_t kSharedSizes[] = {8, 16, 32, 64, 100, 132, 164, 196, 228};

uint32_t warpsOf(const KernelUse& use) { return (use.threads + ptx::kWarpSize - 1) / ptx::kWarpSize; }

uint64_t registersOfWarp(const KernelUse& use) {
  return roundUp(uint64_t{use.registers} * ptx::kWarpSize, kRegisterUnit);
}

}  // namespace

uint32_t registersOfBlock(const KernelUse& use) {
  return static_cast<uint32_t>(registersOfWarp(use) * roundUp(warpsOf(use), kPartitions));
}

uint64_t sharedOfMultiprocessor(const Traits& traits, int carveout, uint64_t block) {
  const auto all = static_cast<uint64_t>(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  if (carveout < 0) return all;
  const uint64_t wanted = std::max(all * static_cast<uint64_t>(carveout) / 100, block);
  for (const uint64_t size : kSharedSizes)
    if (size << 10 >= wanted) return std::min(size << 10, all);
  return all;
}

uint32_t blocksPerMultiprocessor(const Traits& traits, const KernelUse& use) {
  const auto of = [&](CUdevice_attribute attribute) { return static_cast<uint64_t>(traits.attribute(attribute)); };
  const uint64_t warps = warpsOf(use);
  if (!warps) return 0;
  uint64_t blocks = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  blocks = std::min(blocks, of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / ptx::kWarpSize / warps);
  if (const uint64_t registers = registersOfWarp(use)) {
    const uint64_t perPartition = of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / kPartitions / registers;
    blocks = std::min(blocks, perPartition * kPartitions / warps);
  }
  const uint64_t shared = roundUp(use.shared + of(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK), kSharedUnit);
  if (shared) blocks = std::min(blocks, sharedOfMultiprocessor(traits, use.carveout, shared) / shared);
  return static_cast<uint32_t>(blocks);
}

}  // namespace vg::backend::occupancy
