// Barriers of warps, blocks and clusters.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/parted_barriers.h"
#include "ptx/llvm/flow/suspensions.h"
#include "ptx/llvm/opcodes/held_lanes.h"

namespace vg::ptx::gen {

class Barriers : public EmitterPart {
 public:
  Barriers(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates,
           Suspensions& suspensions, HeldLanes& held, PartedBarriers& parted)
      : EmitterPart(emission),
        runner_(runner),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        suspensions_(suspensions),
        held_(held),
        parted_(parted) {}

  void emitBarrier(const Instruction& i);

 private:
  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Suspensions& suspensions_;
  HeldLanes& held_;
  PartedBarriers& parted_;
};

}  // namespace vg::ptx::gen
