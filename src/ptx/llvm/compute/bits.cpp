// Shifts, bit fields, bytes within words and packed integers.
#include "ptx/llvm/compute/integer.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

// --- Shifts and fields -----------------------------------------------------------------------------------------------

// Amounts of the width and more give zero, or the sign.
llvm::Value* Integers::shift(const Instruction& i, Value* a, Value* amount) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  const bool left = i.ast->op == Op::Shl;
  const bool arithmetic = !left && isSigned(i.ast->type());
  LType* const type = b_.integerType(bits);
  Value* const inRange = b_.CreateICmpULT(amount, b_.number(amount, b_.getInt32Ty(), bits));
  if (arithmetic) {
    Value* const n = b_.CreateSelect(inRange, amount, b_.number(amount, b_.getInt32Ty(), bits - 1));
    return b_.CreateAShr(a, b_.asInteger(n, bits));
  }
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (vector && bits == 32 && !llvm::isa<llvm::Constant>(amount)) {
    // The processor's variable shifts have PTX's rule.
    if (vector->getNumElements() == 16)
      return b_.callIntrinsic(left ? Intrinsic::x86_avx512_psllv_d_512 : Intrinsic::x86_avx512_psrlv_d_512, {},
                              {a, amount});
    if (vector->getNumElements() == 8 && options_.avx2)
      return b_.callIntrinsic(left ? Intrinsic::x86_avx2_psllv_d_256 : Intrinsic::x86_avx2_psrlv_d_256, {},
                              {a, amount});
  }
  Value* const n = b_.asInteger(b_.CreateAnd(amount, b_.number(amount, b_.getInt32Ty(), bits - 1)), bits);
  Value* const shifted = left ? b_.CreateShl(a, n) : b_.CreateLShr(a, n);
  return b_.CreateSelect(inRange, shifted, llvm::ConstantInt::get(b_.like(a, type), 0));
}

llvm::Value* Integers::funnelShift(const Instruction& i, Value* a, Value* b, Value* amount) {
  const bool left = i.ast->has(Mod::L);
  LType* const word = b_.getInt32Ty();
  Value* const shifted = b_.callIntrinsic(left ? Intrinsic::fshl : Intrinsic::fshr, {a->getType()},
                                          {b, a, b_.CreateAnd(amount, b_.number(amount, word, 31))});
  if (!i.ast->has(Mod::Clamp)) return shifted;
  return b_.CreateSelect(b_.CreateICmpUGE(amount, b_.number(amount, word, 32)), left ? a : b, shifted);
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

// A position or length: fields of 32 bits take eight bits of it; those of 64 bits are made of shifts that take all.
static llvm::Value* fieldNumber(llvm::IRBuilder<>& b, llvm::Value* value, uint32_t bits) {
  return bits == 64 ? value : b.CreateAnd(value, llvm::ConstantInt::get(value->getType(), 0xff));
}

llvm::Value* Integers::bitFieldExtract(const Instruction& i, Value* a, Value* position, Value* length) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  LType* const type = a->getType();
  LType* const word = b_.getInt32Ty();
  Value* const pos = fieldNumber(b_, position, bits);
  Value* const len = fieldNumber(b_, length, bits);
  Value* const posInRange = b_.CreateICmpULT(pos, b_.number(pos, word, bits));
  Value* const zero = llvm::Constant::getNullValue(type);
  Value* const safe = b_.CreateSelect(posInRange, b_.asInteger(pos, bits), zero);
  Value* const ones = llvm::Constant::getAllOnesValue(type);
  Value* const shifted = b_.CreateSelect(posInRange, b_.CreateLShr(a, safe), zero);
  Value* const present = b_.CreateSelect(posInRange, b_.CreateLShr(ones, safe), zero);
  Value* const field = b_.CreateAnd(lowBits(b_, len, type, bits), present);
  Value* const value = b_.CreateAnd(shifted, field);
  if (!isSigned(i.ast->type())) return value;
  // The sign is the field's last bit, or the value's when the field goes beyond it.
  Value* const last = b_.CreateSub(b_.intrinsic(Intrinsic::uadd_sat, {pos, len}), b_.number(pos, word, 1));
  Value* const at = b_.intrinsic(Intrinsic::umin, {last, b_.number(last, word, bits - 1)});
  Value* const bit = b_.CreateTrunc(b_.CreateLShr(a, b_.asInteger(at, bits)), b_.like(a, b_.getInt1Ty()));
  Value* const sign = b_.CreateAnd(bit, b_.CreateICmpNE(len, b_.number(len, word, 0)));
  return b_.CreateSelect(sign, b_.CreateOr(value, b_.CreateNot(field)), value);
}

llvm::Value* Integers::bitFieldInsert(const Instruction& i, Value* a, Value* b, Value* position, Value* length) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  LType* const type = a->getType();
  LType* const word = b_.getInt32Ty();
  Value* const pos = fieldNumber(b_, position, bits);
  Value* const len = fieldNumber(b_, length, bits);
  Value* const inRange = b_.CreateICmpULT(pos, b_.number(pos, word, bits));
  Value* const zero = llvm::Constant::getNullValue(type);
  Value* const safe = b_.CreateSelect(inRange, b_.asInteger(pos, bits), zero);
  Value* const field = b_.CreateSelect(inRange, b_.CreateShl(lowBits(b_, len, type, bits), safe), zero);
  return b_.CreateOr(b_.CreateAnd(b, b_.CreateNot(field)), b_.CreateAnd(b_.CreateShl(a, safe), field));
}

