// The copy engines of a GPU by what they are best at, a few channels each, made at the first use and lent to one thread
// at a time that waits for its copy. What queues send goes elsewhere (CopyLanes). Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "backend/nvidia/channel/channel_group.h"

namespace vg::backend::nvidia {

enum class Direction { In, Out, Inside };

class Engines {
 public:
  Engines(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}

  // A channel, and the right to use it.
  struct Lease {
    Channel* channel;
    std::unique_lock<std::mutex> right;
  };
  // Waits when all channels of the direction are in use.
  Result<Lease> take(Direction direction);
  // Which engine that is.
  static uint32_t engineFor(const GpuFacts& facts, Direction direction);

 private:
  static constexpr int kChannels = 2;
  struct Lane {
    std::mutex making;
    std::unique_ptr<ChannelGroup> group;
    std::array<std::mutex, kChannels> rights;
    std::atomic<unsigned> next{0};
  };

  Gpu& gpu_;
  Addresses& addresses_;
  std::array<Lane, 3> lanes_;
};

}  // namespace vg::backend::nvidia
