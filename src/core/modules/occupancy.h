// The occupancy calculator: how many blocks fit, which block size fills a multiprocessor best.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "base/result.h"

namespace vg::core {

class Function;

namespace occupancy {

// Resident blocks a multiprocessor. `flags`: CU_OCCUPANCY_*.
Result<int> activeBlocks(Function& function, int blockSize, size_t dynamicShared, unsigned flags);

struct Suggestion {
  int gridSize;   // the smallest that fills the device
  int blockSize;  // threads
};
// The block size with the most resident threads. Dynamic shared memory is `dynamicShared` bytes, or what `sizeFor`
// answers for a block size. `limit`: largest block size to consider; 0: what the kernel allows.
Result<Suggestion> bestBlockSize(Function& function, CUoccupancyB2DSize sizeFor, size_t dynamicShared, int limit,
                                 unsigned flags);
// Dynamic shared memory that still lets `blocks` blocks of `blockSize` threads be resident together.
Result<size_t> availableShared(Function& function, int blocks, int blockSize);
// Clusters that can be resident on the device at once.
Result<int> activeClusters(Function& function, const CUlaunchConfig& config);
// The largest cluster, in blocks, that can run with such blocks; 0 when not even one block fits.
Result<int> potentialClusterSize(Function& function, const CUlaunchConfig& config);

}  // namespace occupancy
}  // namespace vg::core
