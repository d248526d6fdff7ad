// Shared memory with room for some events, and how one event lies in it.
//
// A process makes pages as it needs them and gives each place out once: pages go away with the last event in them, so
// no event ever lies where a process could still look for an older one.
#pragma once

#include <atomic>
#include <memory>

#include "ipc/handle.h"

namespace vg::ipc {

// Invariants:
// 1. `next` counts tickets. Ticket t lies in entries[t % kEntries] and is put there only when the one before, t -
// kEntries, is finished.
// 2. An entry is ticket << 16 | participant << 8 | flags. Only its recorder sets kReached, and anybody sets kLost who
//    has found that the recorder's process is gone.
// 3. `last` only grows and names a ticket that is in its entry.
// 4. Every change that may end a wait changes `signal` afterwards.
struct EventState {
  static constexpr unsigned kEntries = 256, kParticipants = 64;
  static constexpr uint64_t kReached = 1, kLost = 2;

  struct Participant {
    std::atomic<uint32_t> state;  // kFree, kClaimed, kReady
    uint8_t address[sizeof(Random)];
  };
  static constexpr uint32_t kFree = 0, kClaimed = 1, kReady = 2;

  std::atomic<uint32_t> signal;    // futex word
  std::atomic<uint32_t> sleepers;  // too high when a sleeping process was killed: then waking costs a call for nothing
  std::atomic<uint64_t> next, last;
  Participant participants[kParticipants];
  std::atomic<uint64_t> entries[kEntries];

  static uint64_t entry(uint64_t ticket, unsigned participant) { return ticket << 16 | uint64_t{participant} << 8; }
  static uint64_t ticketOf(uint64_t entry) { return entry >> 16; }
  static unsigned participantOf(uint64_t entry) { return entry >> 8 & (kParticipants - 1); }
  std::atomic<uint64_t>& entryOf(uint64_t ticket) { return entries[ticket % kEntries]; }
};
static_assert(sizeof(EventState) <= 4096 && std::atomic<uint64_t>::is_always_lock_free);

class EventPages {
 public:
  static constexpr unsigned kEvents = 16;
  static constexpr size_t kStride = 4096, kBytes = kStride * kEvents;

  static Result<std::shared_ptr<EventPages>> create();
  static Result<std::shared_ptr<EventPages>> attach(int descriptor);
  ~EventPages();
  EventPages(const EventPages&) = delete;

  EventState& at(unsigned number) const { return *reinterpret_cast<EventState*>(base_ + number * kStride); }
  int file() const { return file_; }  // -1 when attached

 private:
  EventPages(std::byte* base, int file) : base_(base), file_(file) {}

  std::byte* const base_;
  const int file_;
};

}  // namespace vg::ipc
