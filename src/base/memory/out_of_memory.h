// Memory that lacks as an error code, where an exception would leave something half done.
#pragma once

#include <new>

#include "base/result.h"
#include "base/sync/thread_annotations.h"

namespace vg {

// What `attempt` answers, or CUDA_ERROR_OUT_OF_MEMORY where it threw for want of memory. Who calls holds what the
// attempt requires.
template <class Attempt>
CUresult unlessOutOfMemory(const Attempt& attempt) VG_UNCHECKED_LOCKS {
  try {
    return attempt();
  } catch (const std::bad_alloc&) {
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the host is out of memory");
  }
}

}  // namespace vg
