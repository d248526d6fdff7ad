// Tells whoever records what a program does (activity/recorder.h) of the work of streams: which call submitted it, and
// when a device began and ended it. Used only while recording.
//
// What is queued gets time stamps of the device before and behind it, as events have them: on a real GPU those that the
// GPU wrote. Work that a thread of the host does itself is timed by that thread.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "activity/recorder.h"
#include "backend/command.h"
#include "backend/device.h"

namespace vg::core {

namespace work_activity {

// Tells of work that the calling thread does while this lives. What a command names may be gone at the end.
class Here {
 public:
  // Requires: the command is a copy, fill or launch.
  Here(const activity::Origin& origin, const backend::Command& command);
  // A graph or a host function.
  Here(const activity::Origin& origin, activity::WorkKind kind, uint32_t nodes = 0);
  ~Here();
  Here(const Here&) = delete;
  // It was not done here after all.
  void drop();

 private:
  activity::Record record_;  // where there is no launch
  activity::Launch* launch_ = nullptr;
  bool dropped_ = false;
};

// While it lives, the calling thread does what belongs to a graph.
class Inside {
 public:
  explicit Inside(const activity::Origin& origin) : before_(activity::threadPart.runsFor) {
    activity::threadPart.runsFor = &origin;
  }
  ~Inside() { activity::threadPart.runsFor = before_; }
  Inside(const Inside&) = delete;

 private:
  const activity::Origin* const before_;
};

// While it lives, what the calling thread submits is of this executable graph.
class OfGraph {
 public:
  explicit OfGraph(uint32_t graph) : before_(activity::threadPart.graph) { activity::threadPart.graph = graph; }
  ~OfGraph() { activity::threadPart.graph = before_; }
  OfGraph(const OfGraph&) = delete;

 private:
  const uint32_t before_;
};

// Whether what the thread does belongs to a graph that is recorded.
inline bool isToldInGraph() { return activity::threadPart.runsFor; }

// Does the work; tells of it if it belongs to a graph that is recorded. `describe()` gives what Here takes beside the
// origin.
template <class Describe, class Work>
auto inGraph(Describe describe, Work work) {
  const activity::Origin* const origin = activity::threadPart.runsFor;
  if (!origin) [[likely]]
    return work();
  const Here here(*origin, describe());
  return work();
}

// Whether any of the commands would be told of.
bool tellsOf(const backend::Command* commands, size_t count);

// A launch that the device times itself, by far the most frequent work: a command in place of the one that was given.
class TimedLaunch {
 public:
  static bool isFor(const backend::Device& device, const backend::Command* commands, size_t count);
  // Requires: isFor(). Where there is no memory, the command as it is.
  TimedLaunch(const activity::Origin& origin, const backend::Command& command) noexcept;
  ~TimedLaunch();
  TimedLaunch(const TimedLaunch&) = delete;

  const backend::Command* data() const { return &command_; }
  // The queue has it.
  void submitted() { launch_ = nullptr; }

 private:
  backend::Command command_;
  activity::Launch* launch_;
};

// Commands with time stamps around each copy, fill and launch, and behind them one that tells. Where there is no memory
// for that, the commands as they are.
class Stamped {
 public:
  Stamped(const activity::Origin& origin, const backend::Device& device, const backend::Command* commands,
          size_t count) noexcept;
  ~Stamped();
  Stamped(const Stamped&) = delete;

  const backend::Command* data() const { return commands_; }
  size_t size() const { return count_; }
  // They were submitted: the queue has what belongs to them.
  void submitted();

  struct Batch;

 private:
  static constexpr size_t kFew = 4;  // commands that need no memory
  void stamp(const activity::Origin& origin, const backend::Device& device);
  void stampAll(const activity::Origin& origin);
  void push(const backend::Command& command);

  const backend::Command* commands_;
  size_t count_;
  std::array<backend::Command, kFew> few_;
  std::vector<backend::Command> many_;
  backend::Command* stamped_ = nullptr;
  size_t stampedCount_ = 0;
  std::unique_ptr<Batch> batch_;
};

// The work of a whole graph. Stamps around `commands` from `first` on, and calls in it that know whose they are.
class WholeGraph {
 public:
  // Null where there is no memory for it: then the commands are as they were.
  static std::unique_ptr<WholeGraph> around(const activity::Origin& origin, const backend::Device& device,
                                            uint32_t nodes, std::vector<backend::Command>& commands,
                                            size_t first) noexcept;

 private:
  struct CallInside {
    backend::HostCall call;
    const activity::Origin* origin;
  };
  WholeGraph(const activity::Origin& origin, const backend::Device& device, uint32_t nodes);
  void enter(backend::Command& command);
  void tell() noexcept;

  activity::Record record_;
  const backend::Device& device_;
  uint64_t begin_ = 0, end_ = 0;
  std::vector<std::unique_ptr<CallInside>> calls_;
};

}  // namespace work_activity
}  // namespace vg::core
