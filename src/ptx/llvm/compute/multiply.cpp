// Integer multiplication and division: high halves, carries, and what the processor has no vector form of.
#include "ptx/llvm/compute/integer.h"

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

// --- Multiplication ------------------------------------------------------------------------------------------------

llvm::Value* Integers::multiplyHigh(Value* a, Value* b, uint32_t bits, bool isSignedType) {
  if (bits <= 32) {
    Value* const product = b_.CreateMul(b_.extend(a, bits * 2, isSignedType), b_.extend(b, bits * 2, isSignedType));
    return b_.asInteger(b_.CreateLShr(product, b_.number(product, b_.integerType(bits * 2), bits)), bits);
  }
  if (!a->getType()->isVectorTy()) {
    LType* const wide = b_.getInt128Ty();
    Value* const x = isSignedType ? b_.CreateSExt(a, wide) : b_.CreateZExt(a, wide);
    Value* const y = isSignedType ? b_.CreateSExt(b, wide) : b_.CreateZExt(b, wide);
    return b_.CreateTrunc(b_.CreateLShr(b_.CreateMul(x, y), 64), b_.getInt64Ty());
  }
  // Four partial products of 32 bits; the signed result follows from the unsigned one.
  LType* const type = b_.getInt64Ty();
  Value* const half = b_.number(a, type, 32);
  Value* const low = b_.number(a, type, 0xffffffffu);
  Value *a0 = b_.CreateAnd(a, low), *a1 = b_.CreateLShr(a, half);
  Value *b0 = b_.CreateAnd(b, low), *b1 = b_.CreateLShr(b, half);
  Value* const p00 = b_.CreateMul(a0, b0);
  Value* const p01 = b_.CreateMul(a0, b1);
  Value* const p10 = b_.CreateMul(a1, b0);
  Value* const p11 = b_.CreateMul(a1, b1);
  Value* const middle =
      b_.CreateAdd(b_.CreateAdd(b_.CreateLShr(p00, half), b_.CreateAnd(p01, low)), b_.CreateAnd(p10, low));
  Value* high = b_.CreateAdd(b_.CreateAdd(p11, b_.CreateLShr(p01, half)),
                             b_.CreateAdd(b_.CreateLShr(p10, half), b_.CreateLShr(middle, half)));
  if (isSignedType) {
    Value* const sign = b_.number(a, type, 63);
    high = b_.CreateSub(high, b_.CreateAnd(b_.CreateAShr(a, sign), b));
    high = b_.CreateSub(high, b_.CreateAnd(b_.CreateAShr(b, sign), a));
  }
  return high;
}

// mul and the product of mad: .lo, .hi or .wide.
llvm::Value* Integers::multiplyLow(const Instruction& i, Value* a, Value* b) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type);
  a = b_.asInteger(a, bits);
  b = b_.asInteger(b, bits);
  if (i.ast->has(Mod::Hi)) return multiplyHigh(a, b, bits, isSigned(type));
  if (i.ast->has(Mod::Wide))
    return b_.CreateMul(b_.extend(a, bits * 2, isSigned(type)), b_.extend(b, bits * 2, isSigned(type)));
  return b_.CreateMul(a, b);
}

// The carry of a chain is a predicate. A subtraction adds the complement: its carry says that nothing was borrowed.
void Integers::carryChain(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const uint32_t bits = ptx::bitsOf(ast.type());
  LType* const type = b_.integerType(bits);
  const bool subtracts = ast.op == Op::Sub || ast.op == Op::Subc;
  const bool multiplies = ast.op == Op::Mad || ast.op == Op::Madc;
  Value* const a = multiplies ? multiplyLow(i, s[0], s[1]) : b_.asInteger(s[0], bits);
  Value* const c = b_.asInteger(s[multiplies ? 2 : 1], bits);
  Value* carry = llvm::Constant::getNullValue(a->getType());
  if (ptx::rowOf(ast.op).has(Trait::Carries)) {
    Value* const in = b_.asType(s.back(), Type::Pred);
    carry = b_.CreateZExt(subtracts ? b_.CreateNot(in) : in, b_.like(a, type));
  }
  Value *sum, *out;
  if (subtracts) {
    Value* const first = b_.CreateSub(a, c);
    sum = b_.CreateSub(first, carry);
    out = b_.CreateNot(b_.CreateOr(b_.CreateICmpULT(a, c), b_.CreateICmpULT(first, carry)));
  } else {
    Value* const first = b_.CreateAdd(a, c);
    sum = b_.CreateAdd(first, carry);
    out = b_.CreateOr(b_.CreateICmpULT(first, a), b_.CreateICmpULT(sum, first));
  }
  r.push_back(sum);
  if (i.carryOut != kNone) r.push_back(out);
}

// --- Division --------------------------------------------------------------------------------------------------------

// A constant that LLVM divides by without a division.
static bool isHarmlessDivisor(llvm::Value* b, uint32_t bits) {
  const auto* const divisor = llvm::dyn_cast<llvm::Constant>(b);
  if (!divisor || bits > 32) return false;
  const llvm::Constant* const one = b->getType()->isVectorTy() ? divisor->getSplatValue() : divisor;
  const auto* const number = llvm::dyn_cast_or_null<llvm::ConstantInt>(one);
  return number && !number->isZero() && !number->isMinusOne();
}

