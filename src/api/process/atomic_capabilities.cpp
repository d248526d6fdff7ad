// Which atomic operations devices and the host can do on each other's memory.
#include <algorithm>

#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/process/device.h"

namespace vg::handlers {
namespace {

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

CUresult checkGiven(const unsigned* capabilities, const CUatomicOperation* operations, unsigned count) {
  if (!capabilities || !operations || !count) return missing("capabilities, operations or count");
  return CUDA_SUCCESS;
}

CUresult checkOperations(const CUatomicOperation* operations, unsigned count) {
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

CUresult cuDeviceGetHostAtomicCapabilities(const Call&, unsigned int* capabilities, const CUatomicOperation* operations,
                                           unsigned int count, CUdevice dev) {
  VG_CHECK(checkGiven(capabilities, operations, count));
  VG_TRY(core::Device & device, core::findDevice(dev));
  VG_CHECK(checkOperations(operations, count));
  return tell(device.attribute(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED), capabilities, operations, count);
}

CUresult cuDeviceGetP2PAtomicCapabilities(const Call&, unsigned int* capabilities, const CUatomicOperation* operations,
                                          unsigned int count, CUdevice srcDevice, CUdevice dstDevice) {
  VG_CHECK(checkGiven(capabilities, operations, count));
  VG_CHECK(core::findDevice(srcDevice));
  VG_CHECK(core::findDevice(dstDevice));
  VG_CHECK(checkOperations(operations, count));
  if (srcDevice == dstDevice) return fail(CUDA_ERROR_INVALID_DEVICE, "device %d is no peer of itself", srcDevice);
  return tell(true, capabilities, operations, count);  // all emulated devices share the processor's memory
}

}  // namespace vg::handlers
