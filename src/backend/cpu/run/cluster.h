// The barrier of a cluster's blocks, which all belong to one worker thread. Every live warp of every block arrives once
// a phase; warps that have ended are not waited for. Not thread-safe.
#pragma once

#include <cstdint>

#include "ptx/abi/kernel_abi.h"

namespace vg::backend::cpu {

// A block of a cluster, as its barrier sees it.
class ClusterMember {
 public:
  // Warps that have not ended.
  virtual uint32_t liveWarps() const = 0;
  virtual bool canRun() const = 0;
  // The barrier has opened.
  virtual void clusterPassed() = 0;

 protected:
  ~ClusterMember() = default;
};

class ClusterBarrier {
 public:
  // Forgets all blocks; `blocks` will join.
  void reset(uint32_t blocks);
  void join(uint32_t rank, ClusterMember& block) { members_[rank] = &block; }
  uint32_t blocks() const { return blocks_; }

  // A warp arrives; returns the phase that it may wait for. Arriving twice in a phase counts once.
  uint64_t arrive(uint32_t rank, uint32_t warp);
  // True while the phase has not ended.
  bool open(uint64_t phase) const { return phase == phase_; }
  // A warp has ended: it may have been the last that others wait for.
  void review();
  // True when no block of the cluster has a warp that can run, and some wait.
  bool stuck() const;

 private:
  uint32_t blocks_ = 0;
  uint64_t phase_ = 0;
  ClusterMember* members_[ptx::kMaxClusterBlocks] = {};
  uint32_t arrived_[ptx::kMaxClusterBlocks] = {};  // warps of this phase
};

}  // namespace vg::backend::cpu
