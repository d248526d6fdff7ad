// Running blocks that need no other block: what each thread of a launch does with the spans of blocks it is given.
#pragma once

#include <cstdint>

#include "backend/cpu/run/workers.h"

namespace vg::backend::cpu {

// Workers::Body of a RunningLaunch, `state`: runs the blocks of each span one after another, until none are left or the
// launch is over. (Blocks that may wait for each other: residents.h.)
void runSpans(void* state, uint32_t worker, Workers::Items& items) noexcept;

}  // namespace vg::backend::cpu
