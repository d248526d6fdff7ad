// Integer, bit and move instructions, for one scalar or for W lanes at a time.
#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/emitter.h"
#include "ptx/llvm/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

bool Emitter::computeMove(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.type();
  const uint32_t bits = ptx::bitsOf(type);
  const auto in = [&](size_t n) { return asInteger(s[n], bits); };
  const auto in32 = [&](size_t n) { return asInteger(s[n], 32); };
  const auto zero = [&](Value* shape) { return llvm::Constant::getNullValue(shape->getType()); };
  switch (ast.op) {
    case Op::Mov: {
      if (i.results.size() > 1 && s.size() == 1) {  // unpack
        const uint32_t part = bits / static_cast<uint32_t>(i.results.size());
        for (size_t n = 0; n < i.results.size(); ++n) {
          Value* const v = in(0);
          r.push_back(asInteger(b_.CreateLShr(v, number(v, integerType(bits), n * part)), part));
        }
        return true;
      }
      if (i.results.size() == 1 && s.size() > 1) {  // pack
        const uint32_t part = bits / static_cast<uint32_t>(s.size());
        Value* out = nullptr;
        for (size_t n = 0; n < s.size(); ++n) {
          Value* const v = asInteger(asInteger(s[n], part), bits);
          Value* const placed = n == 0 ? v : b_.CreateShl(v, number(v, integerType(bits), n * part));
          out = out ? b_.CreateOr(out, placed) : placed;
        }
        r.push_back(out);
        return true;
      }
      for (size_t n = 0; n < s.size(); ++n) r.push_back(bits == 128 ? s[n] : asType(s[n], type));
      return true;
    }
    case Op::Cvta: {
      Value* v = asInteger(s[0], 64);
      if (ast.space == Space::Shared || ast.space == Space::SharedCluster) {
        Value* const base = splatLike(v, sharedBase());
        v = ast.has(Mod::To) ? b_.CreateSub(v, base) : b_.CreateAdd(v, base);
      }
      r.push_back(asInteger(v, bits));
      return true;
    }
    case Op::Isspacep: {
      Value* const v = asInteger(s[0], 64);
      const auto inside = [&](Value* base, Value* size) {
        return b_.CreateICmpULT(b_.CreateSub(v, splatLike(v, base)), splatLike(v, size));
      };
      Value* const shared = inside(
          ownShared(), b_.CreateZExt(blockField(offsetof(BlockState, sharedLimit), b_.getInt32Ty()), b_.getInt64Ty()));
      Value* local = llvm::ConstantInt::getFalse(shared->getType());
      if (localArea_)
        local = inside(b_.CreatePtrToInt(localArea_, b_.getInt64Ty()),
                       b_.getInt64(uint64_t{localLaneStride(program_.localSize)} * kWarpSize));
      const auto parameter = [&] {
        const uint64_t end =
            program_.parameters.empty() ? 0 : program_.parameters.back().offset + program_.parameters.back().size;
        return inside(launchField(offsetof(KernelLaunch, parameters), b_.getInt64Ty()), b_.getInt64(end));
      };
      const auto constant = [&] {
        Value* any = llvm::ConstantInt::getFalse(shared->getType());
        for (const uint32_t n : program_.references.globals) {
          const Variable& variable = program_.module->variables[n];
          if (variable.space == Space::Const)
            any = b_.CreateOr(any, inside(globalAddress(n), b_.getInt64(variable.size)));
        }
        return any;
      };
      switch (ast.space) {
        case Space::Shared:
          r.push_back(shared);
          break;
        case Space::Const:
          r.push_back(constant());
          break;
        case Space::SharedCluster:
          r.push_back(inside(blockField(offsetof(BlockState, clusterShared), b_.getInt64Ty()),
                             b_.CreateShl(b_.CreateZExt(clusterBlocks(), b_.getInt64Ty()), kSharedStrideBits)));
          break;
        case Space::Local:
          r.push_back(local);
          break;
        case Space::Global:
          r.push_back(b_.CreateNot(b_.CreateOr(b_.CreateOr(shared, local), b_.CreateOr(parameter(), constant()))));
          break;
        case Space::Param:
          r.push_back(parameter());
          break;
        default:
          unsupported(i, "state space");
      }
      return true;
    }
    case Op::Selp: {
      Value* const p = asType(s[2], Type::Pred);
      r.push_back(b_.CreateSelect(p, asType(s[0], type), asType(s[1], type)));
      return true;
    }
    case Op::Slct: {
      Value* c;
      if (ast.typeCount > 1 && ast.types[1] == Type::F32) {
        Value* x = asType(s[2], Type::F32);
        if (ast.has(Mod::Ftz)) x = flush(x);
        c = b_.CreateFCmpOGE(x, real(x, b_.getFloatTy(), 0));
      } else {
        Value* const x = in32(2);
        c = b_.CreateICmpSGE(x, zero(x));
      }
      r.push_back(b_.CreateSelect(c, asType(s[0], type), asType(s[1], type)));
      return true;
    }
    default:
      return false;
  }
}

