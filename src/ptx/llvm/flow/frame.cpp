// The frame of the function: what runs once a call, once a block and once a warp, and the loops between.
//
//   warps wait in the runner      the warps of one block
//   whole rows, nothing shared    rows of a block > blocks > warps of a row: small blocks of several rows then run
//                                 along memory instead of down its columns, which prefetchers and caches reward
//   warps suspend                 blocks > rounds > warps, each from where it was to its next barrier or its end; where
//                                 all warps go the same way, a round is one stretch of the kernel between two barriers
//   all others                    blocks > warps
#include "ptx/llvm/flow/frame.h"

#include "ptx/llvm/analysis/block_uniform.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/ir/row_thread.h"
#include "ptx/llvm/warps/jammed_warps.h"
#include "ptx/llvm/warps/told_warps.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

// Whether the code is that of a block's only warp, whose threads have numbers that are known here.
bool Frame::oneWarp() const { return emission_.options.loneWarp && !suspensions_.used() && !emission_.apart(); }

bool Frame::rowsAcrossBlocks() const {
  return !oneWarp() && countsThreads() && emission_.traits.spans && !suspensions_.used() &&
         !program_.shared.staticSize && !program_.usesDynamicShared;
}

// The blocks of the loops, and what they count.
struct Frame::Loops {
  bool overRows;  // of a block's threads, with the loop over blocks inside
  BB *rowHeader, *blockHeader, *roundHeader, *roundLatch, *blockLatch, *rowLatch, *done;
  Value *firstWarp = nullptr, *endWarp = nullptr, *endOfCall = nullptr;
  llvm::PHINode *block = nullptr, *warp = nullptr;  // no block: there is one only
};

void Frame::emit(bool waitsInOneCopy) {
  alike_ = suspensions_.used() && waitsInOneCopy && warpsMeetAlike(program_);
  Loops loops = makeBlocks();
  beginCall(loops);
  beginRow(loops);
  beginBlock(loops);
  beginRound(loops);
  beginWarp(loops);
  endWarp(loops);
  endRound(loops);
  endBlock(loops);
  endRow(loops);
  masks_.makeLive();
  if (program_.localSize) placeLocals();
}

// Memory for the local variables of a warp's lanes. What a variable wants beyond the usual alignment is found inside of
// a larger piece: no section with sizes of stacks tells what the code generator would take to align the frame so.
void Frame::placeLocals() {
  const uint32_t more = program_.localAlignment - kLocalAlignment;
  LType* const bytes = llvm::ArrayType::get(b_.getInt8Ty(), uint64_t{program_.localStride()} * kWarpSize + more);
  llvm::AllocaInst* const piece = b_.entryAlloca(bytes, "local", llvm::Align(kLocalAlignment));
  runner_.localArea = piece;
  if (!more) return;
  llvm::IRBuilder<> at(piece->getParent(), std::next(piece->getIterator()));
  Value* const end = at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), piece, more);
  runner_.localArea = at.CreateIntrinsic(llvm::Intrinsic::ptrmask, {at.getPtrTy(), at.getInt64Ty()},
                                         {end, at.getInt64(-int64_t{program_.localAlignment})});
}

// In the order in which they stand in the function.
Frame::Loops Frame::makeBlocks() {
  Loops loops{};
  loops.overRows = rowsAcrossBlocks();
  b_.entry = b_.newBlock("entry");
  loops.rowHeader = b_.newBlock("row");
  loops.blockHeader = b_.newBlock("block");
  loops.roundHeader = b_.newBlock("round");
  warpHeader_ = b_.newBlock("warp");
  warpStart_ = b_.newBlock("start");
  warpLatch_ = b_.newBlock("end");
  nextWarp_ = b_.newBlock("next");
  loops.roundLatch = b_.newBlock("nextRound");
  loops.blockLatch = b_.newBlock("nextBlock");
  loops.rowLatch = b_.newBlock("nextRow");
  loops.done = b_.newBlock("done");
  return loops;
}

