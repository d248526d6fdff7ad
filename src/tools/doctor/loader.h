// Which file the dynamic loader takes for a library name, by its documented search order.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/program.h"

namespace vg::tools {

struct Resolution {
  std::string path;  // empty: not found
  std::string why;   // "LD_LIBRARY_PATH", "RUNPATH of ./program", ...
};

// The file that `asker` gets when it needs or opens `name`, in the present environment.
Resolution resolve(const std::string& name, const Program& asker);
// All shared libraries the program is linked with, directly and through others, that can be found, once each.
std::vector<Program> dependencies(const Program& program);

}  // namespace vg::tools
