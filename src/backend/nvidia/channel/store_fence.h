// Memory of the device is written by the CPU in lines that leave it when they are full, or at a fence.
#pragma once

namespace vg::backend::nvidia {

// Orders stores to write-combined memory before the stores that follow.
inline void storeFence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#else
  __sync_synchronize();
#endif
}

}  // namespace vg::backend::nvidia
