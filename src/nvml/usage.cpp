// Memory, utilisation and processes: of this process and the others of this user that say what they use.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "nvml/handlers.h"
#include "nvml/state.h"

namespace vg::nvml::handlers {
namespace {

struct User {
  unsigned pid;
  unsigned long long usedMemory;
};

// The processes that have a context on the device, or memory.
std::vector<User> usersOf(unsigned number, const api::DeviceReport& about) {
  std::vector<User> users;
  if (about.inUse) users.push_back({static_cast<unsigned>(getpid()), about.usedMemory});
  for (const api::OtherProcess& other : others(number))
    if (other.contexts || other.usedMemory) users.push_back({other.pid, other.usedMemory});
  return users;
}

template <class Process>
void tell(const User& user, Process& process) {
  process = Process{};
  process.pid = user.pid;
  process.usedGpuMemory = user.usedMemory;
  if constexpr (requires { process.gpuInstanceId; })
    process.gpuInstanceId = process.computeInstanceId = ~0u;  // of no instance
}

template <class Process>
nvmlReturn_t listProcesses(nvmlDevice_t device, unsigned* count, Process* processes, bool compute) {
  api::DeviceReport about;
  unsigned number;
  if (!count || !numberOf(device, number)) return NVML_ERROR_INVALID_ARGUMENT;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  const unsigned room = *count;
  const std::vector<User> users = compute ? usersOf(number, about) : std::vector<User>{};
  *count = static_cast<unsigned>(users.size());
  if (room < users.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (!users.empty() && !processes) return NVML_ERROR_INVALID_ARGUMENT;
  for (size_t i = 0; i < users.size(); ++i) tell(users[i], processes[i]);
  return NVML_SUCCESS;
}

// Each process may use all of an emulated device's memory, so that all together may have more than there is.
nvmlMemory_t memoryOf(unsigned number, const api::DeviceReport& about) {
  unsigned long long used = about.usedMemory;
  for (const api::OtherProcess& other : others(number)) used += other.usedMemory;
  used = std::min<unsigned long long>(used, about.totalMemory);
  return {about.totalMemory, about.totalMemory - used, used};
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  api::DeviceReport about;
  unsigned number;
  if (!memory || !numberOf(device, number)) return NVML_ERROR_INVALID_ARGUMENT;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  *memory = memoryOf(number, about);
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
