// cvt, and the conversions between halves and floats that other instructions are made of.
#pragma once

#include "ptx/llvm/compute/float_pieces.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/operations/random_rounding.h"

namespace vg::ptx::gen {

class Conversions : public EmitterPart {
 public:
  Conversions(Emission& emission, FloatPieces& pieces) : EmitterPart(emission), pieces_(pieces) {}

  void computeConvert(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* halfToFloat(Value* bits, Type type);  // f16 or bf16 bits to float
  Value* floatToHalf(Value* x, Type type, int rounding);
  Value* doubleToFloat(Value* x, int rounding);

 private:
  Value* convert(const Instruction& i, Value* v, Type to, Type from);
  Value* sourceAsFloat(const ptx::Instruction& ast, Value* v, Type to, Type from);
  Value* floatToTf32(const ptx::Instruction& ast, Value* v);
  Value* floatToFloat(const ptx::Instruction& ast, Value* x, Type to);
  Value* limited(const ptx::Instruction& ast, Value* x);
  Value* integerToFloat(const Instruction& i, Value* v, Type to, Type from);
  Value* castToFloat(Value* v, LType* element, Type from);
  Value* roundedDoubleOf(const Instruction& i, Value* v, Type from);
  Value* singleOf(Value* v, Type from, int rounding);
  Value* singleOfWord(Value* v, bool isSignedType, int rounding);
  Value* floatToInteger(Value* x, int mode, Type to, Type from);
  Value* saturatedVector(Value* x, uint32_t bits, bool isSigned);
  Value* roundToIntegral(Value* x, int mode);
  Value* saturateInteger(Value* v, Type to, Type from);
  static bool isNarrowPair(Type type);
  Value* convertPairs(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* narrowFloat(Value* x, Type type);
  Value* widenNarrow(Value* element, Type type);
  Value* roundByChance(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* randomlyRounded(Value* x, Value* random, const RandomRounding& rounding);
  Value* exponentOf(Value* x, bool upward, bool finite);
  Value* powerOf(Value* code);
  Value* pairElement(Value* pair, Type type, uint32_t n);
  Value* bfloatOfNumber(Value* bits, int rounding);
  Value* halfOfNumber(Value* bits, int rounding);
  Value* normalHalf(Value* magnitude, Value* negative, int rounding);
  Value* denormalHalf(Value* magnitude, Value* negative, int rounding);
  Value* roundsUp(Value* kept, Value* rest, Value* halfway, Value* negative, int rounding);
  Value* overflowsToInfinity(Value* bits, Value* negative, int rounding);
  Value* finiteHalf(Value* bits, Type type);  // infinities to the largest number

  FloatPieces& pieces_;
};

}  // namespace vg::ptx::gen
