// Texture and surface instructions: one call of the runner for all lanes, or vector code (texture_rows.h).
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/textures/texture_rows.h"

namespace vg::ptx::gen {

class Textures : public EmitterPart {
 public:
  Textures(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates, RowTextures& rows)
      : EmitterPart(emission),
        runner_(runner),
        masks_(masks),
        values_(values),
        predicates_(predicates),
        rowTextures_(rows) {}

  void emitTexture(const Instruction& i);

 private:
  Value* place(uint32_t slot, uint32_t chunk);
  void call(const Instruction& i, const TextureShape& shape, const Mask& mask);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  RowTextures& rowTextures_;
  llvm::AllocaInst* textureLanes_ = nullptr;  // operands and results
};

}  // namespace vg::ptx::gen
