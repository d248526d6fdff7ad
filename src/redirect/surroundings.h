// Where this library lies, and the processes that a process was started by, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace vg::redirect {

// Without links and dots; empty when nothing is there.
std::string realPath(const std::string& path);
// The folder of this library.
std::string ownFolder();

// The file name of the program that a process runs, without folders; empty when that cannot be seen.
std::string programOf(pid_t process);
// The words of its command line; none when that cannot be seen.
std::vector<std::string> argumentsOf(pid_t process);
// 0 when there is none, or none that can be seen.
pid_t parentOf(pid_t process);
// Whether a process has this file mapped. `path` has no links in it.
bool hasMapped(pid_t process, const std::string& path);

}  // namespace vg::redirect
