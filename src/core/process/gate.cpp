#include "core/process/gate.h"

#include "base/result.h"

namespace vg::core {

constinit std::atomic<Gate> gate{Gate::Closed};

CUresult refusal() {
  switch (gate.load()) {
    case Gate::Exiting:
      return fail(CUDA_ERROR_DEINITIALIZED, "the process is exiting");
    case Gate::Forked:
      return fail(CUDA_ERROR_NOT_INITIALIZED, "this process was forked from one that had initialised the library");
    default:
      return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit has not been called, or it failed");
  }
}

CUresult passGate(bool whileLocked) {
  for (Gate now = gate.load(std::memory_order_acquire);; now = gate.load(std::memory_order_acquire)) {
    if (now == Gate::Open || (now == Gate::Locked && whileLocked)) return CUDA_SUCCESS;
    if (!initialised(now)) return refusal();
    gate.wait(now, std::memory_order_acquire);
  }
}

bool moveGate(Gate from, Gate to) {
  if (!gate.compare_exchange_strong(from, to)) return false;
  gate.notify_all();
  return true;
}

}  // namespace vg::core
