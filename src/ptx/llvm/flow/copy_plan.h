// Which copies of blocks exist: with all lanes or only some, convergent or masked. It looks at the program only and
// makes no code. Requires: planned before anything of the function is emitted.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

enum Version : uint8_t { Full, Part };

struct CopyKey {
  Version version;
  bool masked;
  BlockId block;
  bool operator<(const CopyKey& o) const {
    return std::tie(version, block, masked) < std::tie(o.version, o.block, o.masked);
  }
};

class CopyPlan : public EmitterPart {
 public:
  explicit CopyPlan(Emission& emission) : EmitterPart(emission) {}

  void planAll();  // once, before all other functions
  const std::map<CopyKey, bool>& planned() const { return planned_; }
  bool onlyPart() const { return onlyPart_; }                 // no copies for warps with all their lanes
  BlockId emptying(BlockId b) const { return emptying_[b]; }  // where the mask of a block is emptied (emptyingOf)
  Version maskedVersion(Version v, uint32_t component) const;
  bool duplicates(uint32_t component, Version v) const { return v == Full && duplicated_[component]; }
  // The loop for single lanes (analysis/lane_loops.h) that a block belongs to. It is emitted in the masked copies of
  // its header; there are no copies of its other blocks.
  LoopId laneLoop(BlockId b) const { return laneLoops_.empty() ? kNone : laneLoops_[b]; }
  // Whether all lanes of a warp come to the block by the masked copy of its region only.
  bool isMaskedOnly(BlockId b, Version v) const {
    const uint32_t component = program_.blocks[b].component;
    return component != kNone && (!duplicates(component, v) || laneLoop(b) != kNone);
  }
  bool isLaneExit(BlockId b) const;
  bool rejoins(const CopyKey& key) const;
  bool needsLaneTest(BlockId b) const;
  size_t edgeIndex(BlockId from, BlockId to) const;
  bool waitsInOneCopy() const;

 private:
  void planEmptying();
  void planLaneLoops();
  void planJoins();
  void planCopies();
  void planLeanly();
  bool atomicsPrevail(const Component& component) const;
  size_t plannedWork() const;
  void takeWholeWarps();
  void planGo(Version v, BlockId b);
  void planMasked(Version from, uint32_t component);
  void planCopy(const CopyKey& key);
  BlockId emptyingOf(BlockId b) const;
  bool joinsInside(BlockId b) const;

  std::map<CopyKey, bool> planned_;
  std::vector<CopyKey> planWork_;
  std::set<std::pair<Version, uint32_t>> plannedMasked_;  // components
  std::vector<bool> joins_;                               // by block: joinsInside, if it is in a component
  std::vector<bool> duplicated_;                          // components that have a convergent copy too
  std::vector<BlockId> emptying_;
  std::vector<LoopId> laneLoops_;  // by block; empty: there are none
  bool onlyPart_ = false;
};

}  // namespace vg::ptx::gen
