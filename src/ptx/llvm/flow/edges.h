// The ways between copies of blocks: what the phis of the next one get, which lanes go there, and the branch.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/copy_plan.h"
#include "ptx/llvm/flow/frame.h"

namespace vg::ptx::gen {

class Edges : public EmitterPart {
 public:
  Edges(Emission& emission, CopyPlan& plan, Runner& runner, Masks& masks, Values& values, Predicates& predicates,
        Frame& frame)
      : EmitterPart(emission),
        plan_(plan),
        runner_(runner),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        frame_(frame) {}

  void makeCopies();  // their blocks
  BB* copy(const CopyKey& key) const { return copies_.at(key); }
  BB*& occupiedBody(const CopyKey& key) { return occupied_[key]; }
  void definePhis(BlockId b);  // in the present copy of it
  Form phiForm(ValueId phi) { return values_.loadEarly(phiSlot(phi), program_.values[phi]); }
  void emptyMasks(Version v, uint32_t component, BlockId first);
  void emptyMasksAt(const CopyKey& key);
  void edgeMasks(const CopyKey& key, llvm::SmallVectorImpl<Mask>& out);
  void maskedEdge(const CopyKey& key, BlockId to, uint32_t running, const Mask& mask);
  void storePhis(BlockId from, BlockId to, const Mask* blend, bool alwaysBlend);
  // What a phi gets along an edge, in its shape.
  void storePhi(ValueId phi, Form form, const Mask* blend);
  // Lanes that go to a block; `bring` stores what its phis get.
  void arrive(Version v, BlockId to, uint32_t running, const Mask& mask, llvm::function_ref<void()> bring);
  void startComponent(Version v, uint32_t component, BlockId first);
  // Branches from the current place to the convergent copy of `to` (or into its component), storing phis.
  void go(Version v, BlockId from, BlockId to);
  BB* goBlock(Version v, BlockId from, BlockId to);
  BB* startOf(Version v, bool masked, BlockId b);
  MaskSlot& maskSlot(Version v, BlockId b);

 private:
  Slot& phiSlot(ValueId phi);
  bool tracksInside(uint32_t component) const;

  CopyPlan& plan_;
  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Frame& frame_;
  std::map<CopyKey, BB*> copies_, occupied_;
  std::vector<Slot> phiSlots_;
  std::map<std::pair<Version, BlockId>, MaskSlot> maskSlots_;
};

}  // namespace vg::ptx::gen
