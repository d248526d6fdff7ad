// What PTX calls approximate: within its documented bounds, and the same in the interpreter.
#include "ptx/llvm/compute/approximate.h"

#include <cmath>

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
namespace Intrinsic = llvm::Intrinsic;

llvm::Value* Approximations::approxReciprocal64(Value* x, bool root) {
  LType* const type = b_.getDoubleTy();
  if (options_.exactApproximations) {
    Value* const shift = b_.number(x, b_.getInt64Ty(), 32);
    Value* const upper = exact_.exactReciprocal64(b_.asInteger(b_.CreateLShr(b_.asInteger(x, 64), shift), 32), root);
    return b_.asFloat(b_.CreateShl(b_.asInteger(upper, 64), shift), type);
  }
  Value* const high = b_.number(x, b_.getInt64Ty(), 0xffffffff00000000ull);
  const auto flushed = [&](Value* bits) {
    Value* const exponent = b_.CreateAnd(bits, b_.number(bits, b_.getInt64Ty(), 0x7ff0000000000000ull));
    Value* const zero = b_.CreateAnd(bits, b_.number(bits, b_.getInt64Ty(), 0x8000000000000000ull));
    return b_.CreateSelect(b_.CreateICmpEQ(exponent, b_.number(bits, b_.getInt64Ty(), 0)), zero, bits);
  };
  Value* const v = b_.asFloat(flushed(b_.CreateAnd(b_.asInteger(x, 64), high)), type);
  Value* const q = b_.CreateFDiv(b_.real(v, type, 1.0), root ? b_.intrinsic(Intrinsic::sqrt, {v}) : v);
  Value* const out = flushed(b_.CreateAnd(b_.asInteger(q, 64), high));
  return b_.asFloat(b_.CreateSelect(b_.CreateFCmpUNO(q, q), b_.number(q, b_.getInt64Ty(), 0x7fffffff00000000ull), out),
                    type);
}

// --- Approximations
// ----------------------------------------------------------------------------------------------------

// Coefficients from the highest power down.
llvm::Value* Approximations::polynomial(Value* x, ArrayRef<double> coefficients) {
  LType* const type = x->getType()->getScalarType();
  Value* out = b_.real(x, type, coefficients[0]);
  for (size_t n = 1; n < coefficients.size(); ++n) {
    Value* const c = b_.real(x, type, coefficients[n]);
    out = options_.fma ? pieces_.fusedMultiplyAdd(out, x, c) : b_.CreateFAdd(b_.CreateFMul(out, x), c);
  }
  return out;
}

llvm::Value* Approximations::exp2Approx(Value* x) {
  LType* const type = b_.getFloatTy();
  // Outside of this range the result is 0 or infinity anyway; NaN passes through the comparisons.
  Value* v = b_.CreateSelect(b_.CreateFCmpOGT(x, b_.real(x, type, 130.0)), b_.real(x, type, 130.0), x);
  v = b_.CreateSelect(b_.CreateFCmpOLT(v, b_.real(x, type, -160.0)), b_.real(x, type, -160.0), v);
  Value* const magic = b_.real(x, type, 12582912.0);  // 1.5 * 2^23: adding it rounds to an integer
  Value* const t = b_.CreateFAdd(v, magic);
  Value* const n = b_.CreateSub(b_.asInteger(t, 32), b_.number(t, b_.getInt32Ty(), 0x4b400000));
  Value* const f = b_.CreateFSub(v, b_.CreateFSub(t, magic));
  const double ln2 = 0.69314718055994530942;
  double c[8], power = 1, factorial = 1;
  for (int k = 0; k < 8; ++k) {
    c[7 - k] = power / factorial;
    power *= ln2;
    factorial *= k + 1;
  }
  Value* const p = polynomial(f, c);
  // Two factors, so that denormal results come out.
  const auto scale = [&](Value* e) {
    Value* const biased = b_.CreateAdd(e, b_.number(e, b_.getInt32Ty(), 127));
    return b_.asFloat(b_.CreateShl(biased, b_.number(e, b_.getInt32Ty(), 23)), type);
  };
  Value* const half = b_.CreateAShr(n, b_.number(n, b_.getInt32Ty(), 1));
  return b_.CreateFMul(b_.CreateFMul(p, scale(half)), scale(b_.CreateSub(n, half)));
}

