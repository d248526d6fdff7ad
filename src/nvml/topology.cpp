// How devices lie to each other and to the processor: all of them are this machine's cores and memory.
#include <sched.h>

#include <algorithm>

#include "nvml/handlers.h"
#include "nvml/state.h"

namespace vg::nvml::handlers {
namespace {

bool known(nvmlDevice_t device) {
  unsigned number;
  return numberOf(device, number);
}

// Fills `devices` with all but `except`; with no room, only counts.
nvmlReturn_t list(nvmlDevice_t except, unsigned* count, nvmlDevice_t* devices) {
  if (!count || (*count && !devices)) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned room = *count;
  *count = 0;
  for (unsigned number = 0; number < deviceCount(); ++number) {
    if (handleOf(number) == except) continue;
    if (*count < room) devices[*count] = handleOf(number);
    ++*count;
  }
  if (room) *count = std::min(*count, room);
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other, unsigned* level) {
  if (!level || !known(device) || !known(other)) return NVML_ERROR_INVALID_ARGUMENT;
  *level = device == other ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_NODE;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, unsigned level, unsigned* count,
                                              nvmlDevice_t* devices) {
  if (!known(device) || !count || level > NVML_TOPOLOGY_SYSTEM) return NVML_ERROR_INVALID_ARGUMENT;
  if (level == NVML_TOPOLOGY_NODE) return list(device, count, devices);
  *count = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned, unsigned* count, nvmlDevice_t* devices) {
  return list(nullptr, count, devices);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other, unsigned capability, unsigned* status) {
  if (!status || !known(device) || !known(other) || capability > NVML_P2P_CAPS_INDEX_PCI)
    return NVML_ERROR_INVALID_ARGUMENT;
  if (device == other) {  // NCCL asks; a device reaches its own memory in every way
    *status = NVML_P2P_STATUS_OK;
    return NVML_SUCCESS;
  }
  *status = capability == NVML_P2P_CAPS_INDEX_NVLINK ? NVML_P2P_STATUS_NOT_SUPPORTED : NVML_P2P_STATUS_OK;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device, nvmlDevice_t other, int* same) {
  if (!same || !known(device) || !known(other)) return NVML_ERROR_INVALID_ARGUMENT;
  *same = device == other;
  return NVML_SUCCESS;
}

// The processors that this process may use.
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned words, unsigned long* set) {
  if (!known(device) || !words || !set) return NVML_ERROR_INVALID_ARGUMENT;
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable)) return NVML_ERROR_UNKNOWN;
  std::fill_n(set, words, 0ul);
  constexpr unsigned kBits = 8 * sizeof *set;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpu / kBits < words; ++cpu)
    if (CPU_ISSET(cpu, &usable)) set[cpu / kBits] |= 1ul << cpu % kBits;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned words, unsigned long* set, unsigned) {
  return nvmlDeviceGetCpuAffinity(device, words, set);
}

}  // namespace vg::nvml::handlers
