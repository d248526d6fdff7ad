// The frame of the function: what runs once a call, once a block and once a warp, and the loops between.
//
//   warps wait in the runner      the warps of one block
//   whole rows, nothing shared    rows of a block > blocks > warps of a row: small blocks of several rows then run
//                                 along memory instead of down its columns, which prefetchers and caches reward
//   warps suspend                 blocks > rounds > warps, each from where it was to its next barrier or its end; where
//                                 all warps go the same way, a round is one stretch of the kernel between two barriers
//   all others                    blocks > warps
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/passes/jammed_warps.h"
#include "ptx/llvm/passes/told_warps.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {
// Kernels beyond this many instructions wait on fibres: what a warp keeps at a barrier is found in quadratic time.
constexpr size_t kSuspendLimit = 2500;
}  // namespace

bool Emitter::mayWait() const {
  if (traits.polls) return true;
  for (const Instruction& i : program_.instructions)
    if (isBlockBarrier(*i.ast) || ptx::rowOf(i.ast->op).has(Trait::Yields)) return true;
  return false;
}

// Whether warps wait for all others of their block, always at the same barrier, and for nothing else: they then return
// at barriers and need no stacks of their own.
bool Emitter::suspendsOnly() const {
  if (traits.polls || traits.allocates || program_.localSize || program_.instructions.size() > kSuspendLimit)
    return false;
  std::optional<uint64_t> barrier;
  for (const Instruction& i : program_.instructions) {
    if (ptx::rowOf(i.ast->op).has(Trait::Yields)) return false;
    if (!isBlockBarrier(*i.ast) || isPause(i)) continue;
    if (i.ast->has(Mod::Arrive) || i.ast->has(Mod::Red) || i.ast->has(Mod::Cluster) || i.sources.size() > 1)
      return false;
    const vg::ptx::gen::Value* const id = i.sources.empty() ? nullptr : &program_.values[i.sources[0]];
    if (id && id->kind != vg::ptx::gen::Value::Constant) return false;
    const uint64_t number = id ? id->bits : 0;
    if (barrier && *barrier != number) return false;
    barrier = number;
  }
  return barrier.has_value();
}

// Whether no barrier is in several copies of its block: warps that all meet it then wait at the same place.
bool Emitter::waitsInOneCopy() const {
  std::vector<uint32_t> copies(program_.blocks.size(), 0);
  for (const auto& [key, planned] : planned_) ++copies[key.block];
  return llvm::all_of(program_.instructions,
                      [&](const Instruction& i) { return !isBlockBarrier(*i.ast) || copies[i.block] < 2; });
}

bool Emitter::rowsAcrossBlocks() const {
  return countsThreads() && traits.spans && !suspends_ && !program_.shared.staticSize && !program_.usesDynamicShared;
}

