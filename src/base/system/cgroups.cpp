#include "base/system/cgroups.h"

#include <algorithm>

#include "base/system/small_file.h"
#include "base/undying.h"

namespace vg {

const std::string& cgroupMembership() {
  return undyingFrom<std::string>([] { return contentOf("/proc/self/cgroup"); });
}

CgroupVersion versionOfController(std::string_view membership, std::string_view controller) {
  bool second = false;
  while (!membership.empty()) {
    std::string_view line = takeUntil(membership, '\n');
    takeUntil(line, ':');
    const std::string_view controllers = takeUntil(line, ':');
    if (listHas(controllers, controller)) return CgroupVersion::First;
    second |= controllers.empty() && !line.empty();
  }
  return second ? CgroupVersion::Second : CgroupVersion::Unknown;
}

std::string_view takeUntil(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool listHas(std::string_view list, std::string_view name) {
  while (!list.empty())
    if (takeUntil(list, ',') == name) return true;
  return false;
}

}  // namespace vg
