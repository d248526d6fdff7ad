// Files of a few lines, such as those of /proc and /sys: read with three system calls. A stream of the C++ library
// costs some dozen times as much, first of all the pages of its locales.
#pragma once

#include <string>

namespace vg {

// All of it; empty when it cannot be read. std::bad_alloc may leave it.
std::string contentOf(const std::string& path);

}  // namespace vg
