#include "backend/nvidia/compute/fault_report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

namespace vg::backend::nvidia {
namespace {

using SmState = rm::SmErrorStates::State;

// The kinds of exceptions that a multiprocessor tells apart, in the low byte of its register for warps.
struct Exception {
  uint32_t code;
  CUresult error;
  const char* what;
};
constexpr uint32_t kIllegalInstruction = 0x09, kOutOfRange = 0x0e, kMisaligned = 0x0f;
constexpr Exception kExceptions[] = {
    {0x01, CUDA_ERROR_HARDWARE_STACK_ERROR, "a hardware stack error"},
    {0x02, CUDA_ERROR_HARDWARE_STACK_ERROR, "a stack error"},
    {0x04, CUDA_ERROR_INVALID_PC, "a program counter that wrapped"},
    {0x05, CUDA_ERROR_INVALID_PC, "a misaligned program counter"},
    {0x06, CUDA_ERROR_INVALID_PC, "a program counter out of range"},
    {0x08, CUDA_ERROR_ILLEGAL_INSTRUCTION, "a misaligned register"},
    {kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction"},
    {0x0b, CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction parameter"},
    {0x0d, CUDA_ERROR_ILLEGAL_INSTRUCTION, "a register out of range"},
    {kOutOfRange, CUDA_ERROR_ILLEGAL_ADDRESS, "an address out of range"},
    {kMisaligned, CUDA_ERROR_MISALIGNED_ADDRESS, "a misaligned address"},
    {0x10, CUDA_ERROR_INVALID_ADDRESS_SPACE, "an operation that its address space does not have"},
};

const Exception* exceptionOf(const SmState& state) {
  const auto found = std::find_if(std::begin(kExceptions), std::end(kExceptions),
                                  [&](const Exception& known) { return known.code == (state.warp & 0xff); });
  return found == std::end(kExceptions) ? nullptr : found;
}

// A debugger's object, made now: while one exists, exceptions may be held for it.
class Debugger {
 public:
  Debugger(Gpu& gpu, const Channel& channel) : gpu_(gpu), channel_(channel) {
    const rm::DebuggerParameters parameters{0, gpu.client().handle(), channel.computeObject()};
    made_ = gpu.client().make(gpu.device(), rm::kDebugger, &parameters, sizeof parameters);
  }
  ~Debugger() {
    if (!made_.status) gpu_.client().free(gpu_.device(), made_.handle);
  }
  Debugger(const Debugger&) = delete;

  std::optional<rm::MmuFaults> mmuFaults() {
    rm::MmuFaults faults{};
    return ask(rm::kReadMmuFaults, faults) && faults.count ? std::optional(faults) : std::nullopt;
  }

  // The first multiprocessor with an exception.
  std::optional<SmState> exception() {
    const uint32_t all = gpu_.facts().multiprocessors;
    for (uint32_t first = 0; first < all; first += rm::SmErrorStates::kMost) {
      rm::SmErrorStates states{};
      states.channel = channel_.handle();
      states.first = first;
      states.count = std::min(all - first, rm::SmErrorStates::kMost);
      if (!ask(rm::kReadSmErrorStates, states)) return {};
      for (uint32_t i = 0; i < states.count; ++i)
        if (states.states[i].warp) return states.states[i];
    }
    return {};
  }

 private:
  template <class T>
  bool ask(uint32_t command, T& parameters) {
    return !made_.status && !gpu_.client().control(made_.handle, command, &parameters, sizeof parameters);
  }

  Gpu& gpu_;
  const Channel& channel_;
  Client::Made made_;
};

std::string text(const char* format, const char* words, uint64_t number) {
  char made[128];
  std::snprintf(made, sizeof made, format, words, static_cast<unsigned long long>(number));
  return made;
}

}  // namespace

Fault examineFault(Gpu& gpu, const Channel& channel, CUresult otherwise) {
  Debugger debugger(gpu, channel);
  if (const std::optional<rm::MmuFaults> faults = debugger.mmuFaults()) {
    const auto& fault = faults->entries[0];
    const char* const did = fault.access == rm::kFaultOfWrite ? "wrote to" : "read from";
    return {otherwise, text("it %s %#llx, where nothing is mapped", did, fault.address)};
  }
  const std::optional<SmState> state = debugger.exception();
  const Exception* const exception = state ? exceptionOf(*state) : nullptr;
  if (!exception) return {otherwise, state ? text("%s %#llx", "exception", state->warp) : ""};
  const bool addressed = exception->code == kOutOfRange || exception->code == kMisaligned;
  return {exception->error,
          text(addressed ? "it used %s, %#llx" : "it met %s, at %#llx", exception->what,
               addressed ? state->address : state->counter),
          exception->code == kIllegalInstruction ? state->counter : 0};
}

bool isTrap(const std::byte* instruction) {
  constexpr uint64_t kOperation = 0xfff, kBreakpoint = 0x95c;
  uint64_t word;
  std::memcpy(&word, instruction, sizeof word);
  return (word & kOperation) == kBreakpoint;
}

}  // namespace vg::backend::nvidia
