// What runs kernels on a GPU: a few channels of the graphics engine, the windows in which generic addresses mean shared
// and local memory, and the pool of local memory. Made at the first use. Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "backend/nvidia/channel/channel_group.h"
#include "backend/nvidia/compute/compute_channel.h"

namespace vg::backend::nvidia {

class ComputeEngine {
 public:
  static constexpr unsigned kLanes = 8;

  static Result<std::unique_ptr<ComputeEngine>> create(Gpu& gpu, Addresses& addresses);
  ~ComputeEngine();
  ComputeEngine(const ComputeEngine&) = delete;

  // A grid that was sent.
  struct Sent {
    ComputeChannel* channel = nullptr;
    uint64_t number = 0;
    bool done() const { return channel->done(number); }
    uint64_t endedAt() const { return channel->endedAt(number); }  // requires: done()
    // Nothing before it is left in its channel: it runs, or is about to.
    bool first() const { return channel->done(number - 1); }
    CUresult wait(uint64_t nanoseconds = UINT64_MAX) const { return channel->wait(number, nanoseconds); }
  };
  // Sends a grid behind all others of its lane. Lanes share channels when there are more of them than channels.
  // Requires: reserveLocal(code.localBytes) succeeded.
  Result<Sent> launch(unsigned lane, const KernelCode& code, const Grid& grid, const std::byte* parameters,
                      uint32_t bytes, bool cooperative);
  // The same in a channel that no lane has.
  Result<Sent> launchAside(const KernelCode& code, const Grid& grid, const std::byte* parameters, uint32_t bytes);
  // Room for so many bytes of stack and local variables a thread, of all threads that the GPU can run at once. Waits
  // for all grids when there is not enough yet.
  CUresult reserveLocal(uint32_t bytes);
  // Of all grids that are sent from now on.
  CUresult setTexturePools(const TexturePools& pools);
  // How long a launch waits for room behind many others, nanoseconds; then CUDA_ERROR_TIMEOUT. For ever at first.
  void setPatience(uint64_t nanoseconds);
  // Ends all grids, whatever they do; `error` is the state of all channels from now on.
  void stop(CUresult error);
  // After code was written to where other code may have been.
  void forgetCode();
  ComputeChannel& channel(unsigned lane) { return *lanes_[lane % kLanes].channel; }
  const ComputeFacts& facts() const { return facts_; }

 private:
  struct Lane {
    std::mutex mutex;
    std::unique_ptr<ComputeChannel> channel;
  };

  ComputeEngine(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}
  static constexpr unsigned kChannels = kLanes + 1;
  Result<Sent> send(Lane& lane, const KernelCode& code, const Grid& grid, const std::byte* parameters, uint32_t bytes,
                    bool cooperative);
  CUresult takeWindows();
  CUresult replacePool(uint64_t bytesPerTpc);

  Gpu& gpu_;
  Addresses& addresses_;
  ComputeFacts facts_;
  std::byte *sharedWindow_ = nullptr, *localWindow_ = nullptr;
  std::unique_ptr<ChannelGroup> group_;
  std::array<Lane, kChannels> lanes_;  // the last is aside
  std::mutex poolMutex_;               // before the lanes' mutexes
  std::unique_ptr<Block> pool_;        // guarded by poolMutex_
  std::atomic<uint32_t> localBytes_{0};
};

}  // namespace vg::backend::nvidia