bool Emitter::computeInteger(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.type();
  const uint32_t bits = ptx::bitsOf(type);
  const bool isSignedType = isSigned(type);
  const auto in = [&](size_t n) { return asInteger(s[n], bits); };
  const auto in32 = [&](size_t n) { return asInteger(s[n], 32); };
  const auto zero = [&](Value* shape) { return llvm::Constant::getNullValue(shape->getType()); };
  const bool packed = type == Type::U16x2 || type == Type::S16x2;
  if (ptx::isFloat(type)) return false;
  switch (ast.op) {
    case Op::Add:
    case Op::Sub:
      if (packed) {
        packedInteger(i, s, r);
      } else if (ast.has(Mod::Cc)) {
        carryChain(i, s, r);
      } else if (ast.has(Mod::Sat)) {
        r.push_back(intrinsic(ast.op == Op::Add ? Intrinsic::sadd_sat : Intrinsic::ssub_sat, {in(0), in(1)}));
      } else {
        r.push_back(ast.op == Op::Add ? b_.CreateAdd(in(0), in(1)) : b_.CreateSub(in(0), in(1)));
      }
      return true;
    case Op::Addc:
    case Op::Subc:
    case Op::Madc:
      carryChain(i, s, r);
      return true;
    case Op::Mul:
      r.push_back(multiplyLow(i, s[0], s[1]));
      return true;
    case Op::Mad: {
      if (ast.has(Mod::Cc)) {
        carryChain(i, s, r);
        return true;
      }
      Value* const product = multiplyLow(i, s[0], s[1]);
      Value* const c = asInteger(s[2], product->getType()->getScalarSizeInBits());
      r.push_back(ast.has(Mod::Sat) ? intrinsic(Intrinsic::sadd_sat, {product, c}) : b_.CreateAdd(product, c));
      return true;
    }
    case Op::Mul24:
    case Op::Mad24: {
      const auto low24 = [&](Value* v) {
        Value* const up = b_.CreateShl(asInteger(v, 32), number(v, b_.getInt32Ty(), 8));
        Value* const x = isSignedType ? b_.CreateAShr(up, number(v, b_.getInt32Ty(), 8))
                                      : b_.CreateLShr(up, number(v, b_.getInt32Ty(), 8));
        return extend(x, 64, isSignedType);
      };
      Value* product = b_.CreateMul(low24(s[0]), low24(s[1]));
      if (ast.has(Mod::Hi)) product = b_.CreateLShr(product, number(product, b_.getInt64Ty(), 16));
      Value* out = asInteger(product, 32);
      if (ast.op == Op::Mad24)
        out = ast.has(Mod::Sat) ? intrinsic(Intrinsic::sadd_sat, {out, in32(2)}) : b_.CreateAdd(out, in32(2));
      r.push_back(out);
      return true;
    }
    case Op::Div:
      r.push_back(divide(in(0), in(1), type, false));
      return true;
    case Op::Rem:
      r.push_back(divide(in(0), in(1), type, true));
      return true;
    case Op::Abs:
      r.push_back(callIntrinsic(Intrinsic::abs, {in(0)->getType()}, {in(0), b_.getFalse()}));
      return true;
    case Op::Neg:
      if (packed) {
        packedInteger(i, s, r);
      } else {
        r.push_back(b_.CreateNeg(in(0)));
      }
      return true;
    case Op::Min:
    case Op::Max: {
      if (packed) {
        packedInteger(i, s, r);
        return true;
      }
      const bool isMin = ast.op == Op::Min;
      const Intrinsic::ID id =
          isSignedType ? (isMin ? Intrinsic::smin : Intrinsic::smax) : (isMin ? Intrinsic::umin : Intrinsic::umax);
      Value* out = in(0);
      for (size_t n = 1; n < s.size(); ++n) out = intrinsic(id, {out, in(n)});
      if (ast.has(Mod::Relu)) out = intrinsic(Intrinsic::smax, {out, zero(out)});
      r.push_back(out);
      return true;
    }
    case Op::And:
      r.push_back(b_.CreateAnd(in(0), in(1)));
      return true;
    case Op::Or:
      r.push_back(b_.CreateOr(in(0), in(1)));
      return true;
    case Op::Xor:
      r.push_back(b_.CreateXor(in(0), in(1)));
      return true;
    case Op::Not:
      r.push_back(b_.CreateNot(in(0)));
      return true;
    case Op::Cnot:
      r.push_back(b_.CreateZExt(b_.CreateICmpEQ(in(0), zero(in(0))), in(0)->getType()));
      return true;
    case Op::Lop3: {
      const auto& table = program_.values[i.sources[3]];
      if (table.kind != vg::ptx::gen::Value::Constant) unsupported(i, "table that is not a constant");
      Value* const out = lop3(in(0), in(1), in(2), static_cast<uint32_t>(table.bits));
      r.push_back(out);
      if (i.results.size() > 1) {
        Value* const any = b_.CreateICmpNE(out, zero(out));
        Value* const p = asType(s[4], Type::Pred);
        r.push_back(ast.has(Mod::And) ? b_.CreateAnd(any, p) : b_.CreateOr(any, p));
      }
      return true;
    }
    case Op::Shl:
    case Op::Shr:
      r.push_back(shift(i, in(0), in32(1)));
      return true;
    case Op::Shf:
      r.push_back(funnelShift(i, in32(0), in32(1), in32(2)));
      return true;
    case Op::Bfe:
      r.push_back(bitFieldExtract(i, in(0), in32(1), in32(2)));
      return true;
    case Op::Bfi:
      r.push_back(bitFieldInsert(i, in(0), in(1), in32(2), in32(3)));
      return true;
    case Op::Brev:
      r.push_back(intrinsic(Intrinsic::bitreverse, {in(0)}));
      return true;
    case Op::Clz:
      r.push_back(asInteger(callIntrinsic(Intrinsic::ctlz, {in(0)->getType()}, {in(0), b_.getFalse()}), 32));
      return true;
    case Op::Popc:
      r.push_back(asInteger(intrinsic(Intrinsic::ctpop, {in(0)}), 32));
      return true;
    case Op::Bfind:
      r.push_back(findLeading(i, in(0)));
      return true;
    case Op::Createpolicy:  // hints about caches that nobody has
      r.push_back(s.empty() || !s[0] ? b_.getInt64(0) : number(s[0], b_.getInt64Ty(), 0));
      return true;
    case Op::Bmsk: {
      Value* a = in32(0);
      Value* w = in32(1);
      if (ast.has(Mod::Wrap)) {
        a = b_.CreateAnd(a, number(a, b_.getInt32Ty(), 31));
        w = b_.CreateAnd(w, number(w, b_.getInt32Ty(), 31));
      } else {
        a = intrinsic(Intrinsic::umin, {a, number(a, b_.getInt32Ty(), 32)});
        w = intrinsic(Intrinsic::umin, {w, number(w, b_.getInt32Ty(), 32)});
      }
      Value* const one = number(a, b_.getInt64Ty(), 1);
      Value* const ones = b_.CreateSub(b_.CreateShl(one, asInteger(w, 64)), one);
      r.push_back(asInteger(b_.CreateShl(ones, asInteger(a, 64)), 32));
      return true;
    }
    case Op::Szext: {
      Value* n = in32(1);
      n = ast.has(Mod::Wrap) ? b_.CreateAnd(n, number(n, b_.getInt32Ty(), 31))
                             : intrinsic(Intrinsic::umin, {n, number(n, b_.getInt32Ty(), 32)});
      // Up to the top of 64 bits and back again; a length of zero gives zero.
      Value* const none = b_.CreateICmpEQ(n, zero(n));
      Value* const by = asInteger(b_.CreateSub(number(n, b_.getInt32Ty(), 64), n), 64);
      Value* const safe = b_.CreateSelect(none, zero(by), by);
      Value* const up = b_.CreateShl(asInteger(in32(0), 64), safe);
      Value* const down = isSignedType ? b_.CreateAShr(up, safe) : b_.CreateLShr(up, safe);
      Value* const out = asInteger(down, 32);
      r.push_back(b_.CreateSelect(none, zero(out), out));
      return true;
    }
    case Op::Prmt:
      r.push_back(permuteBytes(i, in32(0), in32(1), in32(2)));
      return true;
    case Op::Sad: {
      Value* const a = in(0);
      Value* const c = in(1);
      Value* const less = isSignedType ? b_.CreateICmpSLT(a, c) : b_.CreateICmpULT(a, c);
      r.push_back(b_.CreateAdd(in(2), b_.CreateSelect(less, b_.CreateSub(c, a), b_.CreateSub(a, c))));
      return true;
    }
    case Op::Dp4a:
    case Op::Dp2a:
      r.push_back(dotProduct(i, in32(0), in32(1), in32(2)));
      return true;
    default:
      return false;
  }
}

