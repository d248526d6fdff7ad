// Streams as handles: created, default and per-thread ones, found and ended.
#include <pthread.h>

#include <algorithm>

#include "base/memory/slab.h"
#include "base/sync/mutex.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/process/inside_host_function.h"
#include "core/streams/capture_sink.h"
#include "core/streams/stream.h"

namespace vg::core {

// A thread's default stream in one context. The thread's list owns it; it lives until the thread ends.
struct PerThreadEntry {
  uint64_t owner = 0;                    // the id of the context or green context
  std::atomic<Stream*> stream{nullptr};  // null when the context has ended
  PerThreadEntry* next = nullptr;
};

namespace {

constinit Slab<Stream> slab;
constinit Mutex perThreadMutex;  // guards PerThreadEntry::stream and Stream::links_.owner; before StreamSet::mutex
constinit thread_local PerThreadEntry* perThreadEntries [[gnu::tls_model("initial-exec")]] = nullptr;

// Gives a timeline back once it has reached the last value that anybody will advance it to.
struct TimelineEnd : Continuation {
  Timeline* timeline;
};

void endTimeline(Point last) {
  if (!last.done()) {
    auto* const end = new (std::nothrow) TimelineEnd;
    if (!end) return;  // the timeline stays as it is, used by nobody
    end->value = last.value;
    end->timeline = last.timeline;
    end->run = [](Continuation* self) {
      Timeline::destroy(static_cast<TimelineEnd*>(self)->timeline);
      delete static_cast<TimelineEnd*>(self);
    };
    if (last.timeline->whenReached(end)) return;
    delete end;
  }
  Timeline::destroy(last.timeline);
}

}  // namespace

// What only the keeper of streams may do with them.
class StreamRegistry {
 public:
  static Stream& add(StreamSet& set, Stream::Kind kind, unsigned flags, int priority) {
    Stream* stream = slab.create(set, kind, flags, priority);
    const MutexLock lock(set.mutex);
    link(set, *stream);
    return *stream;
  }

  static Stream& legacy(StreamSet& set) {
    const MutexLock lock(set.mutex);
    if (Stream* existing = set.legacy.load(std::memory_order_relaxed)) return *existing;
    Stream* stream = slab.create(set, Stream::Kind::Legacy, CU_STREAM_DEFAULT, streams::kLeastPriority);
    link(set, *stream);
    set.legacy.store(stream, std::memory_order_release);
    return *stream;
  }

  // Ends a stream; its work goes on. False when somebody else has ended it.
  static bool close(Stream& stream) {
    if (!slab.retire(&stream)) return false;
    if (stream.captured()) capture::forget(stream);
    const Point last = stream.tail();
    if (!moveToUnfinished(stream, last)) last.wait();
    slab.recycle(&stream);
    endTimeline(last);
    return true;
  }

  static void closeAll(StreamSet& set) {
    closeStreams(set, [](const Stream&) { return true; });
    const MutexLock setLock(set.mutex);
    std::vector<StreamSet::Unfinished>().swap(set.unfinished);
    set.blockingBusy.store(false, std::memory_order_relaxed);
  }

  static void closeDefaults(StreamSet& set) {
    closeStreams(set, [](const Stream& stream) { return stream.kind() != Stream::Kind::Created; });
  }

  static bool empty(StreamSet& set) {
    const MutexLock lock(set.mutex);
    return !set.first;
  }

  static Stream& perThread(StreamSet& set) {
    PerThreadEntry* entry = perThreadEntries;
    while (entry && entry->stream.load(std::memory_order_relaxed)) entry = entry->next;
    if (!entry) entry = perThreadEntries = new PerThreadEntry{.next = perThreadEntries};
    Stream& stream = add(set, Stream::Kind::PerThread, CU_STREAM_DEFAULT, streams::kLeastPriority);
    const MutexLock lock(perThreadMutex);
    entry->owner = ownerOf(set);
    entry->stream.store(&stream, std::memory_order_relaxed);
    stream.links_.owner = entry;
    return stream;
  }