void Frame::beginCall(Loops& loops) {
  runner_.block = b_.function->getArg(0);
  b_.SetInsertPoint(b_.entry);
  runner_.launchPoint = b_.CreateBr(loops.rowHeader);
  b_.SetInsertPoint(runner_.launchPoint);
  runner_.launch = runner_.blockField(offsetof(BlockState, launch), b_.getPtrTy());
  startThreads();
  loops.firstWarp = b_.function->getArg(1);
  loops.endWarp = loops.endOfCall = b_.function->getArg(2);
  if (!emission_.apart()) return;
  b_.SetInsertPoint(runner_.launchPoint);
  loops.endWarp = loops.endOfCall = b_.CreateAdd(loops.firstWarp, b_.getInt32(1));
}

void Frame::beginRow(Loops& loops) {
  LType* const word = b_.getInt32Ty();
  b_.SetInsertPoint(loops.rowHeader);
  if (loops.overRows) {
    auto* first = b_.CreatePHI(word, 2, "firstWarp");
    first->addIncoming(loops.firstWarp, runner_.launchPoint->getParent());
    Value* const width =
        rows_ ? b_.getInt32(1) : b_.CreateLShr(runner_.launchField(offsetof(KernelLaunch, blockSize), word), 5);
    loops.firstWarp = first;
    loops.endWarp = b_.CreateAdd(first, width);
    first->addIncoming(loops.endWarp, loops.rowLatch);
  }
  b_.CreateBr(loops.blockHeader);
}

void Frame::endRow(const Loops& loops) {
  b_.SetInsertPoint(loops.rowLatch);
  if (loops.overRows) {
    advanceRow();
    b_.CreateCondBr(b_.CreateICmpULT(loops.endWarp, loops.endOfCall), loops.rowHeader, loops.done);
  } else {
    b_.CreateBr(loops.done);
  }
  b_.SetInsertPoint(loops.done);
  b_.CreateRetVoid();
}

void Frame::beginBlock(Loops& loops) {
  LType* const word = b_.getInt32Ty();
  b_.SetInsertPoint(loops.blockHeader);
  if (emission_.traits.spans) {
    loops.block = b_.CreatePHI(word, 2, "ctaid");
    Value* const field = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), runner_.block, offsetof(BlockState, blockIndex));
    loops.block->addIncoming(runner_.blockField(offsetof(BlockState, blockIndex), word), loops.rowHeader);
    b_.CreateStore(loops.block, field);  // for whoever reports a fault
    runner_.blockX = loops.block;
  }
  if (loops.overRows && !inParts()) resetThreads(1);
  runner_.blockPoint = b_.CreateBr(suspensions_.used() ? loops.roundHeader : warpHeader_);
}

void Frame::endBlock(const Loops& loops) {
  LType* const word = b_.getInt32Ty();
  b_.SetInsertPoint(loops.blockLatch);
  if (!loops.block) {
    b_.CreateBr(loops.rowLatch);
    return;
  }
  Value* const next = b_.CreateAdd(loops.block, b_.getInt32(1));
  loops.block->addIncoming(next, loops.blockLatch);
  Value* const end = runner_.atLaunch([&] {
    return b_.CreateAdd(runner_.blockField(offsetof(BlockState, blockIndex), word),
                        runner_.blockField(offsetof(BlockState, blocks), word));
  });
  b_.CreateCondBr(b_.CreateICmpNE(next, end), loops.blockHeader, loops.rowLatch);
}

// Without rounds its blocks are taken out again.
void Frame::beginRound(Loops& loops) {
  LType* const word = b_.getInt32Ty();
  b_.SetInsertPoint(loops.roundHeader);
  if (!suspensions_.used()) {
    loops.roundHeader->eraseFromParent();
    if (loops.overRows) return;
    b_.SetInsertPoint(loops.blockHeader->getTerminator());
    resetThreads(3);
    return;
  }
  round_ = b_.CreatePHI(word, 2, "round");
  round_->addIncoming(b_.getInt32(0), loops.blockHeader);
  waitsAt_ = b_.entryAlloca(word, "waits");
  b_.CreateStore(b_.getInt32(0), waitsAt_);
  resetThreads(3);
  b_.CreateBr(warpHeader_);
}

