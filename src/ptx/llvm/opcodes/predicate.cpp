// Comparisons and logic on predicates.
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
using P = llvm::CmpInst::Predicate;

llvm::Value* Emitter::compare(const Instruction& i, Type type, Value* a, Value* b) {
  if (ptx::isFloat(type)) return compareFloat(i, a, b);
  const uint32_t bits = ptx::bitsOf(type);
  a = asInteger(a, bits);
  b = asInteger(b, bits);
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

bool Emitter::computePredicate(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const ptx::Instruction& ast = *i.ast;
  const auto in = [&](size_t n) { return asType(s[n], Type::Pred); };
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
    r.push_back(testProperty(i, asType(s[0], ast.type())));
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
      Value* const x = asInteger(v, 32);
      return asInteger(n ? b_.CreateLShr(x, number(x, b_.getInt32Ty(), 16)) : x, 16);
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
          b_.CreateSelect(word, number(word, b_.getInt32Ty(), one << (16 * n)), number(word, b_.getInt32Ty(), 0));
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
      r.push_back(b_.CreateSelect(p, real(p, b_.getFloatTy(), 1), real(p, b_.getFloatTy(), 0)));
      return true;
    case Type::F16:
    case Type::BF16:
      r.push_back(b_.CreateSelect(p, number(p, b_.getInt16Ty(), ast.type() == Type::F16 ? 0x3c00 : 0x3f80),
                                  number(p, b_.getInt16Ty(), 0)));
      return true;
    default:
      r.push_back(b_.CreateSExt(p, like(p, integerType(ptx::bitsOf(ast.type())))));
      return true;
  }
}

}  // namespace vg::ptx::gen
