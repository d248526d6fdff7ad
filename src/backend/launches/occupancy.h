// How many blocks of a kernel fit a multiprocessor at once, by NVIDIA's published rules and the limits that the device
// reports. The emulated device has no such limits of its own, but programs size their grids by the answer.
#pragma once

#include <cstdint>

#include "backend/traits.h"

namespace vg::backend::occupancy {

struct KernelUse {
  uint32_t threads = 0;    // a block
  uint32_t registers = 0;  // a thread
  uint64_t shared = 0;     // bytes a block, static and dynamic
  int carveout = -1;       // percent of the multiprocessor's shared memory that the kernel prefers; -1: none
};

// Bytes of shared memory that a multiprocessor offers to a kernel that prefers `carveout` percent of all it may have
// (-1: all of it), and at least one block of `block` bytes.
uint64_t sharedOfMultiprocessor(const Traits& traits, int carveout, uint64_t block);

// 0 when not even one block fits.
uint32_t blocksPerMultiprocessor(const Traits& traits, const KernelUse& use);
// Registers that a block takes with the granularity of allocation.
uint32_t registersOfBlock(const KernelUse& use);

}  // namespace vg::backend::occupancy