void Frame::endRound(const Loops& loops) {
  if (!suspensions_.used()) {
    loops.roundLatch->eraseFromParent();
    return;
  }
  b_.SetInsertPoint(loops.roundLatch);
  Value* const waits = b_.CreateLoad(b_.getInt32Ty(), waitsAt_);
  round_->addIncoming(waits, loops.roundLatch);
  b_.CreateCondBr(b_.CreateICmpNE(waits, b_.getInt32(0)), loops.roundHeader, loops.blockLatch);
}

void Frame::beginWarp(Loops& loops) {
  LType* const word = b_.getInt32Ty();
  b_.SetInsertPoint(warpHeader_);
  if (oneWarp()) {
    runner_.warp = b_.getInt32(0);
  } else {
    runner_.warp = loops.warp = b_.CreatePHI(word, 2, "warp");
    loops.warp->addIncoming(loops.firstWarp, suspensions_.used() ? loops.roundHeader : loops.blockHeader);
  }
  if (countsThreads())
    for (int axis = 0; axis < threadAxes_; ++axis)
      specials_.laneThread[axis] = b_.CreateLoad(word, threadSlots_[axis], "tid");
  if (inParts()) indexParts();
  teller_.atStart();
  runner_.warpPoint = b_.CreateBr(warpStart_);
  if (suspensions_.used()) emitDispatch();
}

void Frame::endWarp(const Loops& loops) {
  b_.SetInsertPoint(warpLatch_);
  if (suspensions_.used() && !alike_) b_.CreateStore(b_.getInt32(0), warpState());
  b_.CreateBr(nextWarp_);
  b_.SetInsertPoint(nextWarp_);
  if (oneWarp()) {
    b_.CreateBr(loops.blockLatch);
    return;
  }
  Value* const next = b_.CreateAdd(runner_.warp, b_.getInt32(1));
  if (threadAxes_ && !emission_.traits.waits)
    advanceThread(loops.overRows, loops.warp, next);  // warps that wait are called one at a time
  if (loops.overRows && rows_) {                      // no loop, out of which LLVM would move what few ways need
    b_.CreateBr(loops.blockLatch);
    return;
  }
  Value* const following = nextRow_ ? nextRow_ : next;
  b_.CreateCondBr(b_.CreateICmpULT(following, loops.endWarp), warpHeader_,
                  suspensions_.used() ? loops.roundLatch : loops.blockLatch);
  loops.warp->addIncoming(following, b_.GetInsertBlock());
}

// --- Thread indices of whole rows: they advance without divisions --------------------------------------------------

void Frame::countThreadAxes() {
  for (ValueId id = 0; id < program_.values.size(); ++id) {
    const auto& v = program_.values[id];
    if (v.kind != vg::ptx::gen::Value::Special || !values_.isRead(id)) continue;
    if (v.special < Special::TidX || v.special > Special::TidZ) continue;
    threadAxes_ = std::max(threadAxes_, static_cast<int>(v.special) - static_cast<int>(Special::TidX) + 1);
  }
}

