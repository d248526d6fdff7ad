// Kernels as handles. A Kernel (CUkernel) belongs to a library and means the same code in every context; a Function
// (CUfunction) is one kernel in one context. The API takes either wherever it takes a CUfunction.
//
// Handles live until their library or module is unloaded.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/device.h"
#include "base/mutex.h"
#include "base/result.h"

namespace vg::core {

class Context;
class Library;
class Module;

class Function {
 public:
  Function(Module& module, backend::Kernel& kernel) : module_(&module), kernel_(&kernel) {}

  CUfunction handle() { return reinterpret_cast<CUfunction>(this); }
  Module& module() const { return *module_; }
  backend::Kernel& kernel() const { return *kernel_; }

 private:
  Module* const module_;
  backend::Kernel* const kernel_;
};

class Kernel {
 public:
  Kernel(Library& library, std::string name) : library_(&library), name_(std::move(name)) {}

  CUkernel handle() { return reinterpret_cast<CUkernel>(this); }
  Library& library() const { return *library_; }
  const std::string& name() const { return name_; }

  // The function in `context`; loads the library's code there when it is not loaded yet.
  Result<Function&> in(Context& context);

  // For a context that ends: its function is not to be used again.
  void forget(const Context& context);

  // Attributes set for a device before or after its contexts load the code; applied to each.
  CUresult setAttribute(int device, CUfunction_attribute attribute, int value);
  Result<int> attribute(int device, CUfunction_attribute attribute);

 private:
  friend class Library;
  struct Cached {
    std::atomic<uint64_t> context{0};  // Context::id(), stored last
    std::atomic<Function*> function{nullptr};
  };
  struct Setting {
    int device;
    CUfunction_attribute attribute;
    int value;
  };
  Result<Function&> load(Context& context);

  static constexpr unsigned kCached = 8;
  Library* const library_;
  const std::string name_;
  std::array<Cached, kCached> cached_;  // by Context::index() modulo kCached
  Mutex mutex_;                         // guards settings_ and writing cached_
  std::vector<Setting> settings_ VG_GUARDED_BY(mutex_);
};

// A CUfunction or CUkernel for a launch in `context`. CUDA_ERROR_INVALID_HANDLE for anything else, and for a function
// of another context.
Result<backend::Kernel*> resolveKernel(CUfunction handle, Context& context);
// The same object with its module.
Result<Function&> resolveFunction(CUfunction handle, Context& context);

// A function whatever its context (a kernel stands for its function in the current one); a kernel by its own handle.
Result<Function&> findFunction(CUfunction handle);
Result<Kernel&> findKernel(CUkernel handle);

// For Module and Library.
Function* makeFunction(Module& module, backend::Kernel& kernel);
void dropFunction(Function* function);
Kernel* makeKernel(Library& library, const std::string& name);
void dropKernel(Kernel* kernel);

}  // namespace vg::core
