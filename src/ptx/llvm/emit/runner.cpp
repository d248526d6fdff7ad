#include "ptx/llvm/emit/runner.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "ptx/llvm/warps/jammed_warps.h"

namespace vg::ptx::gen {

static llvm::LoadInst* invariantLoad(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* base, uint64_t offset) {
  auto* load = b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset));
  load->setAlignment(llvm::Align(1));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

llvm::Value* Runner::blockField(size_t offset, LType* type) {
  Value*& field = blockFields_[{offset, type}];
  if (!field) {
    llvm::IRBuilder<> at(launchPoint);
    field = invariantLoad(at, type, block, offset);
  }
  return field;
}

llvm::Value* Runner::blockIndex(uint32_t axis) {
  if (axis == 0 && blockX) return blockX;
  return blockField(offsetof(BlockState, blockIndex) + 4 * axis, b_.getInt32Ty());
}

llvm::Value* Runner::launchField(size_t offset, LType* type) {
  Value*& field = launchFields_[{offset, type}];
  if (!field) {
    llvm::IRBuilder<> at(launchPoint);
    field = invariantLoad(at, type, launch, offset);
  }
  return field;
}

llvm::Value* Runner::parameter(int64_t offset, LType* type) {
  Value*& value = parameters_[{offset, type}];
  if (!value) {
    Value* const base = launchField(offsetof(KernelLaunch, parameters), b_.getPtrTy());
    llvm::IRBuilder<> at(launchPoint);
    value = invariantLoad(at, type, base, static_cast<uint64_t>(offset));
  }
  return value;
}

llvm::Value* Runner::sharedBase() {
  Value* const base = blockField(offsetof(BlockState, shared), b_.getInt64Ty());
  markSharedBase(*base);
  return base;
}

llvm::Value* Runner::globalAddress(uint32_t variable) {
  const auto& globals = program_.references.globals;
  const auto found = std::find(globals.begin(), globals.end(), variable);
  if (found == globals.end())
    throw Unsupported{"variable " + program_.module->variables[variable].name + " outside of the kernel's table", 0};
  Value*& address = globals_[variable];
  if (!address) {
    Value* const table = launchField(offsetof(KernelLaunch, globals), b_.getPtrTy());
    llvm::IRBuilder<> at(launchPoint);
    address = invariantLoad(at, b_.getInt64Ty(), table, 8 * static_cast<uint64_t>(found - globals.begin()));
  }
  return address;
}

llvm::Value* Runner::runtimeCall(size_t offset, LType* result, llvm::ArrayRef<Value*> args) {
  Value* const calls = launchField(offsetof(KernelLaunch, calls), b_.getPtrTy());
  Value* const at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), calls, offset);
  auto* target = b_.CreateLoad(b_.getPtrTy(), at);
  target->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  llvm::SmallVector<LType*, 8> types;
  for (Value* a : args) types.push_back(a->getType());
  auto* call = b_.CreateCall(llvm::FunctionType::get(result, types, false), target, args);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  return call;
}

void Runner::emitYield(uint32_t line, bool seldom) {
  if (seldom) return emitSeldomYield(line);
  const llvm::DebugLoc before = b_.getCurrentDebugLocation();
  b_.SetCurrentDebugLocation(b_.lineAt(line));
  runtimeCall(offsetof(RuntimeCalls, yield), b_.getVoidTy(), {block, warp});
  b_.SetCurrentDebugLocation(before);
}

// Rounds of all such loops are counted together.
void Runner::emitSeldomYield(uint32_t line) {
  if (!rounds_) {
    rounds_ = b_.entryAlloca(b_.getInt32Ty(), "rounds");
    llvm::IRBuilder<>(launchPoint).CreateStore(b_.getInt32(0), rounds_);
  }
  Value* const count = b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), rounds_), b_.getInt32(1));
  b_.CreateStore(count, rounds_);
  auto* const yields = llvm::BasicBlock::Create(context_, "yields", b_.GetInsertBlock()->getParent());
  auto* const onward = llvm::BasicBlock::Create(context_, "onward", b_.GetInsertBlock()->getParent());
  Value* const due = b_.CreateICmpEQ(b_.CreateAnd(count, b_.getInt32(kSeldom - 1)), b_.getInt32(0));
  b_.CreateCondBr(due, yields, onward, llvm::MDBuilder(context_).createBranchWeights(1, kSeldom - 1));
  b_.SetInsertPoint(yields);
  emitYield(line);
  b_.CreateBr(onward);
  b_.SetInsertPoint(onward);
}

llvm::Value* Runner::atLaunch(const std::function<Value*()>& make) {
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(launchPoint);
  return make();
}

llvm::Value* Runner::ownShared() {
  if (!program_.references.clusterAddresses) return sharedBase();
  Value* const offset = blockField(offsetof(BlockState, sharedOffset), b_.getInt32Ty());
  return b_.CreateAdd(sharedBase(), b_.CreateZExt(offset, b_.getInt64Ty()));
}

llvm::Value* Runner::clusterBlocks() {
  const auto size = [&](uint32_t axis) {
    return launchField(offsetof(KernelLaunch, clusterSize) + 4 * axis, b_.getInt32Ty());
  };
  return b_.CreateMul(size(0), b_.CreateMul(size(1), size(2)));
}

// Bytes between the stacks of neighbouring lanes: an odd multiple of 64, so that lanes do not share cache sets.
llvm::Value* Runner::laneStackStride() {
  return atLaunch([&] {
    return b_.CreateZExt(b_.CreateOr(launchField(offsetof(KernelLaunch, stackPerThread), b_.getInt32Ty()), kStackPiece),
                         b_.getInt64Ty());
  });
}

// Address of lane 0's stack. Memory of the function's own frame, taken once a call.
llvm::Value* Runner::laneStacks() {
  if (laneStacks_) return laneStacks_;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(launchPoint);
  Value* const bytes = b_.CreateMul(laneStackStride(), b_.getInt64(kWarpSize));
  auto* const area = b_.CreateAlloca(b_.getInt8Ty(), bytes, "stacks");
  area->setAlignment(llvm::Align(kStackPiece));
  laneStacks_ = b_.CreatePtrToInt(area, b_.getInt64Ty());
  for (uint32_t c = 0; c < k_; ++c) {
    stackTops.push_back(b_.entryAlloca(b_.vectorOf(b_.getInt32Ty()), "top"));
    llvm::IRBuilder<>(warpPoint).CreateStore(llvm::Constant::getNullValue(b_.vectorOf(b_.getInt32Ty())), stackTops[c]);
  }
  return laneStacks_;
}

void Runner::callTrap(TrapReason reason, Value* lanes, uint32_t line) {
  runtimeCall(offsetof(RuntimeCalls, trap), b_.getVoidTy(),
              {block, warp, lanes, b_.getInt32(static_cast<uint32_t>(reason)), b_.getInt32(line)});
}

}  // namespace vg::ptx::gen
