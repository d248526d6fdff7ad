#include "backend/nvidia/compute/compute_channel.h"

#include <cstring>

namespace vg::backend::nvidia {
namespace {

// A slot holds the grids of a submission.
constexpr size_t kSlotBytes = bytesOfGrid(kMostParameters);
static_assert(kSlotBytes % Qmd::kAlignment == 0);

uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }

GridContents contentsOf(const ComputeChannel::Launch& launch) {
  return {launch.code, launch.grid, launch.parameters, launch.bytes};
}
bool canBeSent(const ComputeChannel::Launch& launch) { return canBeWritten(contentsOf(launch)); }

// Whether the second may run beside the first. Two cooperative grids could each keep the other's blocks out.
bool besides(const ComputeChannel::Launch& first, const ComputeChannel::Launch& second) {
  return first.level && first.level == second.level && !first.cooperative && !second.cooperative;
}

// How many of them go together: side by side, or one behind the other up to where others go side by side.
size_t together(std::span<const ComputeChannel::Launch> launches) {
  size_t count = 1;
  const bool sideBySide = launches.size() > 1 && besides(launches[0], launches[1]);
  for (; count < launches.size(); ++count) {
    if (sideBySide && !besides(launches[count - 1], launches[count])) break;
    if (!sideBySide && count + 1 < launches.size() && besides(launches[count], launches[count + 1])) break;
  }
  return count;
}

// How many of them a slot holds.
size_t fitting(std::span<const ComputeChannel::Launch> launches) {
  size_t count = 0, bytes = 0;
  for (const ComputeChannel::Launch& launch : launches) {
    bytes += bytesOfGrid(launch.bytes);
    if (bytes > kSlotBytes || !canBeSent(launch)) break;
    ++count;
  }
  return count;
}

// When the engine comes here, some 0.3 us before the first block of what comes next begins.
void stampBeginning(Push& push, const host::Semaphore& at) {
  push.write(kComputeSubchannel, compute::kReportPayloadLow,
             {low(at.payload), high(at.payload), low(at.address), high(at.address),
              compute::kRelease | compute::kKeepCaches | compute::kPayload64});
}

}  // namespace

Result<std::unique_ptr<ComputeChannel>> ComputeChannel::create(Gpu& gpu, Addresses& addresses, Channel& channel,
                                                               const ComputeFacts& facts, uint32_t number) {
  std::unique_ptr<ComputeChannel> made(new ComputeChannel(channel, facts, number));
  const MemoryRequest request{Where::Video, Channel::kInFlight * kSlotBytes, kHugePage};
  VG_TRY(made->slots_, Block::create(gpu, addresses, request, SeenBy::GpuAndCpu));
  channel.setPatience(UINT64_MAX);
  channel.setMeanwhile(host::Meanwhile::Stay);  // all channels that run grids are of one group
  VG_CHECK(made->bind(gpu.facts().classes.compute));
  return made;
}

CUresult ComputeChannel::bind(uint32_t computeClass) {
  VG_TRY(Push push, channel_.begin());
  push.write(kComputeSubchannel, host::kSetObject, {computeClass});
  push.writeAddress(kComputeSubchannel, compute::kSharedWindowHigh, facts_.sharedWindow);
  push.writeAddress(kComputeSubchannel, compute::kLocalWindowHigh, facts_.localWindow);
  channel_.submit(push);
  return CUDA_SUCCESS;
}

CUresult ComputeChannel::setLocalPool(const LocalPool& pool) {
  VG_TRY(Push push, channel_.begin());
  push.writeAddress(kComputeSubchannel, compute::kLocalMemoryHigh, pool.address);
  push.write(kComputeSubchannel, compute::kLocalBytesHigh,
             {high(pool.bytesPerTpc), low(pool.bytesPerTpc), compute::kAllMultiprocessors});
  channel_.submit(push);
  return CUDA_SUCCESS;
}

