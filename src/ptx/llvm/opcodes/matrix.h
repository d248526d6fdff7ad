// Matrix instructions: one call of the runner for the whole warp.
#pragma once

#include "ptx/llvm/emit/addresses.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class Matrices : public EmitterPart {
 public:
  Matrices(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates,
           Addresses& addresses)
      : EmitterPart(emission),
        runner_(runner),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        addresses_(addresses) {}

  void emitMatrix(const Instruction& i);

 private:
  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  Addresses& addresses_;
  struct Buffers {
    llvm::AllocaInst *operands = nullptr, *results = nullptr;
  };
  Buffers ofWarps_, ofGroups_;  // ofGroups_: wgmma
};

}  // namespace vg::ptx::gen
