// What code that tests its accesses (llvm/analysis/reach.h) asks its runner for. KernelLaunch::calls of every launch is
// the first member of one of these. Plain C layouts, as all of kernel_abi.h; change kKernelAbiVersion with any of them.
#pragma once

#include <atomic>

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
};

}  // namespace vg::ptx
