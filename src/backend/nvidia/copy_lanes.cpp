#include "backend/nvidia/copy_lanes.h"

namespace vg::backend::nvidia {

Result<Submission> CopyLanes::send(const Target& target, CopyPieces pieces) { return sendPieces(target, pieces); }
Result<Submission> CopyLanes::send(const Target& target, FillPieces pieces) { return sendPieces(target, pieces); }

// Requires: the lane's mutex is held.
Result<Channel*> CopyLanes::ready(Lane& lane, Direction direction) {
  if (!lane.group) {
    VG_TRY(lane.group, ChannelGroup::create(gpu_, addresses_, Engines::engineFor(gpu_.facts(), direction), 1));
    lane.group->channel(0).setPatience(UINT64_MAX);  // behind kernels
    lane.channel.store(&lane.group->channel(0), std::memory_order_seq_cst);
  }
  if (const CUresult error = abandoned_.load(std::memory_order_seq_cst)) return error;
  return &lane.group->channel(0);
}

// Words that were written and not sent leave no trace.
template <class Pieces>
Result<Submission> CopyLanes::sendPieces(const Target& target, Pieces pieces) {
  Lane& lane = lanes_[static_cast<size_t>(target.direction)][target.lane % kLanes];
  const bool waits = target.room == Room::Waited;
  std::unique_lock right(lane.mutex, std::defer_lock);
  if (waits)
    right.lock();
  else if (!right.try_lock() || !lane.group || !lane.group->channel(0).hasRoom())
    return CUDA_ERROR_NOT_READY;
  VG_TRY(Channel* const channel, ready(lane, target.direction));
  VG_TRY(Push push, channel->begin());
  channel->follow(push, target.after);
  for (pieces.write(push); !pieces.done(); pieces.write(push)) {
    if (!waits) return CUDA_ERROR_NOT_READY;
    channel->submit(push);
    VG_TRY(push, channel->begin());
  }
  return Submission{channel, channel->submitAwaited(push)};
}

void CopyLanes::abandon(CUresult error) {
  CUresult none = CUDA_SUCCESS;
  abandoned_.compare_exchange_strong(none, error, std::memory_order_seq_cst);
  for (auto& direction : lanes_)
    for (Lane& lane : direction)
      if (Channel* const channel = lane.channel.load(std::memory_order_seq_cst)) channel->abandon(error);
}

}  // namespace vg::backend::nvidia
