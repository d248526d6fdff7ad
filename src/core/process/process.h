// The beginning and the end of the library in a process: what cuInit does. The one place of core that sees all rooms:
// it tells those below what those above do for them (core/contexts/context_roles.h, core/memory/memory_roles.h).
#pragma once

#include <cuda.h>

#include "core/process/gate.h"

namespace vg::core {

// cuInit: reads the settings, discovers the devices, opens the gate. May be called again and from several threads.
CUresult initialise(unsigned flags);

}  // namespace vg::core
