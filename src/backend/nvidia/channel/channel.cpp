#include "backend/nvidia/channel/channel.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "backend/nvidia/channel/store_fence.h"
#include "base/log.h"
#include "base/sync/spin.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint32_t kRingEntries = 1024;
constexpr size_t kSlotBytes = 16384;  // ring, the words shared with the host, end()
constexpr size_t kEndAt = 12288;
// Of the Words, behind end().
constexpr size_t behindEnd(Channel::Word word) { return (1 + static_cast<size_t>(word)) * 64; }
constexpr size_t kEndBytes = behindEnd(Channel::Word::Count) + sizeof(uint64_t);
constexpr size_t kTableBytes = Channel::kTimes * 16;  // progress, beginnings, ends of copies
constexpr size_t kTailWords = std::max((2 + Channel::kMostUnended) * host::kSemaphoreWords, 2 * ce::kReleaseWords);

static_assert(Channel::kInFlight < kRingEntries);

// Bits of a ring's entry: address of words, that they are a subroutine, how many.
uint64_t ringEntry(uint64_t address, size_t words) { return address | uint64_t{1} << 41 | uint64_t{words} << 42; }

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(Gpu& gpu, Addresses& addresses, const ChannelPlace& place) {
  std::unique_ptr<Channel> channel(new Channel(gpu));
  VG_CHECK(channel->make(gpu, addresses, place));
  return channel;
}

CUresult Channel::make(Gpu& gpu, Addresses& addresses, const ChannelPlace& place) {
  VG_TRY(memory_, Block::createPinned(gpu, addresses, 3 * kTableBytes));
  VG_TRY(pieces_, PushPieces::create(gpu, addresses));
  const RingPlace ring{place.slot * kSlotBytes, kRingEntries};
  std::byte* const shared = place.rings.start() + ring.sharedAt();
  std::byte* const end = place.rings.start() + ring.at + kEndAt;
  ring_ = reinterpret_cast<uint64_t*>(place.rings.start() + ring.at);
  endAddress_ = place.rings.address(ring.at + kEndAt);
  std::memset(end, 0, kEndBytes);
  steps_ = reinterpret_cast<const volatile uint64_t*>(end + behindEnd(Word::Steps));
  get_ = reinterpret_cast<volatile uint32_t*>(shared + rm::kUserdGet);
  put_ = reinterpret_cast<volatile uint32_t*>(shared + rm::kUserdPut);
  return objects_.make(addresses, place, ring);
}

Result<Push> Channel::begin() {
  if (const CUresult error = abandoned_.load(std::memory_order_acquire)) return error;
  if (!hasRoom()) VG_CHECK(wait(submitted_ + 1 - kInFlight, patience_));
  return pieces_->begin(kSubmissionWords - kTailWords);
}

uint64_t Channel::addressOf(Word word) const { return endAddress_ + behindEnd(word); }
void Channel::followGoAhead(Push& push, uint64_t submission) const {
  host::acquire(push, {addressOf(Word::GoAhead), submission}, meanwhile_);
}
void Channel::followCount(Push& push, uint64_t address, uint32_t count) const {
  host::acquireCount(push, address, count, meanwhile_);
}

void Channel::follow(Push& push, std::span<const Submission> others) const {
  for (const Submission& other : others)
    if (other.channel != this) follow(push, other);
}

void Channel::follow(Push& push, const Submission& other) const {
  if (!other.done()) host::acquire(push, other.end(), meanwhile_);
}

// begin() has left room for the semaphore.
uint64_t Channel::submit(Push& push) {
  push.extend(host::kSemaphoreWords);
  host::release(push, {progressAddress(submitted_ + 1), submitted_ + 1});
  return submitReleasing(push);
}

uint64_t Channel::submitCopy(Push& push, bool stamped) {
  push.extend(2 * ce::kReleaseWords);
  if (stamped) ce::releaseWord(push, end(submitted_ + 1));
  ce::release(push, {progressAddress(submitted_ + 1), submitted_ + 1});
  return submitReleasing(push);
}

uint64_t Channel::submitEnded(Push& push) {
  push.extend(kTailWords);
  const uint64_t number = submitted_ + 1;
  host::releaseAtOnce(push, end(number), false);
  for (uint64_t one = number - unended_; one <= number; ++one)
    host::releaseAtOnce(push, {progressAddress(one), one}, true);
  unended_ = 0;
  return submitReleasing(push);
}

uint64_t Channel::submitUnended(Push& push) {
  ++unended_;
  return submitReleasing(push);
}

uint64_t Channel::submitReleasing(Push& push) {
  const uint64_t number = submitted_ + 1;
  ring_[submitted_ % kRingEntries] = ringEntry(pieces_->place(submitted_, push.used()), push.used());
  storeFence();
  *put_ = static_cast<uint32_t>(number % kRingEntries);
  storeFence();
  objects_.ringDoorbell();
  return submitted_ = number;
}

Channel::Stamp Channel::beginning(uint64_t submission) const { return stamp(1, submission); }
Channel::Stamp Channel::ownEnd(uint64_t submission) const { return stamp(2, submission); }

Channel::Stamp Channel::stamp(size_t table, uint64_t submission) const {
  const size_t at = table * kTableBytes + progressAt(submission);
  return {{memory_->address(at), submission}, reinterpret_cast<const uint64_t*>(memory_->start() + at)};
}

// The last submission that is done.
static uint64_t completed(const Channel& channel) {
  uint64_t last = channel.submitted();
  while (!channel.done(last)) --last;
  return last;
}

CUresult Channel::state() const {
  const CUresult error = abandoned_.load(std::memory_order_acquire);
  return error ? error : objects_.state();
}

CUresult Channel::wait(uint64_t submission, uint64_t nanoseconds) {
  if (done(submission)) return CUDA_SUCCESS;
  constexpr uint64_t kSpin = 1'000'000;  // ns; what takes longer can spare the time of waking up
  const uint64_t start = monotonicNanoseconds();
  uint64_t reminded = start;
  for (uint32_t round = 1; !done(submission); ++round) {
    if (round % 4096) continue;
    if (const CUresult error = state()) return fail(error, "a channel died: %s", describe().c_str());
    const uint64_t waited = monotonicNanoseconds() - start;
    if (waited > nanoseconds) {
      VG_LOG(Error, "the work of a channel does not end: %s", describe().c_str());
      return CUDA_ERROR_TIMEOUT;
    }
    if (waited <= kSpin) continue;
    if (monotonicNanoseconds() - reminded > kSpin) {
      if (*get_ != *put_) VG_LOG(Debug, "the doorbell of a channel is rung again: %s", describe().c_str());
      remind();
      reminded = monotonicNanoseconds();
    }
    nap();
  }
  return CUDA_SUCCESS;
}

std::string Channel::describe() const {
  const volatile rm::Notification& error = objects_.notification();
  char text[160];
  std::snprintf(text, sizeof text,
                "put %u get %u, submitted %llu, completed %llu, notifier status %#x code %u engine %u", *put_, *get_,
                static_cast<unsigned long long>(submitted_), static_cast<unsigned long long>(completed(*this)),
                error.status, error.info32, error.info16);
  return text;
}

}  // namespace vg::backend::nvidia