void Emitter::emitPrologue() {
  blockArgument_ = function_->getArg(0);
  LType* const word = b_.getInt32Ty();
  const bool rows = rowsAcrossBlocks();
  entry_ = newBlock("entry");
  BB* const rowHeader = newBlock("row");
  BB* const blockHeader = newBlock("block");
  BB* const roundHeader = newBlock("round");
  warpHeader_ = newBlock("warp");
  warpStart_ = newBlock("start");
  warpLatch_ = newBlock("end");
  nextWarp_ = newBlock("next");
  BB* const roundLatch = newBlock("nextRound");
  BB* const blockLatch = newBlock("nextBlock");
  BB* const rowLatch = newBlock("nextRow");
  BB* const done = newBlock("done");

  b_.SetInsertPoint(entry_);
  launchPoint_ = b_.CreateBr(rowHeader);
  b_.SetInsertPoint(launchPoint_);
  launch_ = blockField(offsetof(BlockState, launch), b_.getPtrTy());
  startThreads();
  Value* const endWarp = function_->getArg(2);

  b_.SetInsertPoint(rowHeader);
  Value* firstOfRow = function_->getArg(1);
  Value* endOfRow = endWarp;
  if (rows) {
    auto* first = b_.CreatePHI(word, 2, "firstWarp");
    first->addIncoming(firstOfRow, launchPoint_->getParent());
    Value* const width =
        rows_ ? b_.getInt32(1) : b_.CreateLShr(launchField(offsetof(KernelLaunch, blockSize), word), 5);
    firstOfRow = first;
    endOfRow = b_.CreateAdd(first, width);
    first->addIncoming(endOfRow, rowLatch);
  }
  b_.CreateBr(blockHeader);

  b_.SetInsertPoint(blockHeader);
  llvm::PHINode* block = nullptr;
  if (traits.spans) {
    block = b_.CreatePHI(word, 2, "ctaid");
    Value* const field =
        b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), blockArgument_, offsetof(BlockState, blockIndex));
    block->addIncoming(blockField(offsetof(BlockState, blockIndex), word), rowHeader);
    b_.CreateStore(block, field);  // for whoever reports a fault
    blockX_ = block;
  }
  if (rows && !inParts()) resetThreads(1);
  blockPoint_ = b_.CreateBr(suspends_ ? roundHeader : warpHeader_);

  b_.SetInsertPoint(roundHeader);
  if (!suspends_) {
    roundHeader->eraseFromParent();
    if (!rows) {
      b_.SetInsertPoint(blockHeader->getTerminator());
      resetThreads(3);
    }
  } else {
    round_ = b_.CreatePHI(word, 2, "round");
    round_->addIncoming(b_.getInt32(0), blockHeader);
    waitsAt_ = entryAlloca(word, "waits");
    b_.CreateStore(b_.getInt32(0), waitsAt_);
    resetThreads(3);
    b_.CreateBr(warpHeader_);
  }

  b_.SetInsertPoint(warpHeader_);
  auto* warp = b_.CreatePHI(word, 2, "warp");
  warp_ = warp;
  warp->addIncoming(firstOfRow, suspends_ ? roundHeader : blockHeader);
  if (countsThreads())
    for (int axis = 0; axis < threadAxes_; ++axis) laneThread_[axis] = b_.CreateLoad(word, threadSlots_[axis], "tid");
  if (inParts()) indexParts();
  if (tellsWarp_ == TellsWarp::AtItsStart) tellWarp();
  warpPoint_ = b_.CreateBr(warpStart_);
  if (suspends_) emitDispatch();

  b_.SetInsertPoint(warpLatch_);
  if (suspends_ && !alike_) b_.CreateStore(b_.getInt32(0), warpState());
  b_.CreateBr(nextWarp_);
  b_.SetInsertPoint(nextWarp_);
  Value* const next = b_.CreateAdd(warp_, b_.getInt32(1));
  if (threadAxes_ && !traits.waits) advanceThread(rows, warp, next);  // warps that wait are called one at a time
  if (rows && rows_) {  // no loop, out of which LLVM would move what few ways need
    b_.CreateBr(blockLatch);
  } else {
    Value* const following = nextRow_ ? nextRow_ : next;
    b_.CreateCondBr(b_.CreateICmpULT(following, endOfRow), warpHeader_, suspends_ ? roundLatch : blockLatch);
    warp->addIncoming(following, b_.GetInsertBlock());
  }

  b_.SetInsertPoint(roundLatch);
  if (suspends_) {
    Value* const waits = b_.CreateLoad(word, waitsAt_);
    round_->addIncoming(waits, roundLatch);
    b_.CreateCondBr(b_.CreateICmpNE(waits, b_.getInt32(0)), roundHeader, blockLatch);
  } else {
    roundLatch->eraseFromParent();
  }

  b_.SetInsertPoint(blockLatch);
  if (block) {
    Value* const nextBlock = b_.CreateAdd(block, b_.getInt32(1));
    block->addIncoming(nextBlock, blockLatch);
    Value* const endBlock = atLaunch([&] {
      return b_.CreateAdd(blockField(offsetof(BlockState, blockIndex), word),
                          blockField(offsetof(BlockState, blocks), word));
    });
    b_.CreateCondBr(b_.CreateICmpNE(nextBlock, endBlock), blockHeader, rowLatch);
  } else {
    b_.CreateBr(rowLatch);
  }
  b_.SetInsertPoint(rowLatch);
  if (rows) {
    advanceRow();
    b_.CreateCondBr(b_.CreateICmpULT(endOfRow, endWarp), rowHeader, done);
  } else {
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();

  liveSlot_ = makeMaskSlot("live");
  if (program_.localSize) {
    localArea_ = entryAlloca(llvm::ArrayType::get(b_.getInt8Ty(), localLaneStride(program_.localSize) * kWarpSize),
                             "local", llvm::Align(64));
  }
}

// --- The warp that runs, for whoever reports a fault -----------------------------------------------------------------

// Once a warp where loops access memory, else before the first access of a block: many warps of a round have none.
void Emitter::planTellingWarp() {
  if (traits.waits) return;  // the runner calls one warp at a time and knows
  const bool loops = llvm::any_of(program_.instructions, [&](const Instruction& i) {
    return accessesMemory(i) && program_.blocks[i.block].loop != kNone;
  });
  tellsWarp_ = loops ? TellsWarp::AtItsStart : TellsWarp::AtAccesses;
}

void Emitter::tellWarp() {
  Value* const field = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), blockArgument_, offsetof(BlockState, warp));
  markTold(*b_.CreateStore(warp_, field, true));
}