// --- Multiplication ------------------------------------------------------------------------------------------------

llvm::Value* Emitter::multiplyHigh(Value* a, Value* b, uint32_t bits, bool isSignedType) {
  if (bits <= 32) {
    Value* const product = b_.CreateMul(extend(a, bits * 2, isSignedType), extend(b, bits * 2, isSignedType));
    return asInteger(b_.CreateLShr(product, number(product, integerType(bits * 2), bits)), bits);
  }
  if (!a->getType()->isVectorTy()) {
    LType* const wide = b_.getInt128Ty();
    Value* const x = isSignedType ? b_.CreateSExt(a, wide) : b_.CreateZExt(a, wide);
    Value* const y = isSignedType ? b_.CreateSExt(b, wide) : b_.CreateZExt(b, wide);
    return b_.CreateTrunc(b_.CreateLShr(b_.CreateMul(x, y), 64), b_.getInt64Ty());
  }
  // Four partial products of 32 bits; the signed result follows from the unsigned one.
  LType* const type = b_.getInt64Ty();
  Value* const half = number(a, type, 32);
  Value* const low = number(a, type, 0xffffffffu);
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
    Value* const sign = number(a, type, 63);
    high = b_.CreateSub(high, b_.CreateAnd(b_.CreateAShr(a, sign), b));
    high = b_.CreateSub(high, b_.CreateAnd(b_.CreateAShr(b, sign), a));
  }
  return high;
}

