// The importer's side: asking another process for what a handle names. Thread-safe; waits at most seconds, for the
// exporter's thread.
#pragma once

#include "ipc/channel.h"

namespace vg::ipc {

struct Grant {
  int descriptor;  // O_CLOEXEC, the caller's
  Note note;
};

// CUDA_ERROR_INVALID_HANDLE when there is no such process (any more), CUDA_ERROR_NOT_PERMITTED when it belongs to
// another user or knows no such object (any more), as the vendor's driver answers about memory; CUDA_ERROR_MAP_FAILED
// when one of the two sides has no descriptor left or the exporter does not answer.
Result<Grant> request(const Handle& handle);

// Whether the process that listened there still exists. True when that cannot be told.
bool alive(const Address& address);

}  // namespace vg::ipc
