// f16 and bf16, alone and in pairs.
#include "ptx/llvm/compute/float.h"

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

// --- Half precision ------------------------------------------------------------------------------------------------

// The smaller or larger of two halves, as bits; a NaN loses, or with `nanWins` wins.
llvm::Value* Floats::halfExtreme(Value* a, Value* b, bool isMin, bool nanWins, bool f16) {
  LType* const half = b_.getInt16Ty();
  // Ordered as integers once the negative half is turned around.
  const auto key = [&](Value* v) {
    return b_.CreateXor(v, b_.CreateLShr(b_.CreateAShr(v, b_.number(v, half, 15)), b_.number(v, half, 1)));
  };
  Value* const less = b_.CreateICmpSLT(key(a), key(b));
  Value* const out = b_.CreateSelect(isMin ? less : b_.CreateNot(less), a, b);
  Value *const nanA = pieces_.isHalfNan(a, f16), *const nanB = pieces_.isHalfNan(b, f16);
  Value* const nan = b_.number(a, half, 0x7fff);
  if (nanWins) return b_.CreateSelect(b_.CreateOr(nanA, nanB), nan, out);
  Value* const known = b_.CreateSelect(nanA, b, b_.CreateSelect(nanB, a, out));
  return b_.CreateSelect(b_.CreateAnd(nanA, nanB), nan, known);
}

// The smallest or largest of two or three.
llvm::Value* Floats::halfExtremes(const ptx::Instruction& ast, ArrayRef<Value*> s, bool f16) {
  LType* const half = b_.getInt16Ty();
  Value* a = s[0];
  for (size_t n = 1; n < s.size(); ++n) {
    Value* b = s[n];
    Value* sign = nullptr;
    if (ast.has(Mod::Xorsign)) {
      sign = b_.CreateAnd(b_.CreateXor(a, b), b_.number(a, half, 0x8000));
      a = b_.CreateAnd(a, b_.number(a, half, 0x7fff));
      b = b_.CreateAnd(b, b_.number(b, half, 0x7fff));
    }
    a = halfExtreme(a, b, ast.op == Op::Min, ast.has(Mod::NaN), f16);
    if (!sign) continue;
    Value* const nan = pieces_.isHalfNan(a, f16);
    a = b_.CreateSelect(nan, a, b_.CreateOr(a, sign));
  }
  return a;
}

// Operands and result are 16-bit integers. One operation in f32 and one rounding is exact for everything but fma.
llvm::Value* Floats::halfOperation(const Instruction& i, Type type, ArrayRef<Value*> in) {
  const ptx::Instruction& ast = *i.ast;
  const bool f16 = type == Type::F16;
  const bool ftz = ast.has(Mod::Ftz) && f16;
  llvm::SmallVector<Value*, 3> s;
  for (Value* v : in) {
    Value* const bits = b_.asInteger(v, 16);
    s.push_back(ftz ? pieces_.flushHalf(bits) : bits);
  }
  LType* const half = b_.getInt16Ty();
  const auto zeroFlush = [&](Value* v) { return ftz ? pieces_.flushHalf(v) : v; };
  switch (ast.op) {
    case Op::Neg:
      return b_.CreateSelect(pieces_.isHalfNan(s[0], f16), b_.number(s[0], half, 0x7fff),
                             b_.CreateXor(s[0], b_.number(s[0], half, 0x8000)));
    case Op::Abs:
      return b_.CreateSelect(pieces_.isHalfNan(s[0], f16), b_.number(s[0], half, 0x7fff),
                             b_.CreateAnd(s[0], b_.number(s[0], half, 0x7fff)));
    case Op::Min:
    case Op::Max:
      return zeroFlush(halfExtremes(ast, s, f16));
    default:
      break;
  }
  if ((ast.op == Op::Ex2 || ast.op == Op::Tanh) && options_.exactApproximations)
    return exact_.exactHalf(ast.op, s[0], type);
  llvm::SmallVector<Value*, 3> x;
  for (Value* v : s) x.push_back(conversions_.halfToFloat(v, type));
  Value* out = nullptr;
  switch (ast.op) {
    case Op::Add:
      out = b_.CreateFAdd(x[0], x[1]);
      break;
    case Op::Sub:
      out = b_.CreateFSub(x[0], x[1]);
      break;
    case Op::Mul:
      out = b_.CreateFMul(x[0], x[1]);
      break;
    case Op::Ex2:
      out = approximations_.exp2Approx(x[0]);
      break;
    case Op::Tanh:
      out = approximations_.tanhApprox(x[0]);
      break;
    case Op::Rcp:
      out = b_.CreateFDiv(b_.real(x[0], b_.getFloatTy(), 1.0), x[0]);
      break;
    case Op::Fma: {
      // The product is exact in f64; the sum is rounded to odd, so that rounding again is harmless.
      LType* const wide = b_.like(x[0], b_.getDoubleTy());
      Value* const product = b_.CreateFMul(b_.CreateFPExt(x[0], wide), b_.CreateFPExt(x[1], wide));
      Value* const exact = pieces_.oddSum(product, b_.CreateFPExt(x[2], wide));
      out = conversions_.doubleToFloat(exact, 4);
      break;
    }
    default:
      unsupported(i);
  }
  if (ast.has(Mod::Sat)) out = pieces_.saturate(out);
  if (ast.has(Mod::Relu)) {
    Value* const zero = b_.real(out, b_.getFloatTy(), 0.0);
    Value* const positive = b_.CreateSelect(b_.CreateFCmpOGT(out, zero), out, zero);
    out = b_.CreateSelect(b_.CreateFCmpUNO(out, out), out, positive);
  }
  out = zeroFlush(conversions_.floatToHalf(out, type, 0));
  if (ast.has(Mod::Oob)) {  // the NaN that fills tensors out of bounds makes zero
    const auto outside = [&](Value* v) { return b_.CreateICmpEQ(v, b_.number(v, half, 0x7ff7)); };
    out = b_.CreateSelect(b_.CreateOr(outside(s[0]), outside(s[1])), b_.number(out, half, 0), out);
  }
  return out;
}

}  // namespace vg::ptx::gen
