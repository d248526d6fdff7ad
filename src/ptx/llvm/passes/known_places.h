// Gathers and scatters whose places and lanes are known when code is made, as those of a block's only warp are. Lanes
// that nobody has need none; where what is gathered was stored or loaded before in the same stretch of code, it is
// taken from there. A gather waits for each element that a scatter before it has stored, a shuffle of its vector does
// not.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

namespace vg::ptx::gen {

// Requires: constants have been folded. Branches on constants are taken out on the way.
struct KnownPlacesPass : llvm::PassInfoMixin<KnownPlacesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace vg::ptx::gen
