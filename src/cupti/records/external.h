// Numbers that a program has given to what a thread does (external correlation). A stack a thread, a collector and a
// kind.
#pragma once

#include <cstdint>

#include "cupti/records/collector.h"

namespace vg::cupti::external {

CUptiResult push(const Collector& collector, CUpti_ExternalCorrelationKind kind, uint64_t id);
// `last` may be null.
CUptiResult pop(const Collector& collector, CUpti_ExternalCorrelationKind kind, uint64_t* last);
// Records of what the calling thread has pushed, for a call that begins.
void tell(Collector& collector, uint32_t correlation);

}  // namespace vg::cupti::external
