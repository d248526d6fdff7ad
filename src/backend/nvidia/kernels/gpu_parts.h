// What modules and kernels use of their GPU. Owned by GpuDevice, whose parts these are.
#pragma once

#include <array>
#include <memory>

#include "backend/nvidia/copies/transfer.h"
#include "backend/nvidia/memory/host_pages.h"
#include "backend/nvidia/textures/kernel_engine.h"
#include "backend/queue.h"
#include "backend/traits.h"

namespace vg::backend::nvidia {

// Queues of what kernels launch. Who answers kernels must never wait for a kernel, and none of these calls waits: what
// may wait is done later, in order. Thread-safe.
class ChildQueues {
 public:
  virtual ~ChildQueues() = default;
  // `disabledTpcs` as in Grid.
  virtual std::unique_ptr<Queue> makeQueue(const std::array<uint32_t, 4>& disabledTpcs) = 0;
  // A queue that takes commands once: launches that nothing has to wait for are sent by who submits them.
  virtual std::unique_ptr<Queue> makeTailQueue(const std::array<uint32_t, 4>& disabledTpcs) = 0;
  // Makes a call that may wait for the GPU.
  virtual void call(const HostCall& call) = 0;
};

struct GpuParts {
  const Traits& traits;
  GpuMemory& memory;
  GpuHostPages& hostPages;
  Transfer& transfer;
  KernelEngine& engine;
  ChildQueues& childQueues;
};

}  // namespace vg::backend::nvidia
