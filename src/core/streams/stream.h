// Streams: in what order work runs. Everything that CUDA says about the legacy default stream, per-thread default
// streams and non-blocking streams is decided here and nowhere else.
//
// A stream is a queue of the device and a timeline. Each piece of work takes the next value of the timeline (`tail`)
// and advances it when done: the stream is idle exactly when its timeline has reached its tail. Work on an idle stream
// may run on the calling thread: whoever moves the tail from the reached value t to t+1 owns the stream until it
// advances the timeline to t+1.
//
// All functions are thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "activity/record.h"
#include "backend/command.h"
#include "backend/queue.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "base/sync/timeline.h"
#include "check/races/order.h"
#include "core/streams/capture_sink.h"
#include "core/streams/followed_points.h"
#include "core/streams/head_start.h"
#include "core/streams/priorities.h"
#include "core/streams/stream_attributes.h"
#include "core/streams/stream_owner.h"

namespace vg::core {

class Context;
class GreenContext;
class Stream;
struct StreamCapture;

// How often the host has waited for a stream, an event or a context: memory that streams freed goes back after that.
inline constinit std::atomic<uint64_t> hostWaits{0};
inline void noteHostWait() { hostWaits.fetch_add(1, std::memory_order_release); }

// Async: may return before the work is done. Host: returns when it is done.
enum class Completion { Async, Host };

// Whether the caller asked for a function that returns when its work is done, or for the Async form. Either promise may
// be kept by doing more: an asynchronous copy of pageable memory returns when that memory is no longer needed, and a
// synchronous one inside device memory may return early, as the vendor's driver does.
enum class Form : uint8_t { Synchronous, Asynchronous };

// The streams of a context or of a green context: those that order themselves by one legacy default stream. A member of
// either, constructed empty.
struct StreamSet {
  StreamSet(Context& context, StreamOwner& owner) : StreamSet(context, owner, nullptr, nullptr) {}
  StreamSet(Context& context, StreamOwner& owner, GreenContext* green, const StreamPart* part)
      : context(context), owner(owner), green(green), part(part) {}

  struct Unfinished {  // a destroyed stream with work left
    Point tail;
    bool blocking;
  };
  Context& context;
  StreamOwner& owner;                     // the same
  GreenContext* const green;              // null: the context's own set
  const StreamPart* const part;           // the same
  std::atomic<StreamSet*> next{nullptr};  // from the context's own set on, all those of its green contexts; only grows
  Mutex mutex;                            // guards first, unfinished and the links of the streams
  Stream* first VG_GUARDED_BY(mutex) = nullptr;  // all streams of the set, the default ones too
  std::vector<Unfinished> unfinished VG_GUARDED_BY(mutex);
  std::atomic<Stream*> legacy{nullptr};   // made at first need
  std::atomic<bool> blockingBusy{false};  // a blocking stream may have work queued
};

// What checked mode is told of streams, when it asks; it knows a stream as a line.
namespace checked {
check::order::Line lineOf(const Stream& stream);
uint64_t numberOf(const Stream& stream, check::order::Form form, uint64_t blocks);
// The number of work that is given to the stream now; 0: nobody asks.
inline uint64_t submitted(const Stream& stream, check::order::Form form, uint64_t blocks = 1) {
  return check::order::on() ? numberOf(stream, form, blocks) : 0;
}
}  // namespace checked

class Stream {
 public:
  enum class Kind : uint8_t { Created, Legacy, PerThread };

  Context& context() const { return set_.context; }
  StreamSet& set() const { return set_; }
  unsigned flags() const { return flags_; }  // CU_STREAM_DEFAULT or CU_STREAM_NON_BLOCKING
  int priority() const { return priority_.load(std::memory_order_relaxed); }
  uint64_t id() const { return id_; }
  Kind kind() const { return kind_; }
  // The handle that names this stream: its own, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD.
  CUstream handle() const;

  // The way of all work of the application into the stream, as core/work/work.h describes it: it runs, or becomes part
  // of what the stream captures. Form::Asynchronous may return before it is done. keep() and perform() are those of its
  // kind.
  template <class Given>
  CUresult give(const Given& work, Form form = Form::Asynchronous) {
    if (captured()) [[unlikely]]
      return divert(work, form);
    return perform(*this, work, form);
  }

