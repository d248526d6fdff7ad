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

}  // namespace vg::ptx::gen
