// Memory, utilisation and processes. What is known is what this process does: an emulated device is its own.
#include <unistd.h>

#include "nvml/handlers.h"
#include "nvml/state.h"

namespace vg::nvml::handlers {
namespace {

template <class Process>
nvmlReturn_t listProcesses(nvmlDevice_t device, unsigned* count, Process* processes, bool compute) {
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  api::DeviceReport about;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  const unsigned room = *count;
  *count = compute && about.inUse;
  if (!*count) return NVML_SUCCESS;
  if (!room) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (!processes) return NVML_ERROR_INVALID_ARGUMENT;
  processes[0] = Process{};
  processes[0].pid = static_cast<unsigned>(getpid());
  processes[0].usedGpuMemory = about.usedMemory;
  if constexpr (requires { processes[0].gpuInstanceId; })
    processes[0].gpuInstanceId = processes[0].computeInstanceId = ~0u;  // of no instance
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
  api::DeviceReport about;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  *memory = {about.totalMemory, about.totalMemory - about.usedMemory, about.usedMemory};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
  if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlMemory_t plain;
  if (const nvmlReturn_t failed = nvmlDeviceGetMemoryInfo(device, &plain)) return failed;
  *memory = {nvmlMemory_v2, plain.total, 0, plain.free, plain.used};
  return NVML_SUCCESS;
}

// All of the memory can be addressed from outside.
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
  nvmlMemory_t plain;
  if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
  if (const nvmlReturn_t failed = nvmlDeviceGetMemoryInfo(device, &plain)) return failed;
  *memory = {plain.total, plain.free, plain.used};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* rates) {
  if (!rates) return NVML_ERROR_INVALID_ARGUMENT;
  api::DeviceReport about;
  unsigned number;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  if (!numberOf(device, number)) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned busy = busyPercent(number, about);
  *rates = {busy, busy};  // kernels and their memory are the same cores
  return NVML_SUCCESS;
}

#define VG_PROCESSES(name, type, compute)                                    \
  nvmlReturn_t name(nvmlDevice_t device, unsigned* count, type* processes) { \
    return listProcesses(device, count, processes, compute);                 \
  }
VG_PROCESSES(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, true)
VG_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_t, true)
VG_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t, true)
VG_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t, false)
VG_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_t, false)
VG_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t, false)
VG_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t, false)
VG_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_t, false)
VG_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t, false)
#undef VG_PROCESSES

}  // namespace vg::nvml::handlers
