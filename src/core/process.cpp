#include "core/process.h"

#include "base/result.h"

namespace vg::core {

constinit std::atomic<Gate> gate{Gate::Closed};

CUresult initialise(unsigned flags) {
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "cuInit's flags must be 0, not %#x", flags);
  if (gate.load() == Gate::Closed) gate.store(Gate::Open);
  return gate.load() == Gate::Open ? CUDA_SUCCESS : refusal();
}

CUresult refusal() { return gate.load() == Gate::Exiting ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED; }

}  // namespace vg::core