llvm::Value* Approximations::log2Approx(Value* x) {
  LType* const type = b_.getFloatTy();
  LType* const word = b_.getInt32Ty();
  Value* const tiny = b_.CreateFCmpOLT(x, b_.real(x, type, 0x1p-126));
  Value* const v = b_.CreateSelect(tiny, b_.CreateFMul(x, b_.real(x, type, 0x1p24)), x);
  Value* const bits = b_.asInteger(v, 32);
  const auto n32 = [&](uint64_t c) { return b_.number(bits, word, c); };
  Value* const e = b_.CreateAShr(b_.CreateSub(bits, n32(0x3f3504f3)), n32(23));
  Value* const m = b_.asFloat(b_.CreateSub(bits, b_.CreateShl(e, n32(23))), type);
  Value* const exponent = b_.CreateFSub(b_.CreateSIToFP(e, b_.like(x, type)),
                                        b_.CreateSelect(tiny, b_.real(x, type, 24.0), b_.real(x, type, 0.0)));
  Value* const t = b_.CreateFDiv(b_.CreateFSub(m, b_.real(x, type, 1.0)), b_.CreateFAdd(m, b_.real(x, type, 1.0)));
  const double k = 2.8853900817779268;  // 2 / ln 2
  Value* const t2 = b_.CreateFMul(t, t);
  Value* const series = polynomial(t2, {k / 11, k / 9, k / 7, k / 5, k / 3, k});
  Value* out =
      options_.fma ? pieces_.fusedMultiplyAdd(t, series, exponent) : b_.CreateFAdd(b_.CreateFMul(t, series), exponent);
  Value* const infinity = b_.real(x, type, HUGE_VAL);
  out = b_.CreateSelect(b_.CreateFCmpOEQ(x, infinity), infinity, out);
  out = b_.CreateSelect(b_.CreateFCmpOEQ(x, b_.real(x, type, 0.0)), b_.real(x, type, -HUGE_VAL), out);
  return b_.CreateSelect(b_.CreateFCmpULT(x, b_.real(x, type, 0.0)), b_.asFloat(n32(0x7fffffff), type), out);
}

llvm::Value* Approximations::sinCosApprox(Value* x, bool cosine) {
  LType* const type = b_.getFloatTy();
  LType* const word = b_.getInt32Ty();
  Value* const bound = b_.real(x, type, 4194304.0);
  Value* const finite = b_.CreateFCmpOLT(pieces_.absolute(x), b_.real(x, type, HUGE_VAL));
  // Far away no accuracy is promised, only a result in [-1, 1].
  Value* const v = b_.CreateSelect(b_.CreateFCmpOLT(pieces_.absolute(x), bound), x, b_.real(x, type, 0.0));
  Value* const magic = b_.real(x, type, 12582912.0);
  Value* const t = b_.CreateFAdd(b_.CreateFMul(v, b_.real(x, type, 0.63661977236758134308)), magic);
  Value* n = b_.asInteger(t, 32);
  Value* const q = b_.CreateFSub(t, magic);
  const auto step = [&](Value* from, double part) {
    Value* const c = b_.real(x, type, -part);
    return options_.fma ? pieces_.fusedMultiplyAdd(q, c, from) : b_.CreateFAdd(b_.CreateFMul(q, c), from);
  };
  // pi/2 in three parts of which the first two have few bits.
  Value* const r = step(step(step(v, 1.5703125), 4.837512969970703125e-4), 7.5497899548918821691639e-8);
  Value* const r2 = b_.CreateFMul(r, r);
  Value* const sine = b_.CreateFMul(r, polynomial(r2, {2.7557319e-6, -1.9841270e-4, 8.3333333e-3, -1.6666667e-1, 1.0}));
  Value* const cosineOf = polynomial(r2, {2.4801587e-5, -1.3888889e-3, 4.1666667e-2, -0.5, 1.0});
  if (cosine) n = b_.CreateAdd(n, b_.number(n, word, 1));
  Value* const odd = b_.CreateICmpNE(b_.CreateAnd(n, b_.number(n, word, 1)), b_.number(n, word, 0));
  Value* out = b_.CreateSelect(odd, cosineOf, sine);
  Value* const sign = b_.CreateShl(b_.CreateAnd(n, b_.number(n, word, 2)), b_.number(n, word, 30));
  out = b_.asFloat(b_.CreateXor(b_.asInteger(out, 32), sign), type);
  return b_.CreateSelect(finite, out, b_.asFloat(b_.number(n, word, 0x7fffffff), type));
}

llvm::Value* Approximations::tanhApprox(Value* x) {
  LType* const type = b_.getFloatTy();
  Value* const a = pieces_.absolute(x);
  Value* const e = exp2Approx(b_.CreateFMul(a, b_.real(x, type, 2.8853900817779268)));
  Value* const one = b_.real(x, type, 1.0);
  Value* const far = b_.CreateFSub(one, b_.CreateFDiv(b_.real(x, type, 2.0), b_.CreateFAdd(e, one)));
  Value* const a2 = b_.CreateFMul(a, a);
  Value* const near = b_.CreateFMul(a, polynomial(a2, {62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1.0}));
  Value* const out = b_.CreateSelect(b_.CreateFCmpOLT(a, b_.real(x, type, 0.5)), near, far);
  Value* const sign = b_.CreateAnd(b_.asInteger(x, 32), b_.number(x, b_.getInt32Ty(), 0x80000000u));
  Value* const result = b_.asFloat(b_.CreateOr(b_.asInteger(out, 32), sign), type);
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, result);
}

}  // namespace vg::ptx::gen
