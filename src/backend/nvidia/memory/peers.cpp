#include "backend/nvidia/memory/peers.h"

#include <algorithm>

namespace vg::backend::nvidia {

std::vector<Peers::Counted>::iterator Peers::find(const Peer& peer) {
  return std::find_if(peers_.begin(), peers_.end(), [&](const Counted& other) { return other.peer.gpu == peer.gpu; });
}

CUresult Peers::add(const Peer& peer, const std::vector<Block*>& blocks) {
  peers_.reserve(peers_.size() + 1);  // may throw, while nothing is shown
  if (const auto known = find(peer); known != peers_.end()) {
    ++known->times;
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const CUresult shown = showTo(peer, *blocks[i]);
    if (shown == CUDA_SUCCESS) continue;
    while (i--) hideFrom(peer, *blocks[i]);
    return shown;
  }
  peers_.push_back({peer, 1});
  return CUDA_SUCCESS;
}

void Peers::remove(const Peer& peer, const std::vector<Block*>& blocks) {
  const auto known = find(peer);
  if (--known->times) return;
  for (Block* const block : blocks) hideFrom(peer, *block);
  peers_.erase(known);
}

void Peers::hideFrom(const Peer& peer, Block& block) {
  peer.known->remove(block.start());
  block.hideFrom(*peer.gpu);
}

CUresult Peers::showTo(const Peer& peer, Block& block) {
  VG_CHECK(block.showTo(*peer.gpu, false));
  const CUresult known = peer.known->add(block.start(), block.bytes(), Place::Video);
  if (known != CUDA_SUCCESS) block.hideFrom(*peer.gpu);
  return known;
}

CUresult Peers::show(Block& block) {
  VG_CHECK(own_.add(block.start(), block.bytes(), Place::Video));
  for (const Counted& counted : peers_) {
    const CUresult shown = showTo(counted.peer, block);
    if (shown == CUDA_SUCCESS) continue;
    hide(block);
    return shown;
  }
  return CUDA_SUCCESS;
}

void Peers::hide(const Block& block) {
  own_.remove(block.start());
  for (const Counted& counted : peers_) counted.peer.known->remove(block.start());
}

}  // namespace vg::backend::nvidia
