// Arithmetic on floats and halves, for one scalar or for W lanes at a time.
#pragma once

#include "ptx/llvm/compute/approximate.h"
#include "ptx/llvm/compute/convert.h"
#include "ptx/llvm/compute/exact_approximations.h"
#include "ptx/llvm/compute/float_pieces.h"
#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Floats : public EmitterPart {
 public:
  Floats(Emission& emission, FloatPieces& pieces, Conversions& conversions, ExactApproximations& exact,
         Approximations& approximations)
      : EmitterPart(emission),
        pieces_(pieces),
        conversions_(conversions),
        exact_(exact),
        approximations_(approximations) {}

  bool computeFloat(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* halfExtreme(Value* a, Value* b, bool isMin, bool nanWins, bool f16);
  Value* minMax(const Instruction& i, Value* a, Value* b, bool isMin);

 private:
  Value* farDivisorsGiveZero(Value* dividend, Value* divisor, Value* quotient);
  Value* nearReciprocalRoot64(Value* in);
  Value* flushLifted(const Instruction& i, llvm::ArrayRef<Value*> s, Value* out);
  Value* floatOperation(const Instruction& i, Type type, llvm::ArrayRef<Value*> s);
  Value* radians(Value* turns);
  Value* floatResult(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* arithmetic(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* reciprocal(Value* x);
  Value* approximateReciprocal64(const ptx::Instruction& ast, Value* x);
  Value* signOperation(Op op, llvm::ArrayRef<Value*> s);
  Value* halfExtremes(const ptx::Instruction& ast, llvm::ArrayRef<Value*> s, bool f16);
  Value* halfArithmetic(const Instruction& i, Type type, llvm::ArrayRef<Value*> s);
  Value* halfOperation(const Instruction& i, Type type, llvm::ArrayRef<Value*> s);

  FloatPieces& pieces_;
  Conversions& conversions_;
  ExactApproximations& exact_;
  Approximations& approximations_;
};

}  // namespace vg::ptx::gen
