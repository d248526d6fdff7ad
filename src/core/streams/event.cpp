#include "core/streams/event.h"

#include "base/memory/slab.h"
#include "base/sync/spare_hands.h"
#include "base/sync/spin_lock.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/streams/event_sharing.h"
#include "core/streams/stream.h"
#include "ipc/shared_event.h"

namespace vg::core {

// Where a queue writes the time of a record. Apart from the event, because the event may be recorded again or destroyed
// before the queue gets there.
struct EventStamp {
  uint64_t nanoseconds = 0;
  Point written;  // reached when nobody writes any more
  EventStamp* next = nullptr;
};

namespace {

class StampPool {
 public:
  EventStamp* take() {
    const MutexLock lock(mutex_);
    if (!oldest_ || !oldest_->written.done()) return new EventStamp;
    EventStamp* stamp = oldest_;
    oldest_ = stamp->next;
    if (!oldest_) newest_ = nullptr;
    stamp->next = nullptr;
    return stamp;
  }
  void giveBack(EventStamp* stamp) {
    const MutexLock lock(mutex_);
    (newest_ ? newest_->next : oldest_) = stamp;
    newest_ = stamp;
  }

 private:
  Mutex mutex_;
  EventStamp* oldest_ VG_GUARDED_BY(mutex_) = nullptr;  // in the order in which they were given back
  EventStamp* newest_ VG_GUARDED_BY(mutex_) = nullptr;
};

constinit StampPool stamps;
constinit Slab<Event> slab;

}  // namespace

class EventRegistry {
 public:
  static void link(Event& event) {
    const MutexLock lock(mutex);
    event.next_ = first;
    if (first) first->previous_ = &event;
    first = &event;
  }
  static bool close(Event& event) {
    const MutexLock lock(mutex);
    return closeLocked(event);
  }
  static void closeAll(const Context& context) {
    const MutexLock lock(mutex);
    for (Event *event = first, *next; event; event = next) {
      next = event->next_;
      if (&event->context() == &context) closeLocked(*event);
    }
  }

 private:
  static bool closeLocked(Event& event) {
    if (!slab.retire(&event)) return false;
    (event.previous_ ? event.previous_->next_ : first) = event.next_;
    if (event.next_) event.next_->previous_ = event.previous_;
    slab.recycle(&event);
    return true;
  }

  static constinit Mutex mutex;  // guards the list
  static constinit Event* first;
};
constinit Mutex EventRegistry::mutex;
constinit Event* EventRegistry::first = nullptr;

Event::Event(Context& context, unsigned flags) : context_(&context), flags_(flags) {}

Event::~Event() {
  if (captured()) capture::forget(*this);
  if (stamp_) stamps.giveBack(stamp_);
}

// A sequence lock: the writer holds mutex_, readers try again when the number was odd or has changed. All words are
// atomic, so a torn read is harmless until it is thrown away.
Event::Recorded Event::recorded() const {
  for (;;) {
    const uint32_t before = sequence_.load(std::memory_order_seq_cst);
    Recorded r;
    r.point.timeline = timeline_.load(std::memory_order_acquire);
    r.point.value = value_.load(std::memory_order_acquire);
    r.nanoseconds = nanoseconds_.load(std::memory_order_acquire);
    r.valid = valid_.load(std::memory_order_acquire);
    if (!(before & 1) && sequence_.load(std::memory_order_seq_cst) == before) return r;
    relax();
  }
}

void Event::store(const Recorded& r) {
  const uint32_t before = sequence_.load(std::memory_order_relaxed);
  sequence_.store(before + 1, std::memory_order_seq_cst);
  timeline_.store(r.point.timeline, std::memory_order_release);
  value_.store(r.point.value, std::memory_order_release);
  nanoseconds_.store(r.nanoseconds, std::memory_order_release);
  valid_.store(r.valid, std::memory_order_release);
  sequence_.store(before + 2, std::memory_order_seq_cst);
}

CUresult Event::goesWith(const Stream& stream) const {
  if (&stream.context() == context_) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_HANDLE, "the event and the stream belong to different contexts");
}

CUresult Event::record(Stream& stream) {
  VG_CHECK(goesWith(stream));
  const MutexLock lock(mutex_);
  if (captured()) [[unlikely]]
    capture::forget(*this);
  if (!timing()) {
    if (sharing_) return recordShared(stream);
    VG_TRY(const Point point, stream.mark(nullptr));
    store({point, nullptr, true});
    return CUDA_SUCCESS;
  }
  const bool reusable = stamp_ && stamp_->written.done();
  EventStamp* stamp = reusable ? stamp_ : stamps.take();
  auto point = stream.mark(&stamp->nanoseconds);
  if (!point.ok()) {
    if (!reusable) stamps.giveBack(stamp);
    return point.error();
  }
  stamp->written = *point;
  store({*point, &stamp->nanoseconds, true});
  if (stamp_ && !reusable) stamps.giveBack(stamp_);
  stamp_ = stamp;
  return CUDA_SUCCESS;
}

CUresult Event::recordShared(Stream& stream) {
  VG_TRY(const uint64_t ticket, sharing_->reserve());
  Result<Point> point = stream.mark(nullptr);
  if (!point) {
    sharing_->abandon(ticket);
    return point.error();
  }
  store({*point, nullptr, true});
  sharing_->recorded(ticket, *point);
  return CUDA_SUCCESS;
}

