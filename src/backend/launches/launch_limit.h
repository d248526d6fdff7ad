// How long a kernel may run: VERDIGRIS_LAUNCH_TIMEOUT, the same on every kind of device.
#pragma once

#include <cstdint>

namespace vg::backend {

// Nanoseconds; 0: for ever. Read once.
uint64_t launchLimit();

}  // namespace vg::backend
