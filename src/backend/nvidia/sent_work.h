// What a queue has sent to the GPU and not seen the end of, in order: grids, copies and fills that are grids, and small
// things that follow them (time stamps, writes of timelines). No thread waits for it: Watcher looks at all queues' in
// turn.
//
// A time stamp is what the GPU wrote when the work before it had ended, or the time at which the stamp was asked for,
// if that is later.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "backend/command.h"
#include "backend/nvidia/compute/compute_engine.h"

namespace vg::backend::nvidia {

class GpuDevice;
class ParentGrid;

class SentWork : public std::enable_shared_from_this<SentWork> {
 public:
  // `disabledTpcs` as in Grid, of all kernels.
  SentWork(GpuDevice& device, const std::array<uint32_t, 4>& disabledTpcs);
  ~SentWork();
  SentWork(const SentWork&) = delete;

  // True when the command can go behind what was sent, with no thread of the host in between. Nothing can go to the GPU
  // behind a grid that may launch others, because it has ended when they have.
  bool accepts(const Command& command) const;
  static bool mayLaunch(const Command& command);
  // Sends it, or keeps it until what is before it has ended; then `done` is advanced. Requires: accepts(command), one
  // thread at a time.
  void add(const Command& command, Point done);
  // A launch that ends on the calling thread. Requires: not mayLaunch(command).
  void runLaunch(const LaunchCommand& command);
  // When all that was added so far has ended.
  Point end() const { return {timeline_, added_.load(std::memory_order_acquire)}; }
  bool empty() const { return end().done(); }

  // Of the Watcher: takes what has ended off the front.
  enum class Found { Nothing, Something, End };  // End: nothing is left to watch
  Found collect();
  // Of the Watcher, when nothing has ended for a while.
  void remind();

 private:
  struct SentTransfer {
    FaultSink* faults;
  };
  struct Stamp {
    uint64_t* nanoseconds;
    uint64_t asked;  // when
  };
  // What there is to do when a command has ended.
  using Ending = std::variant<SentTransfer, LaunchCommand, Wait, Write, Stamp>;
  // One line of the cache: threads hand these to each other at every launch.
  struct alignas(64) Entry {
    Ending ending;
    Point done;
    ComputeEngine::Sent sent;            // of a launch; no channel: it was not sent
    uint64_t begun = 0;                  // when it was first seen with nothing before it, ns; under a limit only
    std::unique_ptr<ParentGrid> parent;  // of a grid that may launch others, until it has ended
    Point children;                      // when all that it launched has ended
  };
  Result<ComputeEngine::Sent> send(const LaunchCommand& command, const ParentGrid* parent);
  template <class Box>
  Result<ComputeEngine::Sent> sendTransfer(const Box& box, FaultSink* faults);
  Result<ComputeEngine::Sent> send(const Command& command, const ParentGrid* parent);
  std::unique_ptr<ParentGrid> parentFor(const Command& command) const;
  void waitFor(Entry& entry);
  bool ended(Entry& entry);
  bool gridEnded(Entry& entry);
  void noteEnd(const Entry& entry);
  bool overdue(Entry& entry) const;
  void finish(const Entry& entry);
  Ending endingOf(const Command& command) const;
  static FaultSink* faultsOf(const Ending& ending);
  static std::string nameOf(const Ending& ending);
  static bool assertionFailed(const Ending& ending);
  void reportFault(const Entry& entry, CUresult error);

  GpuDevice& device_;
  const std::array<uint32_t, 4> disabledTpcs_;
  const unsigned lane_;
  Timeline* const timeline_;
  const uint64_t first_;  // the timeline's value at the beginning
  std::atomic<uint64_t> added_;
  std::atomic<uint64_t> parentEnd_;  // the timeline's value when the last grid that may launch others has ended
  std::mutex mutex_;
  std::vector<Entry> entries_;  // since the Watcher took some; guarded by mutex_
  bool watched_ = false;        // guarded by mutex_
  // Before those, [next_, end); of the Watcher alone, which looks at them all the time. The two change places, so that
  // launches in a row take no memory.
  std::vector<Entry> taken_;
  size_t next_ = 0;
  uint64_t lastEnd_ = 0;  // when what was taken had ended, by the GPU's clock; of the Watcher
};

}  // namespace vg::backend::nvidia
