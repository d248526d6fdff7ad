#include "ptx/llvm/passes/split_blocks.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <iterator>

namespace vg::ptx::gen {
namespace {

// A block whose address is known is not joined with the one before it again.
void keepApart(llvm::BasicBlock& block) { static_cast<void>(llvm::BlockAddress::get(&block)); }

}  // namespace

void splitBlocks(llvm::Function& function, size_t longest) {
  for (auto block = function.begin(); block != function.end(); ++block) {
    if (block->size() <= longest) continue;
    auto at = std::next(block->begin(), static_cast<std::ptrdiff_t>(longest));
    // Behind the entry an alloca would take its memory when it runs, and not be counted among what a warp needs.
    for (auto i = at; i != block->end(); ++i)
      if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(*i)) at = std::next(i);
    if (at == block->end() || at->isTerminator()) continue;
    keepApart(*block->splitBasicBlock(at, "onward"));
  }
}

}  // namespace vg::ptx::gen
