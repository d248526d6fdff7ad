// Where in a launch something happened, as the log names it.
#pragma once

#include <cstdint>
#include <string>

#include "backend/launches/fault_scene.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::backend::cpu {

class ResidentBlock;
struct KernelFault;
struct RunningLaunch;

struct ThreadIndex {
  uint32_t x, y, z;
};
ThreadIndex threadOf(const ptx::KernelLaunch& launch, uint32_t warp, uint32_t lane);

// "block [1,0,0], warp 2, thread [70,0,0], PTX line 12". Compiled code that a signal stopped does not know which lane
// it was: "threads [64,0,0] to [95,0,0]", the warp's.
std::string placeOf(const RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault);
// The PTX line of a call that a kernel made. `from`: what it returns to, in code of a kernel or in the interpreter.
uint32_t lineOfCall(const ResidentBlock& block, const void* from);
// The place in numbers, and what else is known then. Valid as long as the block stays as it is.
FaultScene sceneOf(const RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault);
// Of a block whose warps all wait, when its launch ends with `error`.
FaultScene sceneOfWaiting(const RunningLaunch& launch, const ResidentBlock& block, CUresult error);

}  // namespace vg::backend::cpu
