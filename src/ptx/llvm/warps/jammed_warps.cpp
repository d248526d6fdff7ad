#include "ptx/llvm/warps/jammed_warps.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ptx/llvm/warps/told_warps.h"

namespace vg::ptx::gen {
namespace {

using BB = llvm::BasicBlock;

constexpr const char *kSharedMark = "vg.shared.base", *kFramesMark = "vg.frames";
constexpr unsigned kTogether = 2;   // more make code longer and hardly faster
constexpr unsigned kLongChain = 8;  // operations; what is shorter overlaps with the next warp's
constexpr size_t kMostInstructions = 1000;
constexpr int kDeep = 4;

// A loop over warps: one block, or one for the warps of a row in another for rows, which count what nobody reads.
struct WarpLoop {
  BB *body, *from, *behind;
  BB *row = nullptr, *rowEnd = nullptr;  // around the body
  llvm::PHINode* warp;
  llvm::Value *first, *next, *end;
};

const llvm::Instruction* toldIn(const BB& block) {
  for (const llvm::Instruction& i : block)
    if (isTold(i)) return &i;
  return nullptr;
}

// `next < end`, by which a loop goes on to `again`.
llvm::Value* endOf(const BB& block, const BB* again, const llvm::Value* next) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (!branch || !branch->isConditional() || branch->getSuccessor(0) != again) return nullptr;
  const auto* test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  const bool fits = test && test->getPredicate() == llvm::CmpInst::ICMP_ULT && test->getOperand(0) == next;
  return fits ? test->getOperand(1) : nullptr;
}

bool onlyUsedIn(const llvm::Instruction& i, std::initializer_list<const BB*> blocks) {
  return std::ranges::all_of(i.users(), [&](const llvm::User* user) {
    return llvm::is_contained(blocks, llvm::cast<llvm::Instruction>(user)->getParent());
  });
}

BB* otherWayIn(BB* block, const BB* back) {
  BB* other = nullptr;
  for (BB* from : llvm::predecessors(block)) {
    if (from == back) continue;
    if (other) return nullptr;
    other = from;
  }
  return other;
}

// Counters of threads: nothing comes of them but their next values and the test by which the loop ends.
bool countsOnly(llvm::PHINode& phi, const BB& body) {
  llvm::SetVector<llvm::Instruction*> made;
  made.insert(&phi);
  for (size_t n = 0; n < made.size(); ++n)
    for (llvm::User* user : made[n]->users()) {
      auto* const i = llvm::cast<llvm::Instruction>(user);
      if (i->getParent() != &body || i->mayReadOrWriteMemory() || (llvm::isa<llvm::PHINode>(i) && i != &phi))
        return false;
      if (!i->isTerminator()) made.insert(i);
    }
  return true;
}

bool isNextOf(const llvm::Value* next, const llvm::PHINode* warp) {
  const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(next);
  const auto* step = sum ? llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1)) : nullptr;
  return step && step->isOne() && sum->getOpcode() == llvm::Instruction::Add && sum->getOperand(0) == warp;
}

// Of a loop whose body is left to another one's end: the loop over rows around it.
bool findRows(WarpLoop& loop) {
  loop.row = loop.from, loop.rowEnd = loop.behind;
  auto* const first = llvm::dyn_cast<llvm::PHINode>(loop.first);
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(loop.rowEnd->getTerminator());
  if (!first || first->getParent() != loop.row || !first->hasOneUse() || !branch || !branch->isConditional() ||
      loop.row->getSingleSuccessor() != loop.body || loop.rowEnd->getSinglePredecessor() != loop.body)
    return false;
  for (const llvm::Instruction& i : *loop.row)
    if (&i != first && !i.isTerminator() && !(llvm::isa<llvm::PHINode>(i) && onlyUsedIn(i, {loop.rowEnd})))
      return false;
  for (const llvm::Instruction& i : *loop.rowEnd)
    if (!i.isTerminator() && (!onlyUsedIn(i, {loop.row, loop.rowEnd}) || i.mayReadOrWriteMemory())) return false;
  loop.end = endOf(*loop.rowEnd, loop.row, loop.next);
  loop.behind = branch->getSuccessor(1);
  loop.from = otherWayIn(loop.row, loop.rowEnd);
  if (!loop.from || first->getIncomingValueForBlock(loop.rowEnd) != loop.next) return false;
  loop.first = first->getIncomingValueForBlock(loop.from);
  return true;
}

