// Who takes the work of streams that capture, instead of their queues: a role of core/graphs (capture.cpp), so that
// streams and what is given to them need not know graphs.
//
// All functions are thread-safe. Those of namespace `capture` may be called only where a stream or an event says
// captured(), unless said otherwise.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "base/result.h"

namespace vg::core {

class Context;
class Event;
class Stream;
struct Work;

class CaptureSink {
 public:
  virtual CUresult ready(Stream& stream) = 0;
  virtual CUresult take(Stream& stream, Work&& work) = 0;
  virtual CUresult refuse(const Stream& stream, const char* what) = 0;
  virtual CUresult refuse(const Event& event) = 0;
  virtual void spoil(const Stream& stream) = 0;
  virtual void forget(Stream& stream) = 0;
  virtual void forget(Event& event) = 0;
  virtual CUresult permitUnsafe() = 0;
  virtual CUresult permitContextWait(Context& context) = 0;

 protected:
  ~CaptureSink() = default;
};

namespace capture {

// Set when the first capture begins, for good.
inline constinit std::atomic<CaptureSink*> sink{nullptr};
inline CaptureSink& role() { return *sink.load(std::memory_order_acquire); }

// CUDA_SUCCESS when the stream captures and work may be added.
inline CUresult ready(Stream& stream) { return role().ready(stream); }
// The work becomes part of what the stream captures. Requires: it was checked.
inline CUresult take(Stream& stream, Work&& work) { return role().take(stream, static_cast<Work&&>(work)); }
// Refuses work that cannot be captured, and ends what it could have been part of:
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, or _IMPLICIT for the legacy stream.
inline CUresult refuse(const Stream& stream, const char* what) { return role().refuse(stream, what); }
// An event of a capture was asked or waited for by the host: CUDA_ERROR_CAPTURED_EVENT, and the capture is invalidated;
// CUDA_ERROR_INVALID_VALUE when the capture has ended.
inline CUresult refuse(const Event& event) { return role().refuse(event); }
// Invalidates what the stream captures: a launch failed.
inline void spoil(const Stream& stream) { role().spoil(stream); }
// The stream ends.
inline void forget(Stream& stream) { role().forget(stream); }
// The event was recorded plainly, or ends. May be called under any lock.
inline void forget(Event& event) { role().forget(event); }

// For calls that could disturb captures of other threads: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures are
// over, when the calling thread's mode and theirs forbid it. Any time.
inline constinit std::atomic<uint32_t> guarded{0};  // captures that are not relaxed
inline CUresult permitUnsafe() {
  return guarded.load(std::memory_order_relaxed) ? role().permitUnsafe() : CUDA_SUCCESS;
}
// For calls that wait for a whole context: refused while any stream of it captures. Any time.
inline CUresult permitContextWait(Context& context) {
  CaptureSink* const known = sink.load(std::memory_order_acquire);
  return known ? known->permitContextWait(context) : CUDA_SUCCESS;
}

}  // namespace capture
}  // namespace vg::core
