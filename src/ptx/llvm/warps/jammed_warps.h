// Warps that a processor cannot overlap by itself run side by side.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace vg::ptx::gen {

// What a kernel is given: where a block's shared memory begins, and its warps' frames.
void markSharedBase(llvm::Value& load);
void markFrames(llvm::Value& load);

// In loops over warps whose body is one block: a long chain of floating-point operations, each of which waits for the
// one before, with operands in shared memory. Two warps have two chains, and where both read the same vectors, they
// read them once. Which of the two faults is not told there: the first one is named. On optimised code, with the marks
// of told_warps.h.
void jamWarps(llvm::Function& function);

}  // namespace vg::ptx::gen
