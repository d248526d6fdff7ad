#include "backend/nvidia/copies/engines.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace vg::backend::nvidia {
namespace {

// us that another process may have to wait for an engine that stays with channels of ours that wait.
constexpr uint64_t kTimeslice = 50;

// An engine that stays saves some 5 us of each copy behind a kernel. The one for copies inside video memory is also the
// kernel driver's, which maps memory by it.
bool stays(Direction direction) { return direction != Direction::Inside; }

}  // namespace

// The engine with most physical ones behind it is for video memory; of the others one serves each direction.
uint32_t Engines::engineFor(const GpuFacts& facts, Direction direction) {
  std::vector<CopyEngine> own;
  for (const CopyEngine& engine : facts.copyEngines)
    if (!engine.sharesGraphics()) own.push_back(engine);
  if (own.empty()) return rm::kEngineGraphics;
  std::sort(own.begin(), own.end(), [](const CopyEngine& a, const CopyEngine& b) {
    return std::pair(b.physical, a.type) < std::pair(a.physical, b.type);
  });
  if (direction == Direction::Inside || own.size() == 1) return own[0].type;
  const size_t index = direction == Direction::In ? 1 : 2;
  return own[std::min(index, own.size() - 1)].type;
}

Result<Channel*> Engines::make(Direction direction) {
  Lane& lane = laneOf(direction);
  const MutexLock guard(lane.making);
  if (lane.group) {
    VG_CHECK(lane.group->add(addresses_, 1));
  } else {
    VG_TRY(lane.group, ChannelGroup::create(gpu_, addresses_, engineFor(gpu_.facts(), direction), 1));
    if (stays(direction)) (void)lane.group->setTimeslice(kTimeslice);  // a hint
  }
  Channel& channel = lane.group->channel(lane.group->count() - 1);
  if (stays(direction)) channel.setMeanwhile(host::Meanwhile::Stay);
  return &channel;
}

Result<Engines::Lease> Engines::take(Direction direction) {
  Lane& lane = laneOf(direction);
  const auto lend = [&](Lane::Lent& lent, std::unique_lock<Mutex> right)
                        VG_UNCHECKED_LOCKS -> Result<Lease> {  // `right` is of lent.right
    if (!lent.channel) {
      VG_TRY(lent.channel, make(direction));
    }
    return Lease{lent.channel, std::move(right)};
  };
  for (Lane::Lent& lent : lane.lent)
    if (std::unique_lock right(lent.right, std::try_to_lock); right.owns_lock()) return lend(lent, std::move(right));
  Lane::Lent& lent = lane.lent[lane.next.fetch_add(1, std::memory_order_relaxed) % kLent];
  return lend(lent, std::unique_lock(lent.right));
}

}  // namespace vg::backend::nvidia
