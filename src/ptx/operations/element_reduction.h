// The arithmetic of reductions in memory, an element of a PTX type at a time. Other threads may do the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/facts/async_form.h"

namespace vg::ptx {

// True when the reduction exists for the type.
bool canReduce(AsyncReduction operation, Type type);
// Combines `count` elements of the type at `from` into those at `to`. Requires: canReduce().
void reduceElements(AsyncReduction operation, Type type, std::byte* to, const std::byte* from, uint64_t count);
// Adds f32 as tensor maps of FLOAT32_FTZ do: subnormal numbers are zeros on either side.
void addFlushing(std::byte* to, const std::byte* from, uint64_t count);

}  // namespace vg::ptx
