// Records of what devices did, of memory and of names.
#pragma once

#include "activity/record.h"

namespace vg::cupti::work {

// Of the recorder.
void take(const activity::Record& record);
// Records that were left out before they came here.
void lost(uint64_t records);

}  // namespace vg::cupti::work
