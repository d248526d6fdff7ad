#include "core/modules/kernel.h"

#include <algorithm>

#include "base/memory/slab.h"
#include "core/contexts/context.h"
#include "core/contexts/current_context.h"
#include "core/process/device.h"

namespace vg::core {
namespace {

constinit Slab<Kernel> kernels;

CUresult notAFunction(const void* handle) {
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is neither a function nor a kernel", handle);
}

// Attributes that an application may set; the others describe the code.
bool settable(CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<Function&> Kernel::in(Context& context) {
  const Cached& cached = cached_[context.index() % kCached];
  const uint64_t id = context.id();
  if (cached.context.load(std::memory_order_acquire) == id) [[likely]] {
    Function* function = cached.function.load(std::memory_order_acquire);
    // Seen again: another context may have taken the place between the two loads.
    if (cached.context.load(std::memory_order_relaxed) == id) [[likely]]
      return *function;
  }
  return load(context);
}

Result<Function&> Kernel::load(Context& context) {
  VG_TRY(Function & function, library_->functionIn(context, name_));
  const MutexLock lock(mutex_);
  for (const Setting& setting : settings_)
    if (setting.device == context.device().ordinal())
      VG_CHECK(function.kernel().setAttribute(setting.attribute, setting.value));
  // A reader must not pair the old context with the new function.
  Cached& cached = cached_[context.index() % kCached];
  cached.context.store(0, std::memory_order_release);
  cached.function.store(&function, std::memory_order_release);
  cached.context.store(context.id(), std::memory_order_release);
  return function;
}

void Kernel::forget(const Context& context) {
  const MutexLock lock(mutex_);
  Cached& cached = cached_[context.index() % kCached];
  if (cached.context.load(std::memory_order_relaxed) == context.id())
    cached.context.store(0, std::memory_order_release);
}

CUresult Kernel::setAttribute(int device, CUfunction_attribute attribute, int value) {
  if (!settable(attribute))
    return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d cannot be set", static_cast<int>(attribute));
  VG_TRY(backend::Image & image, library_->description());
  VG_TRY(backend::Kernel * described, image.kernel(name_));
  VG_CHECK(described->setAttribute(attribute, value));
  const MutexLock lock(mutex_);
  const auto same = [&](const Setting& one) { return one.device == device && one.attribute == attribute; };
  const auto known = std::find_if(settings_.begin(), settings_.end(), same);
  if (known != settings_.end())
    known->value = value;
  else
    settings_.push_back({device, attribute, value});
  for (const Cached& cached : cached_) {
    Function* function = cached.context.load() ? cached.function.load() : nullptr;
    if (function && function->context().device().ordinal() == device)
      VG_CHECK(function->kernel().setAttribute(attribute, value));
  }
  return CUDA_SUCCESS;
}

Result<int> Kernel::attribute(int device, CUfunction_attribute attribute) {
  {
    const MutexLock lock(mutex_);
    for (const Setting& setting : settings_)
      if (setting.device == device && setting.attribute == attribute) return setting.value;
  }
  VG_TRY(backend::Image & image, library_->description());
  VG_TRY(backend::Kernel * described, image.kernel(name_));
  return described->attribute(attribute);
}

Result<Function&> resolveFunction(CUfunction handle, Context& context) {
  if (Function* function = asFunction(handle)) {
    if (&function->context() == &context) [[likely]]
      return *function;
    return fail(CUDA_ERROR_INVALID_HANDLE, "function %p belongs to another context", static_cast<void*>(handle));
  }
  if (Kernel* kernel = kernels.find(handle)) return kernel->in(context);
  return notAFunction(handle);
}

Result<backend::Kernel*> resolveKernel(CUfunction handle, Context& context) {
  VG_TRY(Function & function, resolveFunction(handle, context));
  return &function.kernel();
}

Result<Function&> findFunction(CUfunction handle) {
  if (Function* function = asFunction(handle)) return *function;
  if (!kernels.find(handle)) return notAFunction(handle);
  VG_TRY(Context & context, currentContext());  // a kernel is a function of the current context
  return resolveFunction(handle, context);
}

Result<Kernel&> findKernel(CUkernel handle) {
  if (Kernel* kernel = kernels.find(handle)) return *kernel;
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no kernel", static_cast<void*>(handle));
}

Kernel* makeKernel(KernelSource& library, const std::string& name) { return kernels.create(library, name); }
void dropKernel(Kernel* kernel) { kernels.destroy(kernel); }

}  // namespace vg::core
