#include "backend/queues/serial_work.h"

#include <new>
#include <optional>
#include <vector>

#include "backend/queues/command_failure.h"
#include "backend/queues/interleaving.h"
#include "base/result.h"
#include "base/sync/claim.h"
#include "base/sync/patience.h"
#include "base/sync/spin_lock.h"

namespace vg::backend {
namespace {

constexpr int kTurn = 32;  // commands after which a queue lets others have its thread

}  // namespace

// Commands in a ring that grows; trim() gives back what a burst left behind.
class SerialWork::Ring {
 public:
  struct Entry {
    Command command;
    Point done;  // advanced after the command
  };

  bool empty() const { return first_ == end_; }
  Entry& front() { return entries_[first_ & mask()]; }
  void pop() { ++first_; }
  Command& push(const Command& command, Point done) {
    Entry& entry = entries_[end_++ & mask()] = {command, done};
    return entry.command;
  }
  // Room for `count` more. Throws std::bad_alloc.
  void reserve(size_t count) {
    const size_t used = end_ - first_;
    if (used + count <= entries_.size()) return;
    size_t size = entries_.empty() ? 16 : entries_.size();
    while (size < used + count) size *= 2;
    std::vector<Entry> larger(size);
    for (size_t i = 0; i < used; ++i) larger[i] = entries_[(first_ + i) & mask()];
    entries_.swap(larger);
    first_ = 0;
    end_ = used;
  }
  // Requires: empty().
  void trim() {
    constexpr size_t kKept = 4096;  // entries
    if (entries_.size() > kKept) std::vector<Entry>().swap(entries_);
  }

 private:
  size_t mask() const { return entries_.size() - 1; }

  std::vector<Entry> entries_;  // a power of two of them
  size_t first_ = 0, end_ = 0;
};

// Invariants: `scheduled_` is true from the submit that finds the ring empty until a thread finds it empty again;
// meanwhile exactly one of these holds: it is in the executor's lists, a thread is in run(), or it is parked on a
// timeline. One reference belongs to the queue, one to `scheduled_`.
SerialWork::SerialWork(Executor& executor, unsigned urgency)
    : executor_(executor), urgency_(urgency), ring_(std::make_unique<Ring>()) {
  Continuation::run = [](Continuation* self) { static_cast<SerialWork*>(self)->schedule(); };
}

SerialWork::~SerialWork() = default;

CUresult SerialWork::reserve(size_t count) noexcept {
  SpinGuard guard(lock_);
  VG_CHECK(reserveLocked(count));
  reserved_ = true;
  return CUDA_SUCCESS;
}

CUresult SerialWork::reserveLocked(size_t count) noexcept {
  try {
    ring_->reserve(count ? count : 1);
    return CUDA_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no room for %zu commands in a queue", count);
  }
}

CUresult SerialWork::submit(const Command* commands, size_t count, Point done) {
  {
    SpinGuard guard(lock_);
    VG_CHECK(reserveLocked(count));
    reserved_ = false;
    for (size_t i = 0; i < count; ++i) {
      Command& queued = ring_->push(commands[i], i + 1 < count ? Point{} : done);
      if (auto* launch = std::get_if<LaunchCommand>(&queued)) launch->queuedAt = now();
    }
    if (!count) ring_->push(Wait{}, done);
    if (scheduled_.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
    scheduled_.store(true, std::memory_order_relaxed);
    references_.fetch_add(1, std::memory_order_relaxed);
  }
  schedule();
  return CUDA_SUCCESS;
}

void SerialWork::unreference() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

// The oldest command, left in the ring; false when there is none.
bool SerialWork::next(Command* command, Point* done) {
  SpinGuard guard(lock_);
  if (ring_->empty()) {
    if (!reserved_) ring_->trim();
    scheduled_.store(false, std::memory_order_release);
    return false;
  }
  *command = ring_->front().command;
  *done = ring_->front().done;
  return true;
}

void SerialWork::run() {
  Command command;
  Point done;
  for (int turn = 0;; ++turn) {
    if (!next(&command, &done)) break;
    if (turn >= kTurn && executor_.congested()) return schedule();
    if (turn && interleaving::on()) [[unlikely]]
      return schedule();
    const bool closing = executor_.closing();
    if (!closing && handOver(command, done)) {
      SpinGuard guard(lock_);
      ring_->pop();
      continue;
    }
    if (const Point point = before(command); !point.done()) {
      if (park(point)) return;
      continue;
    }
    const Point rest = closing ? Point{} : attempt(command);
    {
      SpinGuard guard(lock_);
      if (!rest.done()) {
        ring_->front().command = Wait{rest};  // in the place of what has been done
        continue;
      }
      ring_->pop();
    }
    Claim(done).release();
  }
  unreference();
}

Point SerialWork::before(const Command& command) const {
  const auto* const wait = std::get_if<Wait>(&command);
  return wait ? wait->point : Point{};
}

void SerialWork::schedule() noexcept { executor_.schedule(*this, urgency()); }

// True when the point is not reached yet: then run() is called again once it is, perhaps before this returns.
bool SerialWork::park(Point point) {
  if (point.done()) return false;
  Continuation::value = point.value;
  return point.timeline->whenReached(this);
}

// Nobody is there to be answered: what cannot be done for want of memory, which may be there again in a moment, fails
// the context, and those behind go on.
Point SerialWork::attempt(const Command& command) noexcept {
  for (int tries = std::holds_alternative<HostCall>(command) ? 1 : kTriesOfAMoment; tries; --tries) try {
      return execute(command);
    } catch (const std::bad_alloc&) {
      if (tries > 1) napForOthers();
    }
  if (FaultSink* const faults = faultsOf(command))
    faults->report(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory for work in a stream");
  dropRecord(command);
  return {};
}

bool SerialWork::tryHere(const Command& command) noexcept {
  try {
    execute(command);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Point SerialWork::execute(const Command& command) {
  if (const auto* launch = std::get_if<LaunchCommand>(&command)) return perform(*launch);
  if (const auto* call = std::get_if<HostCall>(&command)) {
    std::optional<Executor::Blocking> blocking;
    if (!call->brief) blocking.emplace(executor_);
    call->function(call->data);
  }
  if (const auto* write = std::get_if<Write>(&command)) write->timeline->advance(write->value);
  if (const auto* copy = std::get_if<CopyCommand>(&command)) perform(*copy);
  if (const auto* fill = std::get_if<FillCommand>(&command)) perform(*fill);
  if (const auto* stamp = std::get_if<Timestamp>(&command)) perform(*stamp);
  if (const auto* launches = std::get_if<PreparedCommand>(&command)) return perform(*launches);
  return {};
}

}  // namespace vg::backend
