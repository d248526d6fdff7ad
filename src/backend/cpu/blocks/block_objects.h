// The barrier objects of a block, and its warps' part in those of its cluster: who is about to end a phase lets the
// warps that have yet to look run first, and copies to another block wait until it has set its object up: on a GPU they
// take longer than that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/blocks/onlookers.h"
#include "backend/cpu/blocks/warp_turns.h"
#include "backend/cpu/run/cluster.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/operations/async_operation.h"

namespace vg::backend::cpu {

class BlockObjects final : public ptx::ObjectWatch {
 public:
  BlockObjects(ClusterMember& block, WarpTurns& turns, ClusterPlace& cluster, ptx::BlockState& state)
      : block_(block), turns_(turns), cluster_(cluster), state_(state) {}

  // A block begins. `fibres`: each of its warps has one.
  void begin(uint32_t warps, bool fibres) {
    isOneWarp_ = warps == 1;
    fibres_ = fibres;
    onlookers_.reset();
  }
  // Null where warps do not take turns, and where there are no others.
  ptx::ObjectWatch* watch() { return (isOneWarp_ ? cluster_.barrier().blocks() > 1 : fibres_) ? this : nullptr; }

  void asked(const std::byte* object, uint32_t lanes, uint32_t again) override;
  bool letOthersLook(const std::byte* object) override;
  void changed(const std::byte* object) override;
  void awaitSetUp(const std::byte* object) override;

  // The running warp waits or lets others run; it has ended.
  void stopped() { onlookers_.stopped(turns_.current); }
  void ended() { onlookers_.ended(turns_.current); }

 private:
  // How often others run before a block counts as one that does not set an object up by mbarrier.init.
  static constexpr int kSetUpTurns = 64;

  template <class Run>
  void keepingPlace(Run run);
  // Those of the block of the cluster in whose shared memory an object lies.
  BlockObjects& ownerOf(const std::byte* object);
  // Warps but the one that asks, which could run.
  uint32_t othersOf(const BlockObjects& owner) const {
    return (owner.turns_.ready | owner.turns_.paused) & ~(&owner == this ? turns_.running() : 0);
  }

  ClusterMember& block_;
  WarpTurns& turns_;
  ClusterPlace& cluster_;
  ptx::BlockState& state_;
  Onlookers onlookers_;
  bool isOneWarp_ = false, fibres_ = false;
};

}  // namespace vg::backend::cpu
