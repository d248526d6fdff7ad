// Rows of neighbours whose ends are clamped, as min(threadIdx.x + 1, last): what their lanes would access if they were
// side by side follows from the operations, and so does which lanes do. That is cheaper than to take the address of a
// lane that is there and to compare all others with it, and hardly any of it depends on the row.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace vg::ptx::gen {

// What the emitter says of an address: the integers of all lanes (vectors, of which `rows` rows of threads consist),
// the masks of lanes that are there (none: all), and what it found by looking at lanes.
struct HopedRow {
  llvm::SmallVector<llvm::Value*, 8> chunks, masks;
  uint32_t rows;
  int64_t stride;
};
// i1, whether the lanes that are there are side by side in each row, or `otherwise`.
llvm::Value* hopedTest(llvm::IRBuilderBase& b, llvm::Module& module, const HopedRow& row, llvm::Value* otherwise);
// What the first lane of a row holds where `test`, made by hopedTest, holds, or `otherwise`.
llvm::Value* hopedStart(llvm::IRBuilderBase& b, llvm::Module& module, llvm::Value* test, uint32_t row,
                        llvm::Value* otherwise);

// Decides for each which of the two it is. Without `looks` it is what the emitter found.
void settleHopedRows(llvm::Function& function, bool looks);

}  // namespace vg::ptx::gen
