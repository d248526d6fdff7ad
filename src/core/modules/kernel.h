// Kernels as handles. A Kernel (CUkernel) belongs to a library and means the same code in every context; a Function
// (CUfunction) is one kernel in one context. The API takes either wherever it takes a CUfunction.
//
// A kernel lives until its library is unloaded.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/device.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "core/modules/function.h"

namespace vg::core {

// The library whose kernel it is (core/modules/library.h), as far as kernels ask it.
class KernelSource {
 public:
  virtual CUlibrary handle() = 0;
  // What its kernels are like, without a context. The error with which reading the code failed, again each time.
  virtual Result<backend::Image&> description() = 0;
  // The kernel of this name in `context`; loads the code there when it is not loaded yet.
  virtual Result<Function&> functionIn(Context& context, const std::string& name) = 0;

 protected:
  ~KernelSource() = default;
};

class Kernel {
 public:
  Kernel(KernelSource& library, std::string name) : library_(&library), name_(std::move(name)) {}

  CUkernel handle() { return reinterpret_cast<CUkernel>(this); }
  KernelSource& library() const { return *library_; }
  const std::string& name() const { return name_; }

  // The function in `context`; loads the library's code there when it is not loaded yet.
  Result<Function&> in(Context& context);

  // For a context that ends: its function is not to be used again.
  void forget(const Context& context);

  // Attributes set for a device before or after its contexts load the code; applied to each.
  CUresult setAttribute(int device, CUfunction_attribute attribute, int value);
  Result<int> attribute(int device, CUfunction_attribute attribute);

 private:
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
  KernelSource* const library_;
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

// For Library.
Kernel* makeKernel(KernelSource& library, const std::string& name);
void dropKernel(Kernel* kernel);

}  // namespace vg::core
