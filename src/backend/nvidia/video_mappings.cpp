#include "backend/nvidia/video_mappings.h"

#include <iterator>

namespace vg::backend::nvidia {

CUresult VideoMappings::map(std::byte* start, const std::shared_ptr<const MemoryObject>& memory, size_t offset,
                            size_t bytes, bool readOnly) {
  VG_TRY(std::unique_ptr<Block> block, Block::show(start, memory, offset, bytes, readOnly));
  const std::lock_guard guard(mutex_);
  if (hasPeers_) VG_CHECK(block->showToCpu());
  VG_CHECK(peers_.show(*block));
  if (!block->onCpu()) unseen_.fetch_add(1, std::memory_order_release);
  blocks_[start] = std::move(block);
  return CUDA_SUCCESS;
}

CUresult VideoMappings::setReadOnly(std::byte* start, size_t bytes, bool readOnly) {
  const std::lock_guard guard(mutex_);
  for (auto at = blocks_.lower_bound(start); at != blocks_.end() && at->first < start + bytes; ++at)
    VG_CHECK(at->second->setReadOnly(readOnly));
  return CUDA_SUCCESS;
}

void VideoMappings::unmap(std::byte* start, size_t bytes) {
  const std::lock_guard guard(mutex_);
  for (auto at = blocks_.lower_bound(start); at != blocks_.end() && at->first < start + bytes;) {
    peers_.hide(*at->second);
    if (!at->second->onCpu()) unseen_.fetch_sub(1, std::memory_order_release);
    at = blocks_.erase(at);
  }
}

// The mapping that the address lies in, or the next.
VideoMappings::Blocks::iterator VideoMappings::firstIn(const std::byte* start) {
  auto at = blocks_.upper_bound(start);
  if (at == blocks_.begin()) return at;
  const auto before = std::prev(at);
  return start < before->first + before->second->bytes() ? before : at;
}

void VideoMappings::showToHost(const std::byte* start, size_t bytes) {
  if (!unseen_.load(std::memory_order_acquire)) return;
  const std::lock_guard guard(mutex_);
  for (auto at = firstIn(start); at != blocks_.end() && at->first < start + bytes; ++at) (void)show(*at->second);
}

CUresult VideoMappings::show(Block& block) {
  if (block.onCpu()) return CUDA_SUCCESS;
  VG_CHECK(block.showToCpu());
  unseen_.fetch_sub(1, std::memory_order_release);
  return CUDA_SUCCESS;
}

// A peer's copies by the CPU ask the peer's own mappings only.
CUresult VideoMappings::showTo(const Peers::Peer& peer) {
  const std::lock_guard guard(mutex_);
  std::vector<Block*> blocks;
  for (const auto& [start, block] : blocks_) {
    VG_CHECK(show(*block));
    blocks.push_back(block.get());
  }
  hasPeers_ = true;
  return peers_.add(peer, blocks);
}

}  // namespace vg::backend::nvidia
