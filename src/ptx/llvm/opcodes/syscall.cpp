// Traps, the functions that the driver defines, and those with code of their own: calls of the runtime.
#include "ptx/llvm/opcodes/syscall.h"

#include <iterator>
#include <string>

#include "ptx/abi/device_runtime.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

void Syscalls::emitTrap(const Instruction& i) {
  const Mask mask = predicates_.guardedMask(i);
  const TrapReason reason = i.ast->op == Op::Trap ? TrapReason::Trap : TrapReason::IllegalInstruction;
  const auto act = [&] { runner_.callTrap(reason, masks_.maskBits(mask), i.ast->line); };
  i.guard == kNone ? act() : b_.ifTrue(masks_.anyLane(mask), act);
}

void Syscalls::emitNanosleep(const Instruction& i) {
  const auto act = [&] {
    const ValueId id = i.sources[0];
    Value* const time = program_.values[id].shape.uniform()
                            ? b_.asInteger(values_.scalarOf(id), 32)
                            : b_.CreateExtractElement(b_.asInteger(values_.chunkOf(id, 0), 32), uint64_t{0});
    runner_.runtimeCall(offsetof(RuntimeCalls, nanosleep), b_.getVoidTy(), {runner_.block, runner_.warp, time});
  };
  i.guard == kNone ? act() : b_.ifTrue(masks_.anyLane(predicates_.guardedMask(i)), act);
}

namespace {

// A function that the runner does: how many bits each of its arguments has in a lane, and its result; 0 where there is
// none.
struct Syscall {
  const char* name;
  size_t call;
  uint8_t arguments[4];
  uint8_t result;
};

constexpr Syscall kSyscalls[] = {
    {"vprintf", offsetof(RuntimeCalls, print), {64, 64}, 32},
    {"__assertfail", offsetof(RuntimeCalls, assertFail), {64, 64, 32, 64}, 0},
    {"malloc", offsetof(RuntimeCalls, allocate), {64}, 64},
    {kDeviceRuntimeCall, offsetof(RuntimeCalls, deviceRuntime), {32, 64}, 64},
    {"free", offsetof(RuntimeCalls, release), {64}, 0},
    {"cudaGraphSetConditional", offsetof(RuntimeCalls, setConditional), {64, 32}, 0},
};

}  // namespace

std::string Syscalls::calledName(const Instruction& i) const {
  std::string name;
  for (uint32_t n = 0; n < i.ast->count; ++n) {
    const Operand& o = i.function->operands[i.ast->first + n];
    if (o.kind == Operand::Kind::Symbol && o.symbolKind == SymbolKind::Function)
      name = program_.module->functions[o.symbol].name;
  }
  return name;
}

// An argument of all lanes, in the scratch array of its number.
llvm::Value* Syscalls::argument(const Instruction& i, uint32_t number, uint32_t bits) {
  if (number >= i.sources.size()) unsupported(i, "number of arguments");
  return b_.spill(number, values_.integersOf(i.sources[number], bits));
}

void Syscalls::emitCallApart(const Instruction& i) {
  Value* const addresses = argument(i, 0, 64);
  runner_.runtimeCall(offsetof(RuntimeCalls, callApart), b_.getVoidTy(),
                      {runner_.block, runner_.warp, masks_.maskBits(masks_.here), addresses, b_.getInt32(i.ast->line)});
}

void Syscalls::emitSyscall(const Instruction& i) {
  if (isCallApart(i)) return emitCallApart(i);
  const std::string name = calledName(i);
  const Syscall* const called = llvm::find_if(kSyscalls, [&](const Syscall& call) { return name == call.name; });
  if (called == std::end(kSyscalls)) unsupported(i, name.c_str());
  llvm::SmallVector<Value*, 8> given{runner_.block, runner_.warp, masks_.maskBits(masks_.here)};
  uint32_t count = 0;
  for (; count < std::size(called->arguments) && called->arguments[count]; ++count)
    given.push_back(argument(i, count, called->arguments[count]));
  llvm::AllocaInst* const results = called->result ? b_.scratch(count) : nullptr;
  if (results) given.push_back(results);
  runner_.runtimeCall(called->call, b_.getVoidTy(), given);
  if (!results || i.results.empty()) return;
  values_.finish(i, 0, varyingForm(b_.reload(results, b_.integerType(called->result))));
}

}  // namespace vg::ptx::gen
