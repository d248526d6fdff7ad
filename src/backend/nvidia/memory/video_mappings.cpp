#include "backend/nvidia/memory/video_mappings.h"

#include <algorithm>
#include <iterator>

namespace vg::backend::nvidia {

CUresult VideoMappings::map(std::byte* start, const std::shared_ptr<const MemoryObject>& memory, size_t offset,
                            size_t bytes, bool byGrant) {
  Blocks made;  // whole before it is among the others, where nothing can fail
  Shown& shown = made[start];
  shown.byGrant = byGrant;
  VG_TRY(shown.block, Block::place(start, memory, offset, bytes));
  const MutexLock guard(mutex_);
  if (!byGrant) {
    VG_CHECK(shown.block->showTo(memory->gpu(), false));
    if (hasPeers_) VG_CHECK(shown.block->showToCpu());
    VG_CHECK(peers_.show(*shown.block));
  }
  if (!shown.block->onCpu()) unseen_.fetch_add(1, std::memory_order_release);
  blocks_.insert(made.extract(start));
  return CUDA_SUCCESS;
}

CUresult VideoMappings::grant(const Peers::Peer& to, std::byte* start, size_t bytes, alloc::Protection protection) {
  const MutexLock guard(mutex_);
  for (auto at = blocks_.lower_bound(start); at != blocks_.end() && at->first < start + bytes; ++at)
    VG_CHECK(grant(to, at->second, protection));
  return CUDA_SUCCESS;
}

// Another GPU's copies by the CPU ask that GPU's own mappings only, so the CPU sees what it reaches.
CUresult VideoMappings::grant(const Peers::Peer& to, Shown& shown, alloc::Protection protection) {
  shown.granted.reserve(shown.granted.size() + 1);  // may throw, while nothing has changed
  const auto known = std::find_if(shown.granted.begin(), shown.granted.end(),
                                  [&](const Peers::Peer& other) { return other.gpu == to.gpu; });
  const bool isKnown = known != shown.granted.end();
  Block& block = *shown.block;
  if (protection != alloc::Protection::None) {
    if (to.gpu != &block.memory().gpu()) VG_CHECK(show(block));
    VG_CHECK(block.showTo(*to.gpu, protection == alloc::Protection::Read));
    if (isKnown) return CUDA_SUCCESS;
    const CUresult noted = to.known->add(block.start(), block.bytes(), Place::Video);
    if (noted != CUDA_SUCCESS) {
      block.hideFrom(*to.gpu);
      return noted;
    }
    shown.granted.push_back(to);
  } else if (isKnown) {
    to.known->remove(block.start());
    block.hideFrom(*to.gpu);
    shown.granted.erase(known);
  }
  return CUDA_SUCCESS;
}

void VideoMappings::unmap(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  for (auto at = blocks_.lower_bound(start); at != blocks_.end() && at->first < start + bytes;) {
    const Block& block = *at->second.block;
    if (!at->second.byGrant) peers_.hide(block);
    for (const Peers::Peer& peer : at->second.granted) peer.known->remove(block.start());
    if (!block.onCpu()) unseen_.fetch_sub(1, std::memory_order_release);
    at = blocks_.erase(at);
  }
}

// The mapping that the address lies in, or the next.
VideoMappings::Blocks::iterator VideoMappings::firstIn(const std::byte* start) {
  auto at = blocks_.upper_bound(start);
  if (at == blocks_.begin()) return at;
  const auto before = std::prev(at);
  return start < before->first + before->second.block->bytes() ? before : at;
}

bool VideoMappings::showToHost(const std::byte* start, size_t bytes) {
  if (!unseen_.load(std::memory_order_acquire)) return false;
  const MutexLock guard(mutex_);
  bool more = false;
  for (auto at = firstIn(start); at != blocks_.end() && at->first < start + bytes; ++at) {
    Block& block = *at->second.block;
    more |= !block.onCpu() && show(block) == CUDA_SUCCESS;
  }
  return more;
}

bool VideoMappings::hidden(const std::byte* start, size_t bytes) {
  if (!unseen_.load(std::memory_order_acquire)) return false;
  const MutexLock guard(mutex_);
  for (auto at = firstIn(start); at != blocks_.end() && at->first < start + bytes; ++at)
    if (!at->second.block->onCpu()) return true;
  return false;
}

CUresult VideoMappings::show(Block& block) {
  if (block.onCpu()) return CUDA_SUCCESS;
  VG_CHECK(block.showToCpu());
  unseen_.fetch_sub(1, std::memory_order_release);
  return CUDA_SUCCESS;
}

std::vector<Block*> VideoMappings::forPeers() {
  std::vector<Block*> blocks;
  for (const auto& [start, shown] : blocks_)
    if (!shown.byGrant) blocks.push_back(shown.block.get());
  return blocks;
}

CUresult VideoMappings::showTo(const Peers::Peer& peer) {
  const MutexLock guard(mutex_);
  const std::vector<Block*> blocks = forPeers();
  for (Block* const block : blocks) VG_CHECK(show(*block));
  VG_CHECK(peers_.add(peer, blocks));
  ++hasPeers_;
  return CUDA_SUCCESS;
}

void VideoMappings::hideFrom(const Peers::Peer& peer) {
  const MutexLock guard(mutex_);
  peers_.remove(peer, forPeers());
  --hasPeers_;
}

}  // namespace vg::backend::nvidia
