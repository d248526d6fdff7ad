// Barriers of warps, blocks and clusters.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/suspensions.h"

namespace vg::ptx::gen {

class Barriers : public EmitterPart {
 public:
  Barriers(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates,
           Suspensions& suspensions)
      : EmitterPart(emission),
        runner_(runner),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        suspensions_(suspensions) {}

  void emitBarrier(const Instruction& i);

 private:
  // held_lanes.cpp
  void emitArrival(const Instruction& i);
  void emitHeld(const Instruction& i);
  llvm::AllocaInst* awaited();

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Suspensions& suspensions_;
  llvm::AllocaInst* awaited_ = nullptr;  // by lane that is held: whom it waits for, itself included; 0 for all others
};

}  // namespace vg::ptx::gen
