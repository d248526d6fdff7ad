// The commands of one queue, run in order by the executor's service threads: what queues of all kinds of device share.
//
// A queue occupies a thread only while a command runs. A Wait that is not due parks it: the timeline's continuation
// schedules it again. Reference-counted: the queue holds one, work that is left another.
#pragma once

#include <atomic>
#include <memory>

#include "backend/command.h"
#include "backend/queues/executor.h"
#include "base/sync/spin_lock.h"

namespace vg::backend {

class SerialWork : public Executor::Task, private Continuation {
 public:
  // `urgency` as in Executor::schedule.
  SerialWork(Executor& executor, unsigned urgency);
  SerialWork(const SerialWork&) = delete;

  // As in Queue.
  CUresult submit(const Command* commands, size_t count, Point done);
  // Room for so many more commands, which submit() then takes without fail, as long as nobody else submits.
  CUresult reserve(size_t count) noexcept;
  bool idle() const { return !scheduled_.load(std::memory_order_acquire); }
  void setUrgency(unsigned urgency) { urgency_.store(urgency, std::memory_order_relaxed); }
  // Gives up the queue's reference; what is queued still runs.
  void unreference();

  // Runs a command on the calling thread; false, with nothing done, when the host has no memory for it. Requires: as in
  // Queue::tryInline.
  bool tryHere(const Command& command) noexcept;
  // When a launch is queued, as the device counts (LaunchCommand::queuedAt).
  virtual uint64_t now() const { return 0; }

  void run() final;

 protected:
  virtual ~SerialWork();
  // Gives the command to somebody who does it behind all that was handed over before, and then advances `done`; false,
  // with nothing done, when this thread has to do it.
  virtual bool handOver(const Command& /*command*/, Point /*done*/) noexcept { return false; }
  // What must have been reached before this thread does a command that was not handed over; then that is tried again.
  virtual Point before(const Command& command) const;
  // Runs a command of the device: all but HostCall, Wait and Write, which are the same everywhere. Throws
  // std::bad_alloc before anything is done; a launch's record is released unless it throws.
  virtual void perform(const CopyCommand& command) = 0;
  virtual void perform(const FillCommand& command) = 0;
  // What it answers is waited for, without a thread, before the launch counts as done.
  virtual Point perform(const LaunchCommand& command) = 0;
  // Of queues that prepare launches.
  virtual Point perform(const PreparedCommand&) { return {}; }
  virtual void perform(const Timestamp& command) = 0;
  unsigned urgency() const { return urgency_.load(std::memory_order_relaxed); }

 private:
  class Ring;

  CUresult reserveLocked(size_t count) noexcept VG_REQUIRES(lock_);
  void schedule() noexcept;
  Point attempt(const Command& command) noexcept;
  // What is still under way afterwards. Throws std::bad_alloc before anything is done.
  Point execute(const Command& command);
  bool park(Point point);
  bool next(Command* command, Point* done);

  Executor& executor_;
  std::atomic<unsigned> urgency_;
  std::atomic<uint32_t> references_{1};
  SpinLock lock_;                               // guards ring_, reserved_ and setting scheduled_
  bool reserved_ VG_GUARDED_BY(lock_) = false;  // room is kept for what comes next
  std::atomic<bool> scheduled_{false};
  const std::unique_ptr<Ring> ring_ VG_POINTEE_GUARDED_BY(lock_);
};

}  // namespace vg::backend
