// The barrier of a cluster's blocks, which all belong to one worker thread. Every live warp of every block arrives once
// a phase; warps that have ended are not waited for. Not thread-safe.
#pragma once

#include <cstdint>
#include <utility>

#include "ptx/abi/kernel_abi.h"

namespace vg::backend::cpu {

class BlockObjects;

// A block of a cluster, as its barrier and the other blocks see it.
class ClusterMember {
 public:
  // Warps that have not ended.
  virtual uint32_t liveWarps() const = 0;
  virtual bool canRun() const = 0;
  // The barrier has opened.
  virtual void clusterPassed() = 0;
  virtual BlockObjects& objects() = 0;
  // Its running warp stops: until the others have come as far as they can, or until all have had a turn.
  virtual void pause() = 0;
  virtual void yield() = 0;

 protected:
  ~ClusterMember() = default;
};

class ClusterBarrier {
 public:
  // Forgets all blocks; `blocks` will join.
  void reset(uint32_t blocks);
  void join(uint32_t rank, ClusterMember& block) { members_[rank] = &block; }
  uint32_t blocks() const { return blocks_; }
  ClusterMember& member(uint32_t rank) const { return *members_[rank]; }

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

// A block's place at the barrier of its cluster, which it may lead.
class ClusterPlace {
 public:
  // A cluster of this block alone.
  void reset(ClusterMember& block) {
    own_.reset(1);
    own_.join(0, block);
    barrier_ = &own_;
    rank_ = waiting_ = 0;
  }
  // The place of number `rank` in the cluster of so many blocks that `leader` leads, which is this for rank 0.
  void join(ClusterPlace& leader, uint32_t rank, uint32_t blocks, ClusterMember& block) {
    if (rank == 0) own_.reset(blocks);
    barrier_ = &leader.own_;
    rank_ = rank;
    barrier_->join(rank, block);
  }

  ClusterBarrier& barrier() { return *barrier_; }
  void arrive(uint32_t warp) { phase_[warp] = barrier_->arrive(rank_, warp); }
  // Whether the warp has to wait: the phase in which it arrived last has not ended.
  bool wait(uint32_t warp) {
    if (!barrier_->open(phase_[warp])) return false;
    waiting_ |= 1u << warp;
    return true;
  }
  // A warp of this block has ended.
  void warpEnded() {
    if (waiting_ || barrier_->blocks() > 1) barrier_->review();
  }
  // Warps that wait, and the same when they do so no more.
  uint32_t waiting() const { return waiting_; }
  uint32_t release() { return std::exchange(waiting_, 0); }

 private:
  ClusterBarrier own_;  // of the cluster that this block leads
  ClusterBarrier* barrier_ = &own_;
  uint32_t rank_ = 0;
  uint32_t waiting_ = 0;
  uint64_t phase_[32] = {};  // by warp: in which it arrived last
};

}  // namespace vg::backend::cpu
