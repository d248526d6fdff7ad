// Comparisons, and logic on predicates, for one scalar or for W lanes at a time.
#pragma once

#include "ptx/llvm/compute/convert.h"
#include "ptx/llvm/compute/float_pieces.h"
#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Comparisons : public EmitterPart {
 public:
  Comparisons(Emission& emission, FloatPieces& pieces, Conversions& conversions)
      : EmitterPart(emission), pieces_(pieces), conversions_(conversions) {}

  bool computePredicate(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* compare(const Instruction& i, Type type, Value* a, Value* b);

 private:
  Value* predicateLogic(const ptx::Instruction& ast, llvm::ArrayRef<Value*> s);
  Value* combined(const ptx::Instruction& ast, Value* c, llvm::ArrayRef<Value*> s);
  void comparePairs(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* setResult(const ptx::Instruction& ast, Value* p);
  Value* compareFloat(const Instruction& i, Value* a, Value* b);
  Value* testProperty(const Instruction& i, Value* x);

  FloatPieces& pieces_;
  Conversions& conversions_;
};

}  // namespace vg::ptx::gen
