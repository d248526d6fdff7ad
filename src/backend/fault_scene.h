// Where and how a kernel faulted, for whoever writes it down. Valid while the call that is given it lasts.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vg::backend {

struct WarpScene {
  uint32_t number;      // of the block
  uint32_t validLanes;  // that it has
  uint32_t lanes;       // of those, the ones that stand at `line`, or that it may have been
  uint32_t line;        // of the PTX; 0: not known
};

struct FaultScene {
  CUresult error;  // CUDA_ERROR_LAUNCH_TIMEOUT: nothing faulted, the kernel was stopped
  bool stackOverflow;
  bool goesOn;  // checked mode lets the kernel run to its end
  const char* kernel;
  uint64_t grid;  // its number
  const uint32_t* gridSize;
  const uint32_t* blockSize;
  const uint32_t* clusterSize;
  const std::byte* parameters;
  size_t parameterBytes;
  const uint32_t* blockIndex;
  const std::byte* shared;  // memory of the block, at the address that kernels know it by
  size_t sharedBytes;
  uint32_t multiprocessor;
  std::vector<WarpScene> warps;  // of the block, whose places are known: first the one that faulted
};

}  // namespace vg::backend
