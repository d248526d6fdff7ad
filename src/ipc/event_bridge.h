// From the records of other processes to this one's timelines, so that streams can wait for them.
//
// One thread, started at the first need and asleep while nobody waits, sleeps on the signals of all events that are
// waited for at once.
#pragma once

#include <memory>

#include "base/sync/timeline.h"
#include "ipc/shared_event.h"

namespace vg::ipc {

// A point that is reached once the ticket is; also when it is lost, which is said in the log. The same point for the
// same ticket while it is pending. CUDA_ERROR_OUT_OF_MEMORY when the thread cannot be had.
Result<Point> pointOf(const std::shared_ptr<SharedEvent>& event, uint64_t ticket);

}  // namespace vg::ipc
