// A channel: an in-order stream of methods that the GPU's host engine reads from memory, and how far it has come.
//
// A submission is up to kSubmissionWords words. Each ends with a release of a semaphore of its own, which holds its
// number and the time, so that the CPU reads from memory what is done and since when; no system call is made on the
// way. One thread at a time, but for what says otherwise.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "backend/nvidia/channel/channel_objects.h"
#include "backend/nvidia/channel/copy_methods.h"
#include "backend/nvidia/channel/push_pieces.h"
#include "backend/nvidia/driver/block.h"

namespace vg::backend::nvidia {

struct Submission;

// Whether who sends waits for room where there is none; otherwise the answer is CUDA_ERROR_NOT_READY, and nothing is
// sent.
enum class Room { Now, Waited };

class Channel {
 public:
  static constexpr size_t kSubmissionWords = PushPieces::kWords;
  static constexpr uint64_t kInFlight = PushPieces::kCount;  // submissions
  static constexpr uint64_t kTimes = 4096;                   // submissions whose ends are kept

  // For ChannelGroup.
  static Result<std::unique_ptr<Channel>> create(Gpu& gpu, Addresses& addresses, const ChannelPlace& place);
  Channel(const Channel&) = delete;
  // Takes it from the hardware, also in the middle of work. Its memory stays. For ChannelGroup.
  void close() { objects_.close(); }