CUresult ComputeChannel::setTexturePools(const TexturePools& pools) {
  constexpr uint32_t kVersion = 2 - 1;  // of headers, counted from 0
  facts_.descriptions = pools.descriptions;
  VG_TRY(Push push, channel_.begin());
  push.write(kComputeSubchannel, compute::kTextureHeaderVersion, {kVersion});
  push.write(kComputeSubchannel, compute::kSamplerPoolHigh,
             {high(pools.samplers), low(pools.samplers), pools.samplerCount - 1});
  push.write(kComputeSubchannel, compute::kTexturePoolHigh,
             {high(pools.headers), low(pools.headers), pools.headerCount - 1});
  channel_.submit(push);
  return CUDA_SUCCESS;
}

Result<Submission> ComputeChannel::launch(const Launch& one) {
  VG_TRY(const Sent sent, launch(std::span(&one, 1)));
  return sent.submission;
}

Result<ComputeChannel::Sent> ComputeChannel::launch(std::span<const Launch> launches) {
  const Launch& first = launches.front();
  if (!canBeSent(first))
    return fail(CUDA_ERROR_NOT_SUPPORTED, "%u bytes of parameters at %#x of bank 0", first.bytes,
                first.code.parameterBase);
  if (first.room == Room::Now && !channel_.hasRoom()) return CUDA_ERROR_NOT_READY;
  VG_TRY(Push push, channel_.begin());
  const std::span<const Launch> some = launches.first(together(launches));
  if (some.size() > 1 && besides(some[0], some[1])) return sendSideBySide(push, some);
  return sendInLine(push, some.first(fitting(some)));
}

// It follows nothing but the last grid, which gives a go-ahead.
bool ComputeChannel::mayBeginEarly(const Launch& launch) const {
  return launch.early && lastGrid_ && goAheadOf_ == lastGrid_ && !channel_.done(lastGrid_) &&
         launch.after.size() == 1 && launch.after[0].channel == &channel_ && launch.after[0].number == lastGrid_;
}

// All blocks of the submission's last grid have said that the next may begin, or ended: then a descriptor of nothing is
// scheduled, which tells the channel. What comes next was not known when the grid was sent.
void ComputeChannel::giveGoAhead(size_t at, GridEnd& end) {
  alignas(kLineBytes) const Qmd descriptor =
      describeGoAhead(*facts_.generation, channel_.addressOf(Channel::Word::GoAhead), end.number);
  writeLines(slots_->start() + at, reinterpret_cast<const std::byte*>(descriptor.words().data()), Qmd::kBytes);
  end.next = slots_->address(at);
  end.latch = goAheadLatch_ = newLatch();
  goAheadOf_ = end.number;
}

// A descriptor of nothing that writes the time and has the grid scheduled behind it: the time is that of the unit which
// gives out blocks, and nearer to the first one's than any that the channel can write. False: there is no room.
bool ComputeChannel::writeStamp(size_t at, size_t slot) {
  if (at + Qmd::kBytes > slot + kSlotBytes) return false;
  const host::Semaphore stamp = channel_.beginning(channel_.submitted() + 1).semaphore;
  alignas(kLineBytes) const Qmd descriptor =
      describeStamp(*facts_.generation, stamp.address, stamp.payload, slots_->address(slot));
  writeLines(slots_->start() + at, reinterpret_cast<const std::byte*>(descriptor.words().data()), Qmd::kBytes);
  return true;
}

size_t ComputeChannel::slotAt() const { return channel_.submitted() % Channel::kInFlight * kSlotBytes; }

// What all of a submission waits for, and what its grids find. `first`: the descriptor that it begins with. `early`:
// for the last grid's go-ahead, not its end.
void ComputeChannel::beginWork(Push& push, std::span<const Submission> after, uint64_t first, bool early) {
  sendDescriptor(push, first, compute::kPrefetch);  // while it waits
  channel_.follow(push, after);
  if (early)
    channel_.followGoAhead(push, lastGrid_);
  else
    channel_.follow(push, {&channel_, lastGrid_});
  if (codeIsNew_)
    push.write(kComputeSubchannel, compute::kInvalidateShaderCaches,
               {compute::kInstructions | compute::kData | compute::kConstants});
  codeIsNew_ = false;
}

