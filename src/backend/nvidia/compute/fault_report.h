// What the kernel driver can tell of the fault that ended a GPU's kernels.
#pragma once

#include <cstddef>
#include <string>

#include "backend/nvidia/channel/channel.h"

namespace vg::backend::nvidia {

struct Fault {
  CUresult error;
  std::string what;          // "it wrote to 0x1000, where nothing is mapped"; "" when nothing is known
  uint64_t instruction = 0;  // the address of what an illegal instruction was; it may be a trap
};

// `otherwise` is the error when nothing is known. Requires: a dead channel of the graphics engine.
Fault examineFault(Gpu& gpu, const Channel& channel, CUresult otherwise);
// Of the 8 bytes that an instruction begins with: programs stop with it on purpose.
bool isTrap(const std::byte* instruction);

}  // namespace vg::backend::nvidia
