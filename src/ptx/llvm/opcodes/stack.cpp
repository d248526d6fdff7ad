// alloca, stacksave, stackrestore: each lane has a stack of its own, as large as the launch's limit for a thread, from
// which it takes and to whose mark it returns whatever the other lanes of its warp do.
#include "ptx/llvm/opcodes/stack.h"

#include <bit>

namespace vg::ptx::gen {

void Stacks::setStackTop(uint32_t chunk, Value* top, const Mask& mask) {
  if (!mask.full)
    top =
        b_.CreateSelect(mask.chunks[chunk], top, b_.CreateLoad(b_.vectorOf(b_.getInt32Ty()), runner_.stackTops[chunk]));
  b_.CreateStore(top, runner_.stackTops[chunk]);
}

// Bytes of each lane's stack up to a place of that alignment, which the stacks themselves do not have.
llvm::Value* Stacks::untilAligned(Value* top, uint32_t chunk, uint64_t alignment) {
  Value* const place = b_.CreateAdd(placeOf(chunk), b_.CreateZExt(top, b_.vectorOf(b_.getInt64Ty())));
  return b_.CreateAnd(b_.CreateTrunc(b_.CreateNeg(place), top->getType()),
                      llvm::ConstantInt::get(top->getType(), alignment - 1));
}

// Where the lanes' stacks begin.
llvm::Value* Stacks::placeOf(uint32_t chunk) {
  return b_.CreateAdd(
      b_.CreateVectorSplat(w_, runner_.laneStacks()),
      b_.CreateMul(b_.iota(chunk, b_.getInt64Ty(), 1), b_.CreateVectorSplat(w_, runner_.laneStackStride())));
}

void Stacks::emitAlloca(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  runner_.laneStacks();
  Value* const limit = b_.CreateVectorSplat(w_, runner_.launchField(offsetof(KernelLaunch, stackPerThread), word));
  const Mask mask = predicates_.guardedMask(i);
  Mask tooMuch;
  tooMuch.full = false;
  const uint64_t wanted = i.sources.size() > 1 ? program_.values[i.sources[1]].bits : 0;  // alignment
  Chunks sizes, tops, skipped;
  for (uint32_t c = 0; c < k_; ++c) {
    sizes.push_back(b_.asInteger(values_.chunkOf(i.sources[0], c), 32));
    tops.push_back(b_.CreateLoad(b_.vectorOf(word), runner_.stackTops[c]));
    Value* const left = b_.CreateSub(limit, tops[c]);
    Value* over = b_.CreateICmpUGT(sizes[c], left);
    if (wanted > Runner::kStackPiece && std::has_single_bit(wanted)) {
      skipped.push_back(untilAligned(tops[c], c, wanted));
      over = b_.CreateOr(over, b_.CreateICmpUGT(skipped[c], b_.CreateSub(left, sizes[c])));
    }
    tooMuch.chunks.push_back(mask.full ? over : b_.CreateAnd(over, mask.chunks[c]));
  }
  b_.ifTrue(masks_.anyLane(tooMuch),
            [&] { runner_.callTrap(TrapReason::StackOverflow, masks_.maskBits(tooMuch), i.ast->line); });
  Form form = varyingForm();
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const top = skipped.empty() ? tops[c] : b_.CreateAdd(tops[c], skipped[c]);
    form.chunks.push_back(b_.CreateAdd(placeOf(c), b_.CreateZExt(top, b_.vectorOf(b_.getInt64Ty()))));
    Value* const taken =
        b_.CreateAnd(b_.CreateAdd(sizes[c], llvm::ConstantInt::get(sizes[c]->getType(), Runner::kStackPiece - 1)),
                     llvm::ConstantInt::get(sizes[c]->getType(), ~uint64_t{Runner::kStackPiece - 1}));
    setStackTop(c, b_.CreateAdd(top, taken), mask);
  }
  if (i.results[0] != kNone) values_.finish(i, 0, std::move(form));
}

// What is saved is how much of its stack a lane has taken.
void Stacks::emitStackSave(const Instruction& i) {
  runner_.laneStacks();
  if (i.results[0] == kNone) return;
  Form form = varyingForm();
  for (uint32_t c = 0; c < k_; ++c)
    form.chunks.push_back(
        b_.CreateZExt(b_.CreateLoad(b_.vectorOf(b_.getInt32Ty()), runner_.stackTops[c]), b_.vectorOf(b_.getInt64Ty())));
  values_.finish(i, 0, std::move(form));
}

void Stacks::emitStackRestore(const Instruction& i) {
  runner_.laneStacks();
  const Mask mask = predicates_.guardedMask(i);
  Value* const limit =
      b_.CreateVectorSplat(w_, runner_.launchField(offsetof(KernelLaunch, stackPerThread), b_.getInt32Ty()));
  for (uint32_t c = 0; c < k_; ++c)
    setStackTop(c, b_.intrinsic(llvm::Intrinsic::umin, {b_.asInteger(values_.chunkOf(i.sources[0], c), 32), limit}),
                mask);
}

}  // namespace vg::ptx::gen
