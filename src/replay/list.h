// A recording as text: a line a call, in the order in which calls ended.
#pragma once

#include <cstdint>

#include "record/reader.h"

namespace vg::replay {

// Up to the call of that number. Calls that had not ended come last.
void list(record::Reader& reader, uint64_t until);

}  // namespace vg::replay
