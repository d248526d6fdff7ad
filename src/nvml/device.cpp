// Which devices there are and what they are called.

#include <cstdio>
#include <cstring>
#include <string>

#include "nvml/handlers.h"
#include "nvml/state.h"

namespace vg::nvml::handlers {
namespace {

template <class Out, class Value>
nvmlReturn_t answer(nvmlDevice_t device, Out* out, Value value) {
  api::DeviceReport about;
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  *out = static_cast<Out>(value(about));
  return NVML_SUCCESS;
}

std::string uuidText(const api::DeviceReport& about) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(about.uuid.bytes[i]));
    text += byte;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

struct Pci {
  unsigned domain, bus, device;
};
Pci pciOf(const api::DeviceReport& about) {
  return {static_cast<unsigned>(about.attributes[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID]),
          static_cast<unsigned>(about.attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID]),
          static_cast<unsigned>(about.attributes[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID])};
}

template <class Matches>
nvmlReturn_t findDevice(nvmlDevice_t* device, Matches matches) {
  for (unsigned number = 0; number < deviceCount(); ++number) {
    api::DeviceReport about;
    if (report(handleOf(number), about) || !matches(about)) continue;
    *device = handleOf(number);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

unsigned architectureOf(int capability) {
  const int major = capability / 10;
  if (major == 8) return capability == 89 ? NVML_DEVICE_ARCH_ADA : NVML_DEVICE_ARCH_AMPERE;
  if (major == 7) return capability == 75 ? NVML_DEVICE_ARCH_TURING : NVML_DEVICE_ARCH_VOLTA;
  if (major <= 5) return NVML_DEVICE_ARCH_MAXWELL;
  if (major == 6) return NVML_DEVICE_ARCH_PASCAL;
  return major == 9 ? NVML_DEVICE_ARCH_HOPPER : NVML_DEVICE_ARCH_BLACKWELL;
}

// FP32 lanes of a multiprocessor.
unsigned coresOf(int capability) {
  const int major = capability / 10;
  return major == 7 || capability == 60 || capability == 80 ? 64 : 128;
}

// A device's clock in MHz, current and highest being one.
nvmlReturn_t clock(nvmlDevice_t device, unsigned type, unsigned* megahertz) {
  if (type > NVML_CLOCK_VIDEO) return NVML_ERROR_INVALID_ARGUMENT;
  const auto which = type == NVML_CLOCK_MEM ? CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE : CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
  return answer(device, megahertz, [&](const api::DeviceReport& about) { return about.attributes[which] / 1000; });
}

// With a domain of 16 bits, as the first version of the structure has it.
void legacyBusId(const Pci& pci, char (&to)[16]) {
  std::snprintf(to, sizeof to, "%04X:%02X:%02X.0", pci.domain & 0xffff, pci.bus & 0xff, pci.device & 0xff);
}

}  // namespace

nvmlReturn_t nvmlDeviceGetCount(unsigned* count) {
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  *count = deviceCount();
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) { return nvmlDeviceGetCount(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  if (!device || index >= deviceCount()) return NVML_ERROR_INVALID_ARGUMENT;
  *device = handleOf(index);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (!uuid || !device) return NVML_ERROR_INVALID_ARGUMENT;
  return findDevice(device, [&](const api::DeviceReport& about) { return uuidText(about) == uuid; });
}

// "domain:bus:device.function" in hexadecimal; a domain of 0 may be left out.
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* busId, nvmlDevice_t* device) {
  if (!busId || !device) return NVML_ERROR_INVALID_ARGUMENT;
  Pci asked{};
  if (std::sscanf(busId, "%x:%x:%x", &asked.domain, &asked.bus, &asked.device) != 3) {
    asked.domain = 0;
    if (std::sscanf(busId, "%x:%x", &asked.bus, &asked.device) != 2) return NVML_ERROR_INVALID_ARGUMENT;
  }
  return findDevice(device, [&](const api::DeviceReport& about) {
    const Pci pci = pciOf(about);
    return pci.domain == asked.domain && pci.bus == asked.bus && pci.device == asked.device;
  });
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* busId, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId(busId, device);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  api::DeviceReport about;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  return give(about.name, name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  api::DeviceReport about;
  if (const nvmlReturn_t failed = report(device, about)) return failed;
  return give(uuidText(about).c_str(), uuid, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* value) {
  if (!value || !numberOf(device, *value)) return NVML_ERROR_INVALID_ARGUMENT;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* value) {
  return nvmlDeviceGetIndex(device, value);
}
nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned* value) {
  return answer(device, value, [](const api::DeviceReport& about) {
    const Pci pci = pciOf(about);
    return pci.domain << 16 | pci.bus << 8 | pci.device;
  });
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfoOld_t* info) {
  return answer(device, info, [](const api::DeviceReport& about) {
    const Pci pci = pciOf(about);
    nvmlPciInfoOld_t made{{}, pci.domain, pci.bus, pci.device, 0};
    legacyBusId(pci, made.busId);
    return made;
  });
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfoOld_t* info) {
  return nvmlDeviceGetPciInfo(device, info);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return answer(device, info, [](const api::DeviceReport& about) {
    const Pci pci = pciOf(about);
    nvmlPciInfo_t made{{}, pci.domain, pci.bus, pci.device, 0, 0, {}};
    legacyBusId(pci, made.busIdLegacy);
    std::snprintf(made.busId, sizeof made.busId, "%08X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
    return made;
  });
}
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t* info) {
  constexpr unsigned kDisplay = 3, kThreeD = 2;  // PCI's numbers of classes
  if (!info) return NVML_ERROR_INVALID_ARGUMENT;
  if (info->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlPciInfo_t plain;
  if (const nvmlReturn_t failed = nvmlDeviceGetPciInfo_v3(device, &plain)) return failed;
  *info = {nvmlPciInfoExt_v1, plain.domain, plain.bus, plain.device, plain.pciDeviceId, plain.pciSubSystemId,
           kDisplay,          kThreeD,      {}};
  std::memcpy(info->busId, plain.busId, sizeof info->busId);
  return NVML_SUCCESS;
}

// None: what a guest of a virtual machine sees is told otherwise.
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned* mode) {
  return answer(device, mode, [](const api::DeviceReport&) { return 0u; });
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  if (!minor) return NVML_ERROR_INVALID_ARGUMENT;
  return answer(device, major, [&](const api::DeviceReport& about) {
    *minor = about.computeCapability % 10;
    return about.computeCapability / 10;
  });
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned* value) {
  return answer(device, value, [](const api::DeviceReport& about) { return architectureOf(about.computeCapability); });
}
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned* value) {
  return answer(device, value, [](const api::DeviceReport& about) {
    return static_cast<unsigned>(about.attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]) *
           coresOf(about.computeCapability);
  });
}
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* value) {
  return answer(device, value, [](const api::DeviceReport& about) {
    return about.attributes[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH];
  });
}

