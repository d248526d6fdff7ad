// Sums, products, quotients and bits of integers: which function an instruction is.
#include "ptx/llvm/compute/integer.h"

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

namespace {

bool isPacked(Type type) {
  return type == Type::U16x2 || type == Type::S16x2 || type == Type::U8x4 || type == Type::S8x4;
}

bool hasPackedForm(Op op) { return op == Op::Add || op == Op::Sub || op == Op::Neg || op == Op::Min || op == Op::Max; }

}  // namespace

llvm::Value* Integers::extreme(const Instruction& i, ArrayRef<Value*> s) {
  const Type type = i.ast->type();
  const bool isMin = i.ast->op == Op::Min;
  const Intrinsic::ID id =
      isSigned(type) ? (isMin ? Intrinsic::smin : Intrinsic::smax) : (isMin ? Intrinsic::umin : Intrinsic::umax);
  Value* out = b_.asInteger(s[0], ptx::bitsOf(type));
  for (size_t n = 1; n < s.size(); ++n) out = b_.intrinsic(id, {out, b_.asInteger(s[n], ptx::bitsOf(type))});
  if (i.ast->has(Mod::Relu)) out = b_.intrinsic(Intrinsic::smax, {out, llvm::Constant::getNullValue(out->getType())});
  return out;
}

// The product of the lower 24 bits: its lower 32 bits, or those from 16 on.
llvm::Value* Integers::product24(const Instruction& i, Value* a, Value* b) {
  const bool isSignedType = isSigned(i.ast->type());
  const auto low24 = [&](Value* v) {
    Value* const up = b_.CreateShl(b_.asInteger(v, 32), b_.number(v, b_.getInt32Ty(), 8));
    Value* const x = isSignedType ? b_.CreateAShr(up, b_.number(v, b_.getInt32Ty(), 8))
                                  : b_.CreateLShr(up, b_.number(v, b_.getInt32Ty(), 8));
    return b_.extend(x, 64, isSignedType);
  };
  Value* product = b_.CreateMul(low24(a), low24(b));
  if (i.ast->has(Mod::Hi)) product = b_.CreateLShr(product, b_.number(product, b_.getInt64Ty(), 16));
  return b_.asInteger(product, 32);
}

llvm::Value* Integers::sum(const Instruction& i, Value* a, Value* b) {
  return i.ast->has(Mod::Sat) ? b_.intrinsic(Intrinsic::sadd_sat, {a, b}) : b_.CreateAdd(a, b);
}

// bmsk: `w` ones from bit `a` on.
llvm::Value* Integers::ones(const Instruction& i, Value* a, Value* w) {
  if (i.ast->has(Mod::Wrap)) {
    a = b_.CreateAnd(a, b_.number(a, b_.getInt32Ty(), 31));
    w = b_.CreateAnd(w, b_.number(w, b_.getInt32Ty(), 31));
  } else {
    a = b_.intrinsic(Intrinsic::umin, {a, b_.number(a, b_.getInt32Ty(), 32)});
    w = b_.intrinsic(Intrinsic::umin, {w, b_.number(w, b_.getInt32Ty(), 32)});
  }
  Value* const one = b_.number(a, b_.getInt64Ty(), 1);
  Value* const low = b_.CreateSub(b_.CreateShl(one, b_.asInteger(w, 64)), one);
  return b_.asInteger(b_.CreateShl(low, b_.asInteger(a, 64)), 32);
}

// szext: up to the top of 64 bits and back again; a length of zero gives zero.
llvm::Value* Integers::extendField(const Instruction& i, Value* a, Value* n) {
  const auto zero = [&](Value* shape) { return llvm::Constant::getNullValue(shape->getType()); };
  n = b_.asInteger(n, 32);
  n = i.ast->has(Mod::Wrap) ? b_.CreateAnd(n, b_.number(n, b_.getInt32Ty(), 31))
                            : b_.intrinsic(Intrinsic::umin, {n, b_.number(n, b_.getInt32Ty(), 32)});
  Value* const none = b_.CreateICmpEQ(n, zero(n));
  Value* const by = b_.asInteger(b_.CreateSub(b_.number(n, b_.getInt32Ty(), 64), n), 64);
  Value* const safe = b_.CreateSelect(none, zero(by), by);
  Value* const up = b_.CreateShl(b_.asInteger(b_.asInteger(a, 32), 64), safe);
  Value* const down = isSigned(i.ast->type()) ? b_.CreateAShr(up, safe) : b_.CreateLShr(up, safe);
  Value* const out = b_.asInteger(down, 32);
  return b_.CreateSelect(none, zero(out), out);
}

void Integers::computeLop3(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  const auto in = [&](size_t n) { return b_.asInteger(s[n], bits); };
  const auto& table = program_.values[i.sources[3]];
  if (table.kind != vg::ptx::gen::Value::Constant) unsupported(i, "table that is not a constant");
  Value* const out = lop3(in(0), in(1), in(2), static_cast<uint32_t>(table.bits));
  r.push_back(out);
  if (i.results.size() < 2) return;
  Value* const any = b_.CreateICmpNE(out, llvm::Constant::getNullValue(out->getType()));
  Value* const p = b_.asType(s[4], Type::Pred);
  r.push_back(i.ast->has(Mod::And) ? b_.CreateAnd(any, p) : b_.CreateOr(any, p));
}

