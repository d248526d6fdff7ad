// Tests of addresses before they are used, where misalignment.h asks for them.
#include "ptx/llvm/emit/access_tests.h"

#include <llvm/IR/MDBuilder.h>

namespace vg::ptx::gen {

// Whether a value that another one was made of can still be had where that one is used.
bool AccessTests::atHand(ValueId id, BlockId where) const {
  const auto& v = program_.values[id];
  if (v.block == kNone || v.block == where) return true;
  for (LoopId l = program_.blocks[v.block].loop; l != kNone; l = program_.loops[l].parent)
    if (!program_.inLoop(where, l)) return false;
  return v.usedElsewhere;
}

// One number with the remainder of all lanes' addresses; null when lanes may differ. A fragile affine form is right in
// its lower bits, which is all that counts here.
llvm::Value* AccessTests::commonRemainder(ValueId address, const AlignmentTest& test, BlockId where) {
  const auto agree = [&](ValueId id) {
    const Shape& shape = program_.values[id].shape;
    return shape.uniform() || (shape.affine() && shape.stride % static_cast<int64_t>(test.bytes) == 0);
  };
  const ValueId id = agree(address) ? address : test.root;
  if (!agree(id) || (id != address && !atHand(id, where))) return nullptr;
  return values_.formOf(id).scalar;
}

// What of an address decides about its alignment, displacement included: nonzero where it is wrong.
llvm::Value* AccessTests::remainderOf(Value* address, const AlignmentTest& test) {
  address = b_.asInteger(address, address->getType()->getScalarSizeInBits() <= 32 ? 32 : 64);
  LType* const type = address->getType();
  Value* const at = b_.CreateAdd(address, llvm::ConstantInt::get(type, test.displacement));
  return b_.CreateAnd(at, llvm::ConstantInt::get(type, test.bytes - 1));
}

// The lanes whose addresses are misaligned.
Mask AccessTests::misalignedLanes(ValueId address, const AlignmentTest& test, const Mask& mask) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const low = remainderOf(values_.chunkOf(address, c), test);
    Value* const odd = b_.CreateICmpNE(low, llvm::Constant::getNullValue(low->getType()));
    out.chunks.push_back(mask.full ? odd : b_.CreateAnd(odd, mask.chunks[c]));
  }
  return out;
}

// The same for any lane at all, in one test.
llvm::Value* AccessTests::anyMisaligned(ValueId address, const AlignmentTest& test, const Mask& mask) {
  const auto remainders = [&](uint32_t c) {
    Value* const low = remainderOf(values_.chunkOf(address, c), test);
    return mask.full ? low : b_.CreateSelect(mask.chunks[c], low, llvm::Constant::getNullValue(low->getType()));
  };
  Value* all = remainders(0);
  for (uint32_t c = 1; c < k_; ++c) all = b_.CreateOr(all, remainders(c));
  return b_.CreateOrReduce(b_.CreateICmpNE(all, llvm::Constant::getNullValue(all->getType())));
}

// Ends the launch with a fault of `lanes` when `bad`, an i1, is true.
void AccessTests::trapMisaligned(Value* bad, const std::function<Value*()>& lanes, uint32_t line) {
  BB* const misaligned = b_.newBlock("misaligned");
  BB* const aligned = b_.newBlock("aligned");
  b_.CreateCondBr(b_.CreateFreeze(bad), misaligned, aligned,
                  llvm::MDBuilder(context_).createBranchWeights(kRare, kUsual));
  b_.SetInsertPoint(misaligned);
  const bool caching = std::exchange(b_.caching, false);
  runner_.callTrap(TrapReason::MisalignedAddress, lanes(), line);
  b_.CreateUnreachable();
  b_.caching = caching;
  b_.SetInsertPoint(aligned);
}

// Goes before each access of memory by operand `source`.
void AccessTests::checkAlignment(const Instruction& i, size_t source, const Mask& mask) {
  if (options_.checksAccesses) return;
  const auto found = alignment_.needed.find({&i, source});
  if (found == alignment_.needed.end()) return;
  const AlignmentTest& test = found->second;
  const ValueId address = i.sources[source];
  if (Value* const common = commonRemainder(address, test, i.block)) {
    Value* const low = remainderOf(common, test);
    Value* bad = b_.CreateICmpNE(low, llvm::Constant::getNullValue(low->getType()));
    if (!mask.full) bad = b_.CreateAnd(bad, masks_.anyLane(mask));  // blocks may run with no lanes at all
    return trapMisaligned(
        bad, [&] { return masks_.maskBits(mask); }, i.ast->line);
  }
  if (const Shape shape = program_.values[address].shape; shape.rows() && shape.stride % test.bytes == 0) {
    const uint32_t rows = rowsIn(shape);
    const auto remainder = [&](uint32_t r) {
      Value* const low = remainderOf(values_.rowOf(address, r), test);
      if (mask.full) return low;
      Value* const any = rows == 1 ? masks_.anyLane(mask) : masks_.anyLaneOfRow(mask, r);
      return b_.CreateSelect(any, low, llvm::Constant::getNullValue(low->getType()));
    };
    Value* low = remainder(0);
    for (uint32_t r = 1; r < rows; ++r) low = b_.CreateOr(low, remainder(r));
    return trapMisaligned(
        b_.CreateICmpNE(low, llvm::Constant::getNullValue(low->getType())),
        [&] { return masks_.maskBits(misalignedLanes(address, test, mask)); }, i.ast->line);
  }
  trapMisaligned(
      anyMisaligned(address, test, mask), [&] { return masks_.maskBits(misalignedLanes(address, test, mask)); },
      i.ast->line);
}

}  // namespace vg::ptx::gen
