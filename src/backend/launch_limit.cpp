#include "backend/launch_limit.h"

#include <cstdlib>

#include "base/settings.h"

namespace vg::backend {
namespace {

uint64_t readLimit() {
  const double seconds = std::strtod(settings().launchTimeout.c_str(), nullptr);
  return seconds > 0 && seconds < 1e9 ? static_cast<uint64_t>(seconds * 1e9) : 0;
}

}  // namespace

uint64_t launchLimit() {
  static const uint64_t value = readLimit();
  return value;
}

}  // namespace vg::backend
