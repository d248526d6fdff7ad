// What coverage counts (ptx/facts/coverage.h): lanes at a place, added to the worker's own counter of it.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"

namespace vg::ptx::gen {

class LaneCounts : public EmitterPart {
 public:
  LaneCounts(Emission& emission, Runner& runner, Masks& masks, Predicates& predicates)
      : EmitterPart(emission), runner_(runner), masks_(masks), predicates_(predicates) {}

  void emitCount(const Instruction& i);

 private:
  Value* counters();  // of the worker

  Runner& runner_;
  Masks& masks_;
  Predicates& predicates_;
  Value* counters_ = nullptr;
};

}  // namespace vg::ptx::gen
