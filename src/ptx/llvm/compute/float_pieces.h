// What operations on floats are made of, for scalars and for vectors: flushing, saturation, sums of which nothing is
// lost, and operations in a rounding mode.
#pragma once

#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"

namespace vg::ptx::gen {

class FloatPieces : public EmitterPart {
 public:
  FloatPieces(Emission& emission, Runner& runner) : EmitterPart(emission), runner_(runner) {}

  Value* flush(Value* x);                   // denormals of f32 to zero
  Value* flushHalf(Value* bits);            // of f16
  Value* isHalfNan(Value* bits, bool f16);  // of f16, else of bf16
  Value* saturate(Value* x);
  Value* rounded(const Instruction& i, Op op, llvm::ArrayRef<Value*> s, int mode = 0);
  Value* directedOperation(const Instruction& i, llvm::ArrayRef<Value*> s, int mode);  // .rz .rm .rp
  Value* fusedMultiplyAdd(Value* a, Value* b, Value* c);
  Value* oddSum(Value* a, Value* b);
  Value* absolute(Value* x);
  Value* negate(Value* x);

 private:
  Value* roundedByProcessor(Op op, llvm::ArrayRef<Value*> s, uint32_t rounding);

  Runner& runner_;
};

}  // namespace vg::ptx::gen
