// Traps, and the functions that the driver defines: calls of the runtime.
#include "ptx/abi/device_runtime.h"
#include "ptx/llvm/emit/emitter.h"

namespace vg::ptx::gen {

void Emitter::callTrap(TrapReason reason, Value* lanes, uint32_t line) {
  runtimeCall(offsetof(RuntimeCalls, trap), b_.getVoidTy(),
              {blockArgument_, warp_, lanes, b_.getInt32(static_cast<uint32_t>(reason)), b_.getInt32(line)});
}

void Emitter::emitTrap(const Instruction& i) {
  const Mask mask = guardedMask(i);
  const TrapReason reason = i.ast->op == Op::Trap ? TrapReason::Trap : TrapReason::IllegalInstruction;
  const auto act = [&] { callTrap(reason, maskBits(mask), i.ast->line); };
  i.guard == kNone ? act() : ifTrue(anyLane(mask), act);
}

void Emitter::emitSyscall(const Instruction& i) {
  const Function& f = *i.function;
  std::string name;
  for (uint32_t n = 0; n < i.ast->count; ++n) {
    const Operand& o = f.operands[i.ast->first + n];
    if (o.kind == Operand::Kind::Symbol && o.symbolKind == SymbolKind::Function)
      name = program_.module->functions[o.symbol].name;
  }
  const auto array = [&](uint32_t index, size_t source, uint32_t bits) -> Value* {
    if (source >= i.sources.size()) unsupported(i, "number of arguments");
    Chunks chunks;
    for (uint32_t c = 0; c < k_; ++c) chunks.push_back(asInteger(chunkOf(i.sources[source], c), bits));
    return spill(index, chunks);
  };
  const auto answer = [&](llvm::AllocaInst* results, uint32_t bits) {
    if (i.results.empty()) return;
    Form form;
    form.shape = {Shape::Varying, 0, false};
    form.chunks = reload(results, integerType(bits));
    finish(i, 0, std::move(form));
  };
  Value* const mask = maskBits(mask_);
  if (name == "vprintf") {
    Value* const formats = array(0, 0, 64);
    Value* const arguments = array(1, 1, 64);
    auto* const results = scratch(2);
    runtimeCall(offsetof(RuntimeCalls, print), b_.getVoidTy(),
                {blockArgument_, warp_, mask, formats, arguments, results});
    return answer(results, 32);
  }
  if (name == "__assertfail") {
    Value* const message = array(0, 0, 64);
    Value* const file = array(1, 1, 64);
    Value* const line = array(2, 2, 32);
    Value* const function = array(3, 3, 64);
    runtimeCall(offsetof(RuntimeCalls, assertFail), b_.getVoidTy(),
                {blockArgument_, warp_, mask, message, file, line, function});
    return;
  }
  if (name == "malloc") {
    Value* const sizes = array(0, 0, 64);
    auto* const results = scratch(1);
    runtimeCall(offsetof(RuntimeCalls, allocate), b_.getVoidTy(), {blockArgument_, warp_, mask, sizes, results});
    return answer(results, 64);
  }
  if (name == kDeviceRuntimeCall) {
    Value* const functions = array(0, 0, 32);
    Value* const arguments = array(1, 1, 64);
    auto* const results = scratch(2);
    runtimeCall(offsetof(RuntimeCalls, deviceRuntime), b_.getVoidTy(),
                {blockArgument_, warp_, mask, functions, arguments, results});
    return answer(results, 64);
  }
  if (name == "free") {
    runtimeCall(offsetof(RuntimeCalls, release), b_.getVoidTy(), {blockArgument_, warp_, mask, array(0, 0, 64)});
    return;
  }
  if (name == "cudaGraphSetConditional") {
    Value* const handles = array(0, 0, 64);
    Value* const values = array(1, 1, 32);
    runtimeCall(offsetof(RuntimeCalls, setConditional), b_.getVoidTy(), {blockArgument_, warp_, mask, handles, values});
    return;
  }
  unsupported(i, name.c_str());
}

}  // namespace vg::ptx::gen
