// Events: a point of a stream's timeline, and the device's time when it was reached.
//
// All functions are thread-safe; query and synchronize take no lock.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/sync/mutex.h"
#include "base/sync/timeline.h"
#include "core/streams/capture_sink.h"

namespace vg::core {

class Context;
class EventSharing;
class Stream;
struct EventCapture;

class Event {
 public:
  Event(Context& context, unsigned flags);
  ~Event();

  Context& context() const { return *context_; }
  unsigned flags() const { return flags_; }  // CU_EVENT_*
  CUevent handle() { return reinterpret_cast<CUevent>(this); }
  bool timing() const { return !(flags_ & CU_EVENT_DISABLE_TIMING); }

  // Records what `stream`, which must not capture, has to do by now. CUDA_ERROR_INVALID_HANDLE when the stream is of
  // another context. When it fails, what was recorded before stays.
  CUresult record(Stream& stream);
  // CUDA_ERROR_INVALID_HANDLE when the stream is of another context.
  CUresult goesWith(const Stream& stream) const;
  // The event will be reached at `point`, to which whoever calls advances. Where to write the device's time just
  // before; null without timing.
  uint64_t* recordAt(Point point);
  // True when it was last recorded in a capturing stream.
  bool captured() const { return capture_.load(std::memory_order_acquire); }
  // For calls that wait for the event, or ask whether that would be long: refused where a capture recorded it, or where
  // they could disturb one.
  CUresult mayBeWaitedFor() const { return captured() ? capture::refuse(*this) : capture::permitUnsafe(); }
  // The point last recorded; done at once when never recorded.
  Point point() const;
  // CUDA_ERROR_EXTERNAL_DEVICE when the process that recorded it last has ended before it was reached.
  CUresult query() const;
  CUresult synchronize() const;
  // Milliseconds from start to end.
  static Result<float> elapsed(const Event& start, const Event& end);

  // For core/streams/ipc_event.h. share() makes an event with CU_EVENT_INTERPROCESS one that other processes may see,
  // once; join() makes a new event one of a shared one.
  Result<std::shared_ptr<EventSharing>> share();
  void join(std::shared_ptr<EventSharing> sharing);

 private:
  friend class EventRegistry;
  friend struct CaptureAccess;
  struct Recorded {
    Point point;
    const uint64_t* nanoseconds = nullptr;
    bool valid = false;  // recorded at least once
  };
  // Null for nearly all events, which costs one load.
  std::shared_ptr<EventSharing> sharing() const;
  CUresult recordShared(Stream& stream) VG_REQUIRES(mutex_);
  Recorded recorded() const;
  void store(const Recorded& recorded);

  Context* const context_;
  const unsigned flags_;
  mutable Mutex mutex_;    // one record at a time; guards stamp_ and sharing_
  Event* next_ = nullptr;  // all events, for destroyAll
  Event* previous_ = nullptr;
  struct EventStamp* stamp_ VG_GUARDED_BY(mutex_) = nullptr;
  // What was recorded last, readable without a lock: odd while it is being written.
  mutable std::atomic<uint32_t> sequence_{0};
  std::atomic<Timeline*> timeline_{nullptr};
  std::atomic<uint64_t> value_{0};
  std::atomic<const uint64_t*> nanoseconds_{nullptr};
  std::atomic<bool> valid_{false};
  std::atomic<EventCapture*> capture_{nullptr};
  std::shared_ptr<EventSharing> sharing_ VG_GUARDED_BY(mutex_);  // set once
  std::atomic<bool> isShared_{false};                            // then sharing_ is set
};

namespace events {

Result<CUevent> create(Context& context, unsigned flags);
CUresult destroy(CUevent handle);
// CUDA_ERROR_INVALID_HANDLE for unknown and stale handles.
Result<Event&> find(CUevent handle);
// Ends all events of a context.
void destroyAll(Context& context);

}  // namespace events

}  // namespace vg::core
