#include "backend/cpu/faults/kernel_faults.h"

#include <atomic>
#include <csignal>

#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/faults/faults.h"
#include "backend/cpu/run/thread.h"
#include "base/system/signal_context.h"

namespace vg::backend::cpu {
namespace {

CUresult errorOf(int signal, const siginfo_t& info) {
  switch (signal) {
    case SIGSEGV:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIGBUS:
      return info.si_code == BUS_ADRALN ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIGILL:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

using signal_context::codeAddress;

// Async-signal-safe. False when the signal is not a kernel's.
VG_OUTLIVES_FIBRE bool throwOut(int signal, const siginfo_t& info, void* context, bool interrupts) {
  KernelThread* const thread = KernelThread::ifAny();
  if (!thread || !thread->interruptible()) return false;
  if (interrupts) {
    const RunningLaunch& launch = thread->launch();
    // Anywhere but in compiled code a lock may be held; there the thread asks for itself.
    if (!launch.cancelled() || !CodePages::contains(codeAddress(context))) return false;
    KernelFault stopped;
    stopped.error = static_cast<CUresult>(launch.ended.load(std::memory_order_relaxed));
    stopped.signal = signal;
    stopped.codeAddress = codeAddress(context);
    thread->fault() = stopped;
  } else {
    if (info.si_code <= 0) return false;  // sent by a process, not caused by an instruction
    KernelFault fault;
    fault.error = errorOf(signal, info);
    fault.signal = signal;
    fault.address = info.si_code == SI_KERNEL ? nullptr : info.si_addr;
    fault.codeAddress = codeAddress(context);
    if (signal == SIGSEGV && thread->inStackGap(info.si_addr)) {
      fault.error = CUDA_ERROR_LAUNCH_FAILED;
      fault.stackOverflow = true;
    }
    thread->fault() = fault;
  }
  thread->throwOutOf(context);
  return true;
}

}  // namespace

void armForKernels() {
  faults::throwWith(throwOut);
  faults::arm();
}

}  // namespace vg::backend::cpu
