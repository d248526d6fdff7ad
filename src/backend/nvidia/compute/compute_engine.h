// What runs kernels on a GPU: a few channels of the graphics engine, the windows in which generic addresses mean shared
// and local memory, and the pool of local memory. Made at the first use. Thread-safe.
#pragma once

#include <array>
#include <memory>

#include "backend/nvidia/channel/channel_group.h"
#include "backend/nvidia/compute/compute_channel.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class ComputeEngine {
 public:
  static constexpr unsigned kLanes = 8;

  static Result<std::unique_ptr<ComputeEngine>> create(Gpu& gpu, Addresses& addresses);
  ~ComputeEngine();
  ComputeEngine(const ComputeEngine&) = delete;

  using Launch = ComputeChannel::Launch;
  // Which grids a grid goes behind: those of its lane. Lanes share channels when there are more of them than channels.
  // Urgent grids go before those that are not: in channels of their own, made at the first use, as a channel's grids
  // begin one behind the other. Where these cannot be made nothing is urgent.
  struct Place {
    Place(unsigned lane, bool urgent = false) : lane(lane), urgent(urgent) {}
    unsigned lane;
    bool urgent;
  };
  // Requires: reserveLocal(launch.code.localBytes) succeeded.
  Result<Submission> launch(Place place, const Launch& launch) { return send(laneAt(place), launch); }
  // The same of several grids, as ComputeChannel sends them.
  using Sent = ComputeChannel::Sent;
  Result<Sent> launch(Place place, std::span<const Launch> launches) { return send(laneAt(place), launches); }
  // Grids that are run by launch(): PreparedGrids::create().
  Result<std::unique_ptr<PreparedGrids>> prepare(std::span<const PreparedGrids::Item> items);
  Result<Submission> launch(Place place, PreparedGrids& grids, std::span<const Submission> after, Room room);
  // Whether they are what prepare() would make now.
  bool isCurrent(const PreparedGrids& grids) const {
    return grids.descriptions() == descriptions_.load(std::memory_order_acquire);
  }
  // For a grid that follows no other: the lane, or while something runs there, one in which nothing does.
  unsigned quietLane(unsigned lane);
  // As launch(), in a channel that no lane has.
  Result<Submission> launchAside(const Launch& launch) { return send(lanes_[kLanes], launch); }
  // Room for so many bytes of stack and local variables a thread, of all threads that the GPU can run at once. Waits
  // for all grids when there is not enough yet.
  CUresult reserveLocal(uint32_t bytes);
  bool hasLocal(uint32_t bytes) const { return bytes <= localBytes_.load(std::memory_order_acquire); }
  // Of all grids that are sent from now on.
  CUresult setTexturePools(const TexturePools& pools);
  // `error` is the state of all channels from now on, whatever they do.
  void abandon(CUresult error);
  // The same, and ends all grids.
  void stop(CUresult error);
  // After code was written to where other code may have been.
  void forgetCode();
  ComputeChannel& channel(unsigned lane) { return *lanes_[lane % kLanes].channel; }
  const ComputeFacts& facts() const { return facts_; }

 private:
  struct Lane {
    Mutex mutex;  // one thread at a time writes to the channel, which stays the same
    std::unique_ptr<ComputeChannel> channel;
  };

  ComputeEngine(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}
  static constexpr unsigned kChannels = kLanes + 1, kUrgentLanes = 2;
  Lane& laneAt(Place place);
  static Result<Submission> send(Lane& lane, const Launch& launch);
  static Result<Sent> send(Lane& lane, std::span<const Launch> launches);
  CUresult takeWindows();
  bool makeUrgentLanes();
  CUresult makeUrgentLane(Lane& lane, unsigned number) VG_REQUIRES(poolMutex_);
  std::span<Lane> lanes() { return std::span(lanes_).first(made_.load(std::memory_order_acquire)); }
  CUresult replacePool(uint64_t bytesPerTpc) VG_REQUIRES(poolMutex_);

  Gpu& gpu_;
  Addresses& addresses_;
  ComputeFacts facts_;
  std::byte *sharedWindow_ = nullptr, *localWindow_ = nullptr;
  std::unique_ptr<ChannelGroup> group_;
  std::array<Lane, kChannels + kUrgentLanes> lanes_;  // one is aside, then the urgent ones
  std::atomic<unsigned> made_{0};                     // of them, which stay
  Mutex poolMutex_;                                   // before the lanes' mutexes
  bool urgentLanesTried_ VG_GUARDED_BY(poolMutex_) = false;
  std::unique_ptr<Block> pool_ VG_GUARDED_BY(poolMutex_);
  uint64_t poolBytesPerTpc_ VG_GUARDED_BY(poolMutex_) = 0;
  TexturePools texturePools_ VG_GUARDED_BY(poolMutex_);
  std::atomic<uint32_t> localBytes_{0};
  std::atomic<uint64_t> descriptions_{0};  // TexturePools::descriptions
};

}  // namespace vg::backend::nvidia
