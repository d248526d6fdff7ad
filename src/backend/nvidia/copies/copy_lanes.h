// The channels of copy engines through which queues send copies, a few for each direction. A queue stays with its
// channel while its copies are under way there, and then takes any that has nothing to do: a copy that waits for a grid
// holds up no other queue's. As a channel takes 5 ms to make, there are no more of them than were needed at once;
// queues share only when there are as many as can be. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <span>

#include "backend/nvidia/channel/copy_methods.h"
#include "backend/nvidia/copies/engines.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class CopyLanes {
 public:
  explicit CopyLanes(Engines& engines) : engines_(engines) {}
  CopyLanes(const CopyLanes&) = delete;

  struct Target {
    Direction direction;
    unsigned lane;                      // a number of the queue's
    Submission last;                    // the queue's last one in this direction; none: no channel
    std::span<const Submission> after;  // what the work waits for, besides the one before it
    Room room;                          // Now: also when a channel must be made
    uint64_t* stamped = nullptr;        // set to the submission whose Channel::beginning() is that of the work
  };
  // Sends a copy or a fill. Both sides of a copy are addresses that the GPU knows. Nothing is needed after the call.
  Result<Submission> send(const Target& target, CopyPieces pieces);
  Result<Submission> send(const Target& target, FillPieces pieces);
  // `error` is the state of all channels from now on, whatever they do.
  void abandon(CUresult error);

 private:
  static constexpr unsigned kLanes = 8;  // of a direction
  struct Lane {
    Mutex mutex;
    std::atomic<Channel*> channel{nullptr};  // set under mutex
    std::atomic<uint64_t> sent{0};           // what that was sent last
    bool idle() const { return channel.load(std::memory_order_acquire)->done(sent.load(std::memory_order_acquire)); }
  };
  using Lanes = std::array<Lane, kLanes>;
  // A lane, and the right to use it. None: there is no room now.
  struct Lease {
    Lane* lane = nullptr;
    std::unique_lock<Mutex> right{};
  };
  Lease take(const Target& target);
  template <class Pieces>
  Result<Submission> sendPieces(const Target& target, Pieces pieces);
  Result<Channel*> ready(Lane& lane, Direction direction);

  Engines& engines_;
  std::atomic<CUresult> abandoned_{CUDA_SUCCESS};
  std::array<Lanes, 3> lanes_;  // by direction
};

}  // namespace vg::backend::nvidia
