// Barriers of warps, blocks and clusters.
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

namespace Intrinsic = llvm::Intrinsic;

void Emitter::emitBarrier(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  if (ast.has(Mod::Warp)) return;  // lanes run in step; memory between them is in program order
  const auto act = [&] {
    if (ast.has(Mod::Cluster)) {
      const bool arrives = ast.has(Mod::Arrive);
      runtimeCall(arrives ? offsetof(RuntimeCalls, clusterArrive) : offsetof(RuntimeCalls, clusterWait), b_.getVoidTy(),
                  {blockArgument_, warp_});
      return;
    }
    if (suspends_) return emitSuspend(i);
    if (isPause(i)) {
      runtimeCall(offsetof(RuntimeCalls, pause), b_.getVoidTy(), {blockArgument_, warp_});
      return;
    }
    const auto argument = [&](size_t n) -> Value* {
      const ValueId id = i.sources[n];
      if (program_.values[id].shape.uniform()) return asInteger(scalarOf(id), 32);
      // Threads of a warp agree on barrier and count.
      Value* const first = callIntrinsic(Intrinsic::cttz, {b_.getInt32Ty()}, {maskBits(guardedMask(i)), b_.getFalse()});
      Chunks chunks;
      for (uint32_t c = 0; c < k_; ++c) chunks.push_back(asInteger(chunkOf(id, c), 32));
      return extractLane(chunks, b_.CreateAnd(first, b_.getInt32(31)));
    };
    Value* const mask = maskBits(guardedMask(i));
    const size_t last = i.sources.size();
    Value* const zero = b_.getInt32(0);
    Value* const id = last > 0 ? argument(0) : zero;
    if (ast.has(Mod::Red)) {
      Value* const threads = last > 2 ? argument(1) : zero;
      const Mask p = maskOf(i.sources[last - 1], i.negated[last - 1]);
      const auto operation = ast.has(Mod::And)  ? BarrierReduction::And
                             : ast.has(Mod::Or) ? BarrierReduction::Or
                                                : BarrierReduction::Popc;
      Value* const predicates = b_.CreateAnd(maskBits(p), mask);
      const auto reduce = [&] {
        return runtimeCall(
            offsetof(RuntimeCalls, barrierReduce), b_.getInt32Ty(),
            {blockArgument_, warp_, id, threads, mask, b_.getInt32(static_cast<uint32_t>(operation)), predicates});
      };
      Value* const result =
          i.guard == kNone ? reduce() : whenTrue(b_.CreateICmpNE(mask, zero), b_.getInt32Ty(), reduce);
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = operation == BarrierReduction::Popc ? result : b_.CreateICmpNE(result, zero);
      finish(i, 0, std::move(form));
      return;
    }
    Value* const threads = last > 1 ? argument(1) : zero;
    const size_t call = ast.has(Mod::Arrive) ? offsetof(RuntimeCalls, barrierArrive) : offsetof(RuntimeCalls, barrier);
    runtimeCall(call, b_.getVoidTy(), {blockArgument_, warp_, id, threads, mask});
  };
  if (i.guard == kNone || ast.has(Mod::Red)) return act();
  ifTrue(anyLane(guardedMask(i)), act);
}

}  // namespace vg::ptx::gen