  // How long begin() waits for room, nanoseconds: where kernels run, for ever.
  void setPatience(uint64_t nanoseconds) { patience_ = nanoseconds; }
  // What the engine does while the channel waits for others; it goes to other groups unless said otherwise.
  void setMeanwhile(host::Meanwhile meanwhile) { meanwhile_ = meanwhile; }
  // Room for the next submission. Waits for the oldest one when kInFlight are under way; the errors of wait().
  Result<Push> begin();
  // What is written from here on begins when these have ended, of any channel. Of each, as it was submitted already,
  // the end comes without anything behind the wait.
  void follow(Push& push, std::span<const Submission> others) const;
  // The same of one submission, which may be this channel's.
  void follow(Push& push, const Submission& other) const;
  // Whether begin() would not wait, the next so many times.
  bool hasRoom(uint64_t times = 1) const {
    return submitted_ + times <= kInFlight || done(submitted_ + times - kInFlight);
  }
  // Sends what was written; its number, counted from 1.
  uint64_t submit(Push& push);
  // The same for a copy or fill whose last launch releases copyEnd(number, stamped).
  uint64_t submitCopy(Push& push, bool stamped = false);
  // What that launch has to release: end(), so that other channels may wait for it; or, stamped, ownEnd(): end() comes
  // behind it then.
  CopyEnd copyEnd(uint64_t submission, bool stamped) const {
    return stamped ? CopyEnd{ownEnd(submission).semaphore, true} : CopyEnd{end(submission), false};
  }
  // The same for work whose engine itself writes the number of it, and the time, to progressAddress(): the channel does
  // not wait for it.
  uint64_t submitReleasing(Push& push);
  // The same for what has been waited for in the channel: the host engine writes that, and releases end().
  uint64_t submitEnded(Push& push);
  // The same for a part of what the next submitEnded() ends. Up to kMostUnended parts, with nothing else between them.
  uint64_t submitUnended(Push& push);
  static constexpr uint64_t kMostUnended = 7;
  uint64_t progressAddress(uint64_t submission) const { return memory_->address(progressAt(submission)); }
  // Where work writes its number and the time when it begins, and copies when they end, if somebody asks for that.
  struct Stamp {
    host::Semaphore semaphore;
    const uint64_t* words;  // what is there
    // Nanoseconds of the GPU's clock; 0 when nothing was written, or kTimes others were sent since. Any thread.
    uint64_t at() const { return __atomic_load_n(words, __ATOMIC_ACQUIRE) == semaphore.payload ? words[1] : 0; }
  };
  Stamp beginning(uint64_t submission) const;
  // 0.7 us sooner than what is behind the copy could say. endedAt() prefers it.
  Stamp ownEnd(uint64_t submission) const;
  // What channels acquire that wait for a submission: a word of video memory. Released by the engine of a submitCopy()
  // or a submitReleasing(), and by submitEnded().
  host::Semaphore end(uint64_t submission) const { return {endAddress_, submission}; }
  // Words of video memory: one for work of several steps to count them in; one for a submission whose follower may
  // begin before it has ended; and one of 32 bits in which work counts itself that ends in any order.
  enum class Word { Steps, GoAhead, Count };
  uint64_t addressOf(Word word) const;
  // The channel waits for a go-ahead, and for a count at any address.
  void followGoAhead(Push& push, uint64_t submission) const;
  void followCount(Push& push, uint64_t address, uint32_t count) const;
  // What is there: read from the device, which takes its time. Any thread.
  uint64_t stepsDone() const { return *steps_; }
  // Any thread.
  bool done(uint64_t submission) const {
    return __atomic_load_n(&progress(submission).payload, __ATOMIC_ACQUIRE) >= submission;
  }
  // When it was done, nanoseconds of the GPU's clock; a later one's end when kTimes others are done since. Any thread.
  // Requires: done(submission).
  uint64_t endedAt(uint64_t submission) const {
    const uint64_t own = ownEnd(submission).at();
    return own ? own : progress(submission).nanoseconds;
  }
  uint64_t submitted() const { return submitted_; }
  // Spins, then naps, until the submission is done. CUDA_ERROR_LAUNCH_FAILED when the channel died, CUDA_ERROR_TIMEOUT,
  // both with the channel's state in the log.
  CUresult wait(uint64_t submission, uint64_t nanoseconds = 10'000'000'000);
  // CUDA_SUCCESS, or what ended the channel.
  CUresult state() const;
  // Tells the GPU again that there is something to do. It happens that it does not hear the first time, when channels
  // of other processes come or go. Any thread.
  void remind() const { objects_.ringDoorbell(); }
  // From now on this is the channel's state, whatever runs; who waits gives up. Any thread; the first one counts. It is
  // still the hardware's until ChannelGroup::close().
  void abandon(CUresult error) {
    CUresult none = CUDA_SUCCESS;
    abandoned_.compare_exchange_strong(none, error, std::memory_order_acq_rel);
  }
  // Whether the driver ended it because its work could not be interrupted for another process's for some seconds.
  bool keptOthersWaiting() const { return objects_.keptOthersWaiting(); }
  // "put 5 get 3, submitted 5, completed 3, error 31"
  std::string describe() const;
  // Of a channel of the graphics engine.
  rm::Handle handle() const { return objects_.handle(); }
  rm::Handle computeObject() const { return objects_.computeObject(); }

 private:
  struct Progress {
    uint64_t payload, nanoseconds;
  };

  explicit Channel(Gpu& gpu) : objects_(gpu) {}
  CUresult make(Gpu& gpu, Addresses& addresses, const ChannelPlace& place);
  static constexpr size_t progressAt(uint64_t submission) { return submission % kTimes * sizeof(Progress); }
  const Progress& progress(uint64_t submission) const {
    return *reinterpret_cast<const Progress*>(memory_->start() + progressAt(submission));
  }

  Stamp stamp(size_t table, uint64_t submission) const;

  std::unique_ptr<Block> memory_;  // progress, then beginnings, then ends of copies
  std::unique_ptr<PushPieces> pieces_;
  ChannelObjects objects_;
  uint64_t* ring_ = nullptr;
  uint64_t endAddress_ = 0;
  const volatile uint64_t* steps_ = nullptr;
  volatile uint32_t *put_ = nullptr, *get_ = nullptr;
  uint64_t patience_ = 10'000'000'000;
  host::Meanwhile meanwhile_ = host::Meanwhile::Leave;
  std::atomic<CUresult> abandoned_{CUDA_SUCCESS};
  // Every submission writes it: apart from what the Watcher reads all the time.
  alignas(64) uint64_t submitted_ = 0;
  uint64_t unended_ = 0;  // the last ones, which no submitEnded() has ended
};

// A piece of work that was sent.
struct Submission {
  Channel* channel = nullptr;  // null: there was nothing to send
  uint64_t number = 0;
  bool done() const { return channel->done(number); }
  // Nothing before it is left in its channel: it runs, is about to, or waits for another channel.
  bool first() const { return channel->done(number - 1); }
  uint64_t endedAt() const { return channel->endedAt(number); }  // requires: done()
  host::Semaphore end() const { return channel->end(number); }
  CUresult wait(uint64_t nanoseconds = UINT64_MAX) const { return channel->wait(number, nanoseconds); }
};

}  // namespace vg::backend::nvidia