// Once a call: the indices of lane 0 of the first warp.
void Frame::startThreads() {
  if (!countsThreads()) return;
  countThreadAxes();
  LType* const word = b_.getInt32Ty();
  for (auto*& slot : threadSlots_) slot = b_.entryAlloca(word, "thread");
  for (auto*& first : firstThread_) first = b_.getInt32(0);
  for (auto* slot : threadSlots_) b_.CreateStore(b_.getInt32(0), slot);
  if (emission_.traits.spans) return;  // called with all warps
  Value* const linear = b_.CreateShl(b_.function->getArg(1), 5);
  BB* const before = b_.GetInsertBlock();
  BB* const later = b_.newBlock("later");
  BB* const joined = b_.newBlock("joined");
  BB* const onward = llvm::cast<llvm::BranchInst>(runner_.launchPoint)->getSuccessor(0);
  Value* const nx = runner_.launchField(offsetof(KernelLaunch, blockSize), word);
  Value* const ny = runner_.launchField(offsetof(KernelLaunch, blockSize) + 4, word);
  runner_.launchPoint->eraseFromParent();
  b_.SetInsertPoint(before);
  b_.CreateCondBr(b_.CreateICmpEQ(linear, b_.getInt32(0)), joined, later);
  b_.SetInsertPoint(later);
  Value* const row = b_.CreateUDiv(linear, nx);
  Value* const index[3] = {b_.CreateURem(linear, nx), b_.CreateURem(row, ny), b_.CreateUDiv(row, ny)};
  b_.CreateBr(joined);
  b_.SetInsertPoint(joined);
  for (int axis = 0; axis < 3; ++axis) {
    auto* first = b_.CreatePHI(word, 2, "thread");
    first->addIncoming(b_.getInt32(0), before);
    first->addIncoming(index[axis], later);
    firstThread_[axis] = first;
  }
  runner_.launchPoint = b_.CreateBr(onward);
}

void Frame::resetThreads(int axes) {
  if (!countsThreads()) return;
  for (int axis = 0; axis < axes; ++axis) b_.CreateStore(firstThread_[axis], threadSlots_[axis]);
}

// To the next warp, which with `sameRow` is one of the same row. Else rows end here: on to the next one in a block of
// its own, which few warps see.
void Frame::advanceThread(bool sameRow, llvm::PHINode* warp, Value* next) {
  if (rows_) {
    if (!sameRow) advanceRow();
    return;
  }
  Value* const x = b_.CreateAdd(specials_.laneThread[0], b_.getInt32(kWarpSize));
  b_.CreateStore(x, threadSlots_[0]);
  if (sameRow) return;
  rowEnd_ = b_.newBlock("rowEnd");
  b_.CreateCondBr(b_.CreateICmpULT(x, runner_.launchField(offsetof(KernelLaunch, blockSize), b_.getInt32Ty())),
                  warpHeader_, rowEnd_);
  BB* const from = b_.GetInsertBlock();
  warp->addIncoming(next, from);
  b_.SetInsertPoint(rowEnd_);
  nextRow_ = b_.CreatePHI(b_.getInt32Ty(), 2, "nextRow");
  nextRow_->addIncoming(next, from);
  b_.CreateStore(b_.getInt32(0), threadSlots_[0]);
  advanceRow();
}

// To the next row, or to the first part of the next warp.
void Frame::advanceRow() {
  if (threadAxes_ < (inParts() ? 1 : 2)) return;
  LType* const word = b_.getInt32Ty();
  ThreadIndex at{};
  for (int axis = 0; axis < threadAxes_; ++axis) at[axis] = b_.CreateLoad(word, threadSlots_[axis]);
  if (!inParts()) advance(at, 1, rows_ ? rows_ : 1);
  for (uint32_t part = 0; inParts() && part < rows_; ++part) advance(at, 0, rowLanes_);
  for (int axis = 0; axis < threadAxes_; ++axis) b_.CreateStore(at[axis], threadSlots_[axis]);
}

// Along an axis, with a carry into those above.
void Frame::advance(ThreadIndex& at, int axis, uint32_t by) {
  LType* const word = b_.getInt32Ty();
  Value* step = b_.getInt32(by);
  for (; axis < threadAxes_; ++axis) {
    Value* const moved = b_.CreateAdd(at[axis], step);
    if (axis == 2) return void(at[2] = moved);
    Value* const wraps =
        b_.CreateICmpUGE(moved, runner_.launchField(offsetof(KernelLaunch, blockSize) + 4 * axis, word));
    at[axis] = b_.CreateSelect(wraps, b_.getInt32(0), moved);
    step = b_.CreateZExt(wraps, word);
  }
}

