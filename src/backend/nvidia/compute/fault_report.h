// What the kernel driver can tell of the fault that ended a GPU's kernels.
#pragma once

#include <string>

#include "backend/nvidia/channel/channel.h"

namespace vg::backend::nvidia {

// "it wrote to 0x1000, where nothing is mapped"; "" when nothing is known. Requires: a dead channel of the graphics
// engine.
std::string describeFault(Gpu& gpu, const Channel& channel);

}  // namespace vg::backend::nvidia