// Sums, products, quotients, extremes; null: the instruction is none of these.
llvm::Value* Integers::arithmetic(const Instruction& i, ArrayRef<Value*> s) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.type();
  const auto in = [&](size_t n) { return b_.asInteger(s[n], ptx::bitsOf(type)); };
  const auto in32 = [&](size_t n) { return b_.asInteger(s[n], 32); };
  switch (ast.op) {
    case Op::Add:
      if (!ast.has(Mod::Sat)) return b_.CreateAdd(in(0), in(1));
      return b_.intrinsic(isSigned(type) ? Intrinsic::sadd_sat : Intrinsic::uadd_sat, {in(0), in(1)});
    case Op::Sub:
      return ast.has(Mod::Sat) ? b_.intrinsic(Intrinsic::ssub_sat, {in(0), in(1)}) : b_.CreateSub(in(0), in(1));
    case Op::Mul:
      return multiplyLow(i, s[0], s[1]);
    case Op::Mad: {
      Value* const product = multiplyLow(i, s[0], s[1]);
      return sum(i, product, b_.asInteger(s[2], product->getType()->getScalarSizeInBits()));
    }
    case Op::Mul24:
      return product24(i, s[0], s[1]);
    case Op::Mad24: {
      Value* const product = product24(i, s[0], s[1]);
      return sum(i, product, in32(2));
    }
    case Op::Div:
    case Op::Rem:
      return divide(in(0), in(1), type, ast.op == Op::Rem);
    case Op::Abs:
      return b_.callIntrinsic(Intrinsic::abs, {in(0)->getType()}, {in(0), b_.getFalse()});
    case Op::Neg:
      return b_.CreateNeg(in(0));
    case Op::Min:
    case Op::Max:
      return extreme(i, s);
    case Op::Sad: {
      Value *const a = in(0), *const c = in(1);
      Value* const less = isSigned(type) ? b_.CreateICmpSLT(a, c) : b_.CreateICmpULT(a, c);
      return b_.CreateAdd(in(2), b_.CreateSelect(less, b_.CreateSub(c, a), b_.CreateSub(a, c)));
    }
    case Op::Clmad:
      return carrylessMad(i, in(0), in(1), in(2));
    case Op::Dp4a:
    case Op::Dp2a:
      return dotProduct(i, in32(0), in32(1), in32(2));
    default:
      return nullptr;
  }
}

// Bits, counted and moved; null: the instruction is none of these.
llvm::Value* Integers::bitOperation(const Instruction& i, ArrayRef<Value*> s) {
  const auto in = [&](size_t n) { return b_.asInteger(s[n], ptx::bitsOf(i.ast->type())); };
  const auto in32 = [&](size_t n) { return b_.asInteger(s[n], 32); };
  const auto zero = [&](Value* shape) { return llvm::Constant::getNullValue(shape->getType()); };
  switch (i.ast->op) {
    case Op::And:
      return b_.CreateAnd(in(0), in(1));
    case Op::Or:
      return b_.CreateOr(in(0), in(1));
    case Op::Xor:
      return b_.CreateXor(in(0), in(1));
    case Op::Not:
      return b_.CreateNot(in(0));
    case Op::Cnot:
      return b_.CreateZExt(b_.CreateICmpEQ(in(0), zero(in(0))), in(0)->getType());
    case Op::Shl:
    case Op::Shr:
      return shift(i, in(0), in32(1));
    case Op::Shf:
      return funnelShift(i, in32(0), in32(1), in32(2));
    case Op::Bfe:
      return bitFieldExtract(i, in(0), in32(1), in32(2));
    case Op::Bfi:
      return bitFieldInsert(i, in(0), in(1), in32(2), in32(3));
    case Op::Brev:
      return b_.intrinsic(Intrinsic::bitreverse, {in(0)});
    case Op::Clz:
      return b_.asInteger(b_.callIntrinsic(Intrinsic::ctlz, {in(0)->getType()}, {in(0), b_.getFalse()}), 32);
    case Op::Popc:
      return b_.asInteger(b_.intrinsic(Intrinsic::ctpop, {in(0)}), 32);
    case Op::Bfind:
      return findLeading(i, in(0));
    case Op::Bmsk: {
      Value* const a = in32(0);
      return ones(i, a, in32(1));
    }
    case Op::Szext:
      return extendField(i, s[0], s[1]);
    case Op::Prmt:
      return permuteBytes(i, in32(0), in32(1), in32(2));
    case Op::Createpolicy:  // hints about caches that nobody has
      return s.empty() || !s[0] ? b_.getInt64(0) : b_.number(s[0], b_.getInt64Ty(), 0);
    default:
      return nullptr;
  }
}

bool Integers::computeInteger(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  if (ptx::isFloat(ast.type())) return false;
  // A word that says nothing here would give the plain operation of its size.
  if (!ptx::listsType(ast)) unsupported(i, "with this type");
  const bool sums = ast.op == Op::Add || ast.op == Op::Sub || ast.op == Op::Mad;
  if (isPacked(ast.type()) && hasPackedForm(ast.op)) {
    packedInteger(i, s, r);
  } else if (ptx::rowOf(ast.op).has(Trait::Carries) || (sums && ast.has(Mod::Cc))) {
    carryChain(i, s, r);
  } else if (ast.op == Op::Lop3) {
    computeLop3(i, s, r);
  } else if (Value* const number = arithmetic(i, s)) {
    r.push_back(number);
  } else if (Value* const bits = bitOperation(i, s)) {
    r.push_back(bits);
  } else {
    return false;
  }
  return true;
}

}  // namespace vg::ptx::gen
