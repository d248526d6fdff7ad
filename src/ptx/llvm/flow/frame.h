// The frame of the function: what runs once a call, once a block and once a warp, and the loops between. Makes what
// Runner and Specials say comes from here.
#pragma once

#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/specials.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/suspensions.h"
#include "ptx/llvm/flow/warp_teller.h"
#include "ptx/llvm/warps/suspend.h"

namespace vg::ptx::gen {

class Frame : public EmitterPart {
 public:
  Frame(Emission& emission, Runner& runner, Specials& specials, Masks& masks, Values& values, WarpTeller& teller,
        Suspensions& suspensions)
      : EmitterPart(emission),
        runner_(runner),
        specials_(specials),
        masks_(masks),
        values_(values),
        teller_(teller),
        suspensions_(suspensions) {}

  BB* warpStart() const { return warpStart_; }
  BB* warpEnd() const { return warpLatch_; }
  void emit(bool waitsInOneCopy);  // once, before any copy of a block
  BB* behindWarp(const Block& block, BlockId id, bool taken);
  SuspendFrame suspendFrame();

 private:
  struct Loops;
  void placeLocals();
  Loops makeBlocks();
  void beginCall(Loops& loops);
  void beginRow(Loops& loops);
  void endRow(const Loops& loops);
  void beginBlock(Loops& loops);
  void endBlock(const Loops& loops);
  void beginRound(Loops& loops);
  void endRound(const Loops& loops);
  void beginWarp(Loops& loops);
  void endWarp(const Loops& loops);
  bool oneWarp() const;
  bool rowsAcrossBlocks() const;
  bool countsThreads() const { return options_.rowsOf32 || rows_; }
  bool inParts() const { return rows_ && !options_.wholeRows; }
  void countThreadAxes();
  void startThreads();
  void resetThreads(int axes);
  void advanceThread(bool sameRow, llvm::PHINode* warp, Value* next);
  void advanceRow();
  bool nothingDone(const Block& block, BlockId id) const;
  void advance(ThreadIndex& at, int axis, uint32_t by);
  void indexParts();
  Value* warpState();
  void emitDispatch();

  Runner& runner_;
  Specials& specials_;
  Masks& masks_;
  Values& values_;
  WarpTeller& teller_;
  Suspensions& suspensions_;
  BB *warpHeader_ = nullptr, *warpStart_ = nullptr;
  BB *warpLatch_ = nullptr, *nextWarp_ = nullptr;  // where a warp ends, and where it leaves for the next one
  BB* rowEnd_ = nullptr;                           // ... which is in another row; null where that makes no difference
  BB* restOfRow_ = nullptr;           // where warps end with all that follow in their row; made when needed
  llvm::PHINode* nextRow_ = nullptr;  // in rowEnd_: the first warp of the next row
  llvm::AllocaInst* threadSlots_[3] = {};
  int threadAxes_ = 0;  // of %tid, that advance from warp to warp: up to the last one that is read
  Value* firstThread_[3] = {};
  bool alike_ = false;              // all warps of a block wait at the same places
  llvm::PHINode* round_ = nullptr;  // where warps go on in this round, 0 at the start; where any one does unless alike_
  llvm::AllocaInst* waitsAt_ = nullptr;
  llvm::SwitchInst* dispatch_ = nullptr;
};

}  // namespace vg::ptx::gen
