// A library (CUlibrary): an image loaded once for the whole process. Each context gets an instance of the code and
// fresh variables when it first uses one; managed variables have one address for all.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/device.h"
#include "base/result.h"

namespace vg::core {

class Context;
class Kernel;
class Module;

class Library {
 public:
  Library(std::unique_ptr<backend::ImageSource> source);
  ~Library();

  CUlibrary handle() { return reinterpret_cast<CUlibrary>(this); }

  // The instance in `context`; made at first use.
  Result<Module&> in(Context& context);
  Result<Kernel&> kernel(const std::string& name);  // CUDA_ERROR_NOT_FOUND
  Result<std::vector<Kernel*>> kernels();           // all, by name
  // Works without a context.
  Result<backend::Global> managed(const std::string& name);

  // Forgets the instance of a context that ends.
  void forget(Context& context);

 private:
  friend struct LibraryAccess;
  static Result<CUdeviceptr> resolveManaged(void* library, const std::string& name, size_t size, size_t alignment);
  CUresult describe();

  const std::unique_ptr<backend::ImageSource> source_;
  std::mutex mutex_;           // guards kernels_ and names_
  std::mutex instancesMutex_;  // guards instances_; held while code is loaded, so that it is loaded once
  std::map<std::string, Kernel*> kernels_;
  std::map<uint64_t, Module*> instances_;  // by Context::id()
  std::mutex managedMutex_;                // guards managed_
  std::map<std::string, backend::Global> managed_;
};

namespace libraries {

Result<Library&> load(const void* image, const std::string& name);
Result<Library&> find(CUlibrary handle);
// Waits for the work of every context that has an instance.
CUresult unload(Library& library);
// Forgets the instances of a context that ends.
void forgetAll(Context& context);

}  // namespace libraries

}  // namespace vg::core
