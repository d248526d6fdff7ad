#include "backend/nvidia/copies/engines.h"

#include <algorithm>
#include <vector>

namespace vg::backend::nvidia {

// The engine with most physical ones behind it is for video memory; of the others one serves each direction.
uint32_t Engines::engineFor(const GpuFacts& facts, Direction direction) {
  std::vector<CopyEngine> own;
  for (const CopyEngine& engine : facts.copyEngines)
    if (!engine.sharesGraphics()) own.push_back(engine);
  if (own.empty()) return rm::kEngineGraphics;
  std::stable_sort(own.begin(), own.end(),
                   [](const CopyEngine& a, const CopyEngine& b) { return a.physical > b.physical; });
  if (direction == Direction::Inside || own.size() == 1) return own[0].type;
  const size_t index = direction == Direction::In ? 1 : 2;
  return own[std::min(index, own.size() - 1)].type;
}

Result<Engines::Lease> Engines::take(Direction direction) {
  Lane& lane = lanes_[static_cast<size_t>(direction)];
  {
    const std::lock_guard guard(lane.making);
    if (!lane.group) {
      VG_TRY(lane.group, ChannelGroup::create(gpu_, addresses_, engineFor(gpu_.facts(), direction), kChannels));
    }
  }
  for (int i = 0; i < kChannels; ++i) {
    std::unique_lock right(lane.rights[static_cast<size_t>(i)], std::try_to_lock);
    if (right.owns_lock()) return Lease{&lane.group->channel(i), std::move(right)};
  }
  const unsigned turn = lane.next.fetch_add(1, std::memory_order_relaxed) % kChannels;
  return Lease{&lane.group->channel(static_cast<int>(turn)), std::unique_lock(lane.rights[turn])};
}

}  // namespace vg::backend::nvidia
