// The video instructions: every value in 64 bits, as the interpreter has them.
#include "ptx/llvm/compute/video.h"

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/operations/video.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using llvm::SmallVectorImpl;
namespace Intrinsic = llvm::Intrinsic;

// `bits` bits of a word from bit `first`, widened.
llvm::Value* Video::videoField(Value* word, uint32_t first, uint32_t bits, bool isSignedField) {
  Value* const wide = b_.asInteger(word, 64);
  LType* const type = b_.getInt64Ty();
  Value* const up = b_.CreateShl(wide, b_.number(wide, type, 64 - first - bits));
  return isSignedField ? b_.CreateAShr(up, b_.number(wide, type, 64 - bits))
                       : b_.CreateLShr(up, b_.number(wide, type, 64 - bits));
}

llvm::Value* Video::videoLimit(Value* v, uint32_t bits, bool isSignedType) {
  LType* const type = v->getType()->getScalarType();
  const uint64_t most = isSignedType ? (uint64_t{1} << (bits - 1)) - 1 : (uint64_t{1} << bits) - 1;
  Value* const least = llvm::ConstantInt::getSigned(v->getType(), isSignedType ? -static_cast<int64_t>(most) - 1 : 0);
  v = b_.intrinsic(Intrinsic::smin, {v, b_.number(v, type, most)});
  return b_.intrinsic(Intrinsic::smax, {v, least});
}

llvm::Value* Video::videoOperation(const Instruction& i, Value* a, Value* b) {
  const ptx::Instruction& ast = *i.ast;
  LType* const wide = b_.getInt64Ty();
  if (isVideoSet(ast.op)) {
    using P = llvm::CmpInst::Predicate;
    const P relation = ast.has(Mod::Eq)   ? P::ICMP_EQ
                       : ast.has(Mod::Ne) ? P::ICMP_NE
                       : ast.has(Mod::Lt) ? P::ICMP_SLT
                       : ast.has(Mod::Le) ? P::ICMP_SLE
                       : ast.has(Mod::Gt) ? P::ICMP_SGT
                                          : P::ICMP_SGE;
    return b_.CreateZExt(b_.CreateICmp(relation, a, b), a->getType());
  }
  switch (ast.op) {
    case Op::Vadd:
    case Op::Vadd2:
    case Op::Vadd4:
      return b_.CreateAdd(a, b);
    case Op::Vsub:
    case Op::Vsub2:
    case Op::Vsub4:
      return b_.CreateSub(a, b);
    case Op::Vabsdiff:
    case Op::Vabsdiff2:
    case Op::Vabsdiff4:
      return b_.callIntrinsic(Intrinsic::abs, {a->getType()}, {b_.CreateSub(a, b), b_.getFalse()});
    case Op::Vmin:
    case Op::Vmin2:
    case Op::Vmin4:
      return b_.intrinsic(Intrinsic::smin, {a, b});
    case Op::Vmax:
    case Op::Vmax2:
    case Op::Vmax4:
      return b_.intrinsic(Intrinsic::smax, {a, b});
    case Op::Vavrg2:
    case Op::Vavrg4: {
      Value* const sum = b_.CreateAdd(a, b);
      Value* const upward = b_.CreateZExt(b_.CreateICmpSGE(sum, b_.number(sum, wide, 0)), sum->getType());
      return b_.CreateAShr(b_.CreateAdd(sum, upward), b_.number(sum, wide, 1));
    }
    default: {  // shifts: b is an amount of 32 bits
      Value* const amount = ast.has(Mod::Wrap) ? b_.CreateAnd(b, b_.number(b, wide, 31))
                                               : b_.intrinsic(Intrinsic::umin, {b, b_.number(b, wide, 32)});
      return ast.op == Op::Vshl ? b_.CreateShl(a, amount) : b_.CreateAShr(a, amount);
    }
  }
}

// op2(value, c), or the value in the part of c that the destination's selector names.
llvm::Value* Video::videoSecond(const Instruction& i, Value* value, Value* c, uint16_t selector, bool isSignedType) {
  LType* const word = b_.getInt32Ty();
  if (selector) {
    const VideoField field = ptx::videoField(selector);
    const uint32_t mask = (field.bits == 32 ? ~0u : (1u << field.bits) - 1) << field.first;
    Value* const placed = b_.CreateShl(b_.asInteger(value, 32), b_.number(c, word, videoPlace(selector)));
    Value* const kept = b_.CreateAnd(b_.asInteger(c, 32), b_.number(c, word, ~mask));
    return b_.CreateOr(b_.CreateAnd(placed, b_.number(c, word, mask)), kept);
  }
  c = videoField(c, 0, 32, isSignedType);
  if (i.ast->has(Mod::Add)) return b_.CreateAdd(value, c);
  if (i.ast->has(Mod::Min)) return b_.intrinsic(isSignedType ? Intrinsic::smin : Intrinsic::umin, {value, c});
  if (i.ast->has(Mod::Max)) return b_.intrinsic(isSignedType ? Intrinsic::smax : Intrinsic::umax, {value, c});
  return value;
}

