// Integer, bit and move instructions, for one scalar or for W lanes at a time.
#include "ptx/llvm/compute/integer.h"

#include "ptx/llvm/analysis/short_addresses.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

bool Integers::computeInteger(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.type();
  const uint32_t bits = ptx::bitsOf(type);
  const bool isSignedType = isSigned(type);
  const auto in = [&](size_t n) { return b_.asInteger(s[n], bits); };
  const auto in32 = [&](size_t n) { return b_.asInteger(s[n], 32); };
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
        r.push_back(b_.intrinsic(ast.op == Op::Add ? Intrinsic::sadd_sat : Intrinsic::ssub_sat, {in(0), in(1)}));
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
      Value* const c = b_.asInteger(s[2], product->getType()->getScalarSizeInBits());
      r.push_back(ast.has(Mod::Sat) ? b_.intrinsic(Intrinsic::sadd_sat, {product, c}) : b_.CreateAdd(product, c));
      return true;
    }
    case Op::Mul24:
    case Op::Mad24: {
      const auto low24 = [&](Value* v) {
        Value* const up = b_.CreateShl(b_.asInteger(v, 32), b_.number(v, b_.getInt32Ty(), 8));
        Value* const x = isSignedType ? b_.CreateAShr(up, b_.number(v, b_.getInt32Ty(), 8))
                                      : b_.CreateLShr(up, b_.number(v, b_.getInt32Ty(), 8));
        return b_.extend(x, 64, isSignedType);
      };
      Value* product = b_.CreateMul(low24(s[0]), low24(s[1]));
      if (ast.has(Mod::Hi)) product = b_.CreateLShr(product, b_.number(product, b_.getInt64Ty(), 16));
      Value* out = b_.asInteger(product, 32);
      if (ast.op == Op::Mad24)
        out = ast.has(Mod::Sat) ? b_.intrinsic(Intrinsic::sadd_sat, {out, in32(2)}) : b_.CreateAdd(out, in32(2));
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
      r.push_back(b_.callIntrinsic(Intrinsic::abs, {in(0)->getType()}, {in(0), b_.getFalse()}));
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
      for (size_t n = 1; n < s.size(); ++n) out = b_.intrinsic(id, {out, in(n)});
      if (ast.has(Mod::Relu)) out = b_.intrinsic(Intrinsic::smax, {out, zero(out)});
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
        Value* const p = b_.asType(s[4], Type::Pred);
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
      r.push_back(b_.intrinsic(Intrinsic::bitreverse, {in(0)}));
      return true;
    case Op::Clz:
      r.push_back(b_.asInteger(b_.callIntrinsic(Intrinsic::ctlz, {in(0)->getType()}, {in(0), b_.getFalse()}), 32));
      return true;
    case Op::Popc:
      r.push_back(b_.asInteger(b_.intrinsic(Intrinsic::ctpop, {in(0)}), 32));
      return true;
    case Op::Bfind:
      r.push_back(findLeading(i, in(0)));
      return true;
    case Op::Createpolicy:  // hints about caches that nobody has
      r.push_back(s.empty() || !s[0] ? b_.getInt64(0) : b_.number(s[0], b_.getInt64Ty(), 0));
      return true;
    case Op::Bmsk: {
      Value* a = in32(0);
      Value* w = in32(1);
      if (ast.has(Mod::Wrap)) {
        a = b_.CreateAnd(a, b_.number(a, b_.getInt32Ty(), 31));
        w = b_.CreateAnd(w, b_.number(w, b_.getInt32Ty(), 31));
      } else {
        a = b_.intrinsic(Intrinsic::umin, {a, b_.number(a, b_.getInt32Ty(), 32)});
        w = b_.intrinsic(Intrinsic::umin, {w, b_.number(w, b_.getInt32Ty(), 32)});
      }
      Value* const one = b_.number(a, b_.getInt64Ty(), 1);
      Value* const ones = b_.CreateSub(b_.CreateShl(one, b_.asInteger(w, 64)), one);
      r.push_back(b_.asInteger(b_.CreateShl(ones, b_.asInteger(a, 64)), 32));
      return true;
    }
    case Op::Szext: {
      Value* n = in32(1);
      n = ast.has(Mod::Wrap) ? b_.CreateAnd(n, b_.number(n, b_.getInt32Ty(), 31))
                             : b_.intrinsic(Intrinsic::umin, {n, b_.number(n, b_.getInt32Ty(), 32)});
      // Up to the top of 64 bits and back again; a length of zero gives zero.
      Value* const none = b_.CreateICmpEQ(n, zero(n));
      Value* const by = b_.asInteger(b_.CreateSub(b_.number(n, b_.getInt32Ty(), 64), n), 64);
      Value* const safe = b_.CreateSelect(none, zero(by), by);
      Value* const up = b_.CreateShl(b_.asInteger(in32(0), 64), safe);
      Value* const down = isSignedType ? b_.CreateAShr(up, safe) : b_.CreateLShr(up, safe);
      Value* const out = b_.asInteger(down, 32);
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

}  // namespace vg::ptx::gen
