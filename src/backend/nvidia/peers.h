// Other GPUs that reach the memory of one: what is shown to the one is shown to them, at the same addresses. Guarded by
// the lock of whoever owns the blocks.
#pragma once

#include <vector>

#include "backend/nvidia/driver/block.h"
#include "backend/nvidia/known_ranges.h"

namespace vg::backend::nvidia {

class Peers {
 public:
  struct Peer {
    Gpu* gpu;
    KnownRanges* known;
  };
  // `own`: what the memory's own GPU knows. Outlives the blocks.
  explicit Peers(KnownRanges& own) : own_(own) {}
  // Shows it the blocks there are, or none when one of them fails; those to come follow. Nothing when it is one
  // already.
  CUresult add(const Peer& peer, const std::vector<Block*>& blocks);
  // Makes a new block known to the GPU that it was made for, and to all others. What fails leaves nothing.
  CUresult show(Block& block);
  // Nobody knows the block any more.
  void hide(const Block& block);

 private:
  static CUresult showTo(const Peer& peer, Block& block);
  static void hideFrom(const Peer& peer, Block& block);

  KnownRanges& own_;
  std::vector<Peer> peers_;
};

}  // namespace vg::backend::nvidia
