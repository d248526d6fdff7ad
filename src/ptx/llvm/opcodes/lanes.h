// Instructions that exchange data between the lanes of a warp: shuffles, votes, matches, reductions.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/predicates.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/opcodes/held_lanes.h"

namespace vg::ptx::gen {

class Lanes : public EmitterPart {
 public:
  Lanes(Emission& emission, Masks& masks, Values& values, Predicates& predicates, HeldLanes& held)
      : EmitterPart(emission), masks_(masks), values_(values), predicates_(predicates), held_(held) {}

  void emitShuffle(const Instruction& i);
  void emitVote(const Instruction& i);
  void emitActiveMask(const Instruction& i);
  void emitMatch(const Instruction& i);
  void emitRedux(const Instruction& i);
  void emitElect(const Instruction& i);
  void emitFns(const Instruction& i);

 private:
  void shuffleKnown(const Instruction& i, const Chunks& data, uint64_t b, uint64_t c, Form& value, Form& inRange);
  std::pair<Value*, Value*> sourceLanes(const Instruction& i, uint32_t chunk);
  Value* lanesFromMemory(llvm::AllocaInst* data, Value* from);
  void shuffleByLanes(const Instruction& i, const Chunks& data, Form& value, Form& inRange);
  Mask votesIn(const Instruction& i);
  void emitForMembers(const Instruction& i, const std::function<std::vector<Value*>(Value* members)>& answer);
  Value* reducedIntegers(const Instruction& i, const Chunks& data, const Mask& who);
  Value* reducedFloats(const Instruction& i, const Chunks& data, const Mask& who);

  Masks& masks_;
  Values& values_;
  Predicates& predicates_;
  HeldLanes& held_;
};

}  // namespace vg::ptx::gen
