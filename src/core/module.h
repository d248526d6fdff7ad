// A module (CUmodule): code and variables in one context, from one image.
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
class Function;
class Library;

class Module {
 public:
  // `library`: the library whose code this is, or null for a module of its own.
  Module(Context& context, Library* library, std::unique_ptr<backend::ImageSource> source,
         std::unique_ptr<backend::Image> image);
  ~Module();  // its functions end with it. Requires: none of its kernels runs.

  CUmodule handle() { return reinterpret_cast<CUmodule>(this); }
  Context& context() const { return *context_; }
  Library* library() const { return library_; }
  backend::Image& image() const { return *image_; }

  Result<Function&> function(const std::string& name);  // CUDA_ERROR_NOT_FOUND
  Result<std::vector<Function*>> functions();           // of all kernels, by name
  Result<backend::Global> global(const std::string& name) { return image_->global(name); }

 private:
  Context* const context_;
  Library* const library_;
  const std::unique_ptr<backend::ImageSource> source_;  // null when the library keeps it
  const std::unique_ptr<backend::Image> image_;
  std::mutex mutex_;  // guards functions_
  std::map<std::string, Function*> functions_;
};

// Options of cuModuleLoadDataEx, cuLibraryLoadData and cuLinkCreate: the logs, and the few that carry meaning here.
class JitOptions {
 public:
  // Checks and reads; CUDA_ERROR_INVALID_VALUE for unknown options and missing values.
  CUresult read(unsigned count, const CUjit_option* options, void** values);
  backend::LoadOptions loadOptions() { return {&infoLog_, &errorLog_}; }
  // Hands the logs and figures back to the caller's buffers. Call once, whether loading succeeded or not.
  void writeBack();

 private:
  struct Buffer {
    char* text = nullptr;
    size_t size = 0;
    void** sizeSlot = nullptr;  // receives the bytes written
  };
  static void fill(const Buffer& buffer, const std::string& text);

  Buffer info_, error_;
  void** wallTime_ = nullptr;
  uint64_t started_ = 0;
  std::string infoLog_, errorLog_;
};

namespace modules {

// Loads `image`: a fat binary (wrapper or container), a cubin or PTX text.
Result<Module&> load(Context& context, const void* image, JitOptions& options);
// From several PTX texts at once (cuLink) or a copy of a text.
Result<Module&> load(Context& context, std::unique_ptr<backend::ImageSource> source, JitOptions& options);
Result<Module&> find(CUmodule handle);
// Waits for the context's work first. Modules of libraries are refused: they end with their library.
CUresult unload(Module& module);
// All modules of a context that ends, libraries' instances too. Requires: its streams are idle.
void releaseAll(Context& context);

}  // namespace modules

}  // namespace vg::core