  static uint64_t ownerOf(const StreamSet& set) { return set.part ? set.part->id() : set.owner.id(); }

  static void endThread(PerThreadEntry* entry) {
    const MutexLock lock(perThreadMutex);
    while (entry) {
      if (Stream* stream = entry->stream.load(std::memory_order_relaxed)) {
        stream->links_.owner = nullptr;
        close(*stream);
      }
      delete std::exchange(entry, entry->next);
    }
  }

  static void addTails(StreamSet& set, std::vector<Point>& points) {
    const MutexLock lock(set.mutex);
    for (const Stream* stream = set.first; stream; stream = stream->links_.next)
      if (!stream->tail().done()) points.push_back(stream->tail());
    for (const StreamSet::Unfinished& left : set.unfinished)
      if (!left.tail.done()) points.push_back(left.tail);
  }

  // The end of some work that is left; nothing when there is none.
  static Point anyTail(StreamSet& set) {
    const MutexLock lock(set.mutex);
    for (const Stream* stream = set.first; stream; stream = stream->links_.next)
      if (!stream->tail().done()) return stream->tail();
    for (const StreamSet::Unfinished& left : set.unfinished)
      if (!left.tail.done()) return left.tail;
    return {};
  }

  static std::vector<CUstream> all(StreamSet& set) {
    std::vector<CUstream> handles;
    const MutexLock lock(set.mutex);
    for (const Stream* stream = set.first; stream; stream = stream->links_.next) handles.push_back(stream->handle());
    return handles;
  }

  static bool idle(StreamSet& set) {
    const MutexLock lock(set.mutex);
    for (const Stream* stream = set.first; stream; stream = stream->links_.next)
      if (!stream->tail().done()) return false;
    return std::all_of(set.unfinished.begin(), set.unfinished.end(), [](const auto& left) { return left.tail.done(); });
  }

 private:
  // False when there was work left and no memory to remember it.
  static bool moveToUnfinished(Stream& stream, Point last) noexcept {
    StreamSet& set = stream.set();
    const MutexLock lock(set.mutex);
    unlink(set, stream);
    std::erase_if(set.unfinished, [](const StreamSet::Unfinished& left) { return left.tail.done(); });
    if (last.done()) return true;
    try {
      set.unfinished.push_back({last, stream.blocking()});
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  template <class Chosen>
  static Stream* first(StreamSet& set, Chosen chosen) {
    const MutexLock lock(set.mutex);
    Stream* stream = set.first;
    while (stream && !chosen(*stream)) stream = stream->links_.next;
    return stream;
  }
  template <class Chosen>
  static void closeStreams(StreamSet& set, Chosen chosen) {
    const MutexLock lock(perThreadMutex);
    set.legacy.store(nullptr, std::memory_order_release);
    while (Stream* stream = first(set, chosen)) {
      if (stream->links_.owner) stream->links_.owner->stream.store(nullptr, std::memory_order_relaxed);
      close(*stream);
    }
  }
  static void link(StreamSet& set, Stream& stream) VG_REQUIRES(set.mutex) {
    stream.links_.next = set.first;
    if (set.first) set.first->links_.previous = &stream;
    set.first = &stream;
  }
  static void unlink(StreamSet& set, Stream& stream) VG_REQUIRES(set.mutex) {
    (stream.links_.previous ? stream.links_.previous->links_.next : set.first) = stream.links_.next;
    if (stream.links_.next) stream.links_.next->links_.previous = stream.links_.previous;
  }
};

namespace {

pthread_key_t endKey() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, [](void*) { StreamRegistry::endThread(std::exchange(perThreadEntries, nullptr)); }))
      throw std::bad_alloc();
    return made;
  }();
  return key;
}

}  // namespace