bool Emitter::accessesMemory(const Instruction& i) const {
  const Opcode& row = ptx::rowOf(i.ast->op);
  if (i.ast->op != Op::Ld && i.ast->op != Op::Ldu)
    return row.touchesMemory() || row.has(Trait::Texture) || row.has(Trait::Matrix);
  if (i.sources[0] == kNone) return false;
  const auto& base = program_.values[i.sources[0]];
  return base.kind != vg::ptx::gen::Value::Symbol || base.symbolKind != SymbolKind::Parameter;
}

llvm::Value* Emitter::atLaunch(const std::function<Value*()>& make) {
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(launchPoint_);
  return make();
}

// --- Thread indices of whole rows: they advance without divisions --------------------------------------------------

void Emitter::countThreadAxes() {
  for (ValueId id = 0; id < program_.values.size(); ++id) {
    const auto& v = program_.values[id];
    if (v.kind != vg::ptx::gen::Value::Special || !read_[id]) continue;
    if (v.special < Special::TidX || v.special > Special::TidZ) continue;
    threadAxes_ = std::max(threadAxes_, static_cast<int>(v.special) - static_cast<int>(Special::TidX) + 1);
  }
}

// Once a call: the indices of lane 0 of the first warp.
void Emitter::startThreads() {
  if (!countsThreads()) return;
  countThreadAxes();
  LType* const word = b_.getInt32Ty();
  for (auto*& slot : threadSlots_) slot = entryAlloca(word, "thread");
  for (auto*& first : firstThread_) first = b_.getInt32(0);
  for (auto* slot : threadSlots_) b_.CreateStore(b_.getInt32(0), slot);
  if (traits.spans) return;  // called with all warps
  Value* const linear = b_.CreateShl(function_->getArg(1), 5);
  BB* const before = b_.GetInsertBlock();
  BB* const later = newBlock("later");
  BB* const joined = newBlock("joined");
  BB* const onward = llvm::cast<llvm::BranchInst>(launchPoint_)->getSuccessor(0);
  Value* const nx = launchField(offsetof(KernelLaunch, blockSize), word);
  Value* const ny = launchField(offsetof(KernelLaunch, blockSize) + 4, word);
  launchPoint_->eraseFromParent();
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
  launchPoint_ = b_.CreateBr(onward);
}

void Emitter::resetThreads(int axes) {
  if (!countsThreads()) return;
  for (int axis = 0; axis < axes; ++axis) b_.CreateStore(firstThread_[axis], threadSlots_[axis]);
}

// To the next warp, which with `sameRow` is one of the same row. Else rows end here: on to the next one in a block of
// its own, which few warps see.
void Emitter::advanceThread(bool sameRow, llvm::PHINode* warp, Value* next) {
  if (rows_) {
    if (!sameRow) advanceRow();
    return;
  }
  Value* const x = b_.CreateAdd(laneThread_[0], b_.getInt32(kWarpSize));
  b_.CreateStore(x, threadSlots_[0]);
  if (sameRow) return;
  rowEnd_ = newBlock("rowEnd");
  b_.CreateCondBr(b_.CreateICmpULT(x, launchField(offsetof(KernelLaunch, blockSize), b_.getInt32Ty())), warpHeader_,
                  rowEnd_);
  BB* const from = b_.GetInsertBlock();
  warp->addIncoming(next, from);
  b_.SetInsertPoint(rowEnd_);
  nextRow_ = b_.CreatePHI(b_.getInt32Ty(), 2, "nextRow");
  nextRow_->addIncoming(next, from);
  b_.CreateStore(b_.getInt32(0), threadSlots_[0]);
  advanceRow();
}

// To the next row, or to the first part of the next warp.
void Emitter::advanceRow() {
  if (threadAxes_ < (inParts() ? 1 : 2)) return;
  LType* const word = b_.getInt32Ty();
  ThreadIndex at{};
  for (int axis = 0; axis < threadAxes_; ++axis) at[axis] = b_.CreateLoad(word, threadSlots_[axis]);
  if (!inParts()) advance(at, 1, rows_ ? rows_ : 1);
  for (uint32_t part = 0; inParts() && part < rows_; ++part) advance(at, 0, rowLanes_);
  for (int axis = 0; axis < threadAxes_; ++axis) b_.CreateStore(at[axis], threadSlots_[axis]);
}

// Along an axis, with a carry into those above.
void Emitter::advance(ThreadIndex& at, int axis, uint32_t by) {
  LType* const word = b_.getInt32Ty();
  Value* step = b_.getInt32(by);
  for (; axis < threadAxes_; ++axis) {
    Value* const moved = b_.CreateAdd(at[axis], step);
    if (axis == 2) return void(at[2] = moved);
    Value* const wraps = b_.CreateICmpUGE(moved, launchField(offsetof(KernelLaunch, blockSize) + 4 * axis, word));
    at[axis] = b_.CreateSelect(wraps, b_.getInt32(0), moved);
    step = b_.CreateZExt(wraps, word);
  }
}

