// Those who came to a barrier of a running block since it opened last, as checked mode keeps them.
#pragma once

#include <cstdint>

#include "ptx/abi/more_barriers.h"
#include "ptx/text/ast.h"

namespace vg::check {

struct BlockMeeting {
  static constexpr uint32_t kWarps = 32, kNumbers = 16;                   // of barriers that kernels name
  static constexpr uint32_t kBarriers = kNumbers + ptx::kMostWarpgroups;  // and those of warpgroups

  uint32_t come[kWarps] = {}, wait[kWarps] = {};  // lanes, by warp
  uint32_t comers = 0, waiters = 0;
  uint32_t live = 0;   // lanes of the warps that came, that have not ended
  uint32_t round = 0;  // how often it has opened
  bool whole = true;   // all of the block are awaited
  const ptx::Instruction* at = nullptr;
};

// Where a warp came to.
struct WarpMeetings {
  uint32_t rounds[BlockMeeting::kBarriers] = {};  // of each barrier, the last time
  bool ofWarpgroup = false;                       // it waited last
};

}  // namespace vg::check
