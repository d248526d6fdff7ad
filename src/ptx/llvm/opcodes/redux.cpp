// Reductions over the lanes of a warp.
#include "ptx/llvm/opcodes/lanes.h"

namespace vg::ptx::gen {

namespace Intrinsic = llvm::Intrinsic;

void Lanes::emitRedux(const Instruction& i) {
  const Type type = i.ast->type();
  if (ptx::isFloat(type) && type != Type::F32) unsupported(i, "type");
  const Mask present = predicates_.guardedMask(i);
  Chunks data;
  for (uint32_t c = 0; c < k_; ++c) data.push_back(b_.asInteger(values_.chunkOf(i.sources[0], c), 32));
  emitForMembers(i, [&](Value* group) -> std::vector<Value*> {
    const Mask who = masks_.both(present, masks_.maskFromBits(group));
    return {type == Type::F32 ? reducedFloats(i, data, who) : reducedIntegers(i, data, who)};
  });
}

llvm::Value* Lanes::reducedIntegers(const Instruction& i, const Chunks& data, const Mask& who) {
  const ptx::Instruction& ast = *i.ast;
  const bool s = isSigned(ast.type());
  uint64_t neutral = 0;
  if (ast.has(Mod::And)) neutral = 0xffffffffu;
  if (ast.has(Mod::Min)) neutral = s ? 0x7fffffffu : 0xffffffffu;
  if (ast.has(Mod::Max)) neutral = s ? 0x80000000u : 0;
  Value* all = nullptr;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const v = b_.CreateSelect(who.chunks[c], data[c], b_.number(data[c], b_.getInt32Ty(), neutral));
    if (!all) {
      all = v;
    } else if (ast.has(Mod::Add)) {
      all = b_.CreateAdd(all, v);
    } else if (ast.has(Mod::And)) {
      all = b_.CreateAnd(all, v);
    } else if (ast.has(Mod::Or)) {
      all = b_.CreateOr(all, v);
    } else if (ast.has(Mod::Xor)) {
      all = b_.CreateXor(all, v);
    } else if (ast.has(Mod::Min)) {
      all = b_.intrinsic(s ? Intrinsic::smin : Intrinsic::umin, {all, v});
    } else {
      all = b_.intrinsic(s ? Intrinsic::smax : Intrinsic::umax, {all, v});
    }
  }
  const Intrinsic::ID id = ast.has(Mod::Add)   ? Intrinsic::vector_reduce_add
                           : ast.has(Mod::And) ? Intrinsic::vector_reduce_and
                           : ast.has(Mod::Or)  ? Intrinsic::vector_reduce_or
                           : ast.has(Mod::Xor) ? Intrinsic::vector_reduce_xor
                           : ast.has(Mod::Min) ? (s ? Intrinsic::vector_reduce_smin : Intrinsic::vector_reduce_umin)
                                               : (s ? Intrinsic::vector_reduce_smax : Intrinsic::vector_reduce_umax);
  return b_.intrinsic(id, {all});
}

// Numbers compare as integers once those of negative ones are turned around; what is no number takes no part, unless
// .NaN makes it win.
llvm::Value* Lanes::reducedFloats(const Instruction& i, const Chunks& data, const Mask& who) {
  const ptx::Instruction& ast = *i.ast;
  const bool isMax = ast.has(Mod::Max);
  const auto turned = [&](Value* bits) {
    return b_.CreateXor(bits, b_.CreateLShr(b_.CreateAShr(bits, b_.number(bits, b_.getInt32Ty(), 31)),
                                            b_.number(bits, b_.getInt32Ty(), 1)));
  };
  const uint64_t neutral = isMax ? 0x80000000u : 0x7fffffffu;
  Value *best = nullptr, *unordered = nullptr;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* bits = data[c];
    if (ast.has(Mod::Abs)) bits = b_.CreateAnd(bits, b_.number(bits, b_.getInt32Ty(), 0x7fffffff));
    Value* const magnitude = b_.CreateAnd(bits, b_.number(bits, b_.getInt32Ty(), 0x7fffffff));
    Value* const isNan = b_.CreateICmpUGT(magnitude, b_.number(bits, b_.getInt32Ty(), 0x7f800000));
    Value* const counts = b_.CreateAnd(who.chunks[c], b_.CreateNot(isNan));
    Value* const key = b_.CreateSelect(counts, turned(bits), b_.number(bits, b_.getInt32Ty(), neutral));
    best = best ? b_.intrinsic(isMax ? Intrinsic::smax : Intrinsic::smin, {best, key}) : key;
    Value* const wins = b_.CreateAnd(who.chunks[c], isNan);
    unordered = unordered ? b_.CreateOr(unordered, wins) : wins;
  }
  best = b_.intrinsic(isMax ? Intrinsic::vector_reduce_smax : Intrinsic::vector_reduce_smin, {best});
  Value* none = b_.CreateICmpEQ(best, b_.getInt32(static_cast<uint32_t>(neutral)));
  if (ast.has(Mod::NaN)) none = b_.CreateOr(none, b_.CreateOrReduce(unordered));
  return b_.CreateSelect(none, b_.getInt32(0x7fffffff), turned(best));
}

}  // namespace vg::ptx::gen
