// What a device has set aside for the memory of graphs.
#include "core/graphs/graph_memory.h"

#include <cstring>

#include "api/entry/call.h"
#include "core/process/device.h"

namespace vg::handlers {

CUresult cuDeviceGetGraphMemAttribute(const Call&, CUdevice device, CUgraphMem_attribute attr, void* value) {
  if (!value) return missing("value");
  VG_TRY(core::Device & found, core::findDevice(device));
  const core::graphs::Lock lock;
  VG_TRY(const uint64_t bytes, core::graphs::memoryAttribute(found, attr));
  std::memcpy(value, &bytes, sizeof bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(const Call&, CUdevice device, CUgraphMem_attribute attr, void* value) {
  if (!value) return missing("value");
  VG_TRY(core::Device & found, core::findDevice(device));
  uint64_t bytes;
  std::memcpy(&bytes, value, sizeof bytes);
  const core::graphs::Lock lock;
  return core::graphs::setMemoryAttribute(found, attr, bytes);
}

CUresult cuDeviceGraphMemTrim(const Call&, CUdevice device) {
  VG_TRY(core::Device & found, core::findDevice(device));
  const core::graphs::Lock lock;
  core::graphs::trimMemory(found);
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
