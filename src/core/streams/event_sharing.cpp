#include "core/streams/event_sharing.h"

#include <new>

#include "base/sync/spin.h"
#include "core/process/gate.h"
#include "ipc/event_bridge.h"
#include "ipc/shared_event.h"

namespace vg::core {
namespace {

using Outcome = ipc::SharedEvent::Outcome;

CUresult lost() {
  return fail(CUDA_ERROR_EXTERNAL_DEVICE, "the process that recorded the event ended before the event was reached");
}

// Marks a record of this process when its point is reached.
struct Finish : Continuation {
  std::shared_ptr<ipc::SharedEvent> shared;
  uint64_t ticket;

  // When the process exits, queued work is dropped and its timelines are advanced: that work was never done.
  void finish() const {
    if (gate.load(std::memory_order_relaxed) != Gate::Exiting) shared->finish(ticket);
  }
};

void finishAt(const std::shared_ptr<ipc::SharedEvent>& shared, uint64_t ticket, Point point) {
  if (point.done()) return shared->finish(ticket);
  auto* const finish = new (std::nothrow) Finish;
  if (!finish) {  // who records waits for it, then: others may wait for the ticket already
    point.wait();
    return shared->finish(ticket);
  }
  finish->value = point.value;
  finish->shared = shared;
  finish->ticket = ticket;
  finish->run = [](Continuation* self) {
    const std::unique_ptr<Finish> done(static_cast<Finish*>(self));
    done->finish();
  };
  if (!point.timeline->whenReached(finish)) finish->run(finish);
}

}  // namespace

Result<uint64_t> EventSharing::reserve() { return shared_->reserve(); }

void EventSharing::recorded(uint64_t ticket, Point point) {
  ownTicket_.store(ticket, std::memory_order_release);
  shared_->publish(ticket);
  finishAt(shared_, ticket, point);
}

void EventSharing::abandon(uint64_t ticket) { shared_->finish(ticket); }

Point EventSharing::point(Point own) const {
  const uint64_t last = shared_->last();
  if (last == ownTicket_.load(std::memory_order_acquire)) return own;
  Result<Point> there = ipc::pointOf(shared_, last);
  if (there) return *there;
  (void)shared_->wait(last);  // no thread to wait for us
  return {};
}

CUresult EventSharing::query(Point own) const {
  const uint64_t last = shared_->last();
  if (last == ownTicket_.load(std::memory_order_acquire)) return own.done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  switch (shared_->outcome(last)) {
    case Outcome::Reached:
      return CUDA_SUCCESS;
    case Outcome::Lost:
      return lost();
    case Outcome::Pending:
      break;
  }
  // Whoever only ever asks would never learn that the recorder has ended.
  constexpr uint64_t kLookPeriod = 100'000'000;  // ns
  const uint64_t now = monotonicNanoseconds();
  uint64_t before = looked_.load(std::memory_order_relaxed);
  if (now - before < kLookPeriod || !looked_.compare_exchange_strong(before, now)) return CUDA_ERROR_NOT_READY;
  return shared_->lookAfter(last) == Outcome::Lost ? lost() : CUDA_ERROR_NOT_READY;
}

CUresult EventSharing::wait(Point own) const {
  const uint64_t last = shared_->last();
  if (last == ownTicket_.load(std::memory_order_acquire)) {
    own.wait();
    return CUDA_SUCCESS;
  }
  return shared_->wait(last) == Outcome::Lost ? lost() : CUDA_SUCCESS;
}

}  // namespace vg::core
