// Asynchronous notifications of devices: cuDeviceRegisterAsyncNotification. The one kind there is, "over budget", comes
// from systems that take memory away from a process; the vendor's driver never sends it on the recorded devices, not
// even when an allocation is refused, and neither does an emulated device. Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core {

class Device;

namespace notifications {

Result<CUasyncCallbackHandle> add(Device& device, CUasyncCallback callback, void* data);
// CUDA_ERROR_INVALID_VALUE for what is no registration of this device.
CUresult remove(Device& device, CUasyncCallbackHandle handle);

}  // namespace notifications
}  // namespace vg::core
