// The number of this process, which records have: asked of the system once, and again in a child of fork().
#pragma once

#include <cstdint>

namespace vg::cupti {

uint32_t processNumber();

}  // namespace vg::cupti
