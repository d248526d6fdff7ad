// Tells whoever records what a program does (activity/recorder.h) of every allocation and its end, and how much is in
// use then.
#pragma once

#include "alloc/record.h"

namespace vg::core::memory_activity {

// Begins to watch. Requires: nothing is allocated yet; recording.
void start();
// Of stream-ordered memory that was freed and stays with its pool. Costs a load unless recording.
void released(const alloc::Record& record);

}  // namespace vg::core::memory_activity
