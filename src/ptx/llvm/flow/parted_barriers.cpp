// Barriers of the block that lanes of a warp come to apart (analysis/lane_turns.h).
#include "ptx/llvm/flow/parted_barriers.h"

#include "ptx/abi/more_barriers.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

namespace {

enum class How : uint32_t { Waits, Arrives, Counts, All, Any };  // the last three combine a predicate

// What a lane says that has come.
constexpr uint32_t kNumber = 15;      // the barrier's
constexpr uint32_t kHowShift = 4;     // of a How
constexpr uint32_t kPredicate = 256;  // it is true
constexpr uint32_t kCame = 512;       // in the words of all that have come; those of others are 0

constexpr uint32_t wordOf(How how) { return kCame | static_cast<uint32_t>(how) << kHowShift; }

How howOf(const ptx::Instruction& i) {
  return i.has(Mod::Arrive) ? How::Arrives
         : i.has(Mod::Add)  ? How::Counts
         : i.has(Mod::And)  ? How::All
         : i.has(Mod::Or)   ? How::Any
                            : How::Waits;
}

}  // namespace

// No lane of any warp waits where the function is entered.
llvm::AllocaInst* PartedBarriers::words() {
  if (words_) return words_;
  LType* const lanes = llvm::ArrayType::get(b_.getInt32Ty(), kWarpSize);
  words_ = b_.entryAlloca(lanes, "came", llvm::Align(64));
  llvm::IRBuilder<> at(runner_.launchPoint);
  at.CreateStore(llvm::Constant::getNullValue(lanes), words_);
  return words_;
}

llvm::AllocaInst* PartedBarriers::threads() {
  if (!threads_)
    threads_ = b_.entryAlloca(llvm::ArrayType::get(b_.getInt32Ty(), kWarpSize), "threads", llvm::Align(64));
  return threads_;
}

llvm::AllocaInst* PartedBarriers::combined() {
  if (!combined_) combined_ = b_.entryAlloca(b_.getInt32Ty(), "combined");
  return combined_;
}

void PartedBarriers::keep(llvm::AllocaInst* array, const Chunks& coming, const Chunks& news) {
  Chunks lanes = b_.reload(array, b_.getInt32Ty());
  for (uint32_t c = 0; c < k_; ++c) lanes[c] = b_.CreateSelect(coming[c], news[c], lanes[c]);
  b_.storeLanes(array, lanes);
}

// Operands: the number; the threads, where given; the predicate, where there is one.
Chunks PartedBarriers::wordsOf(const Instruction& i) {
  const How how = howOf(*i.ast);
  const bool combines = how > How::Arrives;
  Chunks words = values_.integersOf(i.sources[0], 32);
  const size_t last = i.sources.size() - 1;
  const Chunks truth = combines ? masks_.chunksOf(predicates_.maskOf(i.sources[last], i.negated[last])) : Chunks{};
  for (uint32_t c = 0; c < k_; ++c) {
    Value*& word = words[c];
    word = b_.CreateAnd(word, b_.splatLike(word, b_.getInt32(kNumber)));
    word = b_.CreateOr(word, b_.splatLike(word, b_.getInt32(wordOf(how))));
    if (!combines) continue;
    Value* const bit = b_.splatLike(word, b_.getInt32(kPredicate));
    word = b_.CreateSelect(truth[c], b_.CreateOr(word, bit), word);
  }
  return words;
}

void PartedBarriers::emitComing(const Instruction& i) {
  const Chunks lanes = masks_.chunksOf(predicates_.guardedMask(i));
  const bool combines = howOf(*i.ast) > How::Arrives, counts = i.sources.size() > (combines ? 2 : 1);
  keep(words(), lanes, wordsOf(i));
  keep(threads(), lanes,
       counts ? values_.integersOf(i.sources[1], 32)
              : Chunks(k_, llvm::Constant::getNullValue(b_.vectorOf(b_.getInt32Ty()))));
}

// Whether all lanes of a mask have in a word of each, and but for some bits, what the first of them has.
llvm::Value* PartedBarriers::alike(const Mask& mask, const Chunks& words, llvm::Value* first, uint32_t bits) {
  Mask others = mask;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const different = b_.CreateXor(words[c], b_.splatLike(words[c], first));
    Value* const counted = b_.CreateAnd(different, b_.splatLike(different, b_.getInt32(bits)));
    others.chunks[c] =
        b_.CreateAnd(mask.chunks[c], b_.CreateICmpNE(counted, llvm::Constant::getNullValue(counted->getType())));
  }
  return b_.CreateNot(masks_.anyLane(others));
}

// Those that have come.
Mask PartedBarriers::coming() {
  Mask lanes{false, b_.reload(words(), b_.getInt32Ty())};
  for (Value*& chunk : lanes.chunks) chunk = b_.CreateICmpNE(chunk, llvm::Constant::getNullValue(chunk->getType()));
  return lanes;
}

