// An event that several processes record and wait for: its state lies in memory that they share.
//
// Every record has a ticket; a waiter waits for the last ticket that there was when it began to, exactly, whoever
// records meanwhile. A ticket that is never finished because its process ended is found to be lost: waiters look after
// the recorder every tenth of a second. The state holds numbers only, so whatever another process writes to it can
// confuse waiting but harm nothing else. All functions are thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "ipc/handle.h"

namespace vg::ipc {

struct EventState;  // what lies in the shared memory
class EventPages;   // a mapped piece of shared memory with room for some events

class SharedEvent {
 public:
  // A new one, never recorded. CUDA_ERROR_OUT_OF_MEMORY.
  static Result<std::shared_ptr<SharedEvent>> create();
  // The one at `offset` in memory that another process shares; the caller keeps the descriptor. CUDA_ERROR_MAP_FAILED.
  static Result<std::shared_ptr<SharedEvent>> attach(int descriptor, uint64_t offset);
  ~SharedEvent();

  // How others attach. The descriptor is the caller's. CUDA_ERROR_OUT_OF_MEMORY. Requires: made by create().
  Result<int> duplicate() const;
  uint64_t offset() const;
  uint64_t id() const { return id_; }  // unique in the process

  // To record: reserve(), then publish() once the record is made, then finish() when it is reached; or finish() alone
  // to give it up. While a few hundred records are unfinished reserve() waits for the oldest of them.
  Result<uint64_t> reserve();
  void publish(uint64_t ticket);
  void finish(uint64_t ticket);

  // The last ticket that was published; 0 when there is none.
  uint64_t last() const;

  enum class Outcome { Pending, Reached, Lost };
  Outcome outcome(uint64_t ticket) const;
  // Blocks the thread until it is reached or lost.
  Outcome wait(uint64_t ticket) const;

  // For those who wait for several: sleep while `signal()` is what it was before outcome() was asked; announced by
  // a Sleeper; and see lookAfter() at times, which finds out whether the ticket is lost.
  const std::atomic<uint32_t>& signal() const;
  Outcome lookAfter(uint64_t ticket) const;
  class Sleeper {
   public:
    explicit Sleeper(const SharedEvent& event);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;

   private:
    EventState& state_;
  };

 private:
  SharedEvent(std::shared_ptr<const EventPages> pages, unsigned number);
  Result<unsigned> participate();
  void awaitRoom(uint64_t ticket) const;

  const std::shared_ptr<const EventPages> pages_;
  const unsigned number_;  // in the pages
  EventState& state_;
  const uint64_t id_;
  std::atomic<int> participant_{-1};  // our number among those who record
};

}  // namespace vg::ipc
