// How convergent code branches: where all lanes agree, and where they part.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/copy_plan.h"
#include "ptx/llvm/flow/edges.h"
#include "ptx/llvm/flow/frame.h"

namespace vg::ptx::gen {

class ConvergentCode : public EmitterPart {
 public:
  ConvergentCode(Emission& emission, CopyPlan& plan, Masks& masks, Values& values, Predicates& predicates, Frame& frame,
                 Edges& edges)
      : EmitterPart(emission),
        plan_(plan),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        frame_(frame),
        edges_(edges) {}

  void emitConvergentEnd(const CopyKey& key);

 private:
  void emitConvergentBranch(const CopyKey& key);
  void emitLaneExit(const CopyKey& key);
  BlockId firstBehind(BlockId from, uint32_t component) const;
  void emitMixed(const CopyKey& key, const Mask& mask, llvm::ArrayRef<Mask> edges);
  BB* branchBlock(Version v, BlockId from, bool taken);

  CopyPlan& plan_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Frame& frame_;
  Edges& edges_;
};

}  // namespace vg::ptx::gen
