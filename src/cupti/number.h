// The driver's numbers of calls, contexts and streams have 64 bits, the interface's 32.
#pragma once

#include <cstdint>

namespace vg::cupti {

inline uint32_t number(uint64_t id) { return static_cast<uint32_t>(id); }

}  // namespace vg::cupti
