#include "base/memory/memory_limit.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace vg::memory_limit {
namespace {

constexpr uint64_t kNone = UINT64_MAX, kUnknown = uint64_t{1} << 30;

// "max" and what is not there are no limit.
uint64_t numberIn(const std::string& path) {
  uint64_t value = 0;
  std::ifstream file(path);
  return file >> value && value ? value : kNone;
}

// Of the group and of those above it. In a container the path may be one that is not to be seen there: then what is
// mounted is the container's own group.
uint64_t leastUpwards(const std::string& mount, std::string group, const char* file) {
  uint64_t least = numberIn(mount + file);
  for (; group.size() > 1; group.resize(group.rfind('/'))) least = std::min(least, numberIn(mount + group + file));
  return least;
}

bool names(const std::string& controllers, const std::string& wanted) {
  std::istringstream list(controllers);
  for (std::string one; std::getline(list, one, ',');)
    if (one == wanted) return true;
  return false;
}

std::string contentOf(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The library's own code and stacks, and those of the program, need some of it.
uint64_t ofAddressSpace() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return kNone;
  return limit.rlim_cur / 2;
}

}  // namespace

uint64_t ofCgroups(const std::string& membership, const std::string& root) {
  constexpr const char *kSecond = "/memory.max", *kFirst = "/memory.limit_in_bytes";
  uint64_t least = std::min(numberIn(root + kSecond), numberIn(root + "/memory" + kFirst));
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // "0::/a/b", or "4:cpu,memory:/a/b"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty())
      for (const std::string& mount : {root, root + "/unified"})
        least = std::min(least, leastUpwards(mount, group, kSecond));
    else if (names(controllers, "memory"))
      least = std::min(least, leastUpwards(root + "/memory", group, kFirst));
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

uint64_t bytes() {
  return std::min({ofMachine(), ofCgroups(contentOf("/proc/self/cgroup"), "/sys/fs/cgroup"), ofAddressSpace()});
}

}  // namespace vg::memory_limit
