// How much memory this process may have: what the machine has, the cgroups that the process is in, and `ulimit -v`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vg::memory_limit {

// Of all. Reads files: ask once.
uint64_t bytes();
// What the machine has; 1 GiB where a sandbox does not say.
uint64_t ofMachine();
// The least limit of a process's own group and the groups above it, in either version of cgroups; UINT64_MAX: none.
// `membership`: the content of its /proc/PID/cgroup; `root`: where cgroups are mounted.
uint64_t ofCgroups(std::string_view membership, const std::string& root);

}  // namespace vg::memory_limit
