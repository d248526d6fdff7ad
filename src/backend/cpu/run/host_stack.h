// The stack of a thread itself, from which it goes into the fibres of a kernel, and the way back: when a warp has
// nothing to do, and when the kernel faults.
#pragma once

#include <cuda.h>

#include <csignal>
#include <cstdint>

#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/debug/debugger.h"
#include "backend/cpu/run/fibre.h"

namespace vg::backend::cpu {

// Why a thread was thrown out of a kernel. Plain data: written by signal handlers.
struct KernelFault {
  CUresult error = CUDA_SUCCESS;
  int signal = 0;                 // 0: the kernel's own request
  const void* address = nullptr;  // that the access meant; null when unknown
  bool stackOverflow = false;
  const void* codeAddress = nullptr;  // of the faulting instruction
  uint32_t line = 0;                  // of the PTX, when the kernel told it
  const char* what = "";              // of the kernel's own request
  uint32_t warp = 0, lanes = 0;       // of the kernel's own request: whose; no lanes: not known
};

class HostStack {
 public:
  HostStack(const HostStack&) = delete;

  Fibre& base() { return base_; }
  // Runs a fibre of the launch, one of `stacks`, until something switches back; false when the thread was thrown out of
  // the kernel.
  bool run(RunningLaunch& launch, const StackGroup& stacks, Fibre& fibre);
  // Goes to the thread's own stack; `from` never goes on.
  void throwOut(Fibre& from);

  KernelFault& fault() { return fault_; }
  // Counts what lets waiting warps go on, so that whoever runs blocks can tell waiting from getting on.
  uint64_t progress() const { return progress_; }
  void noteProgress() { ++progress_; }
  // For debuggers: the block that it runs.
  void noteBlock(const ptx::BlockState* block) {
    if (standing_) [[unlikely]]
      standing_->block = block;
  }

  // While alive no fault or timeout throws the thread out: it holds a lock or calls the C library.
  class Critical {
   public:
    explicit Critical(HostStack& stack) : stack_(stack), before_(stack.interruptible_) { stack_.interruptible_ = 0; }
    ~Critical() { stack_.interruptible_ = before_; }

   private:
    HostStack& stack_;
    const sig_atomic_t before_;
  };

  // For signal handlers. The rest requires interruptible(): a kernel or one of its calls is on this thread, and not in
  // something critical.
  bool interruptible() const { return launch_ && interruptible_; }
  const RunningLaunch& launch() const { return *launch_; }
  // Whether the address lies below a stack of the fibres that it runs.
  bool inStackGap(const void* address) const { return stacks_->inGap(address); }
  // Makes the thread go on at run(), which returns false.
  VG_OUTLIVES_FIBRE void throwOutOf(void* signalContext);

 protected:
  HostStack() { base_.adoptThread(); }
  debugger::Standing* standing_ = nullptr;
  ~HostStack() = default;

 private:
  Fibre base_;
  const StackGroup* volatile stacks_ = nullptr;
  RunningLaunch* volatile launch_ = nullptr;  // set whenever a kernel or one of its calls is on this thread
  volatile sig_atomic_t interruptible_ = 1;
  volatile bool thrownOut_ = false;
  KernelFault fault_;
  uint64_t progress_ = 0;
};

}  // namespace vg::backend::cpu
