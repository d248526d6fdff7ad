#include "backend/nvidia/peers.h"

#include <algorithm>

namespace vg::backend::nvidia {

CUresult Peers::add(const Peer& peer, const std::vector<Block*>& blocks) {
  const auto same = [&](const Peer& other) { return other.gpu == peer.gpu; };
  if (std::any_of(peers_.begin(), peers_.end(), same)) return CUDA_SUCCESS;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const CUresult shown = showTo(peer, *blocks[i]);
    if (shown == CUDA_SUCCESS) continue;
    while (i--) hideFrom(peer, *blocks[i]);
    return shown;
  }
  peers_.push_back(peer);
  return CUDA_SUCCESS;
}

void Peers::hideFrom(const Peer& peer, Block& block) {
  peer.known->remove(block.start());
  block.hideFrom(*peer.gpu);
}

CUresult Peers::showTo(const Peer& peer, Block& block) {
  VG_CHECK(block.showTo(*peer.gpu));
  peer.known->add(block.start(), block.bytes(), Place::Video);
  return CUDA_SUCCESS;
}

CUresult Peers::show(Block& block) {
  own_.add(block.start(), block.bytes(), Place::Video);
  for (const Peer& peer : peers_) {
    const CUresult shown = showTo(peer, block);
    if (shown == CUDA_SUCCESS) continue;
    hide(block);
    return shown;
  }
  return CUDA_SUCCESS;
}

void Peers::hide(const Block& block) {
  own_.remove(block.start());
  for (const Peer& peer : peers_) peer.known->remove(block.start());
}

}  // namespace vg::backend::nvidia
