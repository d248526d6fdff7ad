// The line through which kernels ask for the graph that they run in. Core implements it.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "backend/command.h"

namespace vg::backend {

// The graph of a kernel node while it is launched. Lives at least until everything is over that the launch began.
struct GraphRun {
  // How a kernel launches a graph: the streams that the device runtime names.
  enum class Launch : uint8_t { TailLaunch = 1, FireAndForget = 2, FireAndForgetAsSibling = 3 };

  // The executable graph's handle; 0 for one that only the host launches.
  virtual uint64_t exec() const noexcept = 0;
  // Launches an executable graph for the calling kernel, which runs in this one. `exec` may be any number. May be
  // called on the stack of a kernel; waits for nobody but short locks. What is left to do is `rest`, unless that has no
  // function: it may wait for room behind other work, so it is not for who answers kernels that run.
  virtual CUresult launch(uint64_t exec, Launch how, HostCall& rest) noexcept = 0;

 protected:
  ~GraphRun() = default;
};

}  // namespace vg::backend