Result<Stream&> resolveStream(CUstream handle, StreamSet* current) {
  if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    if (!current) return fail(CUDA_ERROR_INVALID_CONTEXT, "no context is current, so there is no default stream");
    if (handle != CU_STREAM_PER_THREAD) return streams::legacy(*current);
    if (current->green) return fail(CUDA_ERROR_INVALID_HANDLE, "green contexts have no per-thread default streams");
    return streams::perThread(*current);
  }
  Stream* stream = slab.find(handle);
  if (!stream) [[unlikely]]
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no stream", static_cast<void*>(handle));
  if (stream->set().part && !stream->set().part->alive()) [[unlikely]]
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the green context of stream %p has ended",
                static_cast<void*>(handle));
  return *stream;
}

namespace streams {
namespace {

// Calls visit(set) for the context's own set and those of its green contexts.
template <class Visit>
void eachSet(Context& context, Visit visit) {
  for (StreamSet* set = &context.streams(); set; set = set->next.load(std::memory_order_acquire)) visit(*set);
}

// Waits until the set has no work left, and needs no memory for that.
void drain(StreamSet& set) {
  for (Point tail; (tail = StreamRegistry::anyTail(set)).timeline;) tail.wait();
}

template <class Sets>
CUresult await(Context& context, Sets& sets) {
  if (insideHostFunction) return fail(CUDA_ERROR_NOT_PERMITTED, "a host function may not wait for its context");
  try {
    for (const Point& point : pending(sets)) point.wait();
  } catch (const std::bad_alloc&) {
    if constexpr (std::is_same_v<Sets, Context>)
      eachSet(sets, drain);
    else
      drain(sets);
  }
  noteHostWait();
  if (check::order::on()) check::order::hostWaitedForAll();
  context.device().backend().flushOutput();
  return context.state();
}

}  // namespace

Result<CUstream> create(StreamSet& set, unsigned flags, int priority) {
  if (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) return fail(CUDA_ERROR_INVALID_VALUE, "stream flags %#x", flags);
  VG_CHECK(set.context.state());
  priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  return StreamRegistry::add(set, Stream::Kind::Created, flags, priority).handle();
}

CUresult destroy(CUstream handle) {
  Stream* stream = slab.find(handle);
  const Context* context = stream ? &stream->context() : nullptr;
  if (!stream || stream->kind() != Stream::Kind::Created || !StreamRegistry::close(*stream))
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no stream that can be destroyed", static_cast<void*>(handle));
  return context->state();
}

CUresult synchronizeAll(Context& context) { return await(context, context); }
CUresult synchronizeAll(StreamSet& set) { return await(set.context, set); }

std::vector<Point> pending(Context& context) {
  std::vector<Point> points;
  eachSet(context, [&](StreamSet& set) { StreamRegistry::addTails(set, points); });
  return points;
}

std::vector<Point> pending(StreamSet& set) {
  std::vector<Point> points;
  StreamRegistry::addTails(set, points);
  return points;
}

std::vector<CUstream> all(StreamSet& set) { return StreamRegistry::all(set); }

bool idle(Context& context) {
  bool idle = true;
  eachSet(context, [&](StreamSet& set) { idle = idle && StreamRegistry::idle(set); });
  return idle;
}

void destroyAll(Context& context) {
  eachSet(context, drain);
  eachSet(context, [](StreamSet& set) { StreamRegistry::closeAll(set); });
}

void destroyDefaults(StreamSet& set) {
  drain(set);
  StreamRegistry::closeDefaults(set);
}

bool empty(StreamSet& set) { return StreamRegistry::empty(set); }

Stream& makeLegacy(StreamSet& set) { return StreamRegistry::legacy(set); }

Stream& perThread(StreamSet& set) {
  const uint64_t owner = StreamRegistry::ownerOf(set);
  for (PerThreadEntry* entry = perThreadEntries; entry; entry = entry->next)
    if (entry->owner == owner)
      if (Stream* stream = entry->stream.load(std::memory_order_acquire)) return *stream;
  pthread_setspecific(endKey(), &perThreadEntries);  // any value but null: the key's destructor runs at thread exit
  return StreamRegistry::perThread(set);
}

}  // namespace streams

}  // namespace vg::core