// mul and the product of mad: .lo, .hi or .wide.
llvm::Value* Emitter::multiplyLow(const Instruction& i, Value* a, Value* b) {
  const Type type = i.ast->type();
  const uint32_t bits = ptx::bitsOf(type);
  a = asInteger(a, bits);
  b = asInteger(b, bits);
  if (i.ast->has(Mod::Hi)) return multiplyHigh(a, b, bits, isSigned(type));
  if (i.ast->has(Mod::Wide))
    return b_.CreateMul(extend(a, bits * 2, isSigned(type)), extend(b, bits * 2, isSigned(type)));
  return b_.CreateMul(a, b);
}

// The carry of a chain is a predicate; for subtraction it is the borrow.
void Emitter::carryChain(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const uint32_t bits = ptx::bitsOf(ast.type());
  LType* const type = integerType(bits);
  const bool subtracts = ast.op == Op::Sub || ast.op == Op::Subc;
  const bool multiplies = ast.op == Op::Mad || ast.op == Op::Madc;
  Value* const a = multiplies ? multiplyLow(i, s[0], s[1]) : asInteger(s[0], bits);
  Value* const c = asInteger(s[multiplies ? 2 : 1], bits);
  Value* carry = readsCarry(ast.op) ? b_.CreateZExt(asType(s.back(), Type::Pred), like(a, type))
                                    : llvm::Constant::getNullValue(a->getType());
  Value *sum, *out;
  if (subtracts) {
    Value* const first = b_.CreateSub(a, c);
    sum = b_.CreateSub(first, carry);
    out = b_.CreateOr(b_.CreateICmpULT(a, c), b_.CreateICmpULT(first, carry));
  } else {
    Value* const first = b_.CreateAdd(a, c);
    sum = b_.CreateAdd(first, carry);
    out = b_.CreateOr(b_.CreateICmpULT(first, a), b_.CreateICmpULT(sum, first));
  }
  r.push_back(sum);
  if (i.carryOut != kNone) r.push_back(out);
}

// --- Division --------------------------------------------------------------------------------------------------------

