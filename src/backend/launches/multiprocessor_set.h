// Which of a device's multiprocessors: by their numbers, from 0 on, in the order in which a device is divided.
#pragma once

#include <bitset>
#include <cstddef>

namespace vg::backend {

inline constexpr size_t kMostMultiprocessors = 1024;

using MultiprocessorSet = std::bitset<kMostMultiprocessors>;

}  // namespace vg::backend
