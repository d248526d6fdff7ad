#include "ptx/llvm/warps/suspend.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DepthFirstIterator.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <vector>

#include "ptx/abi/kernel_abi.h"
#include "ptx/llvm/passes/flag_slots.h"
#include "ptx/llvm/warps/common_values.h"
#include "ptx/llvm/warps/remade_values.h"

namespace vg::ptx::gen {
namespace {

constexpr const char* kPauseMark = "vg.pause";
constexpr uint32_t kPaused = 1 << 16;  // in states of warps that pause, and in `waitsAt` where any does

using BB = llvm::BasicBlock;
using llvm::AllocaInst;
using llvm::BitVector;

uint32_t bytesOf(const AllocaInst& slot) {
  const uint64_t bytes = slot.getModule()->getDataLayout().getTypeStoreSize(slot.getAllocatedType()).getFixedValue();
  return static_cast<uint32_t>(llvm::PowerOf2Ceil(bytes));
}

class Splitter {
 public:
  Splitter(const SuspendFrame& frame, llvm::ArrayRef<llvm::CallInst*> markers) : frame_(frame) {
    for (llvm::CallInst* marker : markers) split(marker);
    collect();
  }

  uint32_t run() {
    keepValuesInSlots();
    narrowFlags(*frame_.start->getParent());
    collectSlots();
    solveLiveness();
    solveInitialisation();
    findCommonSlots();
    layOut();
    if (!frame_.alike && llvm::any_of(points_, [](const Point& point) { return point.pauses; })) letPausedFirst();
    for (size_t n = 0; n < points_.size(); ++n) connect(static_cast<uint32_t>(n));
    clear(live_[numberOf_[frame_.start]], &*frame_.start->getFirstInsertionPt());
    return bytes_;
  }

 private:
  struct Point {
    BB *before, *after;  // of the barrier
    bool pauses;
  };

  void split(llvm::CallInst* marker) {
    BB* const before = marker->getParent();
    const bool pauses = marker->getMetadata(kPauseMark);
    BB* const after = before->splitBasicBlock(marker->getNextNode(), "resume");
    marker->eraseFromParent();
    points_.push_back({before, after, pauses});
    resumes_.insert(after);
  }

  // The blocks of a warp's own code.
  void collect() {
    blocks_ = blocksFrom(frame_, frame_.start).takeVector();
    for (size_t n = 0; n < blocks_.size(); ++n) numberOf_[blocks_[n]] = n;
  }

  // Values that live across a barrier become slots, which the next steps treat like all others, or are computed again.
  void keepValuesInSlots() {
    std::vector<llvm::Instruction*> crossing;
    for (BB* block : blocks_)
      for (llvm::Instruction& i : *block)
        if (!i.getType()->isVoidTy() && crosses(i)) crossing.push_back(&i);
    RemadeValues remade({blocks_.begin(), blocks_.end()}, frame_);
    for (llvm::Instruction* i : crossing)
      if (!remade.remake(*i)) llvm::DemoteRegToStack(*i);
  }

  bool crosses(llvm::Instruction& value) {
    std::vector<BB*> work;
    llvm::SmallPtrSet<BB*, 16> seen;
    for (llvm::Use& use : value.uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      BB* at = user->getParent();
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) {
        at = phi->getIncomingBlock(use);
      }
      if (at != value.getParent() && seen.insert(at).second) work.push_back(at);
    }
    while (!work.empty()) {
      BB* const block = work.back();
      work.pop_back();
      if (resumes_.count(block)) return true;
      for (BB* before : llvm::predecessors(block))
        if (before != value.getParent() && numberOf_.count(before) && seen.insert(before).second)
          work.push_back(before);
    }
    return false;
  }

  // The slots that only a warp's own code uses, besides code that nothing reaches.
  void collectSlots() {
    llvm::Function& function = *frame_.start->getParent();
    llvm::df_iterator_default_set<BB*> reached;
    for (BB* block : llvm::depth_first_ext(&function.getEntryBlock(), reached)) (void)block;
    for (llvm::Instruction& i : function.getEntryBlock()) {
      auto* slot = llvm::dyn_cast<AllocaInst>(&i);
      if (!slot || !llvm::isAllocaPromotable(slot)) continue;
      bool own = true;
      for (llvm::User* user : slot->users()) {
        BB* const block = llvm::cast<llvm::Instruction>(user)->getParent();
        own &= numberOf_.count(block) || !reached.count(block);
      }
      if (!own) continue;
      slotOf_[slot] = slots_.size();
      slots_.push_back(slot);
    }
  }

