// Comparisons and logic on predicates.
#include "ptx/llvm/compute/compare.h"

#include <cmath>

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
using P = llvm::CmpInst::Predicate;

llvm::Value* Comparisons::compare(const Instruction& i, Type type, Value* a, Value* b) {
  if (ptx::isFloat(type)) return compareFloat(i, a, b);
  const uint32_t bits = ptx::bitsOf(type);
  a = b_.asInteger(a, bits);
  b = b_.asInteger(b, bits);
  const ptx::Instruction& ast = *i.ast;
  const bool s = isSigned(type);
  P predicate;
  if (ast.has(Mod::Eq)) {
    predicate = P::ICMP_EQ;
  } else if (ast.has(Mod::Ne)) {
    predicate = P::ICMP_NE;
  } else if (ast.has(Mod::Lt)) {
    predicate = s ? P::ICMP_SLT : P::ICMP_ULT;
  } else if (ast.has(Mod::Le)) {
    predicate = s ? P::ICMP_SLE : P::ICMP_ULE;
  } else if (ast.has(Mod::Gt)) {
    predicate = s ? P::ICMP_SGT : P::ICMP_UGT;
  } else if (ast.has(Mod::Ge)) {
    predicate = s ? P::ICMP_SGE : P::ICMP_UGE;
  } else if (ast.has(Mod::Lo)) {
    predicate = P::ICMP_ULT;
  } else if (ast.has(Mod::Ls)) {
    predicate = P::ICMP_ULE;
  } else if (ast.has(Mod::Hi)) {
    predicate = P::ICMP_UGT;
  } else if (ast.has(Mod::Hs)) {
    predicate = P::ICMP_UGE;
  } else {
    unsupported(i, "comparison");
  }
  return b_.CreateICmp(predicate, a, b);
}

bool Comparisons::computePredicate(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const auto in = [&](size_t n) { return b_.asType(s[n], Type::Pred); };
  if (ast.type() == Type::Pred) {
    switch (ast.op) {
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
      case Op::Mov:
        r.push_back(in(0));
        return true;
      case Op::Selp:
        r.push_back(b_.CreateSelect(in(2), in(0), in(1)));
        return true;
      default:
        return false;
    }
  }
  if (ast.op == Op::Testp) {
    r.push_back(testProperty(i, b_.asType(s[0], ast.type())));
    return true;
  }
  if (ast.op != Op::Setp && ast.op != Op::Set) return false;
  const Type type = ast.op == Op::Set && ast.typeCount > 1 ? ast.types[1] : ast.type();
  const auto combine = [&](Value* c) {
    if (s.size() < 3) return c;
    if (ast.has(Mod::And)) return b_.CreateAnd(c, in(2));
    if (ast.has(Mod::Or)) return b_.CreateOr(c, in(2));
    if (ast.has(Mod::Xor)) return b_.CreateXor(c, in(2));
    return c;
  };
  if (type == Type::F16x2 || type == Type::BF16x2) {
    const auto half = [&](Value* v, uint32_t n) {
      Value* const x = b_.asInteger(v, 32);
      return b_.asInteger(n ? b_.CreateLShr(x, b_.number(x, b_.getInt32Ty(), 16)) : x, 16);
    };
    Value* bits[2];
    for (uint32_t n = 0; n < 2; ++n) bits[n] = combine(compareFloat(i, half(s[0], n), half(s[1], n)));
    if (ast.op == Op::Setp) {
      r.push_back(bits[0]);
      r.push_back(bits[1]);
      return true;
    }
    const bool toFloat = ptx::isFloat(ast.type());
    Value* out = nullptr;
    for (uint32_t n = 0; n < 2; ++n) {
      Value* const word = bits[n];
      const uint64_t one = !toFloat ? 0xffff : ast.type() == Type::F16x2 ? 0x3c00 : 0x3f80;
      Value* const v =
          b_.CreateSelect(word, b_.number(word, b_.getInt32Ty(), one << (16 * n)), b_.number(word, b_.getInt32Ty(), 0));
      out = out ? b_.CreateOr(out, v) : v;
    }
    r.push_back(out);
    return true;
  }
  Value* const c = compare(i, type, s[0], s[1]);
  Value* const p = combine(c);
  if (ast.op == Op::Setp) {
    r.push_back(p);
    if (i.results.size() > 1) r.push_back(combine(b_.CreateNot(c)));
    return true;
  }
  switch (ast.type()) {
    case Type::F32:
      r.push_back(b_.CreateSelect(p, b_.real(p, b_.getFloatTy(), 1), b_.real(p, b_.getFloatTy(), 0)));
      return true;
    case Type::F16:
    case Type::BF16:
      r.push_back(b_.CreateSelect(p, b_.number(p, b_.getInt16Ty(), ast.type() == Type::F16 ? 0x3c00 : 0x3f80),
                                  b_.number(p, b_.getInt16Ty(), 0)));
      return true;
    default:
      r.push_back(b_.CreateSExt(p, b_.like(p, b_.integerType(ptx::bitsOf(ast.type())))));
      return true;
  }
}

