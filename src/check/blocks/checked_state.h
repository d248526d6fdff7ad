// The record of a running block with what checked mode keeps for compiled code in it.
#pragma once

#include "check/blocks/compiled.h"
#include "check/tools.h"
#include "ptx/abi/check_abi.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::check {

struct CheckedState : ptx::BlockState {
  ptx::CheckedRanges ranges;

  // Before a block of a grid runs.
  void beginChecks(uint64_t grid) {
    if (!any()) [[likely]]
      return;
    checked = &ranges;
    begin(ranges, grid);
  }
  // Another block of the grid runs in its place.
  void nextBlock() { ranges.next = ranges.end = nullptr; }
};

}  // namespace vg::check