  // Slots whose content at the start of a block is read later.
  void solveLiveness() {
    const size_t count = blocks_.size();
    std::vector<BitVector> reads(count, BitVector(slots_.size())), writes(count, BitVector(slots_.size()));
    for (size_t n = 0; n < count; ++n)
      for (llvm::Instruction& i : *blocks_[n]) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
          const auto slot = slotOf_.find(load->getPointerOperand());
          if (slot != slotOf_.end() && !writes[n][slot->second]) reads[n].set(slot->second);
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
          const auto slot = slotOf_.find(store->getPointerOperand());
          if (slot != slotOf_.end()) writes[n].set(slot->second);
        }
      }
    live_ = reads;
    written_ = writes;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t n = count; n-- > 0;) {
        BitVector in(slots_.size());
        for (BB* next : llvm::successors(blocks_[n]))
          if (const auto at = numberOf_.find(next); at != numberOf_.end()) in |= live_[at->second];
        in.reset(writes[n]);
        in |= reads[n];
        if (in != live_[n]) {
          live_[n] = std::move(in);
          changed = true;
        }
      }
    }
  }

  // Slots that may have been written by the end of a block.
  void solveInitialisation() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t n = 0; n < blocks_.size(); ++n)
        for (BB* next : llvm::successors(blocks_[n]))
          if (const auto at = numberOf_.find(next); at != numberOf_.end()) {
            BitVector& out = written_[at->second];
            const auto before = out.count();
            out |= written_[n];
            changed |= out.count() != before;
          }
    }
  }

  BitVector keptAt(uint32_t point) {
    BitVector kept = live_[numberOf_[points_[point].after]];
    kept &= written_[numberOf_[points_[point].before]];
    return kept;
  }

  // Slots that hold the same in all warps of a block, who also wait alike, have one place for all. What the warps of a
  // round put there is read in the next round only: a place for each of the two.
  void findCommonSlots() {
    common_.resize(slots_.size());
    if (!frame_.alike) return;
    BitVector kept(slots_.size());
    for (uint32_t n = 0; n < points_.size(); ++n) kept |= keptAt(n);
    if (kept.none()) return;
    CommonValues values(blocks_, frame_, slots_);
    llvm::IRBuilder<> b(&*llvm::cast<llvm::Instruction>(frame_.round)->getParent()->getFirstInsertionPt());
    for (unsigned slot : kept.set_bits()) {
      if (!values.isCommon(*slots_[slot])) continue;
      common_.set(slot);
      llvm::Type* const type = slots_[slot]->getAllocatedType();
      llvm::IRBuilder<> entry(slots_[slot]);
      llvm::IRBuilder<> cleared(&*slots_[slot]->getParent()->getFirstNonPHIOrDbgOrAlloca());
      const auto place = [&](const char* name) {
        AllocaInst* const made = entry.CreateAlloca(type, nullptr, name);
        cleared.CreateStore(llvm::Constant::getNullValue(type), made);
        return made;
      };
      AllocaInst *const now = place("common"), *const next = place("commonNext");
      b.CreateStore(b.CreateLoad(type, next), now);
      commonPlaces_[slot] = {now, next};
    }
  }

  void layOut() {
    BitVector all(slots_.size());
    for (uint32_t n = 0; n < points_.size(); ++n) all |= keptAt(n);
    all.reset(common_);
    offsets_.assign(slots_.size(), 0);
    uint32_t widest = 0;
    for (unsigned slot : all.set_bits()) widest = std::max(widest, bytesOf(*slots_[slot]));
    // Widest first: nothing needs padding.
    for (uint32_t size = widest; size > 0; size /= 2)
      for (unsigned slot : all.set_bits())
        if (bytesOf(*slots_[slot]) == size) {
          offsets_[slot] = bytes_;
          bytes_ += size;
        }
    // An odd number of cache lines, so that warps' frames spread over the sets of the cache.
    bytes_ = 64 * ((bytes_ + 63) / 64 | 1);
    llvm::IRBuilder<> b(frame_.warpPoint);
    llvm::Value* const offset = b.CreateAdd(b.CreateMul(b.CreateZExt(frame_.warp, b.getInt64Ty()), b.getInt64(bytes_)),
                                            b.getInt64(kFrameHeader));
    own_ = b.CreateInBoundsGEP(b.getInt8Ty(), frame_.frames, offset, "frame");
    if (!frame_.alike)
      state_ = b.CreateInBoundsGEP(b.getInt32Ty(), frame_.frames, b.CreateZExt(frame_.warp, b.getInt64Ty()));
  }

  llvm::Value* place(llvm::IRBuilder<>& b, unsigned slot) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), own_, offsets_[slot]);
  }
  llvm::Align alignment(unsigned slot) const { return llvm::Align(std::min(64u, bytesOf(*slots_[slot]))); }

  void keep(llvm::IRBuilder<>& b, unsigned slot) {
    llvm::Value* const content = b.CreateLoad(slots_[slot]->getAllocatedType(), slots_[slot]);
    if (common_[slot])
      b.CreateStore(content, commonPlaces_[slot].second);
    else
      b.CreateAlignedStore(content, place(b, slot), alignment(slot));
  }

  void bringBack(llvm::IRBuilder<>& b, unsigned slot) {
    llvm::Type* const type = slots_[slot]->getAllocatedType();
    llvm::Value* const content = common_[slot] ? b.CreateLoad(type, commonPlaces_[slot].first)
                                               : b.CreateAlignedLoad(type, place(b, slot), alignment(slot));
    b.CreateStore(content, slots_[slot]);
  }

  llvm::ConstantInt* stateAt(llvm::IRBuilder<>& b, uint32_t n) const {
    return b.getInt32((n + 1) | (!frame_.alike && points_[n].pauses ? kPaused : 0));
  }

  // Notes for the next round that a warp waits in this state; in state 0 none does.
  void waits(llvm::IRBuilder<>& b, llvm::Value* state) {
    b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), frame_.waitsAt), state), frame_.waitsAt);
  }

  // A round behind one in which warps paused is theirs alone: the others wait on.
  void letPausedFirst() {
    llvm::IRBuilder<> b(frame_.dispatch);
    llvm::Value* const state = frame_.dispatch->getCondition();
    llvm::Value* const zero = b.getInt32(0);
    llvm::Value* const theirs = b.CreateICmpUGE(frame_.round, b.getInt32(kPaused));
    llvm::Value* const waitsOn = b.CreateAnd(theirs, b.CreateICmpULT(state, b.getInt32(kPaused)));
    waits(b, b.CreateSelect(waitsOn, state, zero));
    frame_.dispatch->setCondition(b.CreateSelect(waitsOn, zero, state));
  }

  void connect(uint32_t n) {
    const Point& point = points_[n];
    const BitVector kept = keptAt(n);
    llvm::Instruction* const old = point.before->getTerminator();
    llvm::IRBuilder<> b(old);
    for (unsigned slot : kept.set_bits()) keep(b, slot);
    llvm::Value* const state = stateAt(b, n);
    if (!frame_.alike) b.CreateStore(state, state_);
    frame_.alike ? (void)b.CreateStore(state, frame_.waitsAt) : waits(b, state);
    b.CreateBr(frame_.next);
    old->eraseFromParent();
    BB* const back = BB::Create(b.getContext(), "back", point.before->getParent(), point.after);
    b.SetInsertPoint(back);
    for (unsigned slot : kept.set_bits()) bringBack(b, slot);
    b.CreateBr(point.after);
    BitVector stale = live_[numberOf_[point.after]];
    stale.reset(kept);
    clear(stale, back->getTerminator());
    frame_.dispatch->addCase(stateAt(b, n), back);
  }

  // Slots that lanes may read before any wrote them: nothing of another warp may flow in.
  void clear(const BitVector& slots, llvm::Instruction* before) {
    llvm::IRBuilder<> b(before);
    for (unsigned slot : slots.set_bits())
      b.CreateStore(llvm::Constant::getNullValue(slots_[slot]->getAllocatedType()), slots_[slot]);
  }

  const SuspendFrame frame_;
  std::vector<Point> points_;
  llvm::SmallPtrSet<BB*, 8> resumes_;
  llvm::SmallVector<BB*, 16> blocks_;
  llvm::DenseMap<BB*, size_t> numberOf_;
  std::vector<AllocaInst*> slots_;
  llvm::DenseMap<llvm::Value*, size_t> slotOf_;
  std::vector<BitVector> live_, written_;
  BitVector common_;
  llvm::DenseMap<unsigned, std::pair<AllocaInst*, AllocaInst*>> commonPlaces_;  // of this round and of the next
  std::vector<uint32_t> offsets_;
  uint32_t bytes_ = 0;
  llvm::Value *own_ = nullptr, *state_ = nullptr;
};

}  // namespace

WarpBlocks blocksFrom(const SuspendFrame& frame, BB* first) {
  WarpBlocks found;
  llvm::SmallVector<BB*, 16> open{first};
  while (!open.empty()) {
    BB* const block = open.pop_back_val();
    if (!llvm::is_contained(frame.loop, block) && found.insert(block))
      llvm::append_range(open, llvm::successors(block));
  }
  return found;
}

void markPause(llvm::CallInst& marker) { marker.setMetadata(kPauseMark, llvm::MDNode::get(marker.getContext(), {})); }

uint32_t splitAtSuspends(const SuspendFrame& frame, llvm::ArrayRef<llvm::CallInst*> markers) {
  return Splitter(frame, markers).run();
}

}  // namespace vg::ptx::gen
