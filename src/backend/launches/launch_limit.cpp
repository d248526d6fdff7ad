#include "backend/launches/launch_limit.h"

#include "base/log.h"
#include "base/settings.h"

namespace vg::backend {
namespace {

uint64_t readLimit() {
  const std::string& text = settings().launchTimeout;
  const std::optional<uint64_t> limit = parseSeconds(text);
  if (!limit && !text.empty())
    VG_LOG(Warn, "VERDIGRIS_LAUNCH_TIMEOUT=%s is no number of seconds: kernels may run for ever", text.c_str());
  return limit.value_or(0);
}

}  // namespace

uint64_t launchLimit() {
  static const uint64_t value = readLimit();
  return value;
}

}  // namespace vg::backend
