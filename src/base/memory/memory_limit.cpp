#include "base/memory/memory_limit.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/system/cgroups.h"
#include "base/system/small_file.h"

namespace vg::memory_limit {
namespace {

constexpr uint64_t kNone = UINT64_MAX, kUnknown = uint64_t{1} << 30;

// "max" and what is not there are no limit.
uint64_t numberIn(const std::string& path) {
  const uint64_t value = std::strtoull(contentOf(path).c_str(), nullptr, 10);
  return value ? value : kNone;
}

// Of the group and of those above it, but for what is mounted itself.
uint64_t leastUpwards(const std::string& mount, std::string group, const char* file) {
  uint64_t least = kNone;
  for (; group.size() > 1; group.resize(group.rfind('/'))) least = std::min(least, numberIn(mount + group + file));
  return least;
}

// The library's own code and stacks, and those of the program, need some of it.
uint64_t ofAddressSpace() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return kNone;
  return limit.rlim_cur / 2;
}

}  // namespace

// In a container the paths may be ones that are not to be seen there: then what is mounted is the container's own
// group. Files of the version that does not limit memory here are not asked for: each costs some microseconds.
uint64_t ofCgroups(std::string_view membership, const std::string& root) {
  constexpr const char *kSecond = "/memory.max", *kFirst = "/memory.limit_in_bytes";
  const std::string first = root + "/memory", unified = root + "/unified";
  const CgroupVersion version = versionOfController(membership, "memory");
  uint64_t least = kNone;
  if (version != CgroupVersion::First) least = std::min(numberIn(root + kSecond), numberIn(unified + kSecond));
  if (version != CgroupVersion::Second) least = std::min(least, numberIn(first + kFirst));
  while (!membership.empty()) {
    std::string_view line = takeUntil(membership, '\n');
    takeUntil(line, ':');
    const std::string_view controllers = takeUntil(line, ':');
    if (line.empty()) continue;
    const std::string group(line);
    if (controllers.empty() && version != CgroupVersion::First)
      least = std::min({least, leastUpwards(root, group, kSecond), leastUpwards(unified, group, kSecond)});
    else if (listHas(controllers, "memory"))
      least = std::min(least, leastUpwards(first, group, kFirst));
  }
  return least;
}

uint64_t ofMachine() {
  struct sysinfo info {};
  if (!::sysinfo(&info)) return uint64_t{info.totalram} * info.mem_unit;
  unsigned long long kilobytes = 0;
  const std::string content = contentOf("/proc/meminfo");
  return std::sscanf(content.c_str(), "MemTotal: %llu", &kilobytes) == 1 ? kilobytes << 10 : kUnknown;
}

uint64_t bytes() { return std::min({ofMachine(), ofCgroups(cgroupMembership(), "/sys/fs/cgroup"), ofAddressSpace()}); }

}  // namespace vg::memory_limit
