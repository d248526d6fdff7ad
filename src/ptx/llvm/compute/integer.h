// Integer and bit instructions, for one scalar or for W lanes at a time.
#pragma once

#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Integers : public EmitterPart {
 public:
  explicit Integers(Emission& emission) : EmitterPart(emission) {}

  bool computeInteger(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);

 private:
  Value* arithmetic(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* bitOperation(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* extreme(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* product24(const Instruction& i, Value* a, Value* b);
  Value* sum(const Instruction& i, Value* a, Value* b);
  Value* ones(const Instruction& i, Value* a, Value* w);
  Value* extendField(const Instruction& i, Value* a, Value* n);
  void computeLop3(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* multiplyHigh(Value* a, Value* b, uint32_t bits, bool isSigned);
  Value* multiplyLow(const Instruction& i, Value* a, Value* b);
  Value* divide(Value* a, Value* b, Type type, bool remainder);
  Value* plainDivision(Value* a, Value* b, bool isSigned, bool remainder);
  Value* divideBySafe(Value* a, Value* b, Value* byZero, Type type, bool remainder);
  Value* divideInDoubles(Value* a, Value* b, Type type, bool remainder);
  Value* divide64Helper(Value* a, Value* b, bool isSigned, bool remainder);
  Value* shift(const Instruction& i, Value* a, Value* amount);
  Value* funnelShift(const Instruction& i, Value* a, Value* b, Value* amount);
  Value* bitFieldExtract(const Instruction& i, Value* a, Value* b, Value* c);
  Value* bitFieldInsert(const Instruction& i, Value* a, Value* b, Value* c, Value* d);
  Value* permuteBytes(const Instruction& i, Value* a, Value* b, Value* c);
  Value* dotProduct(const Instruction& i, Value* a, Value* b, Value* c);
  Value* lop3(Value* a, Value* b, Value* c, uint32_t table);
  Value* findLeading(const Instruction& i, Value* a);
  void carryChain(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  void packedInteger(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* packedPart(const Instruction& i, Value* a, Value* c);
  Value* carrylessMad(const Instruction& i, Value* a, Value* b, Value* c);
};

}  // namespace vg::ptx::gen
