// Divergent regions in linear order, one mask a block.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/flow/copy_plan.h"
#include "ptx/llvm/flow/edges.h"
#include "ptx/llvm/flow/frame.h"

namespace vg::ptx::gen {

class MaskedCode : public EmitterPart {
 public:
  MaskedCode(Emission& emission, CopyPlan& plan, Runner& runner, Masks& masks, Predicates& predicates, Frame& frame,
             Edges& edges)
      : EmitterPart(emission),
        plan_(plan),
        runner_(runner),
        masks_(masks),
        predicates_(predicates),
        frame_(frame),
        edges_(edges) {}

  void enterMasked(const CopyKey& key, BB* tail);
  void emitMaskedEnd(const CopyKey& key, BB* tail);
  void emitTail(const CopyKey& key, BB* tail);

 private:
  void takeMask(const CopyKey& key);
  bool gathers(BlockId block) const;
  Mask waiting(Version v, uint32_t component);
  bool asksSeldom(uint32_t component) const;
  void emitTurns(Version v, uint32_t component);
  BB* occupied(const CopyKey& key);
  BB* again(const CopyKey& header);
  bool leavesByFew(const CopyKey& key) const;
  void emitLeaving(const CopyKey& key, BB* tail);
  void emitComponentExit(Version v, uint32_t component);

  CopyPlan& plan_;
  Runner& runner_;
  Masks& masks_;
  Predicates& predicates_;
  Frame& frame_;
  Edges& edges_;
};

}  // namespace vg::ptx::gen
