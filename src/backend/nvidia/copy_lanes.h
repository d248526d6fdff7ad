// The channels of copy engines through which queues send copies: for each lane and direction one of its own, so that a
// copy that waits for a grid holds up no copies but those of its lane, whose grids stand in one line, too
// (ComputeEngine). Made at the first need. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "backend/nvidia/channel/copy_methods.h"
#include "backend/nvidia/engines.h"

namespace vg::backend::nvidia {

class CopyLanes {
 public:
  CopyLanes(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}
  CopyLanes(const CopyLanes&) = delete;

  struct Target {
    unsigned lane;
    Direction direction;
    std::span<const Submission> after;  // what the work waits for, besides the one before it
    Room room;                          // Now: also when there is no channel yet
  };
  // Sends a copy or a fill. Both sides of a copy are addresses that the GPU knows. Nothing is needed after the call.
  Result<Submission> send(const Target& target, CopyPieces pieces);
  Result<Submission> send(const Target& target, FillPieces pieces);
  // `error` is the state of all channels from now on, whatever they do.
  void abandon(CUresult error);

 private:
  static constexpr unsigned kLanes = 8;
  struct Lane {
    std::mutex mutex;
    std::unique_ptr<ChannelGroup> group;     // guarded by mutex
    std::atomic<Channel*> channel{nullptr};  // its only one
  };
  template <class Pieces>
  Result<Submission> sendPieces(const Target& target, Pieces pieces);
  Result<Channel*> ready(Lane& lane, Direction direction);

  Gpu& gpu_;
  Addresses& addresses_;
  std::atomic<CUresult> abandoned_{CUDA_SUCCESS};
  std::array<std::array<Lane, kLanes>, 3> lanes_;  // by direction
};

}  // namespace vg::backend::nvidia
