// Loops of divergent regions that lanes run one after the other (analysis/lane_loops.h), in scalar code.
#pragma once

#include <map>
#include <vector>

#include "ptx/llvm/emit/access_tests.h"
#include "ptx/llvm/emit/instructions.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/edges.h"
#include "ptx/llvm/flow/warp_teller.h"

namespace vg::ptx::gen {

class LaneLoops : public EmitterPart {
 public:
  LaneLoops(Emission& emission, CopyPlan& plan, Masks& masks, Values& values, WarpTeller& teller, AccessTests& tests,
            Instructions& instructions, Edges& edges)
      : EmitterPart(emission),
        plan_(plan),
        masks_(masks),
        values_(values),
        teller_(teller),
        tests_(tests),
        instructions_(instructions),
        edges_(edges) {}

  // The loop of this header, for the lanes that are here, and where each of them goes behind it.
  void emit(const CopyKey& header);

 private:
  // Where lanes go behind the loop: which did, and what each has for the phis there.
  struct Exit {
    llvm::AllocaInst* lanes = nullptr;
    std::map<ValueId, llvm::AllocaInst*> phis;
  };
  // What the loop takes from outside: a value of each lane in memory, or one that its number tells.
  struct Taken {
    ValueId id;
    llvm::AllocaInst* lanes;
    LType* element;
    bool initial;  // what a phi of the header has first
  };

  llvm::AllocaInst* nextArray() { return b_.scratch(arrays_++); }
  void takeValues();
  void take(ValueId id, const Form& form, bool initial);
  void prepareExits();
  void emitLane(Value* lane);
  Slot& phiSlot(ValueId phi);
  void emitBlock(BlockId b, BB* left);
  BB* edge(BlockId from, BlockId to, BB* left);
  void leave(BlockId from, BlockId to);
  Form leftWith(ValueId phi, llvm::AllocaInst* array);

  CopyPlan& plan_;
  Masks& masks_;
  Values& values_;
  WarpTeller& teller_;
  AccessTests& tests_;
  Instructions& instructions_;
  Edges& edges_;
  // Of the loop that is being emitted.
  const Loop* loop_ = nullptr;
  uint32_t arrays_ = 0;
  std::vector<Taken> taken_;
  std::map<BlockId, Exit> exits_;
  std::map<BlockId, BB*> blocks_;
  Value* lane_ = nullptr;
  std::map<ValueId, Slot> phis_;  // scalars, of all loops
};

}  // namespace vg::ptx::gen
