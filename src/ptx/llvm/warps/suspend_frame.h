// The loops over the warps of a block whose warps wait for each other, as the emitter makes them.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>

namespace vg::ptx::gen {

// The parts of a function that emitFrame made, see frame.cpp.
struct SuspendFrame {
  llvm::BasicBlock* start;       // where a warp begins
  llvm::BasicBlock* end;         // where it ends
  llvm::BasicBlock* next;        // on to the next warp
  llvm::SwitchInst* dispatch;    // on where the warp goes on
  llvm::Instruction* warpPoint;  // runs for each warp in each round, before the dispatch
  llvm::Value* warp;             // number in the block
  llvm::Value* frames;           // BlockState::frames
  llvm::Value* round;            // what `waitsAt` was at the end of the last round
  llvm::AllocaInst* waitsAt;     // i32: where warps go on in the next round, 0 nowhere
  bool alike;                    // all warps always wait at the same place: none needs a state of its own
  // Over warps: where one begins in a round, `end`, and all from there to the next warp.
  llvm::SmallVector<llvm::BasicBlock*, 4> loop;
};

}  // namespace vg::ptx::gen
