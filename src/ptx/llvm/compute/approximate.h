// What PTX calls approximate, within its documented bounds: polynomials.
#pragma once

#include "ptx/llvm/compute/exact_approximations.h"
#include "ptx/llvm/compute/float_pieces.h"
#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

class Approximations : public EmitterPart {
 public:
  Approximations(Emission& emission, FloatPieces& pieces, ExactApproximations& exact)
      : EmitterPart(emission), pieces_(pieces), exact_(exact) {}

  Value* exp2Approx(Value* x);
  Value* log2Approx(Value* x);
  Value* sinCosApprox(Value* x, bool cosine);
  Value* tanhApprox(Value* x);
  Value* approxReciprocal64(Value* x, bool root);

 private:
  Value* polynomial(Value* x, llvm::ArrayRef<double> coefficients);

  FloatPieces& pieces_;
  ExactApproximations& exact_;
};

}  // namespace vg::ptx::gen