llvm::Value* Video::videoScalar(const Instruction& i, ArrayRef<Value*> s, ArrayRef<uint16_t> selectors) {
  const ptx::Instruction& ast = *i.ast;
  const bool isSet = isVideoSet(ast.op);
  const bool signedA = isSigned(ast.types[isSet ? 0 : 1]), signedB = isSigned(ast.types[isSet ? 1 : 2]);
  const bool toSigned = !isSet && isSigned(ast.types[0]);
  const VideoField a = ptx::videoField(selectors[1]), b = ptx::videoField(selectors[2]);
  Value* const x = videoField(s[0], a.first, a.bits, signedA);
  Value* const y = videoField(s[1], b.first, b.bits, signedB && !isVideoShift(ast.op));
  Value* value = videoOperation(i, x, y);
  const uint32_t bits = ptx::videoField(selectors[0]).bits;
  if (ast.has(Mod::Sat) && selectors[0])  // negative values count as large ones
    value = b_.intrinsic(Intrinsic::umin,
                         {value, b_.number(value, b_.getInt64Ty(), (uint64_t{1} << (toSigned ? bits - 1 : bits)) - 1)});
  else if (ast.has(Mod::Sat))
    value = videoLimit(value, bits, toSigned);
  return s.size() > 2 ? videoSecond(i, value, s[2], selectors[0], toSigned) : value;
}

llvm::Value* Video::videoMultiply(const Instruction& i, ArrayRef<Value*> s, ArrayRef<uint16_t> selectors) {
  const ptx::Instruction& ast = *i.ast;
  const VideoField a = ptx::videoField(selectors[1]), b = ptx::videoField(selectors[2]);
  // Devices take whole words for signed ones whatever their type; only the shift minds it.
  const bool toSigned = isSigned(ast.types[0]);
  const bool shiftsSign = toSigned || isSigned(ast.types[1]) || isSigned(ast.types[2]);
  LType* const wide = b_.getInt64Ty();
  const auto factor = [&](Value* v, const VideoField& field, Type type) {
    return videoField(videoField(v, field.first, field.bits, isSigned(type)), 0, 32, true);
  };
  Value* value = b_.CreateMul(factor(s[0], a, ast.types[1]), factor(s[1], b, ast.types[2]));
  Value* const c = videoField(s[2], 0, 32, true);
  if (i.negated[0] != i.negated[1]) value = b_.CreateNeg(value);
  value = i.negated[2] ? b_.CreateSub(value, c) : b_.CreateAdd(value, c);
  if (ast.has(Mod::Po)) value = b_.CreateAdd(value, b_.number(value, wide, 1));
  Value* const places = b_.number(value, wide, ast.has(Mod::Shr7) ? 7 : ast.has(Mod::Shr15) ? 15 : 0);
  value = shiftsSign ? b_.CreateAShr(value, places) : b_.CreateLShr(value, places);
  return ast.has(Mod::Sat) ? videoLimit(value, 32, toSigned) : value;
}

llvm::Value* Video::videoParallel(const Instruction& i, ArrayRef<Value*> s, ArrayRef<uint16_t> selectors) {
  const ptx::Instruction& ast = *i.ast;
  const uint32_t parts = videoWidth(ast.op), width = 32 / parts, written = videoParts(selectors[0], parts);
  const bool isSet = isVideoSet(ast.op), toSigned = isSigned(ast.types[0]);
  const bool signedA = isSigned(ast.types[isSet ? 0 : 1]), signedB = isSigned(ast.types[isSet ? 1 : 2]);
  LType* const word = b_.getInt32Ty();
  Value* out = b_.asInteger(s[2], 32);
  const auto part = [&](size_t operand, uint32_t k, bool isSignedPart) {
    const uint32_t at = videoSource(selectors[operand + 1], k, parts, operand == 1);
    return videoField(s[at < parts ? 0 : 1], at % parts * width, width, isSignedPart);
  };
  for (uint32_t k = 0; k < parts; ++k) {
    if (!(written >> k & 1)) continue;
    Value* value = videoOperation(i, part(0, k, signedA), part(1, k, signedB));
    if (ast.has(Mod::Sat)) value = videoLimit(value, width, toSigned);
    Value* const narrow = b_.asInteger(value, 32);
    if (ast.has(Mod::Add)) {
      out = b_.CreateAdd(out, narrow);
      continue;
    }
    const uint32_t mask = ((1u << width) - 1) << (width * k);
    Value* const placed =
        b_.CreateAnd(b_.CreateShl(narrow, b_.number(out, word, width * k)), b_.number(out, word, mask));
    out = b_.CreateOr(placed, b_.CreateAnd(out, b_.number(out, word, ~mask)));
  }
  return out;
}

bool Video::computeVideo(const Instruction& i, ArrayRef<Value*> s, SmallVectorImpl<Value*>& r) {
  const uint32_t parts = videoWidth(i.ast->op);
  if (!parts) return false;
  llvm::SmallVector<uint16_t, 4> selectors;  // of the destination, a, b, c
  for (uint32_t n = 0; n < i.ast->count; ++n) selectors.push_back(i.function->operands[i.ast->first + n].selector);
  const uint32_t types = isVideoSet(i.ast->op) ? 2 : 3;
  const bool needsThird = parts > 1 || i.ast->op == Op::Vmad || selectors[0];
  if (i.ast->typeCount != types || s.size() < (needsThird ? 3u : 2u)) unsupported(i, "form");
  Value* const value = parts > 1               ? videoParallel(i, s, selectors)
                       : i.ast->op == Op::Vmad ? videoMultiply(i, s, selectors)
                                               : videoScalar(i, s, selectors);
  r.push_back(b_.asInteger(value, 32));
  return true;
}

}  // namespace vg::ptx::gen
