#include "core/streams/stream.h"

#include <algorithm>

#include "activity/recorder.h"
#include "backend/device.h"
#include "backend/queues/interleaving.h"
#include "base/settings.h"
#include "base/sync/claim.h"
#include "base/sync/mutex.h"
#include "base/sync/spare_hands.h"
#include "base/sync/spin.h"
#include "check/memory/host_pages.h"
#include "check/races/order.h"
#include "copy/copy.h"
#include "core/process/device.h"
#include "core/work/host_fault.h"
#include "core/work/when.h"
#include "core/work/work_activity.h"

// Why two streams never wait for each other: whoever enqueues work reads the tails that the work must wait for first
// and publishes its own tail afterwards. If X waits for Y, Y was published before X read; if Y waited for X as well, X
// would have been published before it read.
namespace vg::core {
namespace {

bool isFollowed(const backend::Command& command) {
  return std::holds_alternative<backend::CopyCommand>(command) ||
         std::holds_alternative<backend::FillCommand>(command) ||
         std::holds_alternative<backend::LaunchCommand>(command);
}

uint64_t blocksOf(const backend::LaunchRecord& record) {
  const uint32_t* const grid = record.shape.grid;
  return uint64_t{grid[0]} * grid[1] * grid[2];
}

// With its number; nodes of graphs have theirs.
backend::Command numberedAs(const Stream& stream, backend::Command command) {
  using check::order::Form;
  if (!check::order::on()) [[likely]]
    return command;
  auto* const copy = std::get_if<backend::CopyCommand>(&command);
  auto* const fill = std::get_if<backend::FillCommand>(&command);
  auto* const launch = std::get_if<backend::LaunchCommand>(&command);
  if (copy && !copy->checked) copy->checked = checked::submitted(stream, Form::Copy);
  if (fill && !fill->checked) fill->checked = checked::submitted(stream, Form::Fill);
  if (launch && !launch->checked) launch->checked = checked::submitted(stream, Form::Kernel, blocksOf(*launch->record));
  return command;
}

Point marked(const Stream& stream, Point point) {
  if (check::order::on()) check::order::marked(checked::lineOf(stream), point.value);
  return point;
}

}  // namespace

check::order::Line checked::lineOf(const Stream& stream) {
  using Kinds = check::order::Line::Kind;
  const bool blocking = !(stream.flags() & CU_STREAM_NON_BLOCKING), legacy = stream.kind() == Stream::Kind::Legacy;
  return {stream.tail().timeline, &stream.set(), !blocking ? Kinds::Free : legacy ? Kinds::Legacy : Kinds::Blocking};
}

uint64_t checked::numberOf(const Stream& stream, check::order::Form form, uint64_t blocks) {
  return check::order::submitted(lineOf(stream), form, blocks);
}

namespace {

constinit std::atomic<uint64_t> lastId{0};

// A queue that has no memory for the commands has taken none.
CUresult pass(backend::Queue& queue, CUresult (backend::Queue::*submit)(const backend::Command*, size_t, Point),
              const backend::Command* commands, size_t count, Point done) noexcept {
  try {
    return (queue.*submit)(commands, count, done);
  } catch (const std::bad_alloc&) {
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no room for %zu commands in a stream", count);
  }
}

// On the calling thread. Out of line while recording, so that short copies pay for a load alone.
[[gnu::cold, gnu::noinline]] bool copyRecorded(const Stream& stream, const copy::Shape& shape) {
  const work_activity::Here here(originOf(stream), backend::CopyCommand{shape});
  return copy::copy(shape);
}
inline bool copyHere(const Stream& stream, const copy::Shape& shape) {
  return activity::recording() ? copyRecorded(stream, shape) : copy::copy(shape);
}
[[gnu::cold, gnu::noinline]] bool fillRecorded(const Stream& stream, const copy::Fill& fill) {
  const work_activity::Here here(originOf(stream), backend::FillCommand{fill});
  return copy::fill(fill);
}
inline bool fillHere(const Stream& stream, const copy::Fill& fill) {
  return activity::recording() ? fillRecorded(stream, fill) : copy::fill(fill);
}

// While managed memory is watched, the host goes on when its work has ended, so that what it does next is seen on pages
// that are closed. Not for ever: the work may wait for the host, and then later calls wait less.
[[gnu::cold, gnu::noinline]] void awaitForAWhile(Point point) {
  constexpr uint64_t kLongest = 1'000'000'000, kShortest = 1'000'000;  // nanoseconds
  static constinit std::atomic<uint64_t> patience{kLongest};
  if (!check::order::on() || backend::interleaving::on()) return;
  const uint64_t most = patience.load(std::memory_order_relaxed);
  if (!point.timeline->waitFor(point.value, most)) patience.store(std::max(most / 4, kShortest));
}
inline void givenToDevice(Point point) {
  if (check::host_pages::watched.load(std::memory_order_relaxed)) [[unlikely]]
    awaitForAWhile(point);
}

// What a call answers when its work has been submitted as the point of a timeline.
CUresult finish(const StreamOwner& owner, CUresult submitted, Point done, Completion completion) {
  if (submitted != CUDA_SUCCESS || completion == Completion::Async) return submitted;
  done.wait();
  if (check::order::on()) check::order::hostWaited(done.timeline, done.value);
  owner.device().backend().flushOutput();
  return owner.state();
}

// The same when the calling thread has done it.
inline CUresult finishInline(const StreamOwner& owner, Point done, Completion completion) {
  done.timeline->advance(done.value);
  if (completion == Completion::Async) return CUDA_SUCCESS;
  if (check::order::on()) check::order::hostWaited(done.timeline, done.value);
  owner.device().backend().flushOutput();
  return owner.state();
}

// A copy or fill on the calling thread met memory that is not there.
CUresult finishFaulted(StreamOwner& owner, Point done, bool locked) {
  if (locked) owner.report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  done.timeline->advance(done.value);
  return locked ? owner.state() : HostFault::refusal();
}

// On the calling thread, where the queue can do that. Requires: the stream was claimed.
bool runInline(const Stream& stream, backend::Queue& queue, const backend::Command& command) {
  if (!activity::recording()) [[likely]]
    return queue.tryInline(command);
  work_activity::Here here(originOf(stream), command);
  const bool done = queue.tryInline(command);
  if (!done) here.drop();
  return done;
}

bool launchBlocking() {
  static const bool blocking = truthy(settings().launchBlocking);
  return blocking;
}

}  // namespace

activity::Origin originOf(const Stream& stream) {
  activity::Origin origin{};
  origin.correlation = activity::threadPart.correlation;
  // The moment counts where the device's own clock says when work ran; else the beginning of the call is near enough.
  const bool near = origin.correlation && stream.set().owner.device().backend().hasClockOfHost();
  origin.submitted = near ? activity::threadPart.callBegan : activity::now();
  activity::threadPart.submitted = true;
  origin.outer = activity::threadPart.outer;
  origin.async = activity::threadPart.async;
  origin.stream = stream.id();
  origin.context = stream.set().owner.id();
  origin.thread = activity::threadNumber();
  origin.graph = activity::threadPart.graph;
  origin.priority = stream.priority();
  origin.device = static_cast<uint16_t>(stream.set().owner.device().ordinal());
  origin.streamKind = static_cast<uint8_t>(stream.kind());
  return origin;
}

Stream::Stream(StreamSet& set, Kind kind, unsigned flags, int priority)
    : set_(set),
      context_(&set.owner),
      timeline_(Timeline::create()),
      tail_(timeline_->value()),
      kind_(kind),
      inlineAllowed_(set.owner.device().backend().hostAddressable() && !backend::interleaving::on()),
      flags_(flags),
      priority_(priority),
      id_(lastId.fetch_add(1, std::memory_order_relaxed) + 1),
      queue_(set.owner.device().backend().createQueue(priority, set.part ? &set.part->multiprocessors() : nullptr)),
      lastQueued_(timeline_->value()) {}

CUstream Stream::handle() const {
  switch (kind_) {
    case Kind::Legacy:
      return CU_STREAM_LEGACY;
    case Kind::PerThread:
      return CU_STREAM_PER_THREAD;
    case Kind::Created:
      break;
  }
  return reinterpret_cast<CUstream>(const_cast<Stream*>(this));
}

// Whether work may run now: not in a stream that captures, nor after a sticky error.
inline CUresult Stream::admit() const {
  if (captured()) [[unlikely]]
    return capture::refuse(*this, "this work");
  return context_->state();
}

// Calls visit(point) for the tail of every other blocking stream that is not done; false when there was one.
template <class Visit>
bool Stream::allBlocking(Visit visit) const {
  bool done = true;
  const auto look = [&](Point point) {
    if (point.done()) return;
    done = false;
    visit(point);
  };
  const MutexLock lock(set_.mutex);
  // Cleared before the tails are read: an enqueue that publishes its tail later sets it again. Its two steps and these
  // two are in one order for all.
  set_.blockingBusy.store(false, std::memory_order_seq_cst);
  for (const Stream* stream = set_.first; stream; stream = stream->links_.next)
    if (stream != this && stream->blocking()) look({stream->timeline_, stream->tail_.load(std::memory_order_seq_cst)});
  for (const StreamSet::Unfinished& left : set_.unfinished)
    if (left.blocking) look(left.tail);
  if (!done) set_.blockingBusy.store(true, std::memory_order_seq_cst);
  return done;
}

// True when work that starts now would not have to wait for another stream.
inline bool Stream::othersDone() const {
  if (!blocking()) return true;
  if (kind_ == Kind::Legacy) {
    if (!set_.blockingBusy.load(std::memory_order_seq_cst)) [[likely]]
      return true;
    return allBlocking([](Point) {});
  }
  const Stream* legacy = set_.legacy.load(std::memory_order_acquire);
  return !legacy || legacy->tail().done();
}

bool Stream::idle() const { return tail().done() && othersDone(); }

// Takes the stream for work on the calling thread: true when it was idle; then the caller must advance the timeline to
// `value`, by a Claim, whatever the work does.
bool Stream::claim(uint64_t* value) {
  uint64_t last = tail_.load(std::memory_order_acquire);
  if (!timeline_->reached(last) || !othersDone()) return false;
  *value = last + 1;
  return tail_.compare_exchange_strong(last, last + 1, std::memory_order_seq_cst);
}

// Makes the queue wait for the streams that the next work has to follow.
CUresult Stream::waitForOthers() {
  if (!blocking()) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  const auto wait = [&](Point point) {
    const backend::Command command = backend::Wait{point};
    if (result == CUDA_SUCCESS) result = pass(*queue_, &backend::Queue::submit, &command, 1, {});
  };
  if (kind_ == Kind::Legacy) {
    if (set_.blockingBusy.load(std::memory_order_seq_cst)) allBlocking(wait);
    return result;
  }
  const Stream* legacy = set_.legacy.load(std::memory_order_acquire);
  if (!legacy) return CUDA_SUCCESS;
  const Point point = legacy->tail();
  if (point.done() || point.value <= lastLegacy_) return CUDA_SUCCESS;
  wait(point);
  if (result == CUDA_SUCCESS) lastLegacy_ = point.value;
  return result;
}

CUresult Stream::enqueue(const backend::Command* commands, size_t count, uint64_t* value, Submit submit) {
  std::vector<backend::Command> numbered;
  if (check::order::on() && std::any_of(commands, commands + count, isFollowed)) [[unlikely]] {
    for (size_t i = 0; i < count; ++i) numbered.push_back(numberedAs(*this, commands[i]));
    commands = numbered.data();
  }
  if (activity::recording() && work_activity::tellsOf(commands, count)) [[unlikely]]
    return enqueueStamped(commands, count, value, submit);
  return enqueueAsIs(commands, count, value, submit);
}

CUresult Stream::enqueueStamped(const backend::Command* commands, size_t count, uint64_t* value, Submit submit) {
  const backend::Device& device = context_->device().backend();
  if (work_activity::TimedLaunch::isFor(device, commands, count)) {
    work_activity::TimedLaunch launch(originOf(*this), *commands);
    const CUresult result = enqueueAsIs(launch.data(), 1, value, submit);
    if (result == CUDA_SUCCESS) launch.submitted();
    return result;
  }
  work_activity::Stamped stamped(originOf(*this), device, commands, count);
  const CUresult result = enqueueAsIs(stamped.data(), stamped.size(), value, submit);
  if (result == CUDA_SUCCESS) stamped.submitted();
  return result;
}

CUresult Stream::enqueueAsIs(const backend::Command* commands, size_t count, uint64_t* value, Submit submit) {
  const MutexLock lock(order_);
  VG_CHECK(waitForOthers());
  const uint64_t before = tail_.fetch_add(1, std::memory_order_seq_cst);
  *value = before + 1;
  if (blocking() && kind_ != Kind::Legacy) set_.blockingBusy.store(true, std::memory_order_seq_cst);
  CUresult result = CUDA_SUCCESS;
  if (before != lastQueued_ && !timeline_->reached(before)) {  // another thread runs work of this stream itself
    const backend::Command wait = backend::Wait{{timeline_, before}};
    result = pass(*queue_, submit, &wait, 1, {});
  }
  if (result == CUDA_SUCCESS) result = pass(*queue_, submit, commands, count, {timeline_, *value});
  if (result != CUDA_SUCCESS) {
    tail_.store(before,
                std::memory_order_seq_cst);  // nobody else moves the tail: it is not reached and we hold the lock
    return result;
  }
  lastQueued_ = *value;
  return CUDA_SUCCESS;
}

CUresult Stream::submit(const backend::Command& command, Completion completion) {
  return submit(&command, 1, completion);
}

CUresult Stream::submit(const backend::Command* commands, size_t count, Completion completion) {
  VG_CHECK(admit());
  uint64_t value = 0;
  const CUresult submitted = enqueue(commands, count, &value);
  if (submitted == CUDA_SUCCESS && count > 1) givenToDevice({timeline_, value});  // a graph, or many copies
  return finish(*context_, submitted, {timeline_, value}, completion);
}

CUresult Stream::submitAtOnce(const backend::Command* commands, size_t count) {
  VG_CHECK(admit());
  uint64_t value = 0;
  return enqueue(commands, count, &value, &backend::Queue::submitAtOnce);
}

CUresult Stream::copy(const copy::Shape& shape, Completion completion) {
  VG_CHECK(admit());
  const size_t bytes = shape.bytes();
  uint64_t value = 0;
  if (when::within(when::kCopy, bytes) && inlineAllowed_ && claim(&value)) [[likely]] {
    const Claim claimed({timeline_, value});
    const check::order::Doing doing(checked::submitted(*this, check::order::Form::Copy));
    if (copyHere(*this, shape)) [[likely]]
      return finishInline(*context_, {timeline_, value}, completion);
    return finishFaulted(*context_, {timeline_, value}, shape.locked);
  }
  if (shape.locked || completion == Completion::Async)
    return submitLarge(backend::CopyCommand{shape, context_}, completion);
  HostFault fault(*context_);
  VG_CHECK(submitLarge(backend::CopyCommand{shape, &fault}, completion));
  return fault.state();
}

CUresult Stream::fill(const copy::Fill& fill, Completion completion) {
  VG_CHECK(admit());
  uint64_t value = 0;
  if (when::within(when::kCopy, fill.width * fill.height) && inlineAllowed_ && claim(&value)) [[likely]] {
    const Claim claimed({timeline_, value});
    const check::order::Doing doing(checked::submitted(*this, check::order::Form::Fill));
    if (fillHere(*this, fill)) [[likely]]
      return finishInline(*context_, {timeline_, value}, completion);
    return finishFaulted(*context_, {timeline_, value}, true);
  }
  return submitLarge(backend::FillCommand{fill, context_}, completion);
}

// A copy or fill that is too long for an asynchronous call; a waiting caller may as well do it itself.
CUresult Stream::submitLarge(const backend::Command& command, Completion completion) {
  uint64_t value = 0;
  if (completion == Completion::Host && claim(&value)) {
    const Claim claimed({timeline_, value});
    if (blocking() && kind_ != Kind::Legacy) set_.blockingBusy.store(true, std::memory_order_seq_cst);
    if (runInline(*this, *queue_, numberedAs(*this, command)))
      return finishInline(*context_, {timeline_, value}, completion);
  }
  const CUresult submitted = enqueue(&command, 1, &value);
  if (submitted == CUDA_SUCCESS) givenToDevice({timeline_, value});
  return finish(*context_, submitted, {timeline_, value}, completion);
}

CUresult Stream::launch(backend::LaunchRecord* record) {
  CUresult result = admit();
  uint64_t value = 0;
  const Completion completion = launchBlocking() ? Completion::Host : Completion::Async;
  if (result == CUDA_SUCCESS) {
    const backend::Command command = backend::LaunchCommand{record, context_, 0, 0, record->shape.programmatic};
    if (record->kernel->inlineSafe(record->shape) && !backend::interleaving::on() && claim(&value)) {
      const Claim claimed({timeline_, value});
      if (runInline(*this, *queue_, numberedAs(*this, command))) {
        (void)finishInline(*context_, {timeline_, value}, completion);
        return completion == Completion::Host ? context_->state() : CUDA_SUCCESS;
      }
    }
    result = enqueue(&command, 1, &value);
    if (result == CUDA_SUCCESS) {
      givenToDevice({timeline_, value});
      if (inlineAllowed_) progress_.ahead.keepShort(*timeline_, value);  // a GPU holds such calls itself
    }
  }
  if (result != CUDA_SUCCESS && record->release) record->release(record);
  return finish(*context_, result, {timeline_, value}, completion);
}

CUresult Stream::hostCall(void (*function)(void*), void* data) { return submit(backend::HostCall{function, data}); }

bool Stream::tryInline(void (*function)(void*), void* data) {
  uint64_t value = 0;
  if (!inlineAllowed_ || context_->state() != CUDA_SUCCESS || !claim(&value)) return false;
  const Claim claimed({timeline_, value});
  const check::order::Doing doing(checked::submitted(*this, check::order::Form::Copy));
  function(data);
  (void)finishInline(*context_, {timeline_, value}, Completion::Async);
  return true;
}

CUresult Stream::waitFor(Point point) {
  VG_CHECK(admit());
  if (!point.timeline || point.timeline == timeline_) return CUDA_SUCCESS;  // a stream is in order with itself
  progress_.followed.add(point);
  if (check::order::on()) check::order::waits(checked::lineOf(*this), point.timeline, point.value);
  if (point.done()) return CUDA_SUCCESS;
  const backend::Command wait = backend::Wait{point};
  uint64_t value = 0;
  return enqueue(&wait, 1, &value);
}

bool Stream::follows(Point point) const { return progress_.followed.has(point); }

void Stream::setPriority(int priority) {
  priority_.store(priority, std::memory_order_relaxed);
  queue_->setPriority(priority);
}

CUresult Stream::query() {
  VG_CHECK(admit());
  if (!tail().done()) {
    spare_hands::lendIfWanted();
    return CUDA_ERROR_NOT_READY;
  }
  if (kind_ == Kind::Legacy && !othersDone()) return CUDA_ERROR_NOT_READY;
  if (check::order::on()) check::order::hostWaited(checked::lineOf(*this));
  return context_->state();  // what has just ended may have failed
}

CUresult Stream::synchronize() {
  if (captured()) [[unlikely]]
    return capture::refuse(*this, "cuStreamSynchronize");
  tail().wait();
  if (kind_ == Kind::Legacy && !othersDone()) {
    std::vector<Point> points;
    allBlocking([&](Point point) { points.push_back(point); });
    for (const Point& point : points) point.wait();
  }
  noteHostWait();
  if (check::order::on()) check::order::hostWaited(checked::lineOf(*this));
  context_->device().backend().flushOutput();
  return context_->state();
}

Result<Point> Stream::mark(uint64_t* nanoseconds) {
  VG_CHECK(admit());
  const Point last = tail();
  const bool done = last.done();
  if (done && othersDone()) [[likely]] {
    if (nanoseconds) *nanoseconds = context_->device().backend().timestamp();
    return marked(*this, last);
  }
  if (!nanoseconds && !done && !blocking()) return marked(*this, last);
  const backend::Command stamp = backend::Timestamp{nanoseconds};
  uint64_t value = 0;
  VG_CHECK(enqueue(&stamp, nanoseconds ? 1 : 0, &value));
  return marked(*this, Point{timeline_, value});
}

namespace streams {

CUresult attribute(const Stream& stream, CUstreamAttrID which, CUstreamAttrValue* value) {
  if (which != CU_LAUNCH_ATTRIBUTE_PRIORITY) return stream.attributes.get(which, value);
  value->priority = stream.priority();
  return CUDA_SUCCESS;
}

CUresult setAttribute(Stream& stream, CUstreamAttrID which, const CUstreamAttrValue& value) {
  if (which != CU_LAUNCH_ATTRIBUTE_PRIORITY) return stream.attributes.set(which, value, stream.set().owner.device());
  stream.setPriority(std::clamp(value.priority, kGreatestPriority, kLeastPriority));
  return CUDA_SUCCESS;
}

CUresult copyAttributes(Stream& to, const Stream& from) {
  if (&from.context() != &to.context())
    return fail(CUDA_ERROR_INVALID_VALUE, "the streams belong to different contexts");
  to.setPriority(from.priority());
  to.attributes.copyFrom(from.attributes);
  return CUDA_SUCCESS;
}

}  // namespace streams

}  // namespace vg::core