// A function of the module that divides lane by lane: rare and long, so it stands once.
llvm::Value* Emitter::divide64Helper(Value* a, Value* b, bool isSignedType, bool remainder) {
  const std::string name = std::string("vg_") + (isSignedType ? "s" : "u") + (remainder ? "rem" : "div") + "64";
  llvm::Function* f = module_.getFunction(name);
  if (!f) {
    LType* const type = vectorOf(b_.getInt64Ty());
    f = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false), llvm::GlobalValue::InternalLinkage,
                               name, module_);
    f->copyAttributesFrom(function_);
    f->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(BB::Create(context_, "entry", f));
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    Value* out = llvm::PoisonValue::get(type);
    for (uint32_t l = 0; l < w_; ++l) {
      Value* const x = b_.CreateExtractElement(f->getArg(0), l);
      Value* const y = b_.CreateExtractElement(f->getArg(1), l);
      Value* q;
      if (isSignedType) {
        q = remainder ? b_.CreateSRem(x, y) : b_.CreateSDiv(x, y);
      } else {
        q = remainder ? b_.CreateURem(x, y) : b_.CreateUDiv(x, y);
      }
      out = b_.CreateInsertElement(out, q, l);
    }
    b_.CreateRet(out);
  }
  return b_.CreateCall(f, {a, b});
}

// Never traps: a division by zero gives all ones, as does its remainder; the most negative number divided
// by -1 gives itself.
llvm::Value* Emitter::divide(Value* a, Value* b, Type type, bool remainder) {
  const uint32_t bits = ptx::bitsOf(type);
  const bool isSignedType = isSigned(type);
  const bool vector = a->getType()->isVectorTy();
  Value* const zero = llvm::Constant::getNullValue(a->getType());
  Value* const ones = llvm::Constant::getAllOnesValue(a->getType());
  Value* const one = number(a, integerType(bits), 1);
  if (auto* divisor = llvm::dyn_cast<llvm::Constant>(b)) {
    const llvm::Constant* const splat = vector ? divisor->getSplatValue() : divisor;
    if (auto* c = llvm::dyn_cast_or_null<llvm::ConstantInt>(splat))
      if (!c->isZero() && !c->isMinusOne() && bits <= 32) {
        if (isSignedType) return remainder ? b_.CreateSRem(a, b) : b_.CreateSDiv(a, b);
        return remainder ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
      }
  }
  Value* const byZero = b_.CreateICmpEQ(b, zero);
  if (!vector || bits == 64) {
    Value* safe = b_.CreateSelect(byZero, one, b);
    Value* dividend = a;
    Value* negates = nullptr;
    if (isSignedType) {
      negates = b_.CreateICmpEQ(b, ones);
      safe = b_.CreateSelect(negates, one, safe);
    }
    if (!vector) {
      safe = b_.CreateFreeze(safe);
      dividend = b_.CreateFreeze(dividend);
      // Undefined operands of lanes that are off must not trap either.
      safe = b_.CreateSelect(b_.CreateICmpEQ(safe, zero), one, safe);
    }
    Value* q;
    if (vector) {
      q = divide64Helper(dividend, safe, isSignedType, remainder);
    } else if (isSignedType) {
      q = remainder ? b_.CreateSRem(dividend, safe) : b_.CreateSDiv(dividend, safe);
    } else {
      q = remainder ? b_.CreateURem(dividend, safe) : b_.CreateUDiv(dividend, safe);
    }
    if (negates && !remainder) q = b_.CreateSelect(negates, b_.CreateNeg(a), q);
    return b_.CreateSelect(byZero, ones, q);
  }
  // 16 and 32 bits by way of doubles: the quotient truncates exactly.
  Value *x = a, *y = b, *sign = nullptr, *dividendSign = nullptr;
  if (bits == 16) {
    x = extend(x, 32, isSignedType);
    y = extend(y, 32, isSignedType);
  }
  LType* const word = like(x, b_.getInt32Ty());
  if (isSignedType) {
    Value* const by31 = number(x, b_.getInt32Ty(), 31);
    dividendSign = b_.CreateAShr(x, by31);
    sign = b_.CreateXor(dividendSign, b_.CreateAShr(y, by31));
    x = callIntrinsic(Intrinsic::abs, {word}, {x, b_.getFalse()});
    y = callIntrinsic(Intrinsic::abs, {word}, {y, b_.getFalse()});
  }
  y = b_.CreateSelect(b_.CreateICmpEQ(y, llvm::Constant::getNullValue(word)), number(x, b_.getInt32Ty(), 1), y);
  LType* const wide = like(x, b_.getDoubleTy());
  Value* const quotient = b_.CreateFDiv(b_.CreateUIToFP(x, wide), b_.CreateUIToFP(y, wide));
  Value* out = b_.CreateFPToUI(quotient, word);
  if (remainder) {
    out = b_.CreateSub(x, b_.CreateMul(out, y));
    if (isSignedType) out = b_.CreateSub(b_.CreateXor(out, dividendSign), dividendSign);
  } else if (isSignedType) {
    out = b_.CreateSub(b_.CreateXor(out, sign), sign);
  }
  out = asInteger(out, bits);
  return b_.CreateSelect(byZero, ones, out);
}

