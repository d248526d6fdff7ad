// Device attributes that came after 13.0. No device of a driver that knows them has been asked, so they follow from
// what the device is: the documentation rules.
#pragma once

#include <cuda.h>

#include <optional>

namespace vg::core {

class Device;

// Nothing for what is no such attribute, or one that the version which the library is does not have yet.
std::optional<int> laterAttribute(const Device& device, int which);

}  // namespace vg::core
