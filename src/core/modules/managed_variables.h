// The managed variables of a library or module: one address each, whoever asks for it.
#pragma once

#include <map>
#include <string>

#include "backend/device.h"
#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::core {

class Context;

class ManagedVariables {
 public:
  // `context` owns the memory; null: the process does.
  explicit ManagedVariables(Context* context) : context_(context) {}
  ManagedVariables(const ManagedVariables&) = delete;
  ~ManagedVariables();

  // A backend::ImageSource::ManagedResolver whose owner is a ManagedVariables. Makes the variable at first.
  static Result<backend::ImageSource::Managed> resolve(void* self, const std::string& name, size_t size,
                                                       size_t alignment);
  // CUDA_ERROR_NOT_FOUND when nothing asked for it yet.
  Result<backend::Global> find(const std::string& name);

 private:
  Context* const context_;
  Mutex mutex_;
  std::map<std::string, backend::Global> variables_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::core
