// Values that a warp computes again behind a barrier instead of keeping them in its frame: few operations on its
// number, its thread indices, parameters and what else is known wherever it goes on. Most of them depend on nothing
// that differs between warps, and LLVM computes those once for all warps of a block.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Instructions.h>

#include "ptx/llvm/warps/suspend_frame.h"

namespace vg::ptx::gen {

class RemadeValues {
 public:
  // Of a warp whose own code is in these blocks.
  RemadeValues(llvm::ArrayRef<llvm::BasicBlock*> own, const SuspendFrame& frame);

  // Computes the value again in each block that uses it besides its own. False, and nothing changed, for a value that
  // depends on memory or costs too much.
  bool remake(llvm::Instruction& value);

 private:
  struct Cost {
    bool possible = false;
    bool differs = false;  // between warps
    unsigned each = 0;     // operations of a warp
    unsigned all = 0;      // operations, those that are done once for all warps included
  };

  Cost costOf(llvm::Value* value);
  Cost sumOfOperands(const llvm::Instruction& operation);
  llvm::Value* copyIn(llvm::BasicBlock* block, llvm::Value* value);

  llvm::SmallPtrSet<llvm::BasicBlock*, 16> own_, loop_;
  llvm::DenseMap<llvm::Value*, Cost> costs_;
  llvm::DenseMap<std::pair<llvm::BasicBlock*, llvm::Value*>, llvm::Value*> copies_;
  llvm::DenseMap<llvm::BasicBlock*, llvm::Instruction*> places_;  // in front of which copies are made
};

}  // namespace vg::ptx::gen
