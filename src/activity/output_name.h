// Which file a process writes of those that a setting names. "%p" stands for the process's number. Without it, one
// process after the other may be told the same name: the one that comes first has it, and another one that runs
// meanwhile, such as a child, gets its number before the extension: out.json, out.4711.json.
#pragma once

#include <string>

namespace vg::activity {

// A new file, empty and locked against others who ask here, or -1 with errno. `keep`: a file that is there already is
// another process's, even if that has ended; pipes, devices and what links lead to are taken all the same. `path`
// receives its name.
int openOutput(const std::string& wanted, bool keep, std::string* path);

}  // namespace vg::activity
