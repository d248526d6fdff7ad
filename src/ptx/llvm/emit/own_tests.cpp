// Tests that addresses are none of the library's own (analysis/reach.h), where the device reaches all other memory. The
// library keeps what is its own where a bit of addresses is clear that is set in almost all others (abi/reach_abi.h):
// that bit of all lanes at once is the usual test. Only where a lane lacks it the range is looked at, and only in the
// range the runner is asked.
#include "ptx/llvm/emit/access_tests.h"

#include <llvm/IR/MDBuilder.h>

#include "ptx/abi/reach_abi.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

// Between lanes, and from an address to others by the same register: what the range is taken for larger than it is has
// room for both (kOwnSlack).
constexpr int64_t kFarthestStep = int64_t{1} << 30, kFarthestOffset = int64_t{1} << 30;
constexpr uint64_t kFrame = 4096;    // of a frame what are no local variables, some of it
constexpr uint32_t kWidestTest = 8;  // numbers in a vector of the processor's

bool isNear(const Shape& shape) { return !shape.fragile && std::abs(shape.stride) <= kFarthestStep; }

}  // namespace

void AccessTests::beginCopy() {
  likeAccesses_.reset();
  asked_.clear();
}

// Loads and stores of the present block that may share a test, by register and lanes.
void AccessTests::listAlike(BlockId block) {
  likeAccesses_.emplace();
  for (const uint32_t n : program_.blocks[block].instructions) {
    const Instruction& i = program_.instructions[n];
    const bool plain = i.ast->op == Op::Ld || i.ast->op == Op::St;
    if (!plain || i.ast->space == Space::Shared || i.ast->space == Space::SharedCluster || i.sources[0] == kNone)
      continue;
    if (std::abs(i.offsets[0]) <= kFarthestOffset)
      (*likeAccesses_)[{i.sources[0], i.guard, i.guardNegated}].push_back(&i);
  }
}

// What is asked about with `i`, once: the bytes from the first to the last of all that share its test. What is between
// them is no more the library's own than they are.
AccessTests::Span AccessTests::takeAlike(const Instruction& i, size_t source, uint32_t bytes) {
  Span span{i.offsets[source], i.offsets[source] + bytes};
  if (source) return span;
  if (!likeAccesses_) listAlike(i.block);
  const auto found = likeAccesses_->find({i.sources[0], i.guard, i.guardNegated});
  if (found == likeAccesses_->end() || !llvm::is_contained(found->second, &i)) return span;
  for (const Instruction* const each : std::exchange(found->second, {})) {
    span.begin = std::min(span.begin, each->offsets[0]);
    span.end = std::max<int64_t>(span.end, each->offsets[0] + accessBytes(*each->ast));
    asked_.insert(each);
  }
  return span;
}

// Numbers that speak for all lanes' places at `offset` from their addresses; none where each has to be looked at.
Chunks AccessTests::speakers(ValueId address, int64_t offset, ValueId base, BlockId where) {
  if (std::abs(offset) > kFarthestOffset) return {};
  if (program_.values[base].shape.uniform() && (base == address || atHand(base, where)))
    return {b_.asInteger(values_.formOf(base).scalar, 64)};
  const Shape shape = program_.values[address].shape;
  const Form form = values_.formOf(address);
  if (!isNear(shape) || form.holds || shape.varying()) return {};
  if (form.scalar) return {b_.asInteger(form.scalar, 64)};
  Chunks rows;
  for (Value* const row : form.rows) rows.push_back(b_.asInteger(row, 64));
  return rows;
}

// i1: whether any of these numbers lacks the bit that memory of the library's own lacks. Lanes that are not in the mask
// count as having it.
llvm::Value* AccessTests::lacksBit(const Chunks& numbers, const Mask& mask) {
  if (!ownBit_) ownBit_ = reachField(offsetof(ReachCalls, ownBit));
  Value* common = nullptr;
  for (uint32_t c = 0; c < numbers.size(); ++c) {
    Value* number = numbers[c];
    if (number->getType()->isVectorTy() && !mask.full)
      number = b_.CreateSelect(mask.chunks[c], number, llvm::Constant::getAllOnesValue(number->getType()));
    common = common ? b_.CreateAnd(common, number) : number;
  }
  const auto lanes = [&] {
    auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(common->getType());
    return type ? type->getNumElements() : 1;
  };
  for (uint32_t n = lanes(); n > kWidestTest; n = lanes())
    common = b_.CreateAnd(b_.slice(common, 0, n / 2), b_.slice(common, n / 2, n / 2));
  Value* const bit = lanes() == 1 ? ownBit_ : b_.CreateVectorSplat(lanes(), ownBit_);
  Value* const lacks = b_.CreateICmpEQ(b_.CreateAnd(common, bit), llvm::Constant::getNullValue(common->getType()));
  return lanes() == 1 ? lacks : b_.CreateOrReduce(lacks);
}

