// What the files of exported functions share.
#pragma once

#include <new>

#include "cupti/calls/subscribers.h"
#include "cupti/cupti.h"
#include "cupti/observe.h"

#define CUPTI_EXPORT extern "C" [[gnu::visibility("default")]]

namespace vg::cupti {

// The last result of the calling thread that was an error (cuptiGetLastError).
CUptiResult& lastError();

// Nothing may unwind into the caller.
template <class Body>
CUptiResult guarded(Body body) noexcept {
  CUptiResult result = CUPTI_ERROR_OUT_OF_MEMORY;
  try {
    result = body();
  } catch (const std::bad_alloc&) {
  }
  if (result != CUPTI_SUCCESS) lastError() = result;
  return result;
}
// The same where the driver is needed.
template <class Body>
CUptiResult attached(Body body) noexcept {
  return guarded([&]() -> CUptiResult {
    if (!observe::start()) return CUPTI_ERROR_NOT_INITIALIZED;
    return body();
  });
}

}  // namespace vg::cupti