ComputeChannel::Sent ComputeChannel::sendInLine(Push& push, std::span<const Launch> launches) {
  const uint64_t number = channel_.submitted() + 1;
  const size_t slot = slotAt();
  const Sent sent{{&channel_, number}, launches.size(), steps_ + 1};
  size_t at = slot;
  const bool early = mayBeginEarly(launches.front());
  uint32_t latch = early ? goAheadLatch_ : 0;
  for (size_t i = 0; i + 1 < launches.size(); ++i) {
    const size_t next = at + bytesOfGrid(launches[i].bytes);
    GridEnd end{++steps_, 0, channel_.addressOf(Channel::Word::Steps), slots_->address(next)};
    end.waitsFor = latch;
    end.latch = latch = launches[i + 1].early ? newLatch() : 0;
    write(launches[i], at, end);
    at = next;
  }
  GridEnd end{number, channel_.progressAddress(number), channel_.end(number).address};
  end.waitsFor = latch;
  const size_t behind = at + bytesOfGrid(launches.back().bytes);
  goesAhead_ |= launches.back().early;
  if (goesAhead_ && behind + Qmd::kBytes <= slot + kSlotBytes) giveGoAhead(behind, end);
  write(launches.back(), at, end);
  beginWork(push, launches.front().after, slots_->address(slot), early);
  const bool stamped = launches.front().stamped, byGrid = stamped && !end.next && writeStamp(behind, slot);
  if (stamped && !byGrid) stampBeginning(push, channel_.beginning(number).semaphore);
  sendDescriptor(push, slots_->address(byGrid ? behind : slot), compute::kSchedule);
  channel_.submitReleasing(push);
  lastGrid_ = number;
  return sent;
}

// The engine begins a grid while others run, those of other slots too. What comes next in the channel, which may be
// their end, comes when all are done.
Result<ComputeChannel::Sent> ComputeChannel::sendSideBySide(Push& push, std::span<const Launch> launches) {
  uint64_t more = channel_.hasRoom(1 + Channel::kMostUnended) ? Channel::kMostUnended : 0;
  beginWork(push, launches.front().after, slots_->address(slotAt()));
  size_t count = 0;
  while (true) {
    const std::span<const Launch> left = launches.subspan(count), some = left.first(fitting(left));
    schedule(push, some);
    count += some.size();
    if (!more-- || count == launches.size() || !canBeSent(launches[count])) break;
    channel_.submitUnended(push);
    VG_TRY(push, channel_.begin());
  }
  counted_ += static_cast<uint32_t>(count);
  channel_.followCount(push, channel_.addressOf(Channel::Word::Count), counted_);
  lastGrid_ = 0;
  return Sent{{&channel_, channel_.submitEnded(push)}, count, 0};
}

Result<Submission> ComputeChannel::launch(PreparedGrids& grids, std::span<const Submission> after, Room room) {
  if (room == Room::Now && !channel_.hasRoom(grids.parts())) return CUDA_ERROR_NOT_READY;
  VG_TRY(Push push, channel_.begin());
  codeIsNew_ |= grids.isNew();
  beginWork(push, after, grids.first());
  VG_CHECK(grids.send(channel_, push));
  lastGrid_ = 0;
  return Submission{&channel_, channel_.submitEnded(push)};
}

// Grids of one slot, which count themselves.
void ComputeChannel::schedule(Push& push, std::span<const Launch> launches) {
  size_t at = slotAt();
  for (const Launch& launch : launches) {
    GridEnd end;
    end.count = channel_.addressOf(Channel::Word::Count);
    write(launch, at, end);
    sendDescriptor(push, slots_->address(at), compute::kSchedule);
    at += bytesOfGrid(launch.bytes);
  }
}

void ComputeChannel::write(const Launch& launch, size_t at, const GridEnd& end) {
  std::byte* const start = slots_->start() + at;
  Grid grid = launch.grid;
  ++grids_;
  if (!grid.number) grid.number = grids_;
  if (launch.cooperative) {
    constexpr uint32_t kFreshWorkspace[4] = {};
    std::memcpy(start + kGridWorkspaceAt, kFreshWorkspace, sizeof kFreshWorkspace);
    grid.workspace = slots_->address(at + kGridWorkspaceAt);
  }
  writeGrid(start, slots_->address(at), {launch.code, grid, launch.parameters, launch.bytes}, facts_, end);
}

}  // namespace vg::backend::nvidia
