// Lanes that are held until all that a mask names have come, and what they bring (analysis/lane_turns.h).
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class HeldLanes : public EmitterPart {
 public:
  HeldLanes(Emission& emission, Runner& runner, Masks& masks, Values& values, Predicates& predicates)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values), predicates_(predicates) {}

  void emitArrival(const Instruction& i);
  void emitHeld(const Instruction& i);
  // Of an operation of the warp: what its first operand is in each lane, as integers of so many bits, and the lanes
  // that take part as far as its mask names them. Both are those of other instructions, too, where isJoint().
  Chunks brought(const Instruction& i, uint32_t bits);
  Mask takingPart(const Instruction& i);

 private:
  llvm::AllocaInst* awaited();
  llvm::AllocaInst* given();
  Mask inside(const Instruction& i);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  llvm::AllocaInst* awaited_ = nullptr;  // by lane that is held: whom it waits for, itself included; 0 for all others
  llvm::AllocaInst* given_ = nullptr;    // by lane: 64 bits that it has brought to an operation
};

}  // namespace vg::ptx::gen
