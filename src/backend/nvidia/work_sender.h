// Sends what a queue gives to the GPU, each piece behind the one before it. One thread at a time.
//
// Work goes to several channels: one for grids, and others for copies in each direction. Where the channel changes, and
// where one queue waits for another, the GPU itself waits: the work begins with an acquire of the end of what is before
// it. A channel runs in order what it was given, and an acquire is of work that was submitted before; so everything
// waits for what was submitted earlier only, all channels together come to an end, and no two pieces of work wait for
// each other, however many queues share a channel.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "backend/command.h"
#include "backend/nvidia/compute/compute_engine.h"
#include "backend/nvidia/copies/transfer.h"
#include "backend/nvidia/kernels/kernel_roles.h"
#include "backend/nvidia/prepared_work.h"
#include "backend/nvidia/queue_parts.h"

namespace vg::backend::nvidia {

struct ItemList;

class WorkSender {
 public:
  // `disabledTpcs` as in Grid, of all kernels.
  WorkSender(QueueParts& parts, const std::array<uint32_t, 4>& disabledTpcs);

  const std::array<uint32_t, 4>& disabledTpcs() const { return disabledTpcs_; }
  // What is sent next begins when this has ended, too.
  void follow(const Submission& other);
  // Of grids that name no priority themselves, as Executor has it. Any thread.
  void setUrgency(unsigned urgency) { urgency_.store(urgency, std::memory_order_relaxed); }
  // When this has ended, so has all that was sent and all that the next piece follows. No channel: that is nothing, or
  // more than one.
  Submission last() const { return before_.size() == 1 ? before_[0] : Submission{}; }
  // Launches of one context: as many of them as go together, but at least one. What fails is reported, but for
  // CUDA_ERROR_NOT_READY. `parent` (may be null) says what a single grid is called.
  using Sent = ComputeEngine::Sent;
  // `stamped` (may be null, only for one launch): set to the submission whose Channel::beginning() is that of the work.
  Result<Sent> send(std::span<const Command> launches, const ParentGrid* parent, Room room, uint64_t* stamped);
  // Null: they cannot be prepared. Any thread.
  std::unique_ptr<PreparedWork> prepare(std::span<const ChainedWork> all) const;
  bool sends(const PreparedWork& work) const;
  // A run of them; as send() of launches.
  Result<Submission> send(PreparedWork& work, FaultSink& faults, Room room);
  // How a copy or a fill goes. `route` as Transfer has it, not Way::Thread; `stamped` as for launches.
  struct Sending {
    Transfer::Route route;
    Room room;
    uint64_t* stamped;
  };
  Result<Submission> send(const CopyCommand& command, const Sending& how) {
    return sendBox(command.shape, command.faults, how);
  }
  Result<Submission> send(const FillCommand& command, const Sending& how) {
    return sendBox(command.fill, command.faults, how);
  }

 private:
  // A launch, with what it points to.
  struct Prepared {
    KernelCode code;
    Grid grid;
    std::vector<std::byte> withTextures;
  };
  Result<Sent> launch(std::span<const Command> launches, const ParentGrid* parent, Room room, bool stamped);
  ComputeEngine::Launch prepare(const Command& launch, const ParentGrid* parent, Prepared& prepared, Room room) const;
  Grid gridOf(const LaunchRecord& record) const;
  bool addItem(const LaunchCommand& launch, ItemList& list, PreparedWork& work) const;
  template <class Box>
  bool addBox(const Box& box, ItemList& list) const;
  Result<Submission> launch(PreparedWork& work, Room room);
  QueueTraits traits() const { return {urgency_.load(std::memory_order_relaxed), disabledTpcs_}; }
  template <class Box>
  Result<Submission> sendBox(const Box& box, FaultSink* faults, const Sending& how);
  template <class Box>
  Result<Submission> transfer(const Box& box, const Sending& how);
  void note(const Submission& sent);
  bool followsNothing() const;
  unsigned urgencyOf(const LaunchRecord& record) const;

  QueueParts& parts_;
  const std::array<uint32_t, 4> disabledTpcs_;
  std::atomic<unsigned> urgency_{0};
  unsigned lane_;                           // changes between grids that follow nothing
  std::array<Submission, 3> lastCopies_{};  // of copy engines, by direction
  std::vector<Submission> before_;          // what the next piece follows, at most one of each channel
  // Of a call of send(); kept so that launches in a row take no memory.
  std::vector<Prepared> prepared_;
  std::vector<ComputeEngine::Launch> launches_;
};

}  // namespace vg::backend::nvidia
