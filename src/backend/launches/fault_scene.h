// Where and how a kernel faulted, for whoever writes it down. Valid while the call that is given it lasts.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vg::backend {

// Somebody will want registers of kernels that fault: code that is made from then on keeps them, which makes it slower.
inline constinit std::atomic<bool> registersWanted{false};

// A function of a kernel whose registers are known, and those in the order in which its text names them first.
struct FunctionScene {
  struct Register {
    enum class Kind : uint8_t { Predicate, Bits, Signed, Float };
    std::string name;
    uint32_t bits;
    Kind kind;
  };
  std::string name;
  uint32_t firstLine, lastLine;  // of the PTX
  std::vector<Register> registers;
};

struct LaneScene {
  static constexpr size_t kEnded = ~size_t{0};
  size_t function = kEnded;      // of FaultScene::functions; kEnded: the lane has
  uint32_t line = 0;             // of the PTX
  std::vector<uint64_t> values;  // of the registers, those of 128 bits with two
};

struct WarpScene {
  uint32_t number;                   // of the block
  uint32_t validLanes;               // that it has
  uint32_t lanes;                    // of those, the ones that stand at `line`, or that it may have been
  uint32_t line;                     // of the PTX; 0: not known
  std::vector<LaneScene> each = {};  // by lane; empty: compiled code that keeps no registers
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
  std::vector<FunctionScene> functions;
};

}  // namespace vg::backend
