#include "backend/nvidia/peers.h"

#include <algorithm>

namespace vg::backend::nvidia {

bool Peers::add(const Peer& peer) {
  if (std::any_of(peers_.begin(), peers_.end(), [&](const Peer& other) { return other.gpu == peer.gpu; })) return false;
  peers_.push_back(peer);
  return true;
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