// One answer for every device there is.
#define VG_ALWAYS(name, constant)                                                                \
  nvmlReturn_t name(nvmlDevice_t device, unsigned* value) {                                      \
    return answer(device, value, [](const api::DeviceReport&) -> unsigned { return constant; }); \
  }
VG_ALWAYS(nvmlDeviceGetMultiGpuBoard, 0)
VG_ALWAYS(nvmlDeviceGetMaxMigDeviceCount, 0)
VG_ALWAYS(nvmlDeviceGetBrand, NVML_BRAND_UNKNOWN)
VG_ALWAYS(nvmlDeviceGetComputeMode, NVML_COMPUTEMODE_DEFAULT)
VG_ALWAYS(nvmlDeviceGetPersistenceMode, NVML_FEATURE_ENABLED)
VG_ALWAYS(nvmlDeviceGetDisplayMode, NVML_FEATURE_DISABLED)
VG_ALWAYS(nvmlDeviceGetDisplayActive, NVML_FEATURE_DISABLED)
#undef VG_ALWAYS

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned* megahertz) {
  return clock(device, type, megahertz);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned* megahertz) {
  return clock(device, type, megahertz);
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned type, unsigned* megahertz) {
  return clock(device, type, megahertz);
}
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, unsigned type, unsigned* megahertz) {
  return clock(device, type, megahertz);
}
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, unsigned type, unsigned, unsigned* megahertz) {
  return clock(device, type, megahertz);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  if (!pending) return NVML_ERROR_INVALID_ARGUMENT;
  return answer(device, current, [&](const api::DeviceReport& about) {
    return *pending = about.attributes[CU_DEVICE_ATTRIBUTE_ECC_ENABLED] ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  });
}

// Instances of a device exist on some GPUs only; ours are whole.
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t, unsigned*, unsigned*) { return NVML_ERROR_NOT_SUPPORTED; }

}  // namespace vg::nvml::handlers