  // True when work given to the stream does not run: it captures, or it is the legacy stream and blocking streams of
  // the context capture.
  bool captured() const { return capture_.load(std::memory_order_acquire); }
  // For what no graph has nodes for: CUDA_SUCCESS when it runs, else it is refused and the capture is over.
  CUresult mustRun(const char* what) const { return captured() ? capture::refuse(*this, what) : CUDA_SUCCESS; }
  // For questions about the stream: CUDA_SUCCESS unless it captures and may not go on.
  CUresult mayBeAsked() { return captured() ? capture::ready(*this) : CUDA_SUCCESS; }
  // For calls that wait for the stream, or ask whether that would be long: refused while it captures, or another stream
  // that they could disturb.
  CUresult mayBeWaitedFor(const char* what) const {
    return captured() ? capture::refuse(*this, what) : capture::permitUnsafe();
  }

  // What perform() gives the stream's queue. Each of these returns the context's sticky error when there is one; with
  // Completion::Host also the error that the work caused. Work on an idle stream may run on the calling thread when it
  // is small or is to be waited for anyway.
  CUresult submit(const backend::Command& command, Completion completion = Completion::Async);
  CUresult submit(const backend::Command* commands, size_t count, Completion completion = Completion::Async);
  // The same as Queue has it, for a non-blocking stream.
  CUresult submitAtOnce(const backend::Command* commands, size_t count);
  // For questions to it, and what it prepares; work goes the ways above.
  backend::Queue& queue() const { return *queue_; }
  CUresult copy(const copy::Shape& shape, Completion completion);
  CUresult fill(const copy::Fill& fill, Completion completion);
  // Takes over the record: releases it when the kernel is done or when the launch fails.
  CUresult launch(backend::LaunchRecord* record);
  // Calls `function(data)` in stream order on a thread that may block; see core/work/host_function.h for what it may
  // do.
  CUresult hostCall(void (*function)(void* data), void* data);

  // Runs `work()` on the calling thread, as the stream's next piece of work, when the stream is idle and the host
  // reaches the device's memory; false, with nothing done, otherwise. `work` is short and waits for nothing.
  template <class Work>
  bool runInPlace(Work work) {
    uint64_t value = 0;
    if (!inlineAllowed_ || captured() || !claim(&value)) return false;
    const check::order::Doing doing(checked::submitted(*this, check::order::Form::Copy));
    work();
    timeline_->advance(value);
    return true;
  }

  // Runs function(data), which is short and waits for nobody, on the calling thread; false, with nothing done, when the
  // stream is not idle.
  bool tryInline(void (*function)(void* data), void* data);

  // Later work waits for the point; other streams' points too.
  CUresult waitFor(Point point);
  // CUDA_SUCCESS, CUDA_ERROR_NOT_READY or the sticky error. For the legacy stream: of all blocking streams too.
  CUresult query();
  CUresult synchronize();

  // Whether the stream was told to wait for this point, or for a later one of the same timeline.
  bool follows(Point point) const;
  // A point that is reached when everything submitted so far is done. For the legacy stream only its own work: use
  // mark() for an event.
  Point tail() const { return {timeline_, tail_.load(std::memory_order_acquire)}; }
  // A point for an event: reached when everything submitted so far is done, with the legacy stream's rules. When
  // `nanoseconds` is given it receives the device's time at that moment, before the point is reached; it must stay
  // valid until then.
  Result<Point> mark(uint64_t* nanoseconds);
  // True when nothing is queued or running in it and nothing that its next work would have to wait for.
  bool idle() const;

  void setPriority(int priority);
  StreamAttributes attributes;

  // For stream_set.cpp only.
  Stream(StreamSet& set, Kind kind, unsigned flags, int priority);
  ~Stream() = default;

 private:
  friend class StreamRegistry;
  friend struct CaptureAccess;

  bool blocking() const { return !(flags_ & CU_STREAM_NON_BLOCKING); }
  // A call that returns when its work is done cannot be captured.
  template <class Given>
  [[gnu::cold, gnu::noinline]] CUresult divert(const Given& work, Form form) {
    if (form == Form::Synchronous) return capture::refuse(*this, "a call that waits");
    auto kept = keep(*this, work);
    return kept.ok() ? capture::take(*this, std::move(*kept)) : kept.error();
  }
  using Submit = CUresult (backend::Queue::*)(const backend::Command*, size_t, Point);
  CUresult admit() const;
  bool othersDone() const;
  bool claim(uint64_t* value);
  CUresult enqueue(const backend::Command* commands, size_t count, uint64_t* value,
                   Submit submit = &backend::Queue::submit);
  CUresult enqueueAsIs(const backend::Command* commands, size_t count, uint64_t* value, Submit submit);
  CUresult enqueueStamped(const backend::Command* commands, size_t count, uint64_t* value, Submit submit);
  CUresult waitForOthers() VG_REQUIRES(order_);
  CUresult submitLarge(const backend::Command& command, Completion completion);
  template <class Visit>
  bool allBlocking(Visit visit) const;

