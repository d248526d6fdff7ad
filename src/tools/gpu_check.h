// `verdigris gpu-check`: drives the machine's GPUs through the kernel driver, step by step, and says what each step
// found and how long it took. Needs no vendor library and disturbs nobody: its memory and channels are its own.
#pragma once

#include <string>

namespace vg::tools {

struct GpuCheckOptions {
  int gpu = 0;            // index in the driver's list
  bool fault = false;     // also touch memory that is not there, to see the error reported
  bool bandwidth = true;  // also measure large copies
  std::string report{};   // a file that gets all that is printed, and what else is known of the machine
};

// Exit status: 0 every step passed, 1 one did not, 77 there is no GPU to check.
int gpuCheck(const GpuCheckOptions& options);

}  // namespace vg::tools
