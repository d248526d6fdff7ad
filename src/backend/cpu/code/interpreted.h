// Kernels that the reference interpreter runs: when there is no code generator, it cannot do the kernel, or
// VERDIGRIS_KERNELS=interpret asks for it.
#pragma once

#include <memory>

#include "backend/cpu/code/kernel_code.h"
#include "base/result.h"
#include "ptx/text/ast.h"

namespace vg::backend::cpu {

// Kernel number `function` of the module, which must outlive the result.
Result<std::unique_ptr<const LoadedKernel>> interpret(const ptx::Module& module, uint32_t function);

// Has checked mode tell of the first access of a grid that a device would have stopped it for, while it can be seen.
void tellFirstFaults();

}  // namespace vg::backend::cpu