  StreamSet& set_;
  StreamOwner* const context_;
  Timeline* const timeline_;
  std::atomic<uint64_t> tail_;
  const Kind kind_;
  const bool inlineAllowed_;  // the host reaches device memory
  std::atomic<StreamCapture*> capture_{nullptr};
  const unsigned flags_;
  std::atomic<int> priority_;
  const uint64_t id_;
  std::unique_ptr<backend::Queue> queue_;
  Mutex order_;  // one thread at a time gives the queue work; guards lastQueued_ and lastLegacy_
  uint64_t lastQueued_ VG_GUARDED_BY(order_) = 0;  // the last value given to the queue
  uint64_t lastLegacy_ VG_GUARDED_BY(order_) = 0;  // the legacy stream's value that the queue waits for already
  struct {
    FollowedPoints followed;
    HeadStart ahead;
  } progress_;
  struct {
    Stream* next = nullptr;  // in StreamSet, guarded by its mutex
    Stream* previous = nullptr;
    struct PerThreadEntry* owner = nullptr;  // of a per-thread stream; guarded by the mutex of those entries
  } links_;
};

// What records tell of work that the calling thread gives to the stream now.
activity::Origin originOf(const Stream& stream);

// The stream a handle means: CU_STREAM_LEGACY (or null), CU_STREAM_PER_THREAD, or a created stream. Default streams are
// those of `current` (null: CUDA_ERROR_INVALID_CONTEXT). Unknown and stale handles: CUDA_ERROR_INVALID_HANDLE; streams
// of a green context that has ended: CUDA_ERROR_CONTEXT_IS_DESTROYED. From a host function: CUDA_ERROR_NOT_PERMITTED.
Result<Stream&> resolveStream(CUstream handle, StreamSet* current);

namespace streams {

// cuStreamCreateWithPriority: flags CU_STREAM_DEFAULT or CU_STREAM_NON_BLOCKING, the priority clamped to the device's
// range.
Result<CUstream> create(StreamSet& set, unsigned flags, int priority);
// cuStreamDestroy: work that is queued completes; default streams are refused with CUDA_ERROR_INVALID_HANDLE.
CUresult destroy(CUstream handle);
// Attributes as calls name them, the priority among them. CUDA_ERROR_INVALID_VALUE for what is no attribute of streams,
// for values that none can have, and for streams of different contexts.
CUresult attribute(const Stream& stream, CUstreamAttrID which, CUstreamAttrValue* value);
CUresult setAttribute(Stream& stream, CUstreamAttrID which, const CUstreamAttrValue& value);
CUresult copyAttributes(Stream& to, const Stream& from);
// What cuCtxSynchronize does: waits for all work of the context, its green ones included; then its sticky error, if
// any.
CUresult synchronizeAll(Context& context);
// The same for one set.
CUresult synchronizeAll(StreamSet& set);
// The ends of all work that is queued in the context now.
std::vector<Point> pending(Context& context);
// The same for one set.
std::vector<Point> pending(StreamSet& set);
// The streams that the set has now, but for other threads' default streams.
std::vector<CUstream> all(StreamSet& set);
// True when no stream of the context has work left.
bool idle(Context& context);
// Waits for all work, then ends all streams of the context. Requires: nobody uses the context any more.
void destroyAll(Context& context);
// The same for the default streams of a set; those that the application made are left for it to destroy.
void destroyDefaults(StreamSet& set);
// True when the set has no streams left.
bool empty(StreamSet& set);
// The default streams of a set, made at first need. Throw std::bad_alloc.
Stream& makeLegacy(StreamSet& set);
inline Stream& legacy(StreamSet& set) {
  Stream* const made = set.legacy.load(std::memory_order_acquire);
  return made ? *made : makeLegacy(set);
}
Stream& perThread(StreamSet& set);

}  // namespace streams

}  // namespace vg::core
