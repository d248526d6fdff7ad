#include "core/modules/managed_variables.h"

#include <cstring>

#include "core/contexts/context.h"
#include "core/memory/memory.h"

namespace vg::core {

ManagedVariables::~ManagedVariables() {
  // What a context owns has ended with it when the context was reset or destroyed: then the address is unknown by now.
  for (const auto& [name, variable] : variables_) (void)memory::releaseNow(variable.address);
}

Result<backend::ImageSource::Managed> ManagedVariables::resolve(void* self, const std::string& name, size_t size,
                                                                size_t alignment) {
  auto& owner = *static_cast<ManagedVariables*>(self);
  const MutexLock lock(owner.mutex_);
  if (const auto known = owner.variables_.find(name); known != owner.variables_.end()) {
    if (known->second.size != size)
      return fail(CUDA_ERROR_INVALID_IMAGE, "managed variable %s has %zu bytes here and %zu elsewhere", name.c_str(),
                  size, known->second.size);
    return backend::ImageSource::Managed{known->second.address, false};
  }
  VG_TRY(const CUdeviceptr address,
         owner.context_ ? memory::allocateManaged(*owner.context_, size, CU_MEM_ATTACH_GLOBAL, alignment)
                        : memory::allocateProcessManaged(size, alignment));
  std::memset(reinterpret_cast<void*>(address), 0, size);
  owner.variables_[name] = {address, size};
  return backend::ImageSource::Managed{address, true};
}

Result<backend::Global> ManagedVariables::find(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto known = variables_.find(name);
  if (known == variables_.end()) return fail(CUDA_ERROR_NOT_FOUND, "no managed variable %s", name.c_str());
  return known->second;
}

}  // namespace vg::core
