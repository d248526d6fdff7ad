// A part of the emitter: what it emits it emits for one function, at one place, with all the others. A part uses those
// that its constructor names, never in a circle; emitter.h has them all, each behind those that it uses.
#pragma once

#include "ptx/llvm/emit/emission.h"

namespace vg::ptx::gen {

// What the code generator has no code for. Throws Unsupported.
[[noreturn]] void unsupported(const Instruction& i, const char* why = nullptr);

class EmitterPart {
 protected:
  using Value = llvm::Value;
  using LType = llvm::Type;
  using BB = llvm::BasicBlock;

  explicit EmitterPart(Emission& emission)
      : emission_(emission),
        program_(emission.program),
        module_(emission.module),
        context_(emission.module.getContext()),
        options_(emission.options),
        b_(emission.b),
        w_(emission.w),
        k_(emission.k),
        rowLanes_(emission.rowLanes),
        rows_(emission.rows) {}
  EmitterPart(const EmitterPart&) = delete;
  EmitterPart& operator=(const EmitterPart&) = delete;

  // How many scalars a value of rows has; 1 of others.
  uint32_t rowsIn(const Shape& shape) const { return shape.kind == Shape::Rows ? rows_ : 1; }

  Emission& emission_;
  Program& program_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const EmitOptions& options_;
  Builder& b_;
  const uint32_t &w_, &k_, &rowLanes_, &rows_;
};

}  // namespace vg::ptx::gen
