// Barriers of warps, blocks and clusters.
#include "ptx/llvm/opcodes/barrier.h"

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

void Barriers::emitBarrier(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  if (comesToBarrier(ast)) return parted_.emitComing(i);
  if (waitsForBarrier(ast)) return parted_.emitWait(i);
  if (takesFromBarrier(ast)) return parted_.emitResult(i);
  if (isHold(ast)) return ast.has(Mod::Arrive) ? held_.emitArrival(i) : held_.emitHeld(i);
  if (ast.has(Mod::Warp)) return;  // lanes run in step; memory between them is in program order
  const auto act = [&] {
    if (ast.has(Mod::Cluster)) {
      const bool arrives = ast.has(Mod::Arrive);
      runner_.runtimeCall(arrives ? offsetof(RuntimeCalls, clusterArrive) : offsetof(RuntimeCalls, clusterWait),
                          b_.getVoidTy(), {runner_.block, runner_.warp});
      return;
    }
    const bool lanesCome = i.guard == kNone || !ast.has(Mod::Red);
    if (lanesCome && !i.sources.empty() && !program_.values[i.sources[0]].shape.uniform())
      parted_.emitNumberTest(i, {false, masks_.chunksOf(predicates_.guardedMask(i))},
                             values_.integersOf(i.sources[0], 32), ~0u);
    if (suspensions_.used()) return suspensions_.emitSuspend(i);
    if (isPause(i)) {
      runner_.runtimeCall(offsetof(RuntimeCalls, pause), b_.getVoidTy(), {runner_.block, runner_.warp});
      return;
    }
    const auto argument = [&](size_t n) -> Value* {
      const ValueId id = i.sources[n];
      if (program_.values[id].shape.uniform()) return b_.asInteger(values_.scalarOf(id), 32);
      // Threads of a warp agree on barrier and count.
      Value* const first = masks_.firstLane(masks_.maskBits(predicates_.guardedMask(i)));
      return b_.extractLane(values_.integersOf(id, 32), first);
    };
    Value* const mask = masks_.maskBits(predicates_.guardedMask(i));
    const size_t last = i.sources.size();
    Value* const zero = b_.getInt32(0);
    Value* const id = last > 0 ? argument(0) : zero;
    if (ast.has(Mod::Red)) {
      Value* const threads = last > 2 ? argument(1) : zero;
      const Mask p = predicates_.maskOf(i.sources[last - 1], i.negated[last - 1]);
      const auto operation = ast.has(Mod::And)  ? BarrierReduction::And
                             : ast.has(Mod::Or) ? BarrierReduction::Or
                                                : BarrierReduction::Popc;
      Value* const predicates = b_.CreateAnd(masks_.maskBits(p), mask);
      const auto reduce = [&] {
        return runner_.runtimeCall(offsetof(RuntimeCalls, barrierReduce), b_.getInt32Ty(),
                                   {runner_.block, runner_.warp, id, threads, mask,
                                    b_.getInt32(static_cast<uint32_t>(operation)), predicates});
      };
      Value* const result =
          i.guard == kNone ? reduce() : b_.whenTrue(b_.CreateICmpNE(mask, zero), b_.getInt32Ty(), reduce);
      return values_.finish(i, 0,
                            uniformForm(operation == BarrierReduction::Popc ? result : b_.CreateICmpNE(result, zero)));
    }
    Value* const threads = last > 1 ? argument(1) : zero;
    const size_t call = ast.has(Mod::Arrive) ? offsetof(RuntimeCalls, barrierArrive) : offsetof(RuntimeCalls, barrier);
    runner_.runtimeCall(call, b_.getVoidTy(), {runner_.block, runner_.warp, id, threads, mask});
  };
  if (i.guard == kNone || ast.has(Mod::Red)) return act();
  b_.ifTrue(masks_.anyLane(predicates_.guardedMask(i)), act);
}

}  // namespace vg::ptx::gen
