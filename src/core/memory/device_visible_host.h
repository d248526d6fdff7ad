// Memory of the host that devices reach by themselves: all of them are told when it comes and goes. Emulated devices,
// which see whatever the process sees, do not mind. Thread-safe.
#pragma once

#include <cstddef>

namespace vg::core::memory {

void showToDevices(std::byte* start, size_t bytes, bool readOnly);
// Any part of what was shown, or of what was not.
void hideFromDevices(std::byte* start, size_t bytes);

}  // namespace vg::core::memory