// Lanes of a warp that name different barriers are an illegal instruction on a GPU, wherever they come from. `bits`:
// those of a word that are the number.
void PartedBarriers::emitNumberTest(const Instruction& i, const Mask& came, const Chunks& words, uint32_t bits) {
  Value* const lanes = masks_.maskBits(came);
  Value* const first = b_.extractLane(words, masks_.firstLane(lanes));
  b_.ifTrue(b_.CreateNot(alike(came, words, first, bits)), [&] {
    runner_.runtimeCall(offsetof(RuntimeCalls, trap), b_.getVoidTy(),
                        {runner_.block, runner_.warp, lanes,
                         b_.getInt32(static_cast<uint32_t>(TrapReason::IllegalInstruction)), b_.getInt32(i.ast->line)});
  });
}

// The warp comes to the barrier that its lanes name. Those that name different ones are an error; those that do
// different things at one wait for each other for ever, as on a GPU.
void PartedBarriers::emitBarrier(const Instruction& i, const Mask& came) {
  LType* const word = b_.getInt32Ty();
  const Chunks said = b_.reload(words(), word), wanted = b_.reload(threads(), word);
  Value* const lanes = masks_.maskBits(came);
  Value* const lane = masks_.firstLane(lanes);
  Value* const first = b_.extractLane(said, lane);
  Value* const count = b_.extractLane(wanted, lane);
  Value* const number = b_.CreateAnd(first, b_.getInt32(kNumber));
  emitNumberTest(i, came, said, kNumber);
  Value* const agree = b_.CreateAnd(alike(came, said, first, ~kPredicate), alike(came, wanted, count, ~0u));
  b_.ifTrue(b_.CreateNot(agree), [&] {
    runner_.runtimeCall(offsetof(RuntimeCalls, barrier), b_.getVoidTy(),
                        {runner_.block, runner_.warp, b_.getInt32(kNeverOpens), b_.getInt32(kNeverOpensCount), lanes});
  });
  Value* const how = b_.CreateAnd(first, b_.getInt32(~(kNumber | kPredicate)));
  const auto when = [&](How which, const std::function<void()>& body) {
    b_.ifTrue(b_.CreateICmpEQ(how, b_.getInt32(wordOf(which))), body);
  };
  const auto come = [&](How which, size_t call) {
    when(which, [&] {
      runner_.runtimeCall(call, b_.getVoidTy(), {runner_.block, runner_.warp, number, count, lanes});
    });
  };
  const auto combine = [&](How which, BarrierReduction operation) {
    when(which, [&] {
      Mask truth{false, said};
      for (Value*& chunk : truth.chunks)
        chunk = b_.CreateICmpUGE(b_.CreateAnd(chunk, b_.splatLike(chunk, b_.getInt32(kPredicate))),
                                 b_.splatLike(chunk, b_.getInt32(kPredicate)));
      Value* const result =
          runner_.runtimeCall(offsetof(RuntimeCalls, barrierReduce), word,
                              {runner_.block, runner_.warp, number, count, lanes,
                               b_.getInt32(static_cast<uint32_t>(operation)), masks_.maskBits(truth)});
      b_.CreateStore(result, combined());
    });
  };
  come(How::Waits, offsetof(RuntimeCalls, barrier));
  come(How::Arrives, offsetof(RuntimeCalls, barrierArrive));
  combine(How::Counts, BarrierReduction::Popc);
  combine(How::All, BarrierReduction::And);
  combine(How::Any, BarrierReduction::Or);
}

// Whoever finds that all lanes have come that have not left the region comes to the barrier for the warp, and lets all
// of them go on.
void PartedBarriers::emitWait(const Instruction& i) {
  const Mask came = coming();
  Value* const missing = masks_.anyLane(masks_.without(masks_.inside(program_.blocks[i.block].component), came));
  b_.ifTrue(b_.CreateNot(missing), [&] {
    emitBarrier(i, came);
    b_.storeLanes(words(), Chunks(k_, llvm::Constant::getNullValue(b_.vectorOf(b_.getInt32Ty()))));
  });
  Form form;
  form.shape = {Shape::Varying, 0, false};
  for (Value* const chunk : coming().chunks) form.chunks.push_back(b_.CreateNot(chunk));
  values_.finish(i, 0, std::move(form));
}

// No other barrier of the warp opens before all of its lanes have left this one.
void PartedBarriers::emitResult(const Instruction& i) {
  Value* const result = b_.CreateLoad(b_.getInt32Ty(), combined());
  Value* const given = i.ast->has(Mod::Popc) ? result : b_.CreateICmpNE(result, b_.getInt32(0));
  Form form;
  form.shape = {Shape::Varying, 0, false};
  for (uint32_t c = 0; c < k_; ++c) form.chunks.push_back(b_.CreateVectorSplat(w_, given));
  values_.finish(i, 0, std::move(form));
}

}  // namespace vg::ptx::gen
