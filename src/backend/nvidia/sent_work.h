// What a queue has sent to the GPU and not seen the end of, in order: grids, copies and fills by kernels and by copy
// engines, waits for what other queues have sent, and small things that follow them (time stamps, writes of timelines).
// No thread waits for it: Watcher looks at all queues' in turn.
//
// A time stamp is what the GPU wrote when the work before it had ended, or the time at which the stamp was asked for,
// if that is later. One in front of a piece of work that has another behind it is when the GPU began that.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <variant>

#include "backend/command.h"
#include "backend/nvidia/work_sender.h"
#include "base/sync/handover.h"

namespace vg::backend::nvidia {

// For what room who gives work waits: for none, for that behind kernels alone, where a thread of the host would only
// make launches slower, or for any.
enum class Patience { None, BehindKernels, Any };

class SentWork final : public Watched, public std::enable_shared_from_this<SentWork> {
 public:
  // `disabledTpcs` as in Grid, of all kernels.
  SentWork(QueueParts& parts, const std::array<uint32_t, 4>& disabledTpcs);
  ~SentWork();
  SentWork(const SentWork&) = delete;

  // Sends the command, or keeps it, until what is before it has ended; then `done` is advanced. False, with nothing
  // done, when it cannot go behind what was sent with no thread of the host in between, or when it would have to wait
  // longer for room than `patience` says. One thread at a time.
  bool take(const Command& command, Point done, Patience patience);
  // The same of as many of them as go together; answers how many. `done` is for the last of all.
  size_t take(std::span<const Command> commands, Point done, Patience patience);
  // As Queue has them. Any thread.
  std::unique_ptr<PreparedLaunches> prepare(std::span<const ChainedWork> launches) const {
    return sender_.prepare(launches);
  }
  bool sends(const PreparedLaunches& launches) const {
    return sender_.sends(static_cast<const PreparedWork&>(launches));
  }
  // When all that was taken so far has ended.
  Point end() const { return {timeline_, first_ + entries_.pushed()}; }
  bool empty() const { return end().done(); }
  // Of grids that are sent from now on and have none of their own. Any thread.
  void setUrgency(unsigned urgency) { sender_.setUrgency(urgency); }

  Found collect() override;
  bool leave() override;
  void remind() override;

 private:
  struct SentTransfer {
    FaultSink* faults;
    bool byEngine;
  };
  // The record is read again only when it faults: who launches has it in a cache, and wants it there next time.
  struct SentLaunch {
    explicit SentLaunch(const LaunchCommand& command)
        : record(command.record), release(command.record->release), faults(command.faults) {}
    LaunchRecord* record;
    void (*release)(LaunchRecord*);
    FaultSink* faults;
  };
  struct SentPrepared {
    const PreparedWork* work;
    FaultSink* faults;
  };
  struct Stamp {
    uint64_t* nanoseconds;
    uint64_t asked;  // when
  };
  // Where it is to be written when a piece of work began.
  struct Beginning {
    uint64_t* nanoseconds = nullptr;  // null: nobody asks
    uint64_t asked = 0;               // when
    uint64_t submission = 0;          // of the work's channel; 0: none
  };
  // What there is to do when a command has ended.
  using Ending = std::variant<SentTransfer, SentLaunch, SentPrepared, HostCall, Wait, Write, Stamp>;
  // Whole lines of the cache: threads hand these to each other at every launch.
  struct alignas(64) Entry {
    Ending ending;
    Point done;
    Submission sent;  // no channel: there was nothing to send
    // Of grids sent together and ending one by one: the channel's step at its end, which tells those that had ended
    // from the one that a fault is of. 0: it ends with `sent`.
    uint64_t step = 0;
    uint64_t begun = 0;                    // when it was first seen with nothing before it, ns; under a limit only
    std::unique_ptr<ParentGrid> parent{};  // of a grid that may launch others, until it has ended
    Point children{};                      // when all that it launched has ended
    Beginning beginning{};
  };
  bool takeStamped(std::span<const Command> commands, Patience patience);
  bool takeWork(const Command& command, Point done, Patience patience);
  bool takeLaunch(const Command& launch, Point done, Room room);
  bool takePrepared(const PreparedCommand& command, Point done, Room room);
  size_t goingTogether(std::span<const Command> commands) const;
  size_t takeLaunches(std::span<const Command> launches, Point done, Patience patience);
  template <class Transferring>
  bool takeTransfer(const Transferring& command, Transfer::Route route, Point done, Patience patience);
  std::unique_ptr<ParentGrid> parentFor(const LaunchCommand& command) const;
  Room roomForKernels(Patience patience);
  bool takeWait(const Wait& wait, Point done);
  uint64_t* stampOfNext() { return stamped_.nanoseconds ? &stamped_.submission : nullptr; }
  void add(Entry&& entry);
  void keep(Entry&& entry);
  void promise(Point point);
  bool reached(uint64_t& value) const;
  bool ended(Entry& entry);
  bool workEnded(Entry& entry);
  void noteBeginning(Entry& entry);
  void noteEnd(Entry& entry);
  bool overdue(Entry& entry) const;
  void finish(const Entry& entry);
  static FaultSink* faultsOf(const Ending& ending);
  static const GpuKernel* kernelOf(const Ending& ending, uint64_t instruction);
  static bool assertionFailed(const Ending& ending);
  void reportFault(const Entry& entry, CUresult error);
  void reportFirstFault(const Entry& entry, CUresult error, FaultSink& faults);

  QueueParts& parts_;
  WorkSender sender_;
  Timeline* const timeline_;
  const uint64_t first_;  // the timeline's value at the beginning
  // The timeline's values when the last of some kinds has ended, 0 when they have; of take().
  uint64_t parentEnd_ = 0;  // grids that may have children, and points that only the host knows
  uint64_t otherEnd_ = 0;   // what is not kernels alone
  Beginning stamped_;       // of what is being taken
  std::atomic<bool> watched_{false};
  Handover<Entry> entries_;  // to the Watcher
  uint64_t lastEnd_ = 0;     // when what was taken off had ended, by the GPU's clock; of the Watcher
};

}  // namespace vg::backend::nvidia
