#include "backend/nvidia/video_mappings.h"

namespace vg::backend::nvidia {

CUresult VideoMappings::map(std::byte* start, const std::shared_ptr<const MemoryObject>& memory, size_t offset,
                            size_t bytes, bool readOnly) {
  VG_TRY(std::unique_ptr<Block> block, Block::show(start, memory, offset, bytes, readOnly));
  const std::lock_guard guard(mutex_);
  VG_CHECK(peers_.show(*block));
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
    at = blocks_.erase(at);
  }
}

CUresult VideoMappings::showTo(const Peers::Peer& peer) {
  const std::lock_guard guard(mutex_);
  std::vector<Block*> blocks;
  for (const auto& [start, block] : blocks_) blocks.push_back(block.get());
  return peers_.add(peer, blocks);
}

}  // namespace vg::backend::nvidia
