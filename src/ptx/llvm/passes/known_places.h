// Gathers and scatters whose places and lanes are known when code is made, as those of a block's only warp are. Lanes
// that nobody has need none; where what is gathered was stored or loaded before in the same stretch of code, it is
// taken from there. A gather waits for each element that a scatter before it has stored, a shuffle of its vector does
// not.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

namespace vg::ptx::gen {

// Requires: constants have been folded. Branches on constants are taken out on the way.
class KnownPlacesPass : public llvm::PassInfoMixin<KnownPlacesPass> {
 public:
  // `gathersSlowly`: the processor gathers no faster than it loads one by one.
  explicit KnownPlacesPass(bool gathersSlowly) : gathersSlowly_(gathersSlowly) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  const bool gathersSlowly_;
};

}  // namespace vg::ptx::gen
