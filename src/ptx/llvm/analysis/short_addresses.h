// Addresses of local, constant and parameter memory in 32 bits. On a GPU these spaces fit there, and compilers keep
// pointers so ("short pointers"); here they are addresses of the processor, of which 32 bits are enough to tell one in
// a space whose memory lies together.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Whether nothing is left of an address but its low 32 bits: it is in a register of 32 bits, or was widened from one.
bool isShortAddress(const Program& program, ValueId address);

// Makes a conversion (cvta) before each load and store of these spaces by a short address. Before shapes are analysed.
void widenShortAddresses(Program& program);

// The address (or a vector of them) with these low bits that is next to `base`.
llvm::Value* addressBeside(llvm::IRBuilderBase& b, llvm::Value* base, llvm::Value* low);

}  // namespace vg::ptx::gen