std::optional<WarpLoop> warpLoopAt(BB& body) {
  const auto* const told = toldIn(body);
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(body.getTerminator());
  if (!told || !branch || !branch->isConditional() || branch->getSuccessor(0) != &body) return {};
  WarpLoop loop{};
  loop.body = &body;
  loop.warp = llvm::dyn_cast<llvm::PHINode>(told->getOperand(0));
  loop.behind = branch->getSuccessor(1);
  loop.from = otherWayIn(&body, &body);
  if (!loop.from || !loop.warp || loop.warp->getParent() != &body) return {};
  for (llvm::PHINode& phi : body.phis())
    if (&phi != loop.warp && !countsOnly(phi, body)) return {};
  loop.first = loop.warp->getIncomingValueForBlock(loop.from);
  loop.next = loop.warp->getIncomingValueForBlock(&body);
  loop.end = endOf(body, &body, loop.next);
  if (!isNextOf(loop.next, loop.warp) || (!loop.end && !findRows(loop))) return {};
  return llvm::isa_and_nonnull<llvm::Argument>(loop.end) ? std::optional(loop) : std::nullopt;
}

bool hasSharedBase(const llvm::Value* address, int depth) {
  const auto* i = llvm::dyn_cast<llvm::Instruction>(address);
  if (!i || depth > kDeep) return false;
  if (i->getMetadata(kSharedMark)) return true;
  if (!llvm::isa<llvm::IntToPtrInst>(i) && i->getOpcode() != llvm::Instruction::Add) return false;
  return std::ranges::any_of(i->operands(), [&](const llvm::Use& use) { return hasSharedBase(use.get(), depth + 1); });
}

bool isInFrame(const llvm::Value* address) {
  while (const auto* at = llvm::dyn_cast<llvm::GetElementPtrInst>(address)) address = at->getPointerOperand();
  const auto* frames = llvm::dyn_cast<llvm::Instruction>(address);
  return frames && frames->getMetadata(kFramesMark);
}

bool mayRunBeside(const llvm::Instruction& i) {
  if (llvm::isa<llvm::PHINode>(i) || i.isTerminator() || isTold(i)) return true;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
    return load->isSimple() && (hasSharedBase(load->getPointerOperand(), 0) || isInFrame(load->getPointerOperand()));
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
    return store->isSimple() && isInFrame(store->getPointerOperand());
  return !i.mayReadOrWriteMemory() && !i.mayHaveSideEffects();
}

unsigned longestChain(const BB& block) {
  llvm::DenseMap<const llvm::Value*, unsigned> depths;
  unsigned longest = 0;
  for (const llvm::Instruction& i : block) {
    if (llvm::isa<llvm::PHINode>(i)) continue;
    unsigned depth = 0;
    for (const llvm::Use& use : i.operands()) depth = std::max(depth, depths.lookup(use.get()));
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    const bool counts = (llvm::isa<llvm::BinaryOperator>(i) && i.getType()->isFPOrFPVectorTy()) ||
                        (call && call->getIntrinsicID() == llvm::Intrinsic::fma);
    longest = std::max(longest, depths[&i] = depth + counts);
  }
  return longest;
}

bool isWorthIt(const WarpLoop& loop) {
  return loop.body->size() <= kMostInstructions && std::ranges::all_of(*loop.body, mayRunBeside) &&
         longestChain(*loop.body) >= kLongChain;
}

void eraseDead(BB& block) {
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(block)))
    if (llvm::isInstructionTriviallyDead(&i)) i.eraseFromParent();
}

// The rows' blocks go; the body tests itself whether warps are left.
void flatten(WarpLoop& loop) {
  for (llvm::PHINode& phi : llvm::make_early_inc_range(loop.body->phis()))
    if (&phi != loop.warp) {
      phi.replaceAllUsesWith(llvm::PoisonValue::get(phi.getType()));
      phi.eraseFromParent();
    }
  llvm::IRBuilder<> b(loop.body->getTerminator());
  b.CreateCondBr(b.CreateICmpULT(loop.next, loop.end), loop.body, loop.behind);
  loop.body->getTerminator()->eraseFromParent();
  eraseDead(*loop.body);
  if (!loop.row) return;
  for (llvm::PHINode& phi : loop.behind->phis()) phi.replaceIncomingBlockWith(loop.rowEnd, loop.body);
  loop.warp->setIncomingValueForBlock(loop.row, loop.first);
  loop.warp->replaceIncomingBlockWith(loop.row, loop.from);
  loop.from->getTerminator()->replaceSuccessorWith(loop.row, loop.body);
  for (BB* block : {loop.rowEnd, loop.row}) block->dropAllReferences();
  for (BB* block : {loop.rowEnd, loop.row}) block->eraseFromParent();
  loop.row = loop.rowEnd = nullptr;
}

