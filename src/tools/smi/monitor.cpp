#include "tools/smi/monitor.h"

#include <dlfcn.h>

#include <cstdio>
#include <utility>

#include "nvml/nvml.h"

namespace vg::tools {
namespace {

const char* architectureName(unsigned architecture) {
  switch (architecture) {
    case NVML_DEVICE_ARCH_MAXWELL:
      return "Maxwell";
    case NVML_DEVICE_ARCH_PASCAL:
      return "Pascal";
    case NVML_DEVICE_ARCH_VOLTA:
      return "Volta";
    case NVML_DEVICE_ARCH_TURING:
      return "Turing";
    case NVML_DEVICE_ARCH_AMPERE:
      return "Ampere";
    case NVML_DEVICE_ARCH_ADA:
      return "Ada Lovelace";
    case NVML_DEVICE_ARCH_HOPPER:
      return "Hopper";
    case NVML_DEVICE_ARCH_BLACKWELL:
      return "Blackwell";
    default:
      return "";
  }
}

}  // namespace

std::unique_ptr<Monitor> Monitor::open(const std::string& libraryFolder, std::string& reason) {
  void* const library = dlopen((libraryFolder + "/libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    reason = dlerror();
    return nullptr;
  }
  std::unique_ptr<Monitor> monitor(new Monitor(library));
  if (monitor->call("nvmlInit_v2") == NVML_SUCCESS) return monitor;
  reason = "the monitoring library finds no libcuda.so.1 of ours";
  return nullptr;
}

Monitor::~Monitor() { call("nvmlShutdown"); }

template <class... Arguments>
unsigned Monitor::call(const char* function, Arguments... arguments) const {
  const auto found = reinterpret_cast<nvmlReturn_t (*)(Arguments...)>(dlsym(library_, function));
  return found ? found(arguments...) : NVML_ERROR_NOT_SUPPORTED;
}

std::string Monitor::text(const char* function, void* device) const {
  char text[256] = "";
  return call(function, device, &text[0], 256u) == NVML_SUCCESS ? text : "";
}

std::optional<unsigned> Monitor::number(const char* function, void* device) const {
  unsigned value = 0;
  return call(function, device, &value) == NVML_SUCCESS ? std::optional(value) : std::nullopt;
}

std::optional<unsigned> Monitor::number(const char* function, void* device, unsigned which) const {
  unsigned value = 0;
  return call(function, device, which, &value) == NVML_SUCCESS ? std::optional(value) : std::nullopt;
}

std::string Monitor::driverVersion() const {
  char text[96] = "";
  call("nvmlSystemGetDriverVersion", &text[0], 96u);
  return text;
}

std::string Monitor::cudaVersion() const {
  int version = 0;
  call("nvmlSystemGetCudaDriverVersion_v2", &version);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

unsigned Monitor::deviceCount() const {
  unsigned count = 0;
  call("nvmlDeviceGetCount_v2", &count);
  return count;
}

void Monitor::fillIdentity(MonitoredDevice& to, void* device) const {
  nvmlPciInfo_t pci{};
  call("nvmlDeviceGetPciInfo_v3", device, &pci);
  int major = 0, minor = 0;
  call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor);
  to.name = text("nvmlDeviceGetName", device);
  to.uuid = text("nvmlDeviceGetUUID", device);
  to.busId = pci.busId;
  to.pciDomain = pci.domain;
  to.pciBus = pci.bus;
  to.pciDevice = pci.device;
  to.pciDeviceId = pci.pciDeviceId;
  to.pciSubsystemId = pci.pciSubSystemId;
  to.capability = std::to_string(major) + "." + std::to_string(minor);
  to.architecture = architectureName(number("nvmlDeviceGetArchitecture", device).value_or(0));
  to.minorNumber = number("nvmlDeviceGetMinorNumber", device).value_or(0);
}

void Monitor::fillState(MonitoredDevice& to, void* device) const {
  const auto clocks = [&](const char* function) {
    return MonitoredDevice::Clocks{number(function, device, NVML_CLOCK_GRAPHICS),
                                   number(function, device, NVML_CLOCK_SM), number(function, device, NVML_CLOCK_MEM),
                                   number(function, device, NVML_CLOCK_VIDEO)};
  };
  to.persistence = number("nvmlDeviceGetPersistenceMode", device) == NVML_FEATURE_ENABLED;
  to.displayMode = number("nvmlDeviceGetDisplayMode", device) == NVML_FEATURE_ENABLED;
  to.displayActive = number("nvmlDeviceGetDisplayActive", device) == NVML_FEATURE_ENABLED;
  to.computeMode = number("nvmlDeviceGetComputeMode", device).value_or(0);
  if (unsigned now = 0, later = 0; call("nvmlDeviceGetEccMode", device, &now, &later) == NVML_SUCCESS)
    to.eccCurrent = now, to.eccPending = later;
  if (unsigned now = 0, later = 0; call("nvmlDeviceGetMigMode", device, &now, &later) == NVML_SUCCESS) to.migMode = now;
  if (nvmlUtilization_t rates{}; call("nvmlDeviceGetUtilizationRates", device, &rates) == NVML_SUCCESS)
    to.busy = rates.gpu, to.memoryBusy = rates.memory;
  to.temperature = number("nvmlDeviceGetTemperature", device, 0);
  to.fan = number("nvmlDeviceGetFanSpeed", device);
  to.powerDraw = number("nvmlDeviceGetPowerUsage", device);
  to.powerLimit = number("nvmlDeviceGetPowerManagementLimit", device);
  to.performanceState = number("nvmlDeviceGetPerformanceState", device);
  to.clocks = clocks("nvmlDeviceGetClockInfo");
  to.mostClocks = clocks("nvmlDeviceGetMaxClockInfo");
}

void Monitor::fillMemory(MonitoredDevice& to, void* device) const {
  nvmlMemory_t memory{};
  nvmlBAR1Memory_t bar{};
  call("nvmlDeviceGetMemoryInfo", device, &memory);
  call("nvmlDeviceGetBAR1MemoryInfo", device, &bar);
  to.totalMemory = memory.total, to.usedMemory = memory.used, to.freeMemory = memory.free;
  to.totalBar1 = bar.bar1Total, to.usedBar1 = bar.bar1Used, to.freeBar1 = bar.bar1Free;
}

// Their number may grow between two calls.
void Monitor::fillProcesses(MonitoredDevice& to, void* device) const {
  std::vector<nvmlProcessInfo_t> found(16);
  unsigned count = 16;
  while (call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, found.data()) ==
         NVML_ERROR_INSUFFICIENT_SIZE) {
    count += 16;
    found.resize(count);
  }
  for (unsigned i = 0; i < count && i < found.size(); ++i) {
    char name[4096] = "";
    if (call("nvmlSystemGetProcessName", found[i].pid, &name[0], 4096u) != NVML_SUCCESS) continue;  // it has ended
    to.processes.push_back({found[i].pid, name, found[i].usedGpuMemory});
  }
}

MonitoredDevice Monitor::device(unsigned index) const {
  MonitoredDevice made;
  void* handle = nullptr;
  made.index = index;
  if (call("nvmlDeviceGetHandleByIndex_v2", index, &handle) != NVML_SUCCESS) return made;
  fillIdentity(made, handle);
  fillState(made, handle);
  fillMemory(made, handle);
  fillProcesses(made, handle);
  return made;
}

}  // namespace vg::tools
