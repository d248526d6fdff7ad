// Where and how a kernel faulted, for whoever writes it down. Valid while the call that is given it lasts.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vg::backend {

struct FaultScene {
  CUresult error;
  bool stackOverflow;
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
  uint32_t warp;        // of the block
  uint32_t validLanes;  // of the warp
  uint32_t lanes;       // of those, the ones that it may have been
  uint32_t line;        // of the PTX; 0: not known
};

}  // namespace vg::backend