// i1: whether any of them is in the range and not in the caller's frame, which has the local variables, or its shared
// memory.
llvm::Value* AccessTests::isInOwnRange(const Chunks& numbers, const Mask& mask) {
  Value* const calls = runner_.launchField(offsetof(KernelLaunch, calls), b_.getPtrTy());
  const auto field = [&](size_t offset) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), calls, offset));
  };
  Value* const own = field(offsetof(ReachCalls, own));
  Value* const ownBytes = field(offsetof(ReachCalls, ownBytes));
  Value* const returns = b_.callIntrinsic(llvm::Intrinsic::addressofreturnaddress, {b_.getPtrTy()}, {});
  Value* const frameBytes =
      b_.getInt64(uint64_t{program_.localStride()} * kWarpSize + program_.localAlignment + kFrame);
  Value* const frame = b_.CreateSub(b_.CreatePtrToInt(returns, b_.getInt64Ty()), frameBytes);
  Value* any = nullptr;
  for (uint32_t c = 0; c < numbers.size(); ++c) {
    const auto in = [&](Value* start, Value* bytes) {
      return b_.CreateICmpULT(b_.CreateSub(numbers[c], b_.splatLike(numbers[c], start)),
                              b_.splatLike(numbers[c], bytes));
    };
    Value* const callers = b_.CreateOr(in(frame, frameBytes), in(runner_.sharedBase(), b_.getInt64(kSharedStride)));
    Value* inside = b_.CreateAnd(in(own, ownBytes), b_.CreateNot(callers));
    if (inside->getType()->isVectorTy() && !mask.full) inside = b_.CreateAnd(inside, mask.chunks[c]);
    any = any ? b_.CreateOr(any, inside) : inside;
  }
  return any->getType()->isVectorTy() ? b_.CreateOrReduce(any) : any;
}

// i1: whether any of these is outside of the lanes' local variables, which lie in the range on a fibre's stack.
llvm::Value* AccessTests::leavesLocal(const Chunks& places, const Mask& mask) {
  Value* const start = b_.CreatePtrToInt(runner_.localArea, b_.getInt64Ty());
  Value* const bytes = b_.getInt64(uint64_t{program_.localStride()} * kWarpSize);
  Mask outside;
  outside.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const from = b_.CreateSub(places[c], b_.splatLike(places[c], start));
    Value* const lanes = b_.CreateICmpUGE(from, b_.splatLike(from, bytes));
    outside.chunks.push_back(mask.full ? lanes : b_.CreateAnd(lanes, mask.chunks[c]));
  }
  return masks_.anyLane(outside);
}

// Goes before each access by operand `source`, to `bytes` bytes a lane.
void AccessTests::checkOwn(const Instruction& i, size_t source, uint32_t bytes, const Mask& mask) {
  const auto test = ownTest(program_, i, source, bytes);
  if (!test || asked_.count(&i)) return;
  const Span span = test->isLocal ? Span{i.offsets[source], i.offsets[source] + bytes} : takeAlike(i, source, bytes);
  const ValueId address = i.sources[source];
  const auto placesAt = [&](int64_t offset) {
    Chunks places;
    for (uint32_t c = 0; c < k_; ++c) places.push_back(addresses_.displaced(values_.chunkOf(address, c), offset));
    return places;
  };
  Chunks numbers = test->isLocal ? Chunks{} : speakers(address, i.offsets[source], test->base, i.block);
  if (numbers.empty()) numbers = placesAt(i.offsets[source]);
  BB *const asks = b_.newBlock("asks"), *const reached = b_.newBlock("reached");
  llvm::MDNode* const rare = llvm::MDBuilder(context_).createBranchWeights(kRare, kUsual);
  const auto goOnUnless = [&](Value* doubtful, BB* doubts) {
    b_.CreateCondBr(b_.CreateFreeze(doubtful), doubts, reached, rare);
    b_.SetInsertPoint(doubts);
  };
  const bool caching = std::exchange(b_.caching, false);
  if (test->isLocal) {
    goOnUnless(leavesLocal(numbers, mask), asks);
  } else {
    goOnUnless(lacksBit(numbers, mask), b_.newBlock("doubts"));
    goOnUnless(isInOwnRange(numbers, mask), asks);
  }
  askAbout(placesAt(span.begin), static_cast<uint32_t>(span.end - span.begin), mask, i.ast->line);
  b_.CreateBr(reached);
  b_.caching = caching;
  b_.SetInsertPoint(reached);
}

}  // namespace vg::ptx::gen