// --- Shifts and fields -----------------------------------------------------------------------------------------------

// Amounts of the width and more give zero, or the sign.
llvm::Value* Emitter::shift(const Instruction& i, Value* a, Value* amount) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  const bool left = i.ast->op == Op::Shl;
  const bool arithmetic = !left && isSigned(i.ast->type());
  LType* const type = integerType(bits);
  Value* const inRange = b_.CreateICmpULT(amount, number(amount, b_.getInt32Ty(), bits));
  if (arithmetic) {
    Value* const n = b_.CreateSelect(inRange, amount, number(amount, b_.getInt32Ty(), bits - 1));
    return b_.CreateAShr(a, asInteger(n, bits));
  }
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (vector && bits == 32 && !llvm::isa<llvm::Constant>(amount)) {
    // The processor's variable shifts have PTX's rule.
    if (vector->getNumElements() == 16)
      return callIntrinsic(left ? Intrinsic::x86_avx512_psllv_d_512 : Intrinsic::x86_avx512_psrlv_d_512, {},
                           {a, amount});
    if (vector->getNumElements() == 8 && options_.avx2)
      return callIntrinsic(left ? Intrinsic::x86_avx2_psllv_d_256 : Intrinsic::x86_avx2_psrlv_d_256, {}, {a, amount});
  }
  Value* const n = asInteger(b_.CreateAnd(amount, number(amount, b_.getInt32Ty(), bits - 1)), bits);
  Value* const shifted = left ? b_.CreateShl(a, n) : b_.CreateLShr(a, n);
  return b_.CreateSelect(inRange, shifted, llvm::ConstantInt::get(like(a, type), 0));
}

llvm::Value* Emitter::funnelShift(const Instruction& i, Value* a, Value* b, Value* amount) {
  const bool left = i.ast->has(Mod::L);
  LType* const word = b_.getInt32Ty();
  Value* const shifted = callIntrinsic(left ? Intrinsic::fshl : Intrinsic::fshr, {a->getType()},
                                       {b, a, b_.CreateAnd(amount, number(amount, word, 31))});
  if (!i.ast->has(Mod::Clamp)) return shifted;
  return b_.CreateSelect(b_.CreateICmpUGE(amount, number(amount, word, 32)), left ? a : b, shifted);
}

// The low `length` bits set; all from `bits` on.
static llvm::Value* lowBits(llvm::IRBuilder<>& b, llvm::Value* length, llvm::Type* type, uint32_t bits) {
  llvm::Value* const wide = b.CreateZExtOrTrunc(length, type);
  llvm::Value* const limit = llvm::ConstantInt::get(type, bits);
  llvm::Value* const all = llvm::Constant::getAllOnesValue(type);
  llvm::Value* const inRange = b.CreateICmpULT(wide, limit);
  llvm::Value* const safe = b.CreateSelect(inRange, wide, llvm::Constant::getNullValue(type));
  return b.CreateSelect(inRange, b.CreateNot(b.CreateShl(all, safe)), all);
}

