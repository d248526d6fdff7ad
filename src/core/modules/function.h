// A Function (CUfunction): one kernel in one context. It lives until its module is unloaded.
#pragma once

#include <cuda.h>

#include "backend/device.h"

namespace vg::core {

class Context;

class Function {
 public:
  Function(Context& context, CUmodule module, backend::Kernel& kernel)
      : context_(&context), module_(module), kernel_(&kernel) {}

  CUfunction handle() { return reinterpret_cast<CUfunction>(this); }
  Context& context() const { return *context_; }
  CUmodule module() const { return module_; }
  backend::Kernel& kernel() const { return *kernel_; }

 private:
  Context* const context_;
  const CUmodule module_;
  backend::Kernel* const kernel_;
};

// Null for anything else.
Function* asFunction(CUfunction handle);

// For Module.
Function* makeFunction(Context& context, CUmodule module, backend::Kernel& kernel);
void dropFunction(Function* function);

}  // namespace vg::core
