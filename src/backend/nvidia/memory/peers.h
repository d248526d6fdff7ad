// Other GPUs that reach the memory of one: what is shown to the one is shown to them, at the same addresses. Guarded by
// the lock of whoever owns the blocks.
#pragma once

#include <vector>

#include "backend/nvidia/driver/block.h"
#include "backend/nvidia/memory/known_ranges.h"

namespace vg::backend::nvidia {

class Peers {
 public:
  struct Peer {
    Gpu* gpu;
    KnownRanges* known;
  };
  // `own`: what the memory's own GPU knows. Outlives the blocks.
  explicit Peers(KnownRanges& own) : own_(own) {}
  // Shows it the blocks there are, or none when one of them fails; those to come follow. One that is a peer already is
  // one until it was removed as often as added.
  CUresult add(const Peer& peer, const std::vector<Block*>& blocks);
  // Requires: it is a peer, and does not use the blocks if that was added once.
  void remove(const Peer& peer, const std::vector<Block*>& blocks);
  bool none() const { return peers_.empty(); }
  bool has(const Peer& peer) { return find(peer) != peers_.end(); }
  // One block, for whoever is or is not a peer.
  static CUresult showTo(const Peer& peer, Block& block);
  static void hideFrom(const Peer& peer, Block& block);
  // Makes a new block known to the GPU that it was made for, and to all others. What fails leaves nothing.
  CUresult show(Block& block);
  // Nobody knows the block any more.
  void hide(const Block& block);

 private:
  struct Counted {
    Peer peer;
    unsigned times;
  };
  std::vector<Counted>::iterator find(const Peer& peer);

  KnownRanges& own_;
  std::vector<Counted> peers_;
};

}  // namespace vg::backend::nvidia
