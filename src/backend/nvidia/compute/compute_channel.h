// A channel of the graphics engine as a queue of grids: each begins when the one before it in this channel is done.
// Grids of different channels run side by side, because each says itself that it is done: a channel that waited for its
// engine to be idle would hold up the others. Of grids that are sent together each schedules the next one, with which
// the host engine has nothing to do; or none waits for another, and the channel waits until all have counted
// themselves. One thread at a time, but for wait().
#pragma once

#include <memory>
#include <span>

#include "backend/nvidia/channel/channel.h"
#include "backend/nvidia/compute/prepared_grids.h"

namespace vg::backend::nvidia {

// Where threads of all grids keep their local memory.
struct LocalPool {
  uint64_t address = 0;
  uint64_t bytesPerTpc = 0;
};

// Where the texture units look up headers and samplers, and how many there can be.
struct TexturePools {
  uint64_t headers = 0, samplers = 0;  // addresses
  uint32_t headerCount = 0, samplerCount = 0;
  uint64_t descriptions = 0;  // address
};

class ComputeChannel {
 public:
  // `channel` is of a group of the graphics engine and outlives the object.
  // `number`: of the channels of this group, less than 254.
  static Result<std::unique_ptr<ComputeChannel>> create(Gpu& gpu, Addresses& addresses, Channel& channel,
                                                        const ComputeFacts& facts, uint32_t number);
  ComputeChannel(const ComputeChannel&) = delete;

  CUresult setLocalPool(const LocalPool& pool);
  CUresult setTexturePools(const TexturePools& pools);
  // Code that was in the caches is another now.
  void forgetCode() { codeIsNew_ = true; }
  // A grid to send. Nothing of it is needed after the call.
  struct Launch {
    const KernelCode& code;
    const Grid& grid;
    const std::byte* parameters;
    uint32_t bytes;                       // of the parameters
    bool cooperative = false;             // the grid gets a workspace to meet in
    std::span<const Submission> after{};  // what it waits for, besides the grid before it
    Room room = Room::Waited;             // when very many are under way
    uint32_t level = 0;                   // as LaunchCommand has it
    bool early = false;                   // the same
    bool stamped = false;                 // Channel::beginning() is to be written; of the first of several
  };
  Result<Submission> launch(const Launch& launch);
  // What was sent of several grids: one submission, which ends with the last of them. The others end with the channel's
  // steps from `firstStep` on; 0: in any order.
  struct Sent {
    Submission submission;
    size_t count = 0;
    uint64_t firstStep = 0;
  };
  // As many of the grids as go together, all one behind the other or all side by side, but at least one. `after` and
  // `room` are the first one's.
  Result<Sent> launch(std::span<const Launch> launches);
  // A run of all of them; `after` and `room` as above.
  Result<Submission> launch(PreparedGrids& grids, std::span<const Submission> after, Room room);
  // Errors of the channel.
  CUresult wait(uint64_t number, uint64_t nanoseconds = UINT64_MAX) { return channel_.wait(number, nanoseconds); }
  uint64_t submitted() const { return channel_.submitted(); }
  Channel& channel() const { return channel_; }

 private:
  ComputeChannel(Channel& channel, const ComputeFacts& facts, uint32_t number)
      : channel_(channel), facts_(facts), latches_((number + 1) << kLatchBits) {}
  CUresult bind(uint32_t computeClass);
  Sent sendInLine(Push& push, std::span<const Launch> launches);
  Result<Sent> sendSideBySide(Push& push, std::span<const Launch> launches);
  size_t slotAt() const;
  uint32_t newLatch() { return latches_ | (++latch_ & ((1u << kLatchBits) - 1)); }
  void schedule(Push& push, std::span<const Launch> launches);
  bool mayBeginEarly(const Launch& launch) const;
  void giveGoAhead(size_t at, GridEnd& end);
  bool writeStamp(size_t at, size_t slot);
  void beginWork(Push& push, std::span<const Submission> after, uint64_t first, bool early = false);
  void write(const Launch& launch, size_t at, const GridEnd& end);

  Channel& channel_;
  ComputeFacts facts_;
  std::unique_ptr<Block> slots_;  // what the hardware reads for a launch, by submission
  const uint32_t latches_;        // what the numbers of its latches begin with
  uint32_t latch_ = 0;            // the last one
  bool codeIsNew_ = true;
  bool goesAhead_ = false;          // since a grid was to begin early
  uint64_t goAheadOf_ = 0;          // the last submission that gives one
  uint32_t goAheadLatch_ = 0;       // for which its follower waits
  uint64_t lastGrid_ = 0;           // its submission; 0: the channel has waited for it
  uint64_t grids_ = 0, steps_ = 0;  // that were sent
  uint32_t counted_ = 0;            // grids that count themselves, of those
};

}  // namespace vg::backend::nvidia
