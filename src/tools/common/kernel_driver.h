// NVIDIA's kernel driver, as commands open it that talk to it themselves.
#pragma once

#include <memory>
#include <optional>

#include "backend/nvidia/driver/gpu.h"

namespace vg::tools {

constexpr int kNoGpu = 77;  // exit status: there is no GPU for the command

struct KernelDriver {
  std::unique_ptr<backend::nvidia::Client> client;
  std::unique_ptr<backend::nvidia::Uvm> uvm;
};

// None, with a line on standard output or in the log, where it cannot be talked to.
std::optional<KernelDriver> openKernelDriver();

}  // namespace vg::tools
