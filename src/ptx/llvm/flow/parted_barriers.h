// Barriers of the block that lanes of a warp come to apart: they wait for each other before the warp comes
// (analysis/lane_turns.h).
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class PartedBarriers : public EmitterPart {
 public:
  PartedBarriers(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values), predicates_(predicates) {}

  void emitComing(const Instruction& i);
  void emitWait(const Instruction& i);
  void emitResult(const Instruction& i);
  // Of barriers whose lanes are together, too. Requires: a lane of `came`.
  void emitNumberTest(const Instruction& i, const Mask& came, const Chunks& words, uint32_t bits);

 private:
  llvm::AllocaInst* words();
  llvm::AllocaInst* threads();
  llvm::AllocaInst* combined();
  void keep(llvm::AllocaInst* array, const Chunks& coming, const Chunks& news);
  Chunks wordsOf(const Instruction& i);
  Value* alike(const Mask& mask, const Chunks& words, Value* first, uint32_t bits);
  Mask coming();
  void emitBarrier(const Instruction& i, const Mask& came);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  llvm::AllocaInst* words_ = nullptr;     // by lane that waits: what it says; 0 for all others
  llvm::AllocaInst* threads_ = nullptr;   // by lane: how many its barrier wants
  llvm::AllocaInst* combined_ = nullptr;  // by the barrier that the warp has come to last
};

}  // namespace vg::ptx::gen
