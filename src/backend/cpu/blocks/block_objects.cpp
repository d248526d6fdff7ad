#include "backend/cpu/blocks/block_objects.h"

#include <tuple>

namespace vg::backend::cpu {

BlockObjects& BlockObjects::ownerOf(const std::byte* object) {
  const auto rank = static_cast<uint64_t>(object - state_.clusterShared) >> ptx::kSharedStrideBits;
  const ClusterBarrier& cluster = cluster_.barrier();
  if (cluster.blocks() == 1 || rank >= cluster.blocks()) return *this;
  return cluster.member(static_cast<uint32_t>(rank)).objects();
}

void BlockObjects::asked(const std::byte* object, uint32_t lanes, uint32_t again) {
  if (&ownerOf(object) == this) onlookers_.asked(turns_.current, object, lanes, again);
}

void BlockObjects::changed(const std::byte* object) {
  BlockObjects& owner = ownerOf(object);
  const uint32_t waiting = owner.turns_.yielded & owner.onlookers_.waiting();
  owner.onlookers_.changed(object, othersOf(owner) & ~waiting);
}

// Others run, and tell where they are; then the state tells again where this warp is.
template <class Run>
void BlockObjects::keepingPlace(Run run) {
  const auto place = std::tuple(state_.warp, state_.lane, state_.line);
  run();
  std::tie(state_.warp, state_.lane, state_.line) = place;
}

bool BlockObjects::letOthersLook(const std::byte* object) {
  BlockObjects& owner = ownerOf(object);
  const uint32_t owed = owner.onlookers_.owed(object) & othersOf(owner);
  if (!owed) return false;
  keepingPlace([&] {
    stopped();  // it may be another object that this warp is to look at first
    if (&owner == this) {
      turns_.yielded &= ~owed;
      block_.pause();
    } else {
      block_.yield();
    }
  });
  return true;
}

void BlockObjects::awaitSetUp(const std::byte* object) {
  BlockObjects& owner = ownerOf(object);
  if (&owner == this || owner.onlookers_.knows(object)) return;
  keepingPlace([&] {
    for (int turn = 0; turn < kSetUpTurns && othersOf(owner) && !owner.onlookers_.knows(object); ++turn) block_.yield();
  });
  owner.onlookers_.know(object);
}

}  // namespace vg::backend::cpu
