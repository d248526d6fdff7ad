// Asynchronous notifications of devices.
#include "core/process/notifications.h"

#include "api/entry/call.h"
#include "core/process/device.h"

namespace vg::handlers {

CUresult cuDeviceRegisterAsyncNotification(const Call&, CUdevice device, CUasyncCallback callbackFunc, void* userData,
                                           CUasyncCallbackHandle* callback) {
  VG_TRY(core::Device & found, core::findDevice(device));
  if (!callback) return missing("callback");
  VG_TRY(*callback, core::notifications::add(found, callbackFunc, userData));
  return CUDA_SUCCESS;
}

CUresult cuDeviceUnregisterAsyncNotification(const Call&, CUdevice device, CUasyncCallbackHandle callback) {
  VG_TRY(core::Device & found, core::findDevice(device));
  return core::notifications::remove(found, callback);
}

}  // namespace vg::handlers
