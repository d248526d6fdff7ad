// Instructions that exchange data between lanes, wait for other warps, or call the runtime.
#include "ptx/llvm/emit/emitter.h"

namespace vg::ptx::gen {

bool Emitter::emitWarpOperation(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  switch (ast.op) {
    case Op::Shfl:
      emitShuffle(i);
      return true;
    case Op::Vote:
      emitVote(i);
      return true;
    case Op::Match:
      emitMatch(i);
      return true;
    case Op::Redux:
      emitRedux(i);
      return true;
    case Op::Elect:
      emitElect(i);
      return true;
    case Op::Fns:
      emitFns(i);
      return true;
    case Op::Activemask: {
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = maskBits(mask_);
      finish(i, 0, std::move(form));
      return true;
    }
    case Op::Bar:
    case Op::Barrier:
      emitBarrier(i);
      return true;
    case Op::Call:
      emitSyscall(i);
      return true;
    case Op::Invalid:  // a call of what is no function
    case Op::Trap:
      emitTrap(i);
      return true;
    case Op::Alloca:
      emitAlloca(i);
      return true;
    case Op::Stacksave:
      emitStackSave(i);
      return true;
    case Op::Stackrestore:
      emitStackRestore(i);
      return true;
    case Op::Nanosleep: {
      const auto act = [&] {
        const ValueId id = i.sources[0];
        Value* const time = program_.values[id].shape.uniform()
                                ? asInteger(scalarOf(id), 32)
                                : b_.CreateExtractElement(asInteger(chunkOf(id, 0), 32), uint64_t{0});
        runtimeCall(offsetof(RuntimeCalls, nanosleep), b_.getVoidTy(), {blockArgument_, warp_, time});
      };
      i.guard == kNone ? act() : ifTrue(anyLane(guardedMask(i)), act);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace vg::ptx::gen
