// What the kernels of one context share: its limits and its heap. Lives while an image of the context does.
#pragma once

#include <memory>

#include "backend/cpu/run/device_heap.h"
#include "backend/device.h"

namespace vg::backend::cpu {

class KernelContext {
 public:
  // The one of the context that owns `limits`; null means the default limits and a heap of its own.
  static std::shared_ptr<KernelContext> of(const KernelLimits* limits);

  explicit KernelContext(const KernelLimits& limits) : limits_(limits) {}
  const KernelLimits& limits() const { return limits_; }
  KernelHeap& heap() { return heap_; }

 private:
  const KernelLimits& limits_;
  KernelHeap heap_;
};

}  // namespace vg::backend::cpu
