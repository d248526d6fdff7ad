#include "ptx/llvm/opcodes/count.h"

#include "ptx/facts/coverage.h"

namespace vg::ptx::gen {

llvm::Value* LaneCounts::counters() {
  if (counters_) return counters_;
  Value* const rows = runner_.launchField(offsetof(KernelLaunch, counters), b_.getPtrTy());
  Value* const worker = runner_.blockField(offsetof(BlockState, worker), b_.getInt32Ty());
  return counters_ = runner_.atLaunch([&] {
    Value* const at = b_.CreateInBoundsGEP(b_.getPtrTy(), rows, {b_.CreateZExt(worker, b_.getInt64Ty())});
    return b_.CreateAlignedLoad(b_.getPtrTy(), at, llvm::Align(8));
  });
}

void LaneCounts::emitCount(const Instruction& i) {
  Value* const lanes = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, masks_.maskBits(predicates_.guardedMask(i)));
  LType* const word = b_.getInt64Ty();
  Value* const at = b_.CreateConstInBoundsGEP1_64(word, counters(), coverage::counterOf(*i.ast, *i.function));
  Value* const before = b_.CreateAlignedLoad(word, at, llvm::Align(8));
  b_.CreateAlignedStore(b_.CreateAdd(before, b_.CreateZExt(lanes, word)), at, llvm::Align(8));
}

}  // namespace vg::ptx::gen
