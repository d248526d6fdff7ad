// The fault of work that its caller waits for: an error of that call, not of the context.
#pragma once

#include <atomic>

#include "backend/command.h"
#include "base/result.h"

namespace vg::core {

// Handed to a command in place of the context when a side of a copy is pageable memory, which the vendor's driver
// touches before the call returns. Other faults are the context's all the same. Lives until the work is done.
class HostFault final : public backend::FaultSink {
 public:
  explicit HostFault(backend::FaultSink& context) : context_(context) {}
  void report(CUresult error, const char* reason) noexcept override {
    if (error != CUDA_ERROR_ILLEGAL_ADDRESS) return context_.report(error, reason);
    faulted_.store(true, std::memory_order_release);
  }
  CUresult state() const noexcept override {
    return faulted_.load(std::memory_order_acquire) ? refusal() : CUDA_SUCCESS;
  }
  [[gnu::cold]] static CUresult refusal() {
    return fail(CUDA_ERROR_INVALID_VALUE, "host memory of a copy is not there or cannot be written");
  }

 private:
  backend::FaultSink& context_;
  std::atomic<bool> faulted_{false};
};

}  // namespace vg::core
