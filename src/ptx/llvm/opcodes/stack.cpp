// alloca, stacksave, stackrestore: each lane has a stack of its own, as large as the launch's limit for a thread, from
// which it takes and to whose mark it returns whatever the other lanes of its warp do.
#include "ptx/llvm/emit/emitter.h"

namespace vg::ptx::gen {
namespace {

constexpr uint32_t kPiece = 64;  // bytes: what is taken is a multiple of it, and aligned to it

}  // namespace

// Bytes between the stacks of neighbouring lanes: an odd multiple of 64, so that lanes do not share cache sets.
llvm::Value* Emitter::laneStackStride() {
  return atLaunch([&] {
    return b_.CreateZExt(b_.CreateOr(launchField(offsetof(KernelLaunch, stackPerThread), b_.getInt32Ty()), kPiece),
                         b_.getInt64Ty());
  });
}

// Address of lane 0's stack. Memory of the function's own frame, taken once a call.
llvm::Value* Emitter::laneStacks() {
  if (laneStacks_) return laneStacks_;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(launchPoint_);
  Value* const bytes = b_.CreateMul(laneStackStride(), b_.getInt64(kWarpSize));
  auto* const area = b_.CreateAlloca(b_.getInt8Ty(), bytes, "stacks");
  area->setAlignment(llvm::Align(kPiece));
  laneStacks_ = b_.CreatePtrToInt(area, b_.getInt64Ty());
  for (uint32_t c = 0; c < k_; ++c) {
    stackTops_.push_back(entryAlloca(vectorOf(b_.getInt32Ty()), "top"));
    llvm::IRBuilder<>(warpPoint_).CreateStore(llvm::Constant::getNullValue(vectorOf(b_.getInt32Ty())), stackTops_[c]);
  }
  return laneStacks_;
}

void Emitter::setStackTop(uint32_t chunk, Value* top, const Mask& mask) {
  if (!mask.full)
    top = b_.CreateSelect(mask.chunks[chunk], top, b_.CreateLoad(vectorOf(b_.getInt32Ty()), stackTops_[chunk]));
  b_.CreateStore(top, stackTops_[chunk]);
}

void Emitter::emitAlloca(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  Value *const base = laneStacks(), *const stride = laneStackStride();
  Value* const limit = b_.CreateVectorSplat(w_, launchField(offsetof(KernelLaunch, stackPerThread), word));
  const Mask mask = guardedMask(i);
  Mask tooMuch;
  tooMuch.full = false;
  Chunks sizes, tops;
  for (uint32_t c = 0; c < k_; ++c) {
    sizes.push_back(asInteger(chunkOf(i.sources[0], c), 32));
    tops.push_back(b_.CreateLoad(vectorOf(word), stackTops_[c]));
    Value* const over = b_.CreateICmpUGT(sizes[c], b_.CreateSub(limit, tops[c]));
    tooMuch.chunks.push_back(mask.full ? over : b_.CreateAnd(over, mask.chunks[c]));
  }
  ifTrue(anyLane(tooMuch), [&] { callTrap(TrapReason::StackOverflow, maskBits(tooMuch), i.ast->line); });
  Form form;
  form.shape = {Shape::Varying, 0, false};
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const ofLane = b_.CreateAdd(b_.CreateVectorSplat(w_, base),
                                       b_.CreateMul(iota(c, b_.getInt64Ty(), 1), b_.CreateVectorSplat(w_, stride)));
    form.chunks.push_back(b_.CreateAdd(ofLane, b_.CreateZExt(tops[c], vectorOf(b_.getInt64Ty()))));
    Value* const taken = b_.CreateAnd(b_.CreateAdd(sizes[c], llvm::ConstantInt::get(sizes[c]->getType(), kPiece - 1)),
                                      llvm::ConstantInt::get(sizes[c]->getType(), ~uint64_t{kPiece - 1}));
    setStackTop(c, b_.CreateAdd(tops[c], taken), mask);
  }
  if (i.results[0] != kNone) finish(i, 0, std::move(form));
}

// What is saved is how much of its stack a lane has taken.
void Emitter::emitStackSave(const Instruction& i) {
  laneStacks();
  if (i.results[0] == kNone) return;
  Form form;
  form.shape = {Shape::Varying, 0, false};
  for (uint32_t c = 0; c < k_; ++c)
    form.chunks.push_back(
        b_.CreateZExt(b_.CreateLoad(vectorOf(b_.getInt32Ty()), stackTops_[c]), vectorOf(b_.getInt64Ty())));
  finish(i, 0, std::move(form));
}

void Emitter::emitStackRestore(const Instruction& i) {
  laneStacks();
  const Mask mask = guardedMask(i);
  Value* const limit = b_.CreateVectorSplat(w_, launchField(offsetof(KernelLaunch, stackPerThread), b_.getInt32Ty()));
  for (uint32_t c = 0; c < k_; ++c)
    setStackTop(c, intrinsic(llvm::Intrinsic::umin, {asInteger(chunkOf(i.sources[0], c), 32), limit}), mask);
}

}  // namespace vg::ptx::gen
