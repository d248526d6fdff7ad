#include "ptx/llvm/passes/split_blocks.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <vector>

namespace vg::ptx::gen {
namespace {

// A block whose address is known is not joined with the one before it again.
void keepApart(llvm::BasicBlock& block) { static_cast<void>(llvm::BlockAddress::get(&block)); }

}  // namespace

void splitBlocks(llvm::Function& function, size_t longest) {
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock& block : function) blocks.push_back(&block);
  std::vector<llvm::Instruction*> all;
  for (llvm::BasicBlock* const block : blocks) {
    all.clear();
    size_t first = longest;
    for (llvm::Instruction& i : *block) {
      all.push_back(&i);
      // Behind the entry an alloca would take its memory when it runs, and not be counted among what a warp needs.
      if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(i)) first = std::max(first, all.size());
    }
    // The last first: a split moves all that is behind it.
    if (first + 1 >= all.size()) continue;
    const size_t splits = (all.size() - first - 2) / longest + 1;
    for (size_t n = splits; n-- > 0;) keepApart(*block->splitBasicBlock(all[first + n * longest], "onward"));
  }
}

}  // namespace vg::ptx::gen