llvm::Value* Emitter::bitFieldExtract(const Instruction& i, Value* a, Value* position, Value* length) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  LType* const type = a->getType();
  LType* const word = b_.getInt32Ty();
  // Fields of 32 bits take eight bits of position and length; those of 64 bits are made of shifts that take all.
  Value* const pos = bits == 64 ? position : b_.CreateAnd(position, number(position, word, 0xff));
  Value* const len = bits == 64 ? length : b_.CreateAnd(length, number(length, word, 0xff));
  Value* const posInRange = b_.CreateICmpULT(pos, number(pos, word, bits));
  Value* const zero = llvm::Constant::getNullValue(type);
  Value* const safe = b_.CreateSelect(posInRange, asInteger(pos, bits), zero);
  Value* const ones = llvm::Constant::getAllOnesValue(type);
  Value* const shifted = b_.CreateSelect(posInRange, b_.CreateLShr(a, safe), zero);
  Value* const present = b_.CreateSelect(posInRange, b_.CreateLShr(ones, safe), zero);
  Value* const field = b_.CreateAnd(lowBits(b_, len, type, bits), present);
  Value* const value = b_.CreateAnd(shifted, field);
  if (!isSigned(i.ast->type())) return value;
  // The sign is the field's last bit, or the value's when the field goes beyond it.
  Value* const last = b_.CreateSub(intrinsic(Intrinsic::uadd_sat, {pos, len}), number(pos, word, 1));
  Value* const at = intrinsic(Intrinsic::umin, {last, number(last, word, bits - 1)});
  Value* const bit = b_.CreateTrunc(b_.CreateLShr(a, asInteger(at, bits)), like(a, b_.getInt1Ty()));
  Value* const sign = b_.CreateAnd(bit, b_.CreateICmpNE(len, number(len, word, 0)));
  return b_.CreateSelect(sign, b_.CreateOr(value, b_.CreateNot(field)), value);
}

llvm::Value* Emitter::bitFieldInsert(const Instruction& i, Value* a, Value* b, Value* position, Value* length) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  LType* const type = a->getType();
  LType* const word = b_.getInt32Ty();
  // Fields of 32 bits take eight bits of position and length; those of 64 bits are made of shifts that take all.
  Value* const pos = bits == 64 ? position : b_.CreateAnd(position, number(position, word, 0xff));
  Value* const len = bits == 64 ? length : b_.CreateAnd(length, number(length, word, 0xff));
  Value* const inRange = b_.CreateICmpULT(pos, number(pos, word, bits));
  Value* const zero = llvm::Constant::getNullValue(type);
  Value* const safe = b_.CreateSelect(inRange, asInteger(pos, bits), zero);
  Value* const field = b_.CreateSelect(inRange, b_.CreateShl(lowBits(b_, len, type, bits), safe), zero);
  return b_.CreateOr(b_.CreateAnd(b, b_.CreateNot(field)), b_.CreateAnd(b_.CreateShl(a, safe), field));
}

llvm::Value* Emitter::findLeading(const Instruction& i, Value* a) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  if (isSigned(i.ast->type())) {
    Value* const sign = b_.CreateAShr(a, number(a, integerType(bits), bits - 1));
    a = b_.CreateXor(a, sign);
  }
  Value* const zeros = asInteger(callIntrinsic(Intrinsic::ctlz, {a->getType()}, {a, b_.getFalse()}), 32);
  LType* const word = b_.getInt32Ty();
  Value* const found = i.ast->has(Mod::Shiftamt) ? zeros : b_.CreateSub(number(zeros, word, bits - 1), zeros);
  return b_.CreateSelect(b_.CreateICmpEQ(a, llvm::Constant::getNullValue(a->getType())),
                         llvm::Constant::getAllOnesValue(found->getType()), found);
}

llvm::Value* Emitter::lop3(Value* a, Value* b, Value* c, uint32_t table) {
  Value* out = nullptr;
  for (uint32_t n = 0; n < 8; ++n) {
    if (!(table >> n & 1)) continue;
    Value* const term = b_.CreateAnd(b_.CreateAnd(n & 4 ? a : b_.CreateNot(a), n & 2 ? b : b_.CreateNot(b)),
                                     n & 1 ? c : b_.CreateNot(c));
    out = out ? b_.CreateOr(out, term) : term;
  }
  return out ? out : llvm::Constant::getNullValue(a->getType());
}

// --- Bytes -----------------------------------------------------------------------------------------------------------

