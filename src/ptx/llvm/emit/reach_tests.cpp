// Tests of what addresses lead to before they are used (analysis/reach.h), where the device does not reach all memory.
#include "ptx/llvm/emit/access_tests.h"

#include <llvm/IR/MDBuilder.h>

#include "ptx/abi/reach_abi.h"

namespace vg::ptx::gen {
namespace {

constexpr uint32_t kAsked = 7;  // the scratch array of the addresses
// Between lanes of which one in the window speaks for all.
constexpr int64_t kFarthestStep = int64_t{1} << 30;

bool isNear(const Shape& shape) { return !shape.fragile && std::abs(shape.stride) <= kFarthestStep; }

}  // namespace

llvm::Value* AccessTests::reachField(size_t offset) {
  Value* const calls = runner_.launchField(offsetof(KernelLaunch, calls), b_.getPtrTy());
  llvm::IRBuilder<> at(runner_.launchPoint);
  auto* const field = at.CreateLoad(at.getInt64Ty(), at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), calls, offset));
  field->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return field;
}

// Whether the runner has to be asked.
llvm::Value* AccessTests::isOutOfReach(Value* address) {
  if (!window_) {
    window_ = reachField(offsetof(ReachCalls, window));
    windowBytes_ = reachField(offsetof(ReachCalls, windowBytes));
  }
  return b_.CreateICmpUGE(b_.CreateSub(address, b_.splatLike(address, window_)), b_.splatLike(address, windowBytes_));
}

llvm::Value* AccessTests::asksAboutLanes(const Address& a, const Mask& mask) {
  Mask asked;
  asked.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const lanes = isOutOfReach(addresses_.addressChunk(a, c));
    asked.chunks.push_back(mask.full ? lanes : b_.CreateAnd(lanes, mask.chunks[c]));
  }
  return masks_.anyLane(asked);
}

// By one number where one speaks for all lanes; the slack is for what they are away from it.
llvm::Value* AccessTests::asksAboutAny(const Address& a, const ReachTest& test, BlockId where, const Mask& mask) {
  if (test.base != a.value && program_.values[test.base].shape.uniform() && atHand(test.base, where))
    return isOutOfReach(b_.asInteger(values_.formOf(test.base).scalar, 64));
  if (a.shape.uniform() || (a.shape.affine() && isNear(a.shape) && !a.holds)) return isOutOfReach(a.scalar);
  if (a.rows.empty() || !isNear(a.shape) || a.holds) return asksAboutLanes(a, mask);
  Value* any = nullptr;
  for (Value* const first : a.rows) {
    Value* const asked = isOutOfReach(first);
    any = any ? b_.CreateOr(any, asked) : asked;
  }
  return any;
}

// Ends the launch when one of these lanes may not touch `bytes` bytes at its address.
void AccessTests::askAbout(const Chunks& addresses, uint32_t bytes, const Mask& mask, uint32_t line) {
  Value* const frameEnd = b_.callIntrinsic(llvm::Intrinsic::addressofreturnaddress, {b_.getPtrTy()}, {});
  Value* const asked =
      runner_.runtimeCall(offsetof(ReachCalls, reach), b_.getVoidTy(),
                          {runner_.block, runner_.warp, masks_.maskBits(mask), b_.spill(kAsked, addresses),
                           b_.getInt32(bytes), b_.getInt32(line), frameEnd});
  // Loads and stores around it know that it is none.
  llvm::cast<llvm::CallInst>(asked)->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
}

// Goes before each access of memory by operand `source`, to `bytes` bytes a lane.
void AccessTests::checkReach(const Instruction& i, size_t source, Space space, uint32_t bytes, const Mask& mask) {
  if (space == Space::Shared || space == Space::SharedCluster) return;
  if (options_.testsOwn) return checkOwn(i, source, bytes, mask);
  const auto test = options_.testsReach ? reachTest(program_, i, source, bytes) : std::nullopt;
  if (!test) return;
  const Address a = addresses_.addressOf(i, source, space);
  BB *const asks = b_.newBlock("asks"), *const reached = b_.newBlock("reached");
  b_.CreateCondBr(b_.CreateFreeze(asksAboutAny(a, *test, i.block, mask)), asks, reached,
                  llvm::MDBuilder(context_).createBranchWeights(kRare, kUsual));
  b_.SetInsertPoint(asks);
  const bool caching = std::exchange(b_.caching, false);
  askAbout(addresses_.addressChunks(a), bytes, mask, i.ast->line);
  b_.caching = caching;
  b_.CreateBr(reached);
  b_.SetInsertPoint(reached);
}

}  // namespace vg::ptx::gen
