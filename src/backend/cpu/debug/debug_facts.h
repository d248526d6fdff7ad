// What a debugger's script (src/gdb) is told of a kernel, as JSON: where registers of lanes are kept
// (ptx/facts/kept_registers.h), where variables of the PTX lie, and the PTX itself, in which nvcc -G describes
// variables of the source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/code/kernel_code.h"
#include "ptx/text/ast.h"

namespace vg::backend::cpu {

// Texts and lines are told by their addresses: they stay where they are as long as the kernel does.
std::string debugFacts(const LoadedKernel& kernel, const ptx::Module& module, uint32_t function,
                       const std::vector<std::string>& texts);

}  // namespace vg::backend::cpu
