// f16 and bf16, alone and in pairs.
#include "ptx/llvm/compute/float.h"

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

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

// Operands and result are 16-bit integers.
llvm::Value* Floats::halfOperation(const Instruction& i, Type type, ArrayRef<Value*> in) {
  const ptx::Instruction& ast = *i.ast;
  const bool f16 = type == Type::F16;
  LType* const half = b_.getInt16Ty();
  const auto flushed = [&](Value* v) { return ast.has(Mod::Ftz) && f16 ? pieces_.flushHalf(v) : v; };
  llvm::SmallVector<Value*, 3> s;
  for (Value* v : in) s.push_back(flushed(b_.asInteger(v, 16)));
  switch (ast.op) {
    case Op::Neg:
      return b_.CreateSelect(pieces_.isHalfNan(s[0], f16), b_.number(s[0], half, 0x7fff),
                             b_.CreateXor(s[0], b_.number(s[0], half, 0x8000)));
    case Op::Abs:
      return b_.CreateSelect(pieces_.isHalfNan(s[0], f16), b_.number(s[0], half, 0x7fff),
                             b_.CreateAnd(s[0], b_.number(s[0], half, 0x7fff)));
    case Op::Min:
    case Op::Max:
      return flushed(halfExtremes(ast, s, f16));
    default:
      break;
  }
  if ((ast.op == Op::Ex2 || ast.op == Op::Tanh) && options_.exactApproximations)
    return exact_.exactHalf(ast.op, s[0], type);
  Value* result = halfArithmetic(i, type, s);
  if (ast.has(Mod::Sat)) result = pieces_.saturate(result);
  if (ast.has(Mod::Relu)) result = pieces_.atLeastZero(result);
  Value* const out = flushed(conversions_.floatToHalf(result, type, 0));
  if (!ast.has(Mod::Oob)) return out;
  // The NaN that fills tensors out of bounds makes zero, with either sign.
  const auto outside = [&](Value* v) {
    return b_.CreateICmpEQ(b_.CreateAnd(v, b_.number(v, half, 0x7fff)), b_.number(v, half, 0x7ff7));
  };
  return b_.CreateSelect(b_.CreateOr(outside(s[0]), outside(s[1])), b_.number(out, half, 0), out);
}

// In f32: one operation there and one rounding is exact for everything but fma.
llvm::Value* Floats::halfArithmetic(const Instruction& i, Type type, ArrayRef<Value*> s) {
  llvm::SmallVector<Value*, 3> x;
  for (Value* v : s) x.push_back(conversions_.halfToFloat(v, type));
  switch (i.ast->op) {
    case Op::Add:
      return b_.CreateFAdd(x[0], x[1]);
    case Op::Sub:
      return b_.CreateFSub(x[0], x[1]);
    case Op::Mul:
      return b_.CreateFMul(x[0], x[1]);
    case Op::Ex2:
      return approximations_.exp2Approx(x[0]);
    case Op::Tanh:
      return approximations_.tanhApprox(x[0]);
    case Op::Rcp:
      return reciprocal(x[0]);
    case Op::Fma: {
      // The product is exact in f64; the sum is rounded to odd, so that rounding again is harmless.
      LType* const wide = b_.like(x[0], b_.getDoubleTy());
      Value* const product = b_.CreateFMul(b_.CreateFPExt(x[0], wide), b_.CreateFPExt(x[1], wide));
      return conversions_.doubleToFloat(pieces_.oddSum(product, b_.CreateFPExt(x[2], wide)), 4);
    }
    default:
      unsupported(i);
  }
}

}  // namespace vg::ptx::gen
