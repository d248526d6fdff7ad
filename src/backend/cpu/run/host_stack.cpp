#include "backend/cpu/run/host_stack.h"

namespace vg::backend::cpu {

bool HostStack::run(RunningLaunch& launch, const StackGroup& stacks, Fibre& fibre) {
  thrownOut_ = false;
  stacks_ = &stacks;
  launch_ = &launch;
  base_.switchTo(fibre);
  launch_ = nullptr;
  return !thrownOut_;
}

void HostStack::throwOut(Fibre& from) {
  thrownOut_ = true;
  from.switchTo(base_);
}

void HostStack::throwOutOf(void* signalContext) {
  thrownOut_ = true;
  Fibre::abandon(signalContext, base_);
}

}  // namespace vg::backend::cpu