llvm::Value* Comparisons::compareFloat(const Instruction& i, Value* a, Value* b) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = ast.op == Op::Set && ast.typeCount > 1 ? ast.types[1] : ast.type();
  if (type == Type::F16 || type == Type::BF16 || type == Type::F16x2 || type == Type::BF16x2) {
    const bool f16 = type == Type::F16 || type == Type::F16x2;
    a = b_.asInteger(a, 16);
    b = b_.asInteger(b, 16);
    if (ast.has(Mod::Ftz) && f16) {
      a = pieces_.flushHalf(a);
      b = pieces_.flushHalf(b);
    }
    // Frozen, so that nothing compares the halves themselves instead: few processors can, and LLVM does it lane by
    // lane.
    a = b_.CreateFreeze(conversions_.halfToFloat(a, f16 ? Type::F16 : Type::BF16));
    b = b_.CreateFreeze(conversions_.halfToFloat(b, f16 ? Type::F16 : Type::BF16));
  } else {
    a = b_.asType(a, type);
    b = b_.asType(b, type);
    if (ast.has(Mod::Ftz) && type == Type::F32) {
      a = pieces_.flush(a);
      b = pieces_.flush(b);
    }
  }
  P predicate;
  if (ast.has(Mod::Eq)) {
    predicate = P::FCMP_OEQ;
  } else if (ast.has(Mod::Ne)) {
    predicate = P::FCMP_ONE;
  } else if (ast.has(Mod::Lt)) {
    predicate = P::FCMP_OLT;
  } else if (ast.has(Mod::Le)) {
    predicate = P::FCMP_OLE;
  } else if (ast.has(Mod::Gt)) {
    predicate = P::FCMP_OGT;
  } else if (ast.has(Mod::Ge)) {
    predicate = P::FCMP_OGE;
  } else if (ast.has(Mod::Equ)) {
    predicate = P::FCMP_UEQ;
  } else if (ast.has(Mod::Neu)) {
    predicate = P::FCMP_UNE;
  } else if (ast.has(Mod::Ltu)) {
    predicate = P::FCMP_ULT;
  } else if (ast.has(Mod::Leu)) {
    predicate = P::FCMP_ULE;
  } else if (ast.has(Mod::Gtu)) {
    predicate = P::FCMP_UGT;
  } else if (ast.has(Mod::Geu)) {
    predicate = P::FCMP_UGE;
  } else if (ast.has(Mod::Num)) {
    predicate = P::FCMP_ORD;
  } else if (ast.has(Mod::Nan)) {
    predicate = P::FCMP_UNO;
  } else {
    unsupported(i, "comparison");
  }
  return b_.CreateFCmp(predicate, a, b);
}

llvm::Value* Comparisons::testProperty(const Instruction& i, Value* x) {
  const uint32_t bits = x->getType()->getScalarSizeInBits();
  LType* const type = x->getType()->getScalarType();
  Value* const magnitude = pieces_.absolute(x);
  Value* const infinity = b_.real(x, type, HUGE_VAL);
  Value* const smallest = b_.real(x, type, bits == 32 ? 0x1p-126 : 0x1p-1022);
  Value* const zero = b_.real(x, type, 0.0);
  const ptx::Instruction& ast = *i.ast;
  if (ast.has(Mod::Finite)) return b_.CreateFCmpOLT(magnitude, infinity);
  if (ast.has(Mod::Infinite)) return b_.CreateFCmpOEQ(magnitude, infinity);
  if (ast.has(Mod::Number)) return b_.CreateFCmpORD(x, x);
  if (ast.has(Mod::Notanumber)) return b_.CreateFCmpUNO(x, x);
  if (ast.has(Mod::Normal))
    return b_.CreateAnd(b_.CreateOr(b_.CreateFCmpOGE(magnitude, smallest), b_.CreateFCmpOEQ(magnitude, zero)),
                        b_.CreateFCmpOLT(magnitude, infinity));
  if (ast.has(Mod::Subnormal))
    return b_.CreateAnd(b_.CreateFCmpOLT(magnitude, smallest), b_.CreateFCmpOGT(magnitude, zero));
  unsupported(i, "property");
}

}  // namespace vg::ptx::gen
