#include "backend/cpu/run/give_up.h"

namespace vg::backend::cpu {

void giveUp(ResidentBlock& block, const KernelFault& fault) {
  block.thread().fault() = fault;
  block.leaveForGood();
}

void stopIfEnded(ResidentBlock& block, const void* from) {
  const RunningLaunch& launch = block.launch();
  if (!launch.cancelled()) [[likely]]
    return;
  KernelFault fault;
  fault.error = static_cast<CUresult>(launch.ended.load(std::memory_order_relaxed));
  fault.warp = block.runningWarp();
  fault.codeAddress = callBefore(from);
  giveUp(block, fault);
}

}  // namespace vg::backend::cpu