llvm::Value* Integers::findLeading(const Instruction& i, Value* a) {
  const uint32_t bits = ptx::bitsOf(i.ast->type());
  if (isSigned(i.ast->type())) {
    Value* const sign = b_.CreateAShr(a, b_.number(a, b_.integerType(bits), bits - 1));
    a = b_.CreateXor(a, sign);
  }
  Value* const zeros = b_.asInteger(b_.callIntrinsic(Intrinsic::ctlz, {a->getType()}, {a, b_.getFalse()}), 32);
  LType* const word = b_.getInt32Ty();
  Value* const found = i.ast->has(Mod::Shiftamt) ? zeros : b_.CreateSub(b_.number(zeros, word, bits - 1), zeros);
  return b_.CreateSelect(b_.CreateICmpEQ(a, llvm::Constant::getNullValue(a->getType())),
                         llvm::Constant::getAllOnesValue(found->getType()), found);
}

llvm::Value* Integers::lop3(Value* a, Value* b, Value* c, uint32_t table) {
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

llvm::Value* Integers::permuteBytes(const Instruction& i, Value* a, Value* b, Value* c) {
  LType* const word = b_.getInt32Ty();
  LType* const wide = b_.getInt64Ty();
  const auto n32 = [&](uint64_t v) { return b_.number(a, word, v); };
  Value* const pool = b_.CreateOr(b_.asInteger(a, 64), b_.CreateShl(b_.asInteger(b, 64), b_.number(a, wide, 32)));
  const auto byteAt = [&](Value* index) {  // index: i32, 0..7
    Value* const by = b_.asInteger(b_.CreateShl(index, n32(3)), 64);
    return b_.CreateAnd(b_.asInteger(b_.CreateLShr(pool, by), 32), n32(0xff));
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
      byte = byteAt(b_.intrinsic(Intrinsic::umax, {low2, n32(n)}));
    } else if (i.ast->has(Mod::Ecr)) {
      byte = byteAt(b_.intrinsic(Intrinsic::umin, {low2, n32(n)}));
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

llvm::Value* Integers::dotProduct(const Instruction& i, Value* a, Value* b, Value* c) {
  const bool signedA = isSigned(i.ast->types[0]);
  const bool signedB = i.ast->typeCount > 1 ? isSigned(i.ast->types[1]) : signedA;
  LType* const word = b_.getInt32Ty();
  const auto field = [&](Value* v, uint32_t first, uint32_t bits, bool isSignedField) {
    Value* const up = b_.CreateShl(v, b_.number(v, word, 32 - first - bits));
    return isSignedField ? b_.CreateAShr(up, b_.number(v, word, 32 - bits))
                         : b_.CreateLShr(up, b_.number(v, word, 32 - bits));
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
// Numbers side by side in 32 bits: of each its own sum, difference, smaller or larger one.
void Integers::packedInteger(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const Type type = i.ast->type();
  const uint32_t bits = type == Type::U16x2 || type == Type::S16x2 ? 16 : 8;
  LType* const word = b_.getInt32Ty();
  Value* out = nullptr;
  for (uint32_t at = 0; at < 32; at += bits) {
    const auto part = [&](size_t n) {
      Value* const x = b_.asInteger(s[n], 32);
      return b_.asInteger(at ? b_.CreateLShr(x, b_.number(x, word, at)) : x, bits);
    };
    Value* const made = b_.asInteger(packedPart(i, part(0), s.size() > 1 ? part(1) : nullptr), 32);
    out = out ? b_.CreateOr(out, b_.CreateShl(made, b_.number(made, word, at))) : made;
  }
  r.push_back(out);
}

llvm::Value* Integers::packedPart(const Instruction& i, Value* a, Value* c) {
  const bool isSignedType = isSigned(i.ast->type()), saturates = i.ast->has(Mod::Sat);
  Value* out = nullptr;
  switch (i.ast->op) {
    case Op::Add:
      out = saturates ? b_.intrinsic(isSignedType ? Intrinsic::sadd_sat : Intrinsic::uadd_sat, {a, c})
                      : b_.CreateAdd(a, c);
      break;
    case Op::Sub:
      out = saturates ? b_.intrinsic(isSignedType ? Intrinsic::ssub_sat : Intrinsic::usub_sat, {a, c})
                      : b_.CreateSub(a, c);
      break;
    case Op::Neg:
      out = b_.CreateNeg(a);
      break;
    case Op::Min:
      out = b_.intrinsic(isSignedType ? Intrinsic::smin : Intrinsic::umin, {a, c});
      break;
    case Op::Max:
      out = b_.intrinsic(isSignedType ? Intrinsic::smax : Intrinsic::umax, {a, c});
      break;
    default:
      unsupported(i);
  }
  if (i.ast->has(Mod::Relu)) out = b_.intrinsic(Intrinsic::smax, {out, llvm::Constant::getNullValue(out->getType())});
  return out;
}

// The lower or upper half of the product without carries, with c added so.
llvm::Value* Integers::carrylessMad(const Instruction& i, Value* a, Value* b, Value* c) {
  LType* const type = b_.getInt64Ty();
  const bool high = i.ast->has(Mod::Hi);
  Value* out = c;
  for (uint32_t k = high ? 1 : 0; k < 64; ++k) {
    Value* const bit = b_.CreateAShr(b_.CreateShl(b, b_.number(b, type, 63 - k)), b_.number(b, type, 63));
    Value* const moved = high ? b_.CreateLShr(a, b_.number(a, type, 64 - k)) : b_.CreateShl(a, b_.number(a, type, k));
    out = b_.CreateXor(out, b_.CreateAnd(moved, bit));
  }
  return out;
}

}  // namespace vg::ptx::gen
