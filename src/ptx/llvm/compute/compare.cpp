// Comparisons and logic on predicates.
#include "ptx/llvm/compute/compare.h"

#include <cmath>

#include "ptx/llvm/compute/half_types.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
using P = llvm::CmpInst::Predicate;

namespace {

// What setp and set compare: set names its result's type first.
Type comparedType(const ptx::Instruction& i) { return i.op == Op::Set && i.typeCount > 1 ? i.types[1] : i.type(); }

// The bits of 1.0 in a half.
uint64_t oneOf(Type half) { return isF16(half) ? 0x3c00 : 0x3f80; }

}  // namespace

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
  if (ast.type() == Type::Pred) {
    Value* const out = predicateLogic(ast, s);
    if (out) r.push_back(out);
    return out;
  }
  if (ast.op == Op::Testp) {
    r.push_back(testProperty(i, b_.asType(s[0], ast.type())));
    return true;
  }
  if (ast.op != Op::Setp && ast.op != Op::Set) return false;
  const Type type = comparedType(ast);
  if (isHalfPair(type)) {
    comparePairs(i, s, r);
    return true;
  }
  Value* const c = compare(i, type, s[0], s[1]);
  Value* const p = combined(ast, c, s);
  if (ast.op == Op::Set) {
    r.push_back(setResult(ast, p));
    return true;
  }
  r.push_back(p);
  if (i.results.size() > 1) r.push_back(combined(ast, b_.CreateNot(c), s));
  return true;
}

// Nothing where the opcode is none of predicates.
llvm::Value* Comparisons::predicateLogic(const ptx::Instruction& ast, ArrayRef<Value*> s) {
  const auto in = [&](size_t n) { return b_.asType(s[n], Type::Pred); };
  switch (ast.op) {
    case Op::And:
      return b_.CreateAnd(in(0), in(1));
    case Op::Or:
      return b_.CreateOr(in(0), in(1));
    case Op::Xor:
      return b_.CreateXor(in(0), in(1));
    case Op::Not:
      return b_.CreateNot(in(0));
    case Op::Mov:
      return in(0);
    case Op::Selp:
      return b_.CreateSelect(in(2), in(0), in(1));
    default:
      return nullptr;
  }
}

// A comparison's outcome with the predicate that comes third, where there is one.
llvm::Value* Comparisons::combined(const ptx::Instruction& ast, Value* c, ArrayRef<Value*> s) {
  if (s.size() < 3) return c;
  const auto third = [&] { return b_.asType(s[2], Type::Pred); };
  if (ast.has(Mod::And)) return b_.CreateAnd(c, third());
  if (ast.has(Mod::Or)) return b_.CreateOr(c, third());
  if (ast.has(Mod::Xor)) return b_.CreateXor(c, third());
  return c;
}

// Two outcomes for setp, one register with both for set.
void Comparisons::comparePairs(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const auto half = [&](Value* v, uint32_t n) {
    Value* const x = b_.asInteger(v, 32);
    return b_.asInteger(n ? b_.CreateLShr(x, b_.number(x, b_.getInt32Ty(), 16)) : x, 16);
  };
  Value* bits[2];
  for (uint32_t n = 0; n < 2; ++n) bits[n] = combined(ast, compareFloat(i, half(s[0], n), half(s[1], n)), s);
  if (ast.op == Op::Setp) {
    r.append({bits[0], bits[1]});
    return;
  }
  const uint64_t one = ptx::isFloat(ast.type()) ? oneOf(ast.type()) : 0xffff;
  Value* out = nullptr;
  for (uint32_t n = 0; n < 2; ++n) {
    const auto word = [&](uint64_t value) { return b_.number(bits[n], b_.getInt32Ty(), value); };
    Value* const v = b_.CreateSelect(bits[n], word(one << (16 * n)), word(0));
    out = out ? b_.CreateOr(out, v) : v;
  }
  r.push_back(out);
}

// What set makes of an outcome: 1.0 or zero, or all bits or none.
llvm::Value* Comparisons::setResult(const ptx::Instruction& ast, Value* p) {
  const Type type = ast.type();
  if (type == Type::F32) return b_.CreateSelect(p, b_.real(p, b_.getFloatTy(), 1), b_.real(p, b_.getFloatTy(), 0));
  if (isHalf(type))
    return b_.CreateSelect(p, b_.number(p, b_.getInt16Ty(), oneOf(type)), b_.number(p, b_.getInt16Ty(), 0));
  return b_.CreateSExt(p, b_.like(p, b_.integerType(ptx::bitsOf(type))));
}

llvm::Value* Comparisons::compareFloat(const Instruction& i, Value* a, Value* b) {
  const ptx::Instruction& ast = *i.ast;
  const Type type = comparedType(ast);
  if (isHalf(type) || isHalfPair(type)) {
    a = b_.asInteger(a, 16);
    b = b_.asInteger(b, 16);
    if (ast.has(Mod::Ftz) && isF16(type)) {
      a = pieces_.flushHalf(a);
      b = pieces_.flushHalf(b);
    }
    // Frozen, so that nothing compares the halves themselves instead: few processors can, and LLVM does it lane by
    // lane.
    a = b_.CreateFreeze(conversions_.halfToFloat(a, halfIn(type)));
    b = b_.CreateFreeze(conversions_.halfToFloat(b, halfIn(type)));
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
