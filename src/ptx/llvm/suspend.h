// Splits a function where warps wait for each other: there a warp keeps what it still needs in its frame and returns
// to the loop over warps; that loop's dispatch brings it back.
#pragma once

#include <llvm/IR/Instructions.h>

namespace vg::ptx::gen {

// The parts of a function that emitFrame made, see emit_frame.cpp.
struct SuspendFrame {
  llvm::BasicBlock* start;       // where a warp begins
  llvm::BasicBlock* end;         // where it ends
  llvm::BasicBlock* next;        // on to the next warp
  llvm::SwitchInst* dispatch;    // on the warp's state
  llvm::Instruction* warpPoint;  // runs for each warp in each round, before the dispatch
  llvm::Value* warp;             // number in the block
  llvm::Value* frames;           // BlockState::frames
  llvm::AllocaInst* someWait;    // i1: set by warps that wait
};

// Turns each marker call into a return to the loop, with everything live kept in the frame, and erases it. Requires:
// values that live from one copy of a block to another are in allocas or dominate their uses; a warp's state lies in
// no other memory of the function. Returns KernelTraits::frameBytes.
uint32_t splitAtSuspends(const SuspendFrame& frame, llvm::ArrayRef<llvm::CallInst*> markers);

}  // namespace vg::ptx::gen
