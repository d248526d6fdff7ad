// Tells whoever records what a program does (activity/recorder.h) of every allocation and its end, and how much is in
// use then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/record.h"

namespace vg::core::memory_activity {

// Begins to watch, once. The end of what was allocated before is not told. Requires: whoever else watches has begun.
void start();
// Of stream-ordered memory that was freed and stays with its pool. Costs a load unless recording.
void released(const alloc::Record& record);
// Of physical memory (cuMemCreate), which no record of a heap stands for: `handle` names it, `device` is null for the
// host's.
void physicalBegan(uintptr_t handle, size_t bytes, const int* device);
void physicalEnded(uintptr_t handle, const int* device);

}  // namespace vg::core::memory_activity
