#include "ipc/shared_event.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/sync/futex.h"
#include "base/sync/mutex.h"
#include "base/sync/spin.h"
#include "base/undying.h"
#include "ipc/event_pages.h"
#include "ipc/exporter.h"
#include "ipc/importer.h"

namespace vg::ipc {
namespace {

constexpr uint64_t kSpin = 20'000;             // ns a waiter polls before it sleeps
constexpr uint64_t kLookPeriod = 100'000'000;  // ns between looks after the recorder

constinit std::atomic<uint64_t> lastId{0};

// Where the next event of this process goes.
struct Places {
  Mutex mutex;
  std::weak_ptr<EventPages> pages VG_GUARDED_BY(mutex);  // the newest; kept by the events in it
  unsigned used VG_GUARDED_BY(mutex) = 0;
};
Places& places() { return undying<Places, Places>(); }

void changed(EventState& state) {
  state.signal.fetch_add(1, std::memory_order_seq_cst);
  if (state.sleepers.load(std::memory_order_seq_cst)) futex::wakeAll(state.signal, futex::Scope::Shared);
}

bool settled(uint64_t entry) { return entry & (EventState::kReached | EventState::kLost); }

// Whether the process of a participant is still there.
bool present(const EventState& state, unsigned number) {
  const EventState::Participant& participant = state.participants[number];
  if (participant.state.load(std::memory_order_acquire) != EventState::kReady) return false;
  Address address;
  std::memcpy(address.bytes.data(), participant.address, sizeof participant.address);
  return isOurs(address) || alive(address);
}

// Marks an unfinished entry of a process that has ended.
void markIfLost(EventState& state, std::atomic<uint64_t>& place) {
  uint64_t entry = place.load(std::memory_order_acquire);
  if (!entry || settled(entry) || present(state, EventState::participantOf(entry))) return;
  if (!place.compare_exchange_strong(entry, entry | EventState::kLost, std::memory_order_acq_rel)) return;
  VG_LOG(Warn, "the process that recorded a shared event has ended before the event was reached");
  changed(state);
}

bool claim(EventState::Participant& participant, uint32_t from, const Address& address) {
  if (!participant.state.compare_exchange_strong(from, EventState::kClaimed, std::memory_order_acq_rel)) return false;
  std::memcpy(participant.address, address.bytes.data(), sizeof participant.address);
  participant.state.store(EventState::kReady, std::memory_order_release);
  return true;
}

}  // namespace

SharedEvent::SharedEvent(std::shared_ptr<const EventPages> pages, unsigned number)
    : pages_(std::move(pages)),
      number_(number),
      state_(pages_->at(number)),
      id_(lastId.fetch_add(1, std::memory_order_relaxed) + 1) {}

// Records keep the event alive until they are finished: nobody asks for this participant any more.
SharedEvent::~SharedEvent() {
  const int number = participant_.load(std::memory_order_relaxed);
  if (number >= 0) state_.participants[number].state.store(EventState::kFree, std::memory_order_release);
}

Result<std::shared_ptr<SharedEvent>> SharedEvent::create() {
  Places& all = places();
  const MutexLock lock(all.mutex);
  std::shared_ptr<EventPages> pages = all.pages.lock();
  if (!pages || all.used == EventPages::kEvents) {
    VG_TRY(pages, EventPages::create());
    all.pages = pages;
    all.used = 0;
  }
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(pages), all.used++));
}

Result<std::shared_ptr<SharedEvent>> SharedEvent::attach(int descriptor, uint64_t offset) {
  if (offset % EventPages::kStride || offset >= EventPages::kBytes)
    return fail(CUDA_ERROR_MAP_FAILED, "no event is at %llu", static_cast<unsigned long long>(offset));
  VG_TRY(std::shared_ptr<EventPages> pages, EventPages::attach(descriptor));
  const auto number = static_cast<unsigned>(offset / EventPages::kStride);
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(pages), number));
}

