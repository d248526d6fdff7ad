// Where the grids of a queue run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/device.h"
#include "backend/queue.h"

namespace vg::backend::cpu {

struct LaunchPlace {
  uint32_t workers = UINT32_MAX;            // the most threads that a grid is given
  unsigned urgency = 0;                     // as in Executor::schedule
  std::optional<uint64_t> texturesRemoved;  // before the launch (texture_table.h); none: before it is queued, or runs
  // A queue at this place, for what kernels launch. Set for launches of a queue.
  std::unique_ptr<Queue> (*makeQueue)(const Device& device, const LaunchPlace& place) = nullptr;
  uint64_t checked = 0;  // LaunchCommand::checked
};

}  // namespace vg::backend::cpu
