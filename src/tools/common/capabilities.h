// Compute capabilities of devices that were or are made.
#pragma once

#include <string>

namespace vg::tools {

// Of "9.0" and the like.
bool isKnownCapability(const std::string& text);

}  // namespace vg::tools
