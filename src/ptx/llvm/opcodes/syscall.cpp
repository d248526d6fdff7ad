// Traps, and the functions that the driver defines: calls of the runtime.
#include "ptx/llvm/opcodes/syscall.h"

#include "ptx/abi/device_runtime.h"

namespace vg::ptx::gen {

void Syscalls::emitTrap(const Instruction& i) {
  const Mask mask = predicates_.guardedMask(i);
  const TrapReason reason = i.ast->op == Op::Trap ? TrapReason::Trap : TrapReason::IllegalInstruction;
  const auto act = [&] { runner_.callTrap(reason, masks_.maskBits(mask), i.ast->line); };
  i.guard == kNone ? act() : b_.ifTrue(masks_.anyLane(mask), act);
}

void Syscalls::emitSyscall(const Instruction& i) {
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
    for (uint32_t c = 0; c < k_; ++c) chunks.push_back(b_.asInteger(values_.chunkOf(i.sources[source], c), bits));
    return b_.spill(index, chunks);
  };
  const auto answer = [&](llvm::AllocaInst* results, uint32_t bits) {
    if (i.results.empty()) return;
    Form form;
    form.shape = {Shape::Varying, 0, false};
    form.chunks = b_.reload(results, b_.integerType(bits));
    values_.finish(i, 0, std::move(form));
  };
  Value* const mask = masks_.maskBits(masks_.here);
  if (name == "vprintf") {
    Value* const formats = array(0, 0, 64);
    Value* const arguments = array(1, 1, 64);
    auto* const results = b_.scratch(2);
    runner_.runtimeCall(offsetof(RuntimeCalls, print), b_.getVoidTy(),
                        {runner_.block, runner_.warp, mask, formats, arguments, results});
    return answer(results, 32);
  }
  if (name == "__assertfail") {
    Value* const message = array(0, 0, 64);
    Value* const file = array(1, 1, 64);
    Value* const line = array(2, 2, 32);
    Value* const function = array(3, 3, 64);
    runner_.runtimeCall(offsetof(RuntimeCalls, assertFail), b_.getVoidTy(),
                        {runner_.block, runner_.warp, mask, message, file, line, function});
    return;
  }
  if (name == "malloc") {
    Value* const sizes = array(0, 0, 64);
    auto* const results = b_.scratch(1);
    runner_.runtimeCall(offsetof(RuntimeCalls, allocate), b_.getVoidTy(),
                        {runner_.block, runner_.warp, mask, sizes, results});
    return answer(results, 64);
  }
  if (name == kDeviceRuntimeCall) {
    Value* const functions = array(0, 0, 32);
    Value* const arguments = array(1, 1, 64);
    auto* const results = b_.scratch(2);
    runner_.runtimeCall(offsetof(RuntimeCalls, deviceRuntime), b_.getVoidTy(),
                        {runner_.block, runner_.warp, mask, functions, arguments, results});
    return answer(results, 64);
  }
  if (name == "free") {
    runner_.runtimeCall(offsetof(RuntimeCalls, release), b_.getVoidTy(),
                        {runner_.block, runner_.warp, mask, array(0, 0, 64)});
    return;
  }
  if (name == "cudaGraphSetConditional") {
    Value* const handles = array(0, 0, 64);
    Value* const values = array(1, 1, 32);
    runner_.runtimeCall(offsetof(RuntimeCalls, setConditional), b_.getVoidTy(),
                        {runner_.block, runner_.warp, mask, handles, values});
    return;
  }
  unsupported(i, name.c_str());
}

}  // namespace vg::ptx::gen