// Where the parts of the warp begin.
void Frame::indexParts() {
  ThreadIndex at{specials_.laneThread[0], specials_.laneThread[1], specials_.laneThread[2]};
  for (uint32_t part = 0; part < rows_; ++part) {
    specials_.partThread.push_back(at);
    if (part + 1 < rows_) advance(at, 0, rowLanes_);
  }
}

// --- Warps that have nothing to do -----------------------------------------------------------------------------------

// Whether warps come to the end of a block from where a round begins without having done anything that others see.
bool Frame::nothingDone(const Block& block, BlockId id) const {
  for (uint32_t n : llvm::reverse(block.instructions)) {
    const Instruction& i = program_.instructions[n];
    if (isBarrierOfBlock(i)) return true;
    const bool readsParameter = i.ast->op == Op::Ld && !teller_.accessesMemory(i);
    if (!ptx::rowOf(i.ast->op).has(Trait::Pure) && !readsParameter) return false;
  }
  return id == 0 && block.predecessors.empty();
}

// Where a warp ends that takes this way out of a block, to the end of the kernel. `if (threadIdx.x < 32)` behind a
// barrier leaves nothing to do to all other warps of the row: they are passed over at once.
llvm::BasicBlock* Frame::behindWarp(const Block& block, BlockId id, bool taken) {
  if (!nextRow_ || (suspensions_.used() && !alike_)) return warpLatch_;
  const auto& condition = program_.values[block.condition];
  if (condition.kind != vg::ptx::gen::Value::Result || !nothingDone(block, id)) return warpLatch_;
  const auto comparison = rowComparison(program_, program_.instructions[condition.instruction]);
  const bool answer = taken != block.conditionNegated;
  if (!comparison || comparison->above != answer || (comparison->below == answer && comparison->mixed))
    return warpLatch_;
  if (restOfRow_) return restOfRow_;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(restOfRow_ = b_.newBlock("rest"));
  Value* const width = runner_.launchField(offsetof(KernelLaunch, blockSize), b_.getInt32Ty());
  nextRow_->addIncoming(b_.CreateAdd(runner_.warp, b_.CreateLShr(b_.CreateSub(width, specials_.laneThread[0]), 5)),
                        restOfRow_);
  b_.CreateBr(rowEnd_);
  return restOfRow_;
}

// --- Warps that suspend ----------------------------------------------------------------------------------------------

// Where the warp goes on: 0 nowhere, it has ended; n behind the n-th barrier.
llvm::Value* Frame::warpState() {
  Value* const frames = runner_.blockField(offsetof(BlockState, frames), b_.getPtrTy());
  return b_.CreateInBoundsGEP(b_.getInt32Ty(), frames, b_.CreateZExt(runner_.warp, b_.getInt64Ty()));
}

void Frame::emitDispatch() {
  auto* const onward = runner_.warpPoint;
  b_.SetInsertPoint(warpHeader_);
  if (alike_) {
    runner_.warpPoint = dispatch_ = b_.CreateSwitch(round_, warpStart_);
  } else {
    BB* const again = b_.newBlock("again");
    runner_.warpPoint = b_.CreateCondBr(b_.CreateICmpEQ(round_, b_.getInt32(0)), warpStart_, again);
    b_.SetInsertPoint(again);
    dispatch_ = b_.CreateSwitch(b_.CreateLoad(b_.getInt32Ty(), warpState()), nextWarp_);
  }
  onward->eraseFromParent();
}

SuspendFrame Frame::suspendFrame() {
  llvm::SmallVector<BB*, 4> loop{warpHeader_, warpLatch_, nextWarp_};
  for (BB* block : {restOfRow_, rowEnd_})
    if (block) loop.push_back(block);
  Value* const frames = runner_.blockField(offsetof(BlockState, frames), b_.getPtrTy());
  markFrames(*frames);
  return {warpStart_, warpLatch_, nextWarp_, dispatch_, runner_.warpPoint, runner_.warp,
          frames,     round_,     waitsAt_,  alike_,    std::move(loop)};
}

}  // namespace vg::ptx::gen
