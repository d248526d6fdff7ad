// A library (CUlibrary): an image loaded once for the whole process. Each context gets an instance of the code and
// fresh variables when it first uses one; managed variables have one address for all.
//
// Code is chosen when the library is loaded and read when it is first asked for, as the vendor's driver does: a text
// with errors loads, and its kernels are refused.
#pragma once

#include <cuda.h>

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "core/modules/device_code.h"
#include "core/modules/image_preview.h"
#include "core/modules/jit_options.h"
#include "core/modules/kernel.h"
#include "core/modules/managed_variables.h"

namespace vg::core {

class Context;
class Module;

class Library final : public KernelSource {
 public:
  explicit Library(std::string name) : name_(std::move(name)), managed_(nullptr) {}
  Library(const Library&) = delete;
  ~Library();

  CUlibrary handle() override { return reinterpret_cast<CUlibrary>(this); }

  // The instance in `context`; made at first use.
  Result<Module&> in(Context& context);
  // The instance in `context`, or null; makes none.
  Module* instance(Context& context);
  Result<Kernel&> kernel(const std::string& name);  // CUDA_ERROR_NOT_FOUND
  // All of the code. A library whose code was refused has none, and kernel() says why.
  Result<std::vector<Kernel*>> kernels();
  std::vector<std::string> kernelNames();
  // Works without a context. CUDA_ERROR_NOT_FOUND.
  Result<backend::Global> managed(const std::string& name);
  Result<backend::Image&> description() override;
  Result<Function&> functionIn(Context& context, const std::string& name) override;

 private:
  friend struct LibraryList;

  struct Instance {
    Context* context;
    uint64_t id;  // Context::id() when it was made
    Module* module;
  };

  const std::string name_;
  ManagedVariables managed_;
  // What the devices need, by their kind; the map is constant after loading.
  struct DeviceKind {
    int computeCapability;
    bool native;
    auto operator<=>(const DeviceKind&) const = default;  // NOLINT(modernize-use-nullptr): its own zero
  };
  static DeviceKind kindOf(const backend::Traits& device) { return {device.computeCapability, device.nativeCode}; }
  // Any device of a kind. Requires: there is one.
  static backend::Device& deviceOf(const DeviceKind& kind);
  std::map<DeviceKind, DeviceCode> code_;
  Mutex blueprintMutex_;
  std::unique_ptr<Blueprint> blueprint_ VG_GUARDED_BY(blueprintMutex_);  // made at first need
  CUresult refused_ VG_GUARDED_BY(blueprintMutex_) = CUDA_SUCCESS;       // why there is none
  Mutex kernelsMutex_;
  std::map<std::string, Kernel*> kernels_ VG_GUARDED_BY(kernelsMutex_);
  Mutex instancesMutex_;  // guards instances_; held while code is loaded, so that it is loaded once
  std::vector<Instance> instances_ VG_GUARDED_BY(instancesMutex_);
  Library* next_ = nullptr;  // all libraries of the process
  Library* previous_ = nullptr;
};

namespace libraries {

Result<Library&> load(const void* image, JitOptions& options);
Result<Library&> loadFile(const std::string& path, JitOptions& options);
// CUDA_ERROR_INVALID_HANDLE for foreign and stale handles.
Result<Library&> find(CUlibrary handle);
// Waits for the work of every context that has an instance.
CUresult unload(Library& library);
// Forgets the instances of a context that ends; its modules are ended by modules::releaseAll.
void forgetAll(Context& context);

}  // namespace libraries

}  // namespace vg::core
