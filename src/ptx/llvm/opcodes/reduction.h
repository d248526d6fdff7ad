// Reductions of integers, as redux and atomics have them: .add .and .or .xor .min .max.
#pragma once

#include "ptx/llvm/emit/builder.h"

namespace vg::ptx::gen {

// The value that changes no other.
uint64_t neutralOf(const ptx::Instruction& ast);
// Of two values, or of two vectors element by element.
llvm::Value* reduced(Builder& b, const ptx::Instruction& ast, llvm::Value* x, llvm::Value* y);
// Of all elements of a vector.
llvm::Value* reduced(Builder& b, const ptx::Instruction& ast, llvm::Value* vector);
// Of one value that all of these lanes have (i32, a bit each); of none it is the neutral one. Vectors of one value
// under masks are no way to it: LLVM 19 makes code for AVX-512 of some for ever, with conjunctions and disjunctions of
// masks that turn into each other.
llvm::Value* reducedAlike(Builder& b, const ptx::Instruction& ast, llvm::Value* value, llvm::Value* lanes);

}  // namespace vg::ptx::gen