// Where the parts of the warp begin.
void Emitter::indexParts() {
  ThreadIndex at{laneThread_[0], laneThread_[1], laneThread_[2]};
  for (uint32_t part = 0; part < rows_; ++part) {
    partThread_.push_back(at);
    if (part + 1 < rows_) advance(at, 0, rowLanes_);
  }
}

// --- Warps that have nothing to do -----------------------------------------------------------------------------------

// Whether warps come to the end of a block from where a round begins without having done anything that others see.
bool Emitter::nothingDone(const Block& block, BlockId id) const {
  for (uint32_t n : llvm::reverse(block.instructions)) {
    const Instruction& i = program_.instructions[n];
    if (isBlockBarrier(*i.ast)) return true;
    const bool readsParameter = i.ast->op == Op::Ld && !accessesMemory(i);
    if (!ptx::rowOf(i.ast->op).has(Trait::Pure) && !readsParameter) return false;
  }
  return id == 0 && block.predecessors.empty();
}

// Where a warp ends that takes this way out of a block, to the end of the kernel. `if (threadIdx.x < 32)` behind a
// barrier leaves nothing to do to all other warps of the row: they are passed over at once.
llvm::BasicBlock* Emitter::behindWarp(const Block& block, BlockId id, bool taken) {
  if (!nextRow_ || (suspends_ && !alike_)) return warpLatch_;
  const auto& condition = program_.values[block.condition];
  if (condition.kind != vg::ptx::gen::Value::Result || !nothingDone(block, id)) return warpLatch_;
  const auto comparison = rowComparison(program_, program_.instructions[condition.instruction]);
  const bool answer = taken != block.conditionNegated;
  if (!comparison || comparison->above != answer || (comparison->below == answer && comparison->mixed))
    return warpLatch_;
  if (restOfRow_) return restOfRow_;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(restOfRow_ = newBlock("rest"));
  Value* const width = launchField(offsetof(KernelLaunch, blockSize), b_.getInt32Ty());
  nextRow_->addIncoming(b_.CreateAdd(warp_, b_.CreateLShr(b_.CreateSub(width, laneThread_[0]), 5)), restOfRow_);
  b_.CreateBr(rowEnd_);
  return restOfRow_;
}

// --- Warps that suspend ----------------------------------------------------------------------------------------------

// Where the warp goes on: 0 nowhere, it has ended; n behind the n-th barrier.
llvm::Value* Emitter::warpState() {
  Value* const frames = blockField(offsetof(BlockState, frames), b_.getPtrTy());
  return b_.CreateInBoundsGEP(b_.getInt32Ty(), frames, b_.CreateZExt(warp_, b_.getInt64Ty()));
}

void Emitter::emitDispatch() {
  auto* const onward = warpPoint_;
  b_.SetInsertPoint(warpHeader_);
  if (alike_) {
    warpPoint_ = dispatch_ = b_.CreateSwitch(round_, warpStart_);
  } else {
    BB* const again = newBlock("again");
    warpPoint_ = b_.CreateCondBr(b_.CreateICmpEQ(round_, b_.getInt32(0)), warpStart_, again);
    b_.SetInsertPoint(again);
    dispatch_ = b_.CreateSwitch(b_.CreateLoad(b_.getInt32Ty(), warpState()), nextWarp_);
  }
  onward->eraseFromParent();
}

void Emitter::emitSuspend(const Instruction& i) {
  if (!suspendMark_)
    suspendMark_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), false),
                                          llvm::GlobalValue::ExternalLinkage, "vg_suspend", module_);
  suspendCalls_.push_back(b_.CreateCall(suspendMark_));
  if (isPause(i)) markPause(*suspendCalls_.back());
  warpTold_ = false;  // others run in between
  vectors_.clear();   // cheaper made again than kept
}

SuspendFrame Emitter::suspendFrame() {
  llvm::SmallVector<BB*, 4> loop{warpHeader_, warpLatch_, nextWarp_};
  for (BB* block : {restOfRow_, rowEnd_})
    if (block) loop.push_back(block);
  Value* const frames = blockField(offsetof(BlockState, frames), b_.getPtrTy());
  markFrames(*frames);
  return {warpStart_, warpLatch_, nextWarp_, dispatch_, warpPoint_,     warp_,
          frames,     round_,     waitsAt_,  alike_,    std::move(loop)};
}

}  // namespace vg::ptx::gen
