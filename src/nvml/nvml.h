// Types and values of the monitoring library's C interface, as far as handlers use them: layouts and numbers are facts
// of its ABI. Enumerations are `unsigned` here.
#pragma once

using nvmlReturn_t = unsigned;
inline constexpr nvmlReturn_t NVML_SUCCESS = 0, NVML_ERROR_UNINITIALIZED = 1, NVML_ERROR_INVALID_ARGUMENT = 2,
                              NVML_ERROR_NOT_SUPPORTED = 3, NVML_ERROR_NOT_FOUND = 6, NVML_ERROR_INSUFFICIENT_SIZE = 7,
                              NVML_ERROR_DRIVER_NOT_LOADED = 9, NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
                              NVML_ERROR_UNKNOWN = 999;

struct nvmlDevice_st;
using nvmlDevice_t = nvmlDevice_st*;

inline constexpr unsigned NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1;
inline constexpr unsigned NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3;
inline constexpr unsigned NVML_COMPUTEMODE_DEFAULT = 0;
inline constexpr unsigned NVML_BRAND_UNKNOWN = 0;
inline constexpr unsigned NVML_DEVICE_ARCH_MAXWELL = 3, NVML_DEVICE_ARCH_PASCAL = 4, NVML_DEVICE_ARCH_VOLTA = 5,
                          NVML_DEVICE_ARCH_TURING = 6, NVML_DEVICE_ARCH_AMPERE = 7, NVML_DEVICE_ARCH_ADA = 8,
                          NVML_DEVICE_ARCH_HOPPER = 9, NVML_DEVICE_ARCH_BLACKWELL = 10;
inline constexpr unsigned NVML_TOPOLOGY_INTERNAL = 0, NVML_TOPOLOGY_NODE = 40, NVML_TOPOLOGY_SYSTEM = 50;
inline constexpr unsigned NVML_P2P_CAPS_INDEX_READ = 0, NVML_P2P_CAPS_INDEX_WRITE = 1, NVML_P2P_CAPS_INDEX_NVLINK = 2,
                          NVML_P2P_CAPS_INDEX_ATOMICS = 3, NVML_P2P_CAPS_INDEX_PCI = 4;
inline constexpr unsigned NVML_P2P_STATUS_OK = 0, NVML_P2P_STATUS_NOT_SUPPORTED = 5;

struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
static_assert(sizeof(nvmlPciInfo_t) == 68);

struct nvmlPciInfoExt_v1_t {
  unsigned version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
  char busId[32];
};
inline constexpr unsigned nvmlPciInfoExt_v1 = sizeof(nvmlPciInfoExt_v1_t) | 1u << 24;
static_assert(nvmlPciInfoExt_v1 == 0x01000040);

// The beginning that the first two versions have in common.
struct nvmlPciInfoOld_t {
  char busId[16];
  unsigned domain, bus, device, pciDeviceId;
};

struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
inline constexpr unsigned nvmlMemory_v2 = sizeof(nvmlMemory_v2_t) | 2u << 24;
static_assert(nvmlMemory_v2 == 0x02000028);

struct nvmlBAR1Memory_t {
  unsigned long long bar1Total, bar1Free, bar1Used;
};

struct nvmlUtilization_t {
  unsigned gpu, memory;  // per cent
};

struct nvmlProcessInfo_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
};
struct nvmlProcessInfo_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};
