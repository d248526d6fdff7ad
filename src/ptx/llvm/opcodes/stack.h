// alloca, stacksave and stackrestore.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class Stacks : public EmitterPart {
 public:
  Stacks(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values), predicates_(predicates) {}

  void emitAlloca(const Instruction& i);
  void emitStackSave(const Instruction& i);
  void emitStackRestore(const Instruction& i);

 private:
  Value* placeOf(uint32_t chunk);
  Value* untilAligned(Value* top, uint32_t chunk, uint64_t alignment);
  void setStackTop(uint32_t chunk, Value* top, const Mask& mask);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
};

}  // namespace vg::ptx::gen
