#include "ptx/llvm/compute/float_pieces.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

namespace Intrinsic = llvm::Intrinsic;

llvm::Value* FloatPieces::absolute(Value* x) { return b_.intrinsic(Intrinsic::fabs, {x}); }

llvm::Value* FloatPieces::negate(Value* x) { return b_.CreateFNeg(x); }

// Denormals to zero of the same sign.
llvm::Value* FloatPieces::flush(Value* x) {
  Value* const bits = b_.asInteger(x, 32);
  Value* const exponent = b_.CreateAnd(bits, b_.number(bits, b_.getInt32Ty(), 0x7f800000));
  Value* const small = b_.CreateICmpEQ(exponent, b_.number(bits, b_.getInt32Ty(), 0));
  Value* const zero = b_.CreateAnd(bits, b_.number(bits, b_.getInt32Ty(), 0x80000000u));
  return b_.asFloat(b_.CreateSelect(small, zero, bits), b_.getFloatTy());
}

llvm::Value* FloatPieces::flushHalf(Value* bits) {
  Value* const exponent = b_.CreateAnd(bits, b_.number(bits, b_.getInt16Ty(), 0x7c00));
  Value* const zero = b_.CreateAnd(bits, b_.number(bits, b_.getInt16Ty(), 0x8000));
  return b_.CreateSelect(b_.CreateICmpEQ(exponent, b_.number(bits, b_.getInt16Ty(), 0)), zero, bits);
}

llvm::Value* FloatPieces::isHalfNan(Value* bits, bool f16) {
  LType* const half = b_.getInt16Ty();
  return b_.CreateICmpUGT(b_.CreateAnd(bits, b_.number(bits, half, 0x7fff)),
                          b_.number(bits, half, f16 ? 0x7c00 : 0x7f80));
}

// To [0, 1]; NaN and negative zero give +0.
llvm::Value* FloatPieces::saturate(Value* x) {
  LType* const type = x->getType()->getScalarType();
  Value* const zero = b_.real(x, type, 0.0);
  Value* const one = b_.real(x, type, 1.0);
  Value* const low = b_.CreateSelect(b_.CreateFCmpOGT(x, zero), x, zero);
  return b_.CreateSelect(b_.CreateFCmpOLT(low, one), low, one);
}

// NaNs stay; negative zero gives +0.
llvm::Value* FloatPieces::atLeastZero(Value* x) {
  Value* const zero = b_.real(x, x->getType()->getScalarType(), 0.0);
  Value* const positive = b_.CreateSelect(b_.CreateFCmpOGT(x, zero), x, zero);
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, positive);
}

llvm::Value* FloatPieces::fusedMultiplyAdd(Value* a, Value* b, Value* c) {
  if (options_.fma) return b_.intrinsic(Intrinsic::fma, {a, b, c});
  if (!a->getType()->getScalarType()->isFloatTy()) return roundedByProcessor(Op::Fma, {a, b, c}, 0);
  // The product is exact in f64; the sum is rounded to odd, so that rounding it again is harmless.
  LType* const wide = b_.like(a, b_.getDoubleTy());
  Value* const product = b_.CreateFMul(b_.CreateFPExt(a, wide), b_.CreateFPExt(b, wide));
  return b_.CreateFPTrunc(oddSum(product, b_.CreateFPExt(c, wide)), a->getType());
}

// a + b in f64, rounded to odd when it is not exact.
llvm::Value* FloatPieces::oddSum(Value* a, Value* b) {
  Value* const sum = b_.CreateFAdd(a, b);
  Value* const part = b_.CreateFSub(sum, a);
  Value* const error = b_.CreateFAdd(b_.CreateFSub(a, b_.CreateFSub(sum, part)), b_.CreateFSub(b, part));
  Value* const zero = b_.real(sum, b_.getDoubleTy(), 0.0);
  Value* const bits = b_.asInteger(sum, 64);
  const auto n64 = [&](uint64_t v) { return b_.number(bits, b_.getInt64Ty(), v); };
  Value* const even = b_.CreateICmpEQ(b_.CreateAnd(bits, n64(1)), n64(0));
  Value* const inexact = b_.CreateAnd(b_.CreateFCmpONE(error, zero), even);
  Value* const outward = b_.CreateICmpEQ(b_.CreateFCmpOGT(error, zero), b_.CreateFCmpOGT(sum, zero));
  Value* const odd = b_.CreateSelect(outward, b_.CreateAdd(bits, n64(1)), b_.CreateSub(bits, n64(1)));
  return b_.asFloat(b_.CreateSelect(inexact, odd, bits), b_.getDoubleTy());
}

}  // namespace vg::ptx::gen
