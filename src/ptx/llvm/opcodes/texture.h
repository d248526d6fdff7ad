// Texture and surface instructions: one call of the runner for all lanes.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class Textures : public EmitterPart {
 public:
  Textures(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values), predicates_(predicates) {}

  void emitTexture(const Instruction& i);

 private:
  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  llvm::AllocaInst* textureLanes_ = nullptr;  // operands and results
};

}  // namespace vg::ptx::gen
