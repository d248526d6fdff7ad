// What code may come to call, as far as a file says: by the places where addresses are written into it.
#pragma once

#include <functional>
#include <vector>

#include "cubin/cubin.h"

namespace vg::cubin {

// For each section, whether it holds the address of a wanted symbol, or of something that does, and so on. What code
// is handed at run time, as a parameter or through memory, is not known here.
std::vector<bool> sectionsReaching(const Cubin& cubin, const std::function<bool(const Symbol&)>& wanted);

// Whether the kernel may come to call what those sections were found to reach: by itself, by a constant bank that it
// reads, or through a pointer from somewhere else.
bool mayReach(const Kernel& kernel, const std::vector<bool>& reaching);

}  // namespace vg::cubin