llvm::Value* Emitter::permuteBytes(const Instruction& i, Value* a, Value* b, Value* c) {
  LType* const word = b_.getInt32Ty();
  LType* const wide = b_.getInt64Ty();
  const auto n32 = [&](uint64_t v) { return number(a, word, v); };
  Value* const pool = b_.CreateOr(asInteger(a, 64), b_.CreateShl(asInteger(b, 64), number(a, wide, 32)));
  const auto byteAt = [&](Value* index) {  // index: i32, 0..7
    Value* const by = asInteger(b_.CreateShl(index, n32(3)), 64);
    return b_.CreateAnd(asInteger(b_.CreateLShr(pool, by), 32), n32(0xff));
  };
  Value* out = nullptr;
  Value* const low2 = b_.CreateAnd(c, n32(3));
  for (uint32_t n = 0; n < 4; ++n) {
    Value* byte;
    if (i.ast->has(Mod::F4e)) {
      byte = byteAt(b_.CreateAnd(b_.CreateAdd(low2, n32(n)), n32(7)));
    } else if (i.ast->has(Mod::B4e)) {
      byte = byteAt(b_.CreateAnd(b_.CreateSub(low2, n32(n)), n32(7)));
    } else if (i.ast->has(Mod::Rc8)) {
      byte = byteAt(low2);
    } else if (i.ast->has(Mod::Ecl)) {
      byte = byteAt(intrinsic(Intrinsic::umax, {low2, n32(n)}));
    } else if (i.ast->has(Mod::Ecr)) {
      byte = byteAt(intrinsic(Intrinsic::umin, {low2, n32(n)}));
    } else if (i.ast->has(Mod::Rc16)) {
      Value* const base = b_.CreateShl(b_.CreateAnd(c, n32(1)), n32(1));
      byte = byteAt(b_.CreateAdd(base, n32(n & 1)));
    } else {
      Value* const selector = b_.CreateAnd(b_.CreateLShr(c, n32(4 * n)), n32(15));
      byte = byteAt(b_.CreateAnd(selector, n32(7)));
      Value* const sign = b_.CreateAnd(b_.CreateSub(n32(0), b_.CreateLShr(byte, n32(7))), n32(0xff));
      byte = b_.CreateSelect(b_.CreateICmpUGE(selector, n32(8)), sign, byte);
    }
    Value* const placed = n ? b_.CreateShl(byte, n32(8 * n)) : byte;
    out = out ? b_.CreateOr(out, placed) : placed;
  }
  return out;
}

llvm::Value* Emitter::dotProduct(const Instruction& i, Value* a, Value* b, Value* c) {
  const bool signedA = isSigned(i.ast->types[0]);
  const bool signedB = i.ast->typeCount > 1 ? isSigned(i.ast->types[1]) : signedA;
  LType* const word = b_.getInt32Ty();
  const auto field = [&](Value* v, uint32_t first, uint32_t bits, bool isSignedField) {
    Value* const up = b_.CreateShl(v, number(v, word, 32 - first - bits));
    return isSignedField ? b_.CreateAShr(up, number(v, word, 32 - bits))
                         : b_.CreateLShr(up, number(v, word, 32 - bits));
  };
  const bool four = i.ast->op == Op::Dp4a;
  const uint32_t firstByte = !four && i.ast->has(Mod::Hi) ? 2 : 0;
  for (uint32_t n = 0; n < (four ? 4u : 2u); ++n) {
    Value* const x = four ? field(a, 8 * n, 8, signedA) : field(a, 16 * n, 16, signedA);
    Value* const y = field(b, 8 * (firstByte + n), 8, signedB);
    c = b_.CreateAdd(c, b_.CreateMul(x, y));
  }
  return c;
}

// Two 16-bit halves of a register.
void Emitter::packedInteger(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const bool isSignedType = i.ast->type() == Type::S16x2;
  LType* const word = b_.getInt32Ty();
  const auto half = [&](Value* v, bool high) {
    Value* const x = asInteger(v, 32);
    return asInteger(high ? b_.CreateLShr(x, number(x, word, 16)) : x, 16);
  };
  Value* halves[2];
  for (const bool high : {false, true}) {
    Value* out = half(s[0], high);
    const auto other = [&](size_t n) { return half(s[n], high); };
    switch (i.ast->op) {
      case Op::Add:
        out = b_.CreateAdd(out, other(1));
        break;
      case Op::Sub:
        out = b_.CreateSub(out, other(1));
        break;
      case Op::Neg:
        out = b_.CreateNeg(out);
        break;
      case Op::Min:
        out = intrinsic(isSignedType ? Intrinsic::smin : Intrinsic::umin, {out, other(1)});
        break;
      case Op::Max:
        out = intrinsic(isSignedType ? Intrinsic::smax : Intrinsic::umax, {out, other(1)});
        break;
      default:
        unsupported(i);
    }
    if (i.ast->has(Mod::Relu)) out = intrinsic(Intrinsic::smax, {out, llvm::Constant::getNullValue(out->getType())});
    halves[high] = asInteger(out, 32);
  }
  r.push_back(b_.CreateOr(halves[0], b_.CreateShl(halves[1], number(halves[1], word, 16))));
}

}  // namespace vg::ptx::gen
