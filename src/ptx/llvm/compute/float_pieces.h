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
  Value* atLeastZero(Value* x);
  Value* rounded(const Instruction& i, Op op, llvm::ArrayRef<Value*> s, int mode = 0);
  Value* directedOperation(const Instruction& i, llvm::ArrayRef<Value*> s, int mode = 0);  // .rz .rm .rp
  Value* fusedMultiplyAdd(Value* a, Value* b, Value* c);
  Value* oddSum(Value* a, Value* b);
  Value* absolute(Value* x);
  Value* negate(Value* x);

 private:
  struct WithError {
    Value* result;
    Value* error;
  };

  Value* roundedByOperand(Op op, llvm::ArrayRef<Value*> s, int mode);
  Value* roundedRegister(Op op, llvm::ArrayRef<Value*> v, int mode);
  Value* roundedInDoubles(Op op, llvm::ArrayRef<Value*> s, int mode);
  WithError inDoubles(Op op, llvm::ArrayRef<Value*> d);
  WithError twoSum(Value* a, Value* b);
  Value* negativeWhereCancelled(Op op, llvm::ArrayRef<Value*> d, Value* sum, Value* bits);
  Value* roundedByProcessor(Op op, llvm::ArrayRef<Value*> s, uint32_t rounding);
  Value* fusedByRunner(llvm::ArrayRef<Value*> s, uint32_t rounding);
  void fillRounded(llvm::Function& f, Op op, uint32_t rounding);

  Runner& runner_;
};

}  // namespace vg::ptx::gen
