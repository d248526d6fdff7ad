#include "core/process/driver_version.h"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "base/settings.h"

namespace vg::core {
namespace {

constexpr int kOldest = 13000;
constexpr int kNewest = CUDA_VERSION;

bool known(int version) { return version >= kOldest && version <= kNewest && version % 10 == 0; }

int chosen() {
  const char* const text = std::getenv("VERDIGRIS_DRIVER_VERSION");
  const int version = text ? parseDriverVersion(text) : 0;
  return version ? version : kNewest;
}

}  // namespace

int parseDriverVersion(const char* text) {
  int major = 0, minor = 0, length = 0;
  if (std::sscanf(text, "%2d.%2d%n", &major, &minor, &length) == 2 && !text[length] && minor >= 0)
    return known(1000 * major + 10 * minor) ? 1000 * major + 10 * minor : 0;
  if (std::sscanf(text, "%6d%n", &major, &length) == 1 && !text[length]) return known(major) ? major : 0;
  return 0;
}

int driverVersion() {
  static const int version = chosen();
  return version;
}

void checkDriverVersion() {
  const std::string& wanted = settings().driverVersion;
  if (wanted.empty() || parseDriverVersion(wanted.c_str())) return;
  VG_LOG(Warn, "VERDIGRIS_DRIVER_VERSION=%s is no version from %d.%d to %d.%d: reporting the newest", wanted.c_str(),
         kOldest / 1000, kOldest % 1000 / 10, kNewest / 1000, kNewest % 1000 / 10);
}

}  // namespace vg::core
