// A channel: an in-order stream of methods that the GPU's host engine reads from memory, and how far it has come.
//
// A submission is up to kSubmissionWords words. Each ends with a release of the channel's own semaphore, so that
// progress is one number that the CPU reads from memory; no system call is made on the way. One thread at a time.
#pragma once

#include <atomic>
#include <memory>

#include "backend/nvidia/channel/push.h"
#include "backend/nvidia/driver/block.h"

namespace vg::backend::nvidia {

class ChannelGroup;

class Channel {
 public:
  static constexpr size_t kSubmissionWords = 1024;
  static constexpr uint64_t kInFlight = 64;  // submissions

  ~Channel();
  Channel(const Channel&) = delete;

  // How long begin() waits for room, nanoseconds: where kernels run, for ever.
  void setPatience(uint64_t nanoseconds) { patience_ = nanoseconds; }
  // Room for the next submission. Waits for the oldest one when kInFlight are under way; the errors of wait().
  Result<Push> begin();
  // Sends what was written; the number that completed() will reach when it is done.
  uint64_t submit(Push& push);
  // The same for work whose engine itself writes the number of it, and the time, to progressAddress(): the channel does
  // not wait for it.
  uint64_t submitReleasing(Push& push);
  uint64_t progressAddress() const { return memory_->address(); }
  // The last submission that is done.
  uint64_t completed() const { return __atomic_load_n(&progress()->payload, __ATOMIC_ACQUIRE); }
  bool done(uint64_t submission) const { return completed() >= submission; }
  uint64_t submitted() const { return submitted_; }
  // The GPU's time of the last submission that is done, nanoseconds.
  uint64_t completedAt() const { return progress()->nanoseconds; }
  // Spins, then naps, until the submission is done. CUDA_ERROR_LAUNCH_FAILED when the channel died, CUDA_ERROR_TIMEOUT,
  // both with the channel's state in the log.
  CUresult wait(uint64_t submission, uint64_t nanoseconds = 10'000'000'000);
  // CUDA_SUCCESS, or what ended the channel.
  CUresult state() const;
  // Tells the GPU again that there is something to do. It happens that it does not hear the first time, when channels
  // of other processes come or go. Any thread.
  void remind() const { gpu_.ringDoorbell(token_); }
  // From now on this is the channel's state, whatever runs; who waits gives up. Any thread. It is still the hardware's
  // until ChannelGroup::close().
  void abandon(CUresult error) { abandoned_.store(error, std::memory_order_release); }
  // "put 5 get 3, submitted 5, completed 3, error 31"
  std::string describe() const;
  // Of a channel of the graphics engine.
  rm::Handle handle() const { return handle_; }
  rm::Handle computeObject() const { return computeObject_; }

 private:
  friend class ChannelGroup;
  struct Progress {
    uint64_t payload, nanoseconds;
  };

  explicit Channel(Gpu& gpu) : gpu_(gpu) {}
  // In `slot` of the group's block.
  CUresult create(const ChannelGroup& group, Addresses& addresses, size_t slot);
  // Takes it from the hardware, also in the middle of work. Its memory stays.
  void close();
  uint64_t send(size_t at, size_t words);
  CUresult createObject(const ChannelGroup& group, const Block& rings, size_t at);
  CUresult createEngineObjects(const ChannelGroup& group);
  CUresult registerWithUvm(bool graphics);
  const Progress* progress() const { return reinterpret_cast<const Progress*>(memory_->start()); }
  const rm::Notification& notification() const {
    return *reinterpret_cast<const rm::Notification*>(notifier_->start());
  }

  Gpu& gpu_;
  rm::Handle group_ = 0, handle_ = 0, computeObject_ = 0;
  bool registered_ = false;
  std::unique_ptr<Block> memory_;    // progress, then the push buffer's pieces
  std::unique_ptr<Block> notifier_;  // where the driver writes why the channel died
  std::byte* window_ = nullptr;      // addresses of the context's own buffers
  size_t windowBytes_ = 0;
  uint64_t* ring_ = nullptr;
  volatile uint32_t *put_ = nullptr, *get_ = nullptr;
  uint32_t token_ = 0;
  uint64_t submitted_ = 0;
  uint64_t patience_ = 10'000'000'000;
  std::atomic<CUresult> abandoned_{CUDA_SUCCESS};
};

}  // namespace vg::backend::nvidia
