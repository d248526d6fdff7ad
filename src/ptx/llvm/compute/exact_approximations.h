// What PTX calls approximate, to the bit as an H200 has it (VERDIGRIS_APPROXIMATE=exact). Operands of `ftz` have been
// flushed, results are later.
#pragma once

#include <map>

#include "ptx/llvm/compute/convert.h"
#include "ptx/llvm/compute/float_pieces.h"
#include "ptx/llvm/emit/part.h"

namespace vg::ptx::special {
struct Segment;
}

namespace vg::ptx::gen {

class ExactApproximations : public EmitterPart {
 public:
  ExactApproximations(Emission& emission, FloatPieces& pieces, Conversions& conversions)
      : EmitterPart(emission), pieces_(pieces), conversions_(conversions) {}

  Value* exactSpecial(Op op, Value* x, bool ftz);
  Value* exactQuotient(Value* a, Value* b, bool full, bool ftz);
  Value* exactHalf(Op op, Value* bits, Type type);   // of 16 bits
  Value* exactReciprocal64(Value* bits, bool root);  // of f64's upper words

 private:
  struct SegmentTable {
    llvm::ArrayRef<special::Segment> first, second;
    int bias;
  };
  struct SegmentSum {
    Value *high, *low;  // 18 bits
  };
  struct Coefficients {
    Value *c0, *c1, *c2;
  };
  struct FloatParts {
    Value *exponent, *fraction;
  };
  Value* exactReciprocal(Value* bits, bool ftz);
  Value* exactRoot(Value* bits, bool ftz, bool inverse);
  Value* exactPower(Value* x, bool ftz);
  Value* exactLogarithm(Value* bits, bool ftz);
  Value* exactSine(Value* bits, bool cosine);
  Value* exactTangent(Value* bits);
  Value* entryOf(llvm::ArrayRef<uint32_t> table, Value* index);
  Value* powerOfTwo(Value* x);
  Value* placeInTurn(Value* magnitude);
  FloatParts partsOf(Value* magnitude, bool ftz);
  Value* assembled(Value* exponent, Value* digits);
  SegmentSum segmentSum(const SegmentTable& table, Value* index, Value* x);
  SegmentSum segmentSum(const SegmentTable& table, Value* fraction);
  Value* wideSum(const SegmentSum& sum);
  Value* cutToFloat(Value* wide);
  Value* lightSquare(Value* x);
  Value* permuted(llvm::ArrayRef<uint32_t> table, Value* index);
  llvm::Constant* tableOf(llvm::ArrayRef<uint32_t> words);
  llvm::Constant* rowsOf(const SegmentTable& table);
  Coefficients transposed(llvm::ArrayRef<Value*> rows);
  Coefficients coefficients(const SegmentTable& table, Value* index);
  Value* word(Value* shape, uint32_t bits);
  Value* reciprocalDigits(Value* fraction);
  Value* rootDigits(const SegmentTable& table, Value* odd, Value* fraction);
  Value* rootReciprocalDigits(Value* odd, Value* fraction);

  FloatPieces& pieces_;
  Conversions& conversions_;
  std::map<llvm::Constant*, llvm::GlobalVariable*> tables_;  // constants are one for equal contents
};

}  // namespace vg::ptx::gen
