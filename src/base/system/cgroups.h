// Which control groups (cgroups) this process is in, by /proc/PID/cgroup: lines such as "0::/a/b", for the second
// version, or "4:cpu,memory:/a/b", for the first one.
#pragma once

#include <string>
#include <string_view>

namespace vg {

// The content of this process's file when it was first asked for; empty where there is none. std::bad_alloc may leave
// it.
const std::string& cgroupMembership();

// Which version limits what a controller ("memory", "cpu") counts. Unknown: the lines do not say.
enum class CgroupVersion { First, Second, Unknown };
CgroupVersion versionOfController(std::string_view membership, std::string_view controller);

// What is before the next separator, which both are taken from the text.
std::string_view takeUntil(std::string_view& text, char separator);
// Whether a comma-separated list has the name.
bool listHas(std::string_view list, std::string_view name);

}  // namespace vg
