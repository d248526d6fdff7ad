#include "backend/cpu/kernel_interpreter.h"

namespace vg::backend::cpu {

Result<std::unique_ptr<const LoadedKernel>> interpret(const ptx::Module& module, uint32_t function) {
  return unimplemented("kernel %s: there is no interpreter", module.functions[function].name.c_str());
}

}  // namespace vg::backend::cpu
