// Whether warps wait by returning to the frame's loop, and where they do: markers that splitAtSuspends makes the way
// back of.
#pragma once

#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/warp_teller.h"

namespace vg::ptx::gen {

class Suspensions : public EmitterPart {
 public:
  Suspensions(Emission& emission, Values& values, WarpTeller& teller)
      : EmitterPart(emission), values_(values), teller_(teller) {}

  void plan();  // once, when traits.polls and traits.allocates are known
  bool used() const { return suspends_; }
  llvm::ArrayRef<llvm::CallInst*> calls() const { return suspendCalls_; }
  void eraseMark();
  bool mayWait() const;
  void emitSuspend(const Instruction& i);

 private:
  bool suspendsOnly() const;

  Values& values_;
  WarpTeller& teller_;
  bool suspends_ = false;
  llvm::Function* suspendMark_ = nullptr;
  llvm::SmallVector<llvm::CallInst*, 8> suspendCalls_;
};

}  // namespace vg::ptx::gen
