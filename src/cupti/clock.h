// The clock of a profiler: the system's wall clock, as the profiling interface documents it, or a function that the
// program registered. What happened at a time of the driver's clock is placed between two moments at which both were
// looked at. Thread-safe.
#pragma once

#include <cstdint>

#include "cupti/cupti.h"

namespace vg::cupti::clock {

// Null: the wall clock.
void use(CUpti_TimestampCallbackFunc function);
CUpti_TimestampCallbackFunc used();

// Steps back for no thread, unless the clock was set back by a second or more.
uint64_t now();
// `nanoseconds` of the driver's clock, not later than now.
uint64_t at(uint64_t nanoseconds);
// Both by one comparison of the clocks; the end is not before the beginning.
struct Span {
  uint64_t begin, end;
};
Span at(uint64_t begin, uint64_t end);

}  // namespace vg::cupti::clock
