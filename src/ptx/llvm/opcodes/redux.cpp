// Reductions over the lanes of a warp.
#include "ptx/llvm/opcodes/lanes.h"

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/opcodes/reduction.h"

namespace vg::ptx::gen {

namespace Intrinsic = llvm::Intrinsic;

void Lanes::emitRedux(const Instruction& i) {
  const Type type = i.ast->type();
  if (ptx::isFloat(type) && type != Type::F32) unsupported(i, "type");
  const Mask present = held_.takingPart(i);
  if (type != Type::F32 && !isJoint(*i.ast) && program_.values[i.sources[0]].shape.uniform()) {
    Value* const value = b_.asInteger(values_.scalarOf(i.sources[0]), 32);
    return emitForMembers(i, [&](Value* group) -> std::vector<Value*> {
      return {reducedAlike(b_, *i.ast, value, masks_.maskBits(masks_.both(present, masks_.maskFromBits(group))))};
    });
  }
  const Chunks data = held_.brought(i, 32);
  emitForMembers(i, [&](Value* group) -> std::vector<Value*> {
    const Mask who = masks_.both(present, masks_.maskFromBits(group));
    return {type == Type::F32 ? reducedFloats(i, data, who) : reducedIntegers(i, data, who)};
  });
}

llvm::Value* Lanes::reducedIntegers(const Instruction& i, const Chunks& data, const Mask& who) {
  const uint64_t neutral = neutralOf(*i.ast);
  Value* all = nullptr;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const v = b_.CreateSelect(who.chunks[c], data[c], b_.number(data[c], b_.getInt32Ty(), neutral));
    all = all ? reduced(b_, *i.ast, all, v) : v;
  }
  return reduced(b_, *i.ast, all);
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
