// What the steps of `verdigris gpu-check` share: one open GPU, one line a result.
#pragma once

#include "backend/nvidia/channel/channel_group.h"
#include "backend/nvidia/channel/copy_methods.h"

namespace vg::tools {

struct GpuBench {
  backend::nvidia::Gpu& gpu;
  backend::nvidia::Addresses& addresses;
  int failures = 0;

  // Prints "ok   what: words", or "FAIL ..." and counts it.
  [[gnu::format(printf, 4, 5)]] bool check(bool passed, const char* what, const char* words, ...);
};

// Microseconds of a steady clock.
double microseconds();

// Memory, then ranges of addresses.
void checkMemory(GpuBench& bench);
void checkRanges(GpuBench& bench);
// Channels and copies.
void checkChannels(GpuBench& bench, const struct GpuCheckOptions& options);
// Kernels.
void checkCompute(GpuBench& bench, const struct GpuCheckOptions& options);

}  // namespace vg::tools