// What warps of the loop read of shared memory as vectors, if it is at places that their frames tell: these words.
std::optional<llvm::SetVector<llvm::Instruction*>> placesOfVectors(const WarpLoop& loop) {
  llvm::SetVector<llvm::Instruction*> places, work;
  for (llvm::Instruction& i : *loop.body)
    if (llvm::isa<llvm::LoadInst>(i) && i.getType()->isVectorTy() && !isInFrame(i.getOperand(0))) work.insert(&i);
  const bool any = !work.empty();
  for (size_t n = 0; n < work.size(); ++n)
    for (const llvm::Use& use : work[n]->operands()) {
      auto* const made = llvm::dyn_cast<llvm::Instruction>(use.get());
      if (!made || made->getParent() != loop.body) continue;
      const bool isLoad = llvm::isa<llvm::LoadInst>(made);
      if (made == loop.warp || (isLoad && (!made->getType()->isIntegerTy() || !isInFrame(made->getOperand(0)))))
        return {};
      isLoad ? places.insert(made) : work.insert(made);
    }
  return any ? std::optional(places) : std::nullopt;
}

// A place in shared memory: what the block has for all, a word of the frame, which is 32 bits wide and so is its sum
// with the displacement.
struct WordPlace {
  llvm::Value* base;
  llvm::Instruction* word;
  uint64_t displacement;
};
constexpr uint64_t kFarthest = 1 << 16;
constexpr uint32_t kNoSum = 0x7fff0000;  // words from here on may not be added to as if they were wider

std::optional<WordPlace> wordPlace(const llvm::Instruction& i, const BB* body) {
  if (i.getOpcode() != llvm::Instruction::Add || !i.getType()->isIntegerTy(64)) return {};
  for (unsigned n = 0; n < 2; ++n) {
    const auto* const wide = llvm::dyn_cast<llvm::ZExtInst>(i.getOperand(n));
    const auto* const outside = llvm::dyn_cast<llvm::Instruction>(i.getOperand(1 - n));
    if (!wide || wide->getParent() != body || (outside && outside->getParent() == body)) continue;
    llvm::Value* word = wide->getOperand(0);
    uint64_t displacement = 0;
    if (const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(word);
        sum && sum->getOpcode() == llvm::Instruction::Add && llvm::isa<llvm::ConstantInt>(sum->getOperand(1))) {
      displacement = llvm::cast<llvm::ConstantInt>(sum->getOperand(1))->getZExtValue();
      word = sum->getOperand(0);
    }
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(word);
    if (!load || load->getParent() != body || !load->getType()->isIntegerTy(32) || !isInFrame(load->getOperand(0)))
      continue;
    if (displacement < kFarthest) return WordPlace{i.getOperand(1 - n), load, displacement};
  }
  return {};
}

// A loop for several warps at a time before the one for single ones. They go together where they read vectors at the
// same places, and read these once.
class Jam {
 public:
  Jam(const WarpLoop& loop, const llvm::SetVector<llvm::Instruction*>& places)
      : loop_(loop), places_(places), b_(loop.body->getContext()) {
    for (const llvm::Instruction& i : *loop.body)
      if (const std::optional<WordPlace> place = wordPlace(i, loop.body)) words_.insert(place->word);
  }

  void run() {
    BB *const begin = newBlock("enough"), *const together = newBlock("together"), *const body = newBlock("warps"),
              *const rest = newBlock("rest");
    b_.SetInsertPoint(begin);
    loop_.from->getTerminator()->replaceSuccessorWith(loop_.body, begin);
    b_.CreateCondBr(enoughBehind(loop_.first), together, loop_.body);
    b_.SetInsertPoint(together);
    auto* const warp = b_.CreatePHI(b_.getInt32Ty(), 2, "warp");
    for (unsigned n = 0; n < kTogether; ++n) copies_[n][loop_.warp] = n ? b_.CreateAdd(warp, b_.getInt32(n)) : warp;
    b_.CreateCondBr(agree(), body, loop_.body);
    b_.SetInsertPoint(body);
    copyBody();
    eraseDead(*body);
    llvm::Value* const next = b_.CreateAdd(warp, b_.getInt32(kTogether));
    b_.CreateCondBr(enoughBehind(next), together, rest);
    b_.SetInsertPoint(rest);
    b_.CreateCondBr(b_.CreateICmpULT(next, loop_.end), loop_.body, loop_.behind);
    warp->addIncoming(loop_.first, begin);
    warp->addIncoming(next, body);
    loop_.warp->replaceIncomingBlockWith(loop_.from, begin);
    loop_.warp->addIncoming(warp, together);
    loop_.warp->addIncoming(next, rest);
    for (llvm::PHINode& phi : loop_.behind->phis()) phi.addIncoming(phi.getIncomingValueForBlock(loop_.body), rest);
  }

 private:
  BB* newBlock(const char* name) { return BB::Create(b_.getContext(), name, loop_.body->getParent(), loop_.body); }

  llvm::Value* enoughBehind(llvm::Value* warp) {
    return b_.CreateICmpULE(b_.CreateAdd(warp, b_.getInt32(kTogether)), loop_.end);
  }

