// A module (CUmodule): code and variables in one context, from one image.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "core/modules/function.h"
#include "core/modules/jit_options.h"
#include "core/modules/managed_variables.h"
#include "images/image_source.h"

namespace vg::core {

class Context;
class DeviceCode;

class Module {
 public:
  Module(Context& context, bool ofLibrary);
  Module(const Module&) = delete;
  ~Module();  // its functions end with it. Requires: none of its kernels runs.

  CUmodule handle() { return reinterpret_cast<CUmodule>(this); }
  Context& context() const { return *context_; }
  // Whether its code is a library's; it ends with that.
  bool ofLibrary() const { return ofLibrary_; }
  backend::Image& image() const { return *image_; }

  Result<Function&> function(const std::string& name);  // CUDA_ERROR_NOT_FOUND
  Result<std::vector<Function*>> functions();           // of all kernels, by name
  Result<backend::Global> global(const std::string& name) { return image_->global(name); }

 private:
  friend struct ModuleList;

  Context* const context_;
  const bool ofLibrary_;
  ManagedVariables managed_;
  backend::ImageSource source_;
  std::unique_ptr<backend::Image> image_;
  Mutex mutex_;
  std::map<std::string, Function*> functions_ VG_GUARDED_BY(mutex_);
  Module* next_ = nullptr;  // all modules of the process
  Module* previous_ = nullptr;
};

namespace modules {

// Before a module goes: ends what the room of texture references has of it. Set once by cuInit
// (core/process/process.cpp).
using Ends = void (*)(const Module& module);
inline constinit Ends ends = nullptr;

// Finds the code for the context's device in an image or file, and loads it.
Result<Module&> load(Context& context, const void* image, JitOptions& options);
Result<Module&> loadFile(Context& context, const std::string& path, JitOptions& options);
// Loads what has been selected. With a library's managed variables it is a module of that library, which ends it.
Result<Module&> instantiate(Context& context, ManagedVariables* managed, DeviceCode& code, const std::string& name,
                            const backend::LoadOptions& options);
// CUDA_ERROR_INVALID_HANDLE for foreign and stale handles.
Result<Module&> find(CUmodule handle);
// Waits for the context's work first. CUDA_ERROR_NOT_PERMITTED for the modules of libraries: they end with those.
CUresult unload(Module& module);
// Ends a module whose kernels no longer run.
void end(Module& module);
// All modules of a context that ends, those of libraries too. Requires: its streams are idle.
void releaseAll(Context& context);

// What a device of this context wants of an image.
images::SelectOptions selectOptions(const backend::Device& device, std::string* log);

}  // namespace modules

}  // namespace vg::core