Result<int> SharedEvent::duplicate() const {
  const int copy = fcntl(pages_->file(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no descriptor: %s", strerror(errno));
  return copy;
}

uint64_t SharedEvent::offset() const { return number_ * EventPages::kStride; }

// Our number among the recorders: a free one, or that of a process that has ended.
Result<unsigned> SharedEvent::participate() {
  if (const int number = participant_.load(std::memory_order_acquire); number >= 0)
    return static_cast<unsigned>(number);
  static constinit Mutex mutex;
  const MutexLock lock(mutex);
  if (const int number = participant_.load(std::memory_order_relaxed); number >= 0)
    return static_cast<unsigned>(number);
  VG_TRY(const Address own, listen());
  for (const bool ofTheDead : {false, true})
    for (unsigned i = 0; i < EventState::kParticipants; ++i) {
      EventState::Participant& participant = state_.participants[i];
      if (ofTheDead) {
        if (participant.state.load() != EventState::kReady || present(state_, i)) continue;
        for (auto& entry : state_.entries)
          if (EventState::participantOf(entry.load()) == i) markIfLost(state_, entry);
      }
      if (!claim(participant, ofTheDead ? EventState::kReady : EventState::kFree, own)) continue;
      participant_.store(static_cast<int>(i), std::memory_order_release);
      return i;
    }
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "more than %u processes record one event", EventState::kParticipants);
}

// Until the ticket that lay in the same entry before is settled. A recorder that ended between taking its ticket and
// entering it leaves a gap; after a while nobody waits for that.
void SharedEvent::awaitRoom(uint64_t ticket) const {
  std::atomic<uint64_t>& place = state_.entryOf(ticket);
  const auto free = [&] {
    const uint64_t entry = place.load(std::memory_order_acquire);
    const bool inTurn = EventState::ticketOf(entry) + EventState::kEntries == ticket || ticket <= EventState::kEntries;
    return (!entry || settled(entry)) && inTurn;
  };
  for (int gaps = 0; gaps < 20;) {
    if (free()) return;
    const Sleeper sleeper(*this);
    const uint32_t seen = state_.signal.load(std::memory_order_seq_cst);
    if (free()) return;
    if (futex::wait(state_.signal, seen, &kLookPeriod, futex::Scope::Shared)) continue;
    markIfLost(state_, place);
    const uint64_t entry = place.load(std::memory_order_acquire);
    gaps += !entry || settled(entry);
  }
}

Result<uint64_t> SharedEvent::reserve() {
  VG_TRY(const unsigned participant, participate());
  const uint64_t ticket = state_.next.fetch_add(1, std::memory_order_acq_rel) + 1;
  awaitRoom(ticket);
  state_.entryOf(ticket).store(EventState::entry(ticket, participant), std::memory_order_release);
  return ticket;
}

void SharedEvent::publish(uint64_t ticket) {
  uint64_t last = state_.last.load(std::memory_order_relaxed);
  while (last < ticket && !state_.last.compare_exchange_weak(last, ticket, std::memory_order_acq_rel)) {
  }
}

void SharedEvent::finish(uint64_t ticket) {
  std::atomic<uint64_t>& place = state_.entryOf(ticket);
  uint64_t entry = place.load(std::memory_order_relaxed);
  if (EventState::ticketOf(entry) != ticket || settled(entry)) return;
  place.compare_exchange_strong(entry, entry | EventState::kReached, std::memory_order_acq_rel);
  changed(state_);
}

uint64_t SharedEvent::last() const { return state_.last.load(std::memory_order_acquire); }

SharedEvent::Outcome SharedEvent::outcome(uint64_t ticket) const {
  if (!ticket) return Outcome::Reached;
  const uint64_t entry = state_.entryOf(ticket).load(std::memory_order_acquire);
  if (EventState::ticketOf(entry) != ticket)  // a later one took its place only once it was settled
    return EventState::ticketOf(entry) > ticket ? Outcome::Reached : Outcome::Pending;
  if (entry & EventState::kLost) return Outcome::Lost;
  return entry & EventState::kReached ? Outcome::Reached : Outcome::Pending;
}

const std::atomic<uint32_t>& SharedEvent::signal() const { return state_.signal; }

SharedEvent::Outcome SharedEvent::lookAfter(uint64_t ticket) const {
  std::atomic<uint64_t>& place = state_.entryOf(ticket);
  if (EventState::ticketOf(place.load(std::memory_order_acquire)) == ticket) markIfLost(state_, place);
  return outcome(ticket);
}

SharedEvent::Outcome SharedEvent::wait(uint64_t ticket) const {
  if (spinUntil([&] { return outcome(ticket) != Outcome::Pending; }, kSpin)) return outcome(ticket);
  const Sleeper sleeper(*this);
  for (;;) {
    const uint32_t seen = state_.signal.load(std::memory_order_seq_cst);
    Outcome now = outcome(ticket);
    if (now != Outcome::Pending) return now;
    if (!futex::wait(state_.signal, seen, &kLookPeriod, futex::Scope::Shared)) {
      now = lookAfter(ticket);
      if (now != Outcome::Pending) return now;
    }
  }
}

SharedEvent::Sleeper::Sleeper(const SharedEvent& event) : state_(event.state_) {
  state_.sleepers.fetch_add(1, std::memory_order_seq_cst);
}
SharedEvent::Sleeper::~Sleeper() { state_.sleepers.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace vg::ipc
