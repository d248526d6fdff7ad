#include "tools/common/driver.h"

#include <dlfcn.h>

namespace vg::tools {

std::unique_ptr<Driver> Driver::open(const std::string& path, std::string& reason) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    reason = dlerror();
    return nullptr;
  }
  std::unique_ptr<Driver> driver(new Driver);
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) reason = path + " does not export " + name;
  };
  find(driver->init, "cuInit");
  find(driver->version, "cuDriverGetVersion");
  find(driver->deviceCount, "cuDeviceGetCount");
  find(driver->device, "cuDeviceGet");
  find(driver->deviceName, "cuDeviceGetName");
  find(driver->deviceMemory, "cuDeviceTotalMem_v2");
  find(driver->deviceUuid, "cuDeviceGetUuid_v2");
  find(driver->devicePciId, "cuDeviceGetPCIBusId");
  find(driver->attribute, "cuDeviceGetAttribute");
  find(driver->exportTable, "cuGetExportTable");
  find(driver->errorName, "cuGetErrorName");
  find(driver->errorText, "cuGetErrorString");
  if (!reason.empty()) return nullptr;
  return driver;
}

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (errorName(result, &name) != CUDA_SUCCESS || !name) return "result " + std::to_string(static_cast<int>(result));
  if (errorText(result, &text) != CUDA_SUCCESS || !text) return name;
  return std::string(name) + " (" + text + ")";
}

const api::PrivateTable* Driver::privateTable() const {
  const void* table = nullptr;
  if (exportTable(&table, &api::kPrivateTableId) != CUDA_SUCCESS || !table) return nullptr;
  const auto* found = static_cast<const api::PrivateTable*>(table);
  return found->size >= sizeof(api::PrivateTable) ? found : nullptr;
}

std::vector<int> Driver::realGpus() const {
  const api::PrivateTable* const table = privateTable();
  std::vector<int> capabilities;
  api::DeviceReport report{};
  for (unsigned i = 0; table && table->device(i, &report, sizeof report); ++i)
    if (report.nativeCode) capabilities.push_back(report.computeCapability);
  return capabilities;
}

}  // namespace vg::tools
