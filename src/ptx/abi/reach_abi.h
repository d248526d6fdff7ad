// What code that tests its accesses (llvm/analysis/reach.h) asks its runner for. KernelLaunch::calls of every launch is
// the first member of one of these. Plain C layouts, as all of kernel_abi.h; change kKernelAbiVersion with any of them.
#pragma once

#include <atomic>

#include "ptx/abi/check_abi.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::ptx {

inline constexpr uint64_t kReachSlack = uint64_t{64} << 30;  // 32 bits of elements of 16 bytes

inline constexpr uint64_t kOwnSlack = 2 * kReachSlack;

struct ReachCalls {
  RuntimeCalls calls;
  // Addresses that kernels may use unasked, with kReachSlack more on both sides where nothing can be touched; 0 bytes:
  // there are none. Constant once a kernel runs.
  std::atomic<uint64_t> window, windowBytes;
  // For addresses outside of the window: ends the launch when a lane of mask may not touch `bytes` bytes there
  // (facts/reach.h). The caller's own memory is what lies between this call's frame and `frameEnd`. Does not switch.
  void (*reach)(BlockState*, uint32_t warp, uint32_t mask, const uint64_t* addresses, uint32_t bytes, uint32_t line,
                const void* frameEnd);
  // Where the library keeps what is its own, and kOwnSlack around it: code for devices that reach all other memory asks
  // about addresses there. Those with ownBit are elsewhere. Constant once a kernel runs.
  std::atomic<uint64_t> own, ownBytes, ownBit;
  // Checked mode: which lanes of `mask` may make the access `form` (check_abi.h); what others would have done is
  // reported. `addresses`: as AccessForm::lanes says. `block` is %ctaid.x, `locals` the kernel's local memory or null,
  // `data` what is stored where it is told (check_abi.h), the rest as above. Does not switch.
  uint32_t (*check)(BlockState*, CheckedRanges*, uint32_t warp, uint32_t block, uint32_t mask,
                    const uint64_t* addresses, uint64_t form, uint32_t line, const void* locals, const void* frameEnd,
                    const void* data);
  // Checked mode: the lanes `mask`, all that live, meet as `meeting` says (check_abi.h). `members`: the member mask of
  // each lane, null: all. Does not switch.
  void (*meet)(BlockState*, uint32_t warp, uint32_t mask, Meeting meeting, uint32_t barrier, uint32_t threads,
               uint32_t line, const uint32_t* members);
};

}  // namespace vg::ptx
