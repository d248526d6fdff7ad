#include "backend/nvidia/copies/copy_lanes.h"

namespace vg::backend::nvidia {

Result<Submission> CopyLanes::send(const Target& target, CopyPieces pieces) { return sendPieces(target, pieces); }
Result<Submission> CopyLanes::send(const Target& target, FillPieces pieces) { return sendPieces(target, pieces); }

// Requires: the lane's mutex is held.
Result<Channel*> CopyLanes::ready(Lane& lane, Direction direction) {
  Channel* channel = lane.channel.load(std::memory_order_relaxed);
  if (!channel) {
    VG_TRY(channel, engines_.make(direction));
    channel->setPatience(UINT64_MAX);  // behind kernels
    lane.channel.store(channel, std::memory_order_seq_cst);
  }
  if (const CUresult error = abandoned_.load(std::memory_order_seq_cst)) return error;
  return channel;
}

// Lanes have their channels from the first one on. Who finds none that is free shares the one of its number.
CopyLanes::Lease CopyLanes::take(const Target& target) {
  Lanes& lanes = lanes_[static_cast<size_t>(target.direction)];
  const bool staying = target.last.channel && !target.last.done();
  Lane* lane = &lanes[target.lane % kLanes];
  for (Lane& one : lanes) {
    const Channel* const channel = one.channel.load(std::memory_order_acquire);
    if (staying && channel == target.last.channel) lane = &one;
    if (staying || (channel && !one.idle())) continue;
    if (!channel && target.room == Room::Now) return {};
    if (std::unique_lock right(one.mutex, std::try_to_lock); right.owns_lock()) return {&one, std::move(right)};
  }
  std::unique_lock right(lane->mutex, std::defer_lock);
  if (target.room == Room::Waited)
    right.lock();
  else if (!right.try_lock() || !lane->channel.load(std::memory_order_relaxed)->hasRoom())
    return {};
  return {lane, std::move(right)};
}

// Words that were written and not sent leave no trace.
template <class Pieces>
Result<Submission> CopyLanes::sendPieces(const Target& target, Pieces pieces) {
  const Lease lease = take(target);
  if (!lease.lane) return CUDA_ERROR_NOT_READY;
  VG_TRY(Channel* const channel, ready(*lease.lane, target.direction));
  VG_TRY(Push push, channel->begin());
  channel->follow(push, target.after);
  if (target.stamped) {
    *target.stamped = channel->submitted() + 1;
    host::releaseAtOnce(push, channel->beginning(*target.stamped).semaphore, true);
  }
  const auto write = [&] {
    const CopyEnd end = channel->copyEnd(channel->submitted() + 1, target.stamped);
    pieces.write(push, &end);
    return pieces.done();
  };
  while (!write()) {
    if (target.room == Room::Now) return CUDA_ERROR_NOT_READY;
    lease.lane->sent.store(channel->submit(push), std::memory_order_release);
    VG_TRY(push, channel->begin());
  }
  const uint64_t number = channel->submitCopy(push, target.stamped);
  lease.lane->sent.store(number, std::memory_order_release);
  return Submission{channel, number};
}

void CopyLanes::abandon(CUresult error) {
  CUresult none = CUDA_SUCCESS;
  abandoned_.compare_exchange_strong(none, error, std::memory_order_seq_cst);
  for (auto& direction : lanes_)
    for (Lane& lane : direction)
      if (Channel* const channel = lane.channel.load(std::memory_order_seq_cst)) channel->abandon(error);
}

}  // namespace vg::backend::nvidia
