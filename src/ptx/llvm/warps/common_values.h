// What is the same in all warps of a block that wait at the same barriers: parameters, the number of the block, and
// what is made of these by all of them, such as the counter of a loop around a barrier.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Instructions.h>

#include "ptx/llvm/warps/suspend_frame.h"

namespace vg::ptx::gen {

class CommonValues {
 public:
  // Of slots that only these blocks use, a warp's own, before they are split at barriers: what follows a barrier is a
  // successor of what stands before it. Requires frame.alike.
  CommonValues(llvm::ArrayRef<llvm::BasicBlock*> own, const SuspendFrame& frame,
               llvm::ArrayRef<llvm::AllocaInst*> slots);

  bool isCommon(const llvm::AllocaInst& slot) const { return common_.contains(&slot); }

 private:
  bool isSame(const llvm::Value* value);
  bool isSameNow(const llvm::Instruction& i);
  void findParting();
  bool dropSlots();

  const llvm::ArrayRef<llvm::BasicBlock*> own_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> ownSet_, loop_;
  llvm::SmallPtrSet<const llvm::Value*, 16> common_;                        // slots
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> ofSome_;                   // blocks that some warps may pass by
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> meets_;  // where all warps that part there meet
  llvm::DenseMap<const llvm::Value*, bool> known_;                          // in this round of looking
};

}  // namespace vg::ptx::gen