uint64_t* Event::recordAt(Point point) {
  const MutexLock lock(mutex_);
  if (captured()) [[unlikely]]
    capture::forget(*this);
  if (!timing()) {
    store({point, nullptr, true});
    if (sharing_)
      if (Result<uint64_t> ticket = sharing_->reserve()) sharing_->recorded(*ticket, point);
    return nullptr;
  }
  EventStamp* stamp = stamps.take();
  stamp->written = point;
  store({point, &stamp->nanoseconds, true});
  if (stamp_) stamps.giveBack(stamp_);
  stamp_ = stamp;
  return &stamp->nanoseconds;
}

std::shared_ptr<EventSharing> Event::sharing() const {
  if (!isShared_.load(std::memory_order_acquire)) [[likely]]
    return nullptr;
  const MutexLock lock(mutex_);
  return sharing_;
}

Result<std::shared_ptr<EventSharing>> Event::share() {
  const MutexLock lock(mutex_);
  if (sharing_) return sharing_;
  VG_TRY(std::shared_ptr<ipc::SharedEvent> shared, ipc::SharedEvent::create());
  auto sharing = std::make_shared<EventSharing>(std::move(shared), false);
  if (const Point own = recorded().point; !own.done()) {
    VG_TRY(const uint64_t ticket, sharing->reserve());
    sharing->recorded(ticket, own);
  }
  sharing_ = std::move(sharing);
  isShared_.store(true, std::memory_order_release);
  return sharing_;
}

void Event::join(std::shared_ptr<EventSharing> sharing) {
  const MutexLock lock(mutex_);
  sharing_ = std::move(sharing);
  isShared_.store(true, std::memory_order_release);
}

Point Event::point() const {
  if (const auto shared = sharing()) [[unlikely]]
    return shared->point(recorded().point);
  return recorded().point;
}

CUresult Event::query() const {
  if (captured()) [[unlikely]]
    return capture::refuse(*this);
  VG_CHECK(context_->state());
  if (const auto shared = sharing()) [[unlikely]] {
    const CUresult result = shared->query(recorded().point);
    return result == CUDA_SUCCESS ? context_->state() : result;
  }
  if (const Point last = point(); last.done()) {
    if (check::order::on()) check::order::hostWaited(last.timeline, last.value);
    return context_->state();
  }
  spare_hands::lendIfWanted();
  return CUDA_ERROR_NOT_READY;
}

CUresult Event::synchronize() const {
  if (captured()) [[unlikely]]
    return capture::refuse(*this);
  CUresult result = CUDA_SUCCESS;
  if (const auto shared = sharing()) [[unlikely]] {
    result = shared->wait(recorded().point);
  } else {
    point().wait();
  }
  noteHostWait();
  if (const Point last = recorded().point; check::order::on()) check::order::hostWaited(last.timeline, last.value);
  context_->device().backend().flushOutput();
  VG_CHECK(context_->state());
  return result;
}

Result<float> Event::elapsed(const Event& start, const Event& end) {
  if (!start.timing() || !end.timing())
    return fail(CUDA_ERROR_INVALID_HANDLE, "an event without timing (CU_EVENT_DISABLE_TIMING)");
  if (&start.context().device() != &end.context().device())
    return fail(CUDA_ERROR_INVALID_HANDLE, "the events belong to different devices");
  if (start.captured() || end.captured()) [[unlikely]]
    return fail(CUDA_ERROR_CAPTURED_EVENT, "an event that was recorded in a capturing stream");
  const Recorded from = start.recorded(), to = end.recorded();
  if (!from.valid || !to.valid) return fail(CUDA_ERROR_INVALID_HANDLE, "an event that was never recorded");
  VG_CHECK(start.context().state());
  VG_CHECK(end.context().state());
  if (!from.point.done() || !to.point.done()) return CUDA_ERROR_NOT_READY;
  if (check::order::on())
    for (const Point& known : {from.point, to.point}) check::order::hostWaited(known.timeline, known.value);
  const auto nanoseconds = static_cast<int64_t>(*to.nanoseconds - *from.nanoseconds);
  return static_cast<float>(static_cast<double>(nanoseconds) * 1e-6);
}

namespace events {

Result<CUevent> create(Context& context, unsigned flags) {
  constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (flags & ~kKnown) return fail(CUDA_ERROR_INVALID_VALUE, "event flags %#x", flags);
  if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
    return fail(CUDA_ERROR_INVALID_VALUE, "CU_EVENT_INTERPROCESS needs CU_EVENT_DISABLE_TIMING");
  VG_CHECK(context.state());
  Event* event = slab.create(context, flags);
  EventRegistry::link(*event);
  return event->handle();
}

Result<Event&> find(CUevent handle) {
  Event* event = slab.find(handle);
  if (!event) [[unlikely]]
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no event", static_cast<void*>(handle));
  return *event;
}

CUresult destroy(CUevent handle) {
  VG_TRY(Event & event, find(handle));
  const Context& context = event.context();
  if (!EventRegistry::close(event))
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no event any more", static_cast<void*>(handle));
  return context.state();
}

void destroyAll(Context& context) { EventRegistry::closeAll(context); }

}  // namespace events

}  // namespace vg::core
