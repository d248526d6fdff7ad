#include <unistd.h>

#include <cstdio>
#include <string>

#include "nvml/handlers.h"
#include "nvml/state.h"

namespace vg::nvml::handlers {
namespace {

// The driver whose behaviour the library of the driver API follows, and for what came later the branch that came with
// it, as the versions of nvidia-ml-py have them.
struct Branch {
  int version;
  const char* driver;
};
constexpr Branch kBranches[] = {
    {13000, "580.159.04"}, {13010, "590.48.01"}, {13020, "595.45.04"}, {13030, "610.43"}, {13040, "615.71"}};

const char* driverVersion() {
  const int version = cudaVersion();
  const char* driver = kBranches[0].driver;
  for (const Branch& branch : kBranches)
    if (branch.version <= version) driver = branch.driver;
  return driver;
}

// The path of a running process; "" when there is none.
std::string pathOf(unsigned pid) {
  char path[4096];
  const std::string link = "/proc/" + std::to_string(pid) + "/exe";
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

}  // namespace

nvmlReturn_t nvmlInit() { return open(); }
nvmlReturn_t nvmlInit_v2() { return open(); }
nvmlReturn_t nvmlInitWithFlags(unsigned) { return open(); }
nvmlReturn_t nvmlShutdown() { return close(); }

// NVIDIA names branches after the first number of their versions.
nvmlReturn_t nvmlSystemGetDriverBranch(char* text, unsigned length) {
  const std::string version = driverVersion();
  return give(("r" + version.substr(0, version.find('.')) + "_00").c_str(), text, length);
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned length) { return give(driverVersion(), text, length); }

nvmlReturn_t nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  const std::string version = std::to_string(cudaVersion() / 1000) + "." + driverVersion();
  return give(version.c_str(), text, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  if (!version) return NVML_ERROR_INVALID_ARGUMENT;
  if (const nvmlReturn_t opened = open()) return opened;
  *version = cudaVersion();
  return close();
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return nvmlSystemGetCudaDriverVersion(version); }

// The whole path, cut to what there is room for.
nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (!name || !length) return NVML_ERROR_INVALID_ARGUMENT;
  const std::string path = pathOf(pid);
  if (path.empty()) return NVML_ERROR_NOT_FOUND;
  std::snprintf(name, length, "%s", path.c_str());
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlUnitGetCount(unsigned* count) {
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}

}  // namespace vg::nvml::handlers
