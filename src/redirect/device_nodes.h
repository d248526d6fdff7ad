// Programs in Python that look whether /dev/nvidia0 or /dev/nvidiactl is there before they try CUDA (JAX does) are told
// that it is. To open it still fails.
#pragma once

#include <string_view>

namespace vg::redirect {

// What stands in for a function of the C library that is asked about files, or null. `original`: the function itself,
// which is the same whenever this is asked for a name.
void* deviceNodeReplacement(std::string_view name, void* original);

}  // namespace vg::redirect
