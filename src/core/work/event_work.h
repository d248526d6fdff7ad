// Records of events and waits for them, as work of a stream. Both require that the event is there.
#pragma once

#include "core/streams/stream.h"
#include "core/work/work.h"

namespace vg::core::work {

// For Stream::give(). In a stream that does not capture, flags are CUDA_ERROR_ILLEGAL_STATE: they ask for nodes.
Result<Work> keep(Stream& stream, const Record& record);
Result<Work> keep(Stream& stream, const Wait& wait);
CUresult perform(Stream& stream, const Record& record, Form form);
CUresult perform(Stream& stream, const Wait& wait, Form form);

}  // namespace vg::core::work
