// What the driver tells (api/tables/observer_table.h) becomes callbacks and records.
#pragma once

#include <cstdint>

#include "activity/record.h"
#include "api/tables/observer_table.h"
#include "cupti/cupti.h"

namespace vg::cupti::observe {

// Attaches to the driver, once. False where it is not ours.
bool start();
// Whether start() has succeeded; nothing ends that.
bool started();

// Everything that has happened is in buffers when this returns, unless the program calls it from a buffer's function.
void catchUp();
// Gives back what is in buffers.
void flush();
// From now on every so many milliseconds, too; 0: not.
void flushEvery(uint32_t milliseconds);

}  // namespace vg::cupti::observe
