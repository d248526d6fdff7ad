// What a queue has prepared of a graph: the grids of its kernels, and of fills and copies that kernels of ours do, and
// what was decided about them for queues of this kind.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "backend/launches/prepared_launches.h"
#include "backend/nvidia/compute/prepared_grids.h"
#include "backend/nvidia/kernels/gpu_kernel.h"

namespace vg::backend::nvidia {

// What is the same for all grids of a queue at a time.
struct QueueTraits {
  unsigned urgency = 0;                    // of grids that have none of their own
  std::array<uint32_t, 4> disabledTpcs{};  // as in Grid
  bool operator==(const QueueTraits&) const = default;
};

struct PreparedWork final : PreparedLaunches {
  std::unique_ptr<PreparedGrids> grids;
  QueueTraits queue;
  bool urgent = false;                    // the first one is
  std::vector<const GpuKernel*> kernels;  // in no order

  // Of all kernels, a thread: what they were given follows the stack's size.
  uint64_t localBytes() const;
  uint64_t preparedLocalBytes = 0;
  // Whose code is at this address, which may be any; null: one of ours, or nobody's.
  const GpuKernel* kernelAt(uint64_t address) const;
};

}  // namespace vg::backend::nvidia
