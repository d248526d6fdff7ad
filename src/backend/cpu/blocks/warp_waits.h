// Where each warp of a block waited last, for the log and for whoever asks why a launch does not end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "backend/cpu/code/kernel_code.h"

namespace vg::backend::cpu {

class WarpWaits {
 public:
  void reset() { std::fill(std::begin(waits_), std::end(waits_), Wait{}); }
  // `codeAddress`: what the warp's call returns to; `line`: that the interpreter was at.
  void note(uint32_t warp, const void* codeAddress, uint32_t line) { waits_[warp] = {codeAddress, line}; }
  // The line of PTX; 0 where that is not known.
  uint32_t lineOf(uint32_t warp, const LoadedKernel& code) const;
  // Of some warps: " (PTX line 12)", " (PTX lines 12,15)", or nothing where that is not known.
  std::string describe(uint32_t warps, const LoadedKernel& code) const;

 private:
  struct Wait {
    const void* codeAddress;
    uint32_t line;
  };
  Wait waits_[32] = {};
};

}  // namespace vg::backend::cpu