// A function of the module that divides lane by lane: rare and long, so it stands once.
llvm::Value* Integers::divide64Helper(Value* a, Value* b, bool isSignedType, bool remainder) {
  const std::string name = std::string("vg_") + (isSignedType ? "s" : "u") + (remainder ? "rem" : "div") + "64";
  llvm::Function* f = module_.getFunction(name);
  if (!f) {
    LType* const type = b_.vectorOf(b_.getInt64Ty());
    f = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false), llvm::GlobalValue::InternalLinkage,
                               name, module_);
    f->copyAttributesFrom(b_.function);
    f->setDSOLocal(true);  // as nothing outside calls it
    f->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(BB::Create(context_, "entry", f));
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    Value* out = llvm::PoisonValue::get(type);
    for (uint32_t l = 0; l < w_; ++l) {
      Value* const x = b_.CreateExtractElement(f->getArg(0), l);
      Value* const y = b_.CreateExtractElement(f->getArg(1), l);
      out = b_.CreateInsertElement(out, plainDivision(x, y, isSignedType, remainder), l);
    }
    b_.CreateRet(out);
  }
  return b_.CreateCall(f, {a, b});
}

// One division of each kind.
llvm::Value* Integers::plainDivision(Value* a, Value* b, bool isSignedType, bool remainder) {
  if (isSignedType) return remainder ? b_.CreateSRem(a, b) : b_.CreateSDiv(a, b);
  return remainder ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
}

// Never traps: a division by zero gives all ones, as does its remainder; the most negative number divided
// by -1 gives itself.
llvm::Value* Integers::divide(Value* a, Value* b, Type type, bool remainder) {
  if (isHarmlessDivisor(b, ptx::bitsOf(type))) return plainDivision(a, b, isSigned(type), remainder);
  Value* const byZero = b_.CreateICmpEQ(b, llvm::Constant::getNullValue(a->getType()));
  Value* const q = !a->getType()->isVectorTy() || ptx::bitsOf(type) == 64 ? divideBySafe(a, b, byZero, type, remainder)
                                                                          : divideInDoubles(a, b, type, remainder);
  return b_.CreateSelect(byZero, llvm::Constant::getAllOnesValue(a->getType()), q);
}

// By a divisor that is never zero, nor -1 of a signed type, whose quotient may not fit.
llvm::Value* Integers::divideBySafe(Value* a, Value* b, Value* byZero, Type type, bool remainder) {
  const bool vector = a->getType()->isVectorTy();
  Value* const one = b_.number(a, b_.integerType(ptx::bitsOf(type)), 1);
  Value* safe = b_.CreateSelect(byZero, one, b);
  Value* dividend = a;
  Value* negates = nullptr;
  if (isSigned(type)) {
    negates = b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(a->getType()));
    safe = b_.CreateSelect(negates, one, safe);
  }
  if (!vector) {
    safe = b_.CreateFreeze(safe);
    dividend = b_.CreateFreeze(dividend);
    // Undefined operands of lanes that are off must not trap either.
    safe = b_.CreateSelect(b_.CreateICmpEQ(safe, llvm::Constant::getNullValue(a->getType())), one, safe);
  }
  Value* const q = vector ? divide64Helper(dividend, safe, isSigned(type), remainder)
                          : plainDivision(dividend, safe, isSigned(type), remainder);
  return negates && !remainder ? b_.CreateSelect(negates, b_.CreateNeg(a), q) : q;
}

// 16 and 32 bits by way of doubles: the quotient truncates exactly. Anything at all by zero.
llvm::Value* Integers::divideInDoubles(Value* a, Value* b, Type type, bool remainder) {
  const uint32_t bits = ptx::bitsOf(type);
  Value *x = a, *y = b, *sign = nullptr, *dividendSign = nullptr;
  if (bits == 16) {
    x = b_.extend(x, 32, isSigned(type));
    y = b_.extend(y, 32, isSigned(type));
  }
  LType* const word = b_.like(x, b_.getInt32Ty());
  if (isSigned(type)) {
    Value* const by31 = b_.number(x, b_.getInt32Ty(), 31);
    dividendSign = b_.CreateAShr(x, by31);
    sign = b_.CreateXor(dividendSign, b_.CreateAShr(y, by31));
    x = b_.callIntrinsic(Intrinsic::abs, {word}, {x, b_.getFalse()});
    y = b_.callIntrinsic(Intrinsic::abs, {word}, {y, b_.getFalse()});
  }
  y = b_.CreateSelect(b_.CreateICmpEQ(y, llvm::Constant::getNullValue(word)), b_.number(x, b_.getInt32Ty(), 1), y);
  LType* const wide = b_.like(x, b_.getDoubleTy());
  Value* const quotient = b_.CreateFDiv(b_.CreateUIToFP(x, wide), b_.CreateUIToFP(y, wide));
  Value* out = b_.CreateFPToUI(quotient, word);
  if (remainder) {
    out = b_.CreateSub(x, b_.CreateMul(out, y));
    sign = dividendSign;
  }
  if (sign) out = b_.CreateSub(b_.CreateXor(out, sign), sign);
  return b_.asInteger(out, bits);
}

}  // namespace vg::ptx::gen
