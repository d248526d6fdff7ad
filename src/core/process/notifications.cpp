#include "core/process/notifications.h"

#include "base/memory/slab.h"

namespace vg::core::notifications {
namespace {

struct Registration {
  Device* device;
  CUasyncCallback callback;
  void* data;
};
constinit Slab<Registration, 1 << 16> slab;

}  // namespace

Result<CUasyncCallbackHandle> add(Device& device, CUasyncCallback callback, void* data) {
  if (!callback) return fail(CUDA_ERROR_INVALID_VALUE, "callbackFunc is null");
  return reinterpret_cast<CUasyncCallbackHandle>(slab.create(Registration{&device, callback, data}));
}

CUresult remove(Device& device, CUasyncCallbackHandle handle) {
  Registration* const found = slab.find(handle);
  if (found && found->device == &device && slab.destroy(found)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no registration of this device", static_cast<void*>(handle));
}

}  // namespace vg::core::notifications