  void copy(llvm::Instruction& i, unsigned n) {
    llvm::Instruction* const made = i.clone();
    b_.Insert(made);
    copies_[n][&i] = made;
    llvm::RemapInstruction(made, copies_[n], llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
  }

  // In 64 bits, so that displacements can be part of accesses.
  void copyPlace(llvm::Instruction& i, const WordPlace& place, unsigned n) {
    llvm::Value*& start = starts_[{place.word, place.base, n}];
    if (!start) start = b_.CreateAdd(place.base, b_.CreateZExt(copies_[n][place.word], b_.getInt64Ty()));
    copies_[n][&i] = place.displacement ? b_.CreateAdd(start, b_.getInt64(place.displacement)) : start;
  }

  // Makes the words that tell places, of each warp.
  llvm::Value* agree() {
    llvm::SetVector<llvm::Instruction*> needed(places_.begin(), places_.end());
    needed.insert(words_.begin(), words_.end());
    for (size_t n = 0; n < needed.size(); ++n)
      for (const llvm::Use& use : needed[n]->operands())
        if (auto* i = llvm::dyn_cast<llvm::Instruction>(use.get());
            i && i->getParent() == loop_.body && i != loop_.warp)
          needed.insert(i);
    for (llvm::Instruction& i : *loop_.body)
      for (unsigned n = 0; needed.contains(&i) && n < kTogether; ++n) copy(i, n);
    llvm::Value* all = b_.getTrue();
    for (llvm::Instruction* place : places_)
      for (unsigned n = 1; n < kTogether; ++n)
        all = b_.CreateAnd(all, b_.CreateICmpEQ(copies_[0][place], copies_[n][place]));
    for (llvm::Instruction* word : words_)
      for (unsigned n = 0; n < kTogether; ++n)
        all = b_.CreateAnd(all, b_.CreateICmpULT(copies_[n][word], b_.getInt32(kNoSum)));
    return all;
  }

  // Made of places and of what does not change from warp to warp.
  bool isCommon(const llvm::Instruction& i) const {
    if (llvm::isa<llvm::StoreInst>(i)) return isTold(i);
    if (llvm::isa<llvm::LoadInst>(i) && isInFrame(i.getOperand(0))) return false;
    return std::ranges::all_of(i.operands(), [&](const llvm::Use& use) {
      auto* const made = llvm::dyn_cast<llvm::Instruction>(use.get());
      return !made || made->getParent() != loop_.body || places_.contains(made) || common_.contains(made);
    });
  }

  void copyBody() {
    for (llvm::Instruction& i : *loop_.body) {
      if (llvm::isa<llvm::PHINode>(i) || i.isTerminator() || copies_[0].count(&i)) continue;
      const bool common = isCommon(i);
      if (common) common_.insert(&i);
      const std::optional<WordPlace> place = wordPlace(i, loop_.body);
      for (unsigned n = 0; n < (common ? 1 : kTogether); ++n) place ? copyPlace(i, *place, n) : copy(i, n);
      for (unsigned n = 1; common && n < kTogether; ++n) copies_[n][&i] = copies_[0][&i];
    }
  }

  const WarpLoop& loop_;
  const llvm::SetVector<llvm::Instruction*>& places_;
  llvm::IRBuilder<> b_;
  std::array<llvm::ValueToValueMapTy, kTogether> copies_;
  llvm::SetVector<llvm::Instruction*> words_;
  std::map<std::tuple<llvm::Instruction*, llvm::Value*, unsigned>, llvm::Value*> starts_;
  llvm::DenseSet<const llvm::Instruction*> common_;
};

// Nothing that the body makes is read behind it.
bool leavesNothing(const WarpLoop& loop) {
  return std::ranges::all_of(*loop.body, [&](const llvm::Instruction& i) {
    return onlyUsedIn(i, {loop.body, loop.row, loop.rowEnd});
  });
}

void mark(llvm::Value& load, const char* name) {
  auto& i = llvm::cast<llvm::Instruction>(load);
  i.setMetadata(name, llvm::MDNode::get(i.getContext(), {}));
}

}  // namespace

void markSharedBase(llvm::Value& load) { mark(load, kSharedMark); }
void markFrames(llvm::Value& load) { mark(load, kFramesMark); }

void jamWarps(llvm::Function& function) {
  std::vector<WarpLoop> loops;
  for (BB& block : function)
    if (std::optional<WarpLoop> loop = warpLoopAt(block); loop && isWorthIt(*loop) && leavesNothing(*loop))
      loops.push_back(*loop);
  for (WarpLoop& loop : loops) {
    const auto places = placesOfVectors(loop);
    if (!places) continue;
    flatten(loop);
    Jam(loop, *places).run();
  }
}

}  // namespace vg::ptx::gen
