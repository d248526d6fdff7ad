// What devices tell besides attributes: notifications, atomic operations across the bus, writes of other devices.
#include <algorithm>

#include "api/call.h"
#include "base/raw_enum.h"
#include "core/context_events.h"
#include "core/device.h"
#include "core/event.h"
#include "core/green_context.h"
#include "core/notifications.h"

namespace vg::handlers {
namespace {

Result<core::StreamSet&> streamsOf(CUcontext context) {
  VG_CHECK(core::findContext(context));
  VG_TRY(const core::ContextReference found, core::findAnyContext(context));
  return core::streamsOf(found);
}

// What the processor's own atomic instructions give every operation.
unsigned hostCapability(int operation) {
  constexpr unsigned kWords = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;
  constexpr unsigned kIntegers = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED | kWords;
  switch (operation) {
    case CU_ATOMIC_OPERATION_FLOAT_ADD:
    case CU_ATOMIC_OPERATION_FLOAT_MIN:
    case CU_ATOMIC_OPERATION_FLOAT_MAX:
      return kWords;
    default:
      return kIntegers | CU_ATOMIC_CAPABILITY_REDUCTION;
  }
}

CUresult checkOperations(const unsigned* capabilities, const CUatomicOperation* operations, unsigned count) {
  if (!capabilities || !operations || !count) return missing("capabilities, operations or count");
  const auto unknown = [](const CUatomicOperation& operation) {
    const int raw = rawValue(operation);
    return raw < 0 || raw >= CU_ATOMIC_OPERATION_MAX;
  };
  if (std::any_of(operations, operations + count, unknown))
    return fail(CUDA_ERROR_INVALID_VALUE, "an atomic operation that does not exist");
  return CUDA_SUCCESS;
}

CUresult tell(bool native, unsigned* capabilities, const CUatomicOperation* operations, unsigned count) {
  for (unsigned i = 0; i < count; ++i) capabilities[i] = native ? hostCapability(rawValue(operations[i])) : 0;
  return CUDA_SUCCESS;
}

}  // namespace

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

CUresult cuDeviceGetHostAtomicCapabilities(const Call&, unsigned int* capabilities, const CUatomicOperation* operations,
                                           unsigned int count, CUdevice dev) {
  VG_CHECK(checkOperations(capabilities, operations, count));
  VG_TRY(core::Device & device, core::findDevice(dev));
  return tell(device.attribute(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED), capabilities, operations, count);
}

CUresult cuDeviceGetP2PAtomicCapabilities(const Call&, unsigned int* capabilities, const CUatomicOperation* operations,
                                          unsigned int count, CUdevice srcDevice, CUdevice dstDevice) {
  VG_CHECK(checkOperations(capabilities, operations, count));
  VG_CHECK(core::findDevice(srcDevice));
  VG_CHECK(core::findDevice(dstDevice));
  if (srcDevice == dstDevice) return fail(CUDA_ERROR_INVALID_DEVICE, "device %d is no peer of itself", srcDevice);
  return tell(true, capabilities, operations, count);  // all emulated devices share the processor's memory
}

// Memory of an emulated device is the host's, and coherent with every device of the bus: nothing is left to flush.
CUresult cuFlushGPUDirectRDMAWrites(const Call&, CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  const int to = rawValue(target), how = rawValue(scope);
  if (to != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
      (how != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && how != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
    return fail(CUDA_ERROR_INVALID_VALUE, "flush target %d, scope %d", to, how);
  VG_TRY(core::Context & context, core::currentContext());
  if (context.device().attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)) return CUDA_SUCCESS;
  return unsupported("cuFlushGPUDirectRDMAWrites, by this device profile");
}

CUresult cuCtxRecordEvent(const Call&, CUcontext hCtx, CUevent hEvent) {
  VG_TRY(core::StreamSet & streams, streamsOf(hCtx));
  VG_TRY(core::Event & event, core::events::find(hEvent));
  return core::recordContext(streams, event);
}

CUresult cuCtxWaitEvent(const Call&, CUcontext hCtx, CUevent hEvent) {
  VG_TRY(core::StreamSet & streams, streamsOf(hCtx));
  VG_TRY(core::Event & event, core::events::find(hEvent));
  return core::waitContext(streams, event);
}

}  // namespace vg::handlers
