// The copy engines of a GPU by what they are best at: one group of channels for each direction, as no two groups have
// an engine at once and to change between them takes it some 5 us. Channels are made when they are needed. A few are
// lent to one thread at a time that waits for its copy; the others are whoever's asks for them (CopyLanes).
// Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "backend/nvidia/channel/channel_group.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

enum class Direction { In, Out, Inside };

class Engines {
 public:
  Engines(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}

  // A channel, and the right to use it.
  struct Lease {
    Channel* channel;
    std::unique_lock<Mutex> right;
  };
  // Waits when all channels of the direction are in use.
  Result<Lease> take(Direction direction);
  // One more, which nobody else gets and which stays.
  Result<Channel*> make(Direction direction);
  // Which engine that is.
  static uint32_t engineFor(const GpuFacts& facts, Direction direction);

 private:
  static constexpr size_t kLent = 2;
  struct Lane {
    Mutex making;
    std::unique_ptr<ChannelGroup> group VG_GUARDED_BY(making);
    struct Lent {
      Mutex right;
      Channel* channel VG_GUARDED_BY(right) = nullptr;
    };
    std::array<Lent, kLent> lent;
    std::atomic<unsigned> next{0};
  };
  Lane& laneOf(Direction direction) { return lanes_[static_cast<size_t>(direction)]; }

  Gpu& gpu_;
  Addresses& addresses_;
  std::array<Lane, 3> lanes_;
};

}  // namespace vg::backend::nvidia
