// What a handler of a signal reads and changes of the thread that it interrupted.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace vg::signal_context {

// Where it was.
inline const void* codeAddress(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#else
  return reinterpret_cast<const void*>(machine.pc);
#endif
}

// When the handler returns, it goes on at `code` on that stack. Other registers hold what they held.
inline void goOnAt(void* context, void (*code)(), const void* stack) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  constexpr greg_t kDirectionFlag = 0x400;
  machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(code);
  machine.gregs[REG_RSP] = reinterpret_cast<greg_t>(stack);
  machine.gregs[REG_EFL] &= ~kDirectionFlag;
#else
  constexpr uint64_t kBranchType = 0xC00;  // of an indirect jump that was under way
  machine.pc = reinterpret_cast<uint64_t>(code);
  machine.sp = reinterpret_cast<uint64_t>(stack);
  machine.pstate &= ~kBranchType;
#endif
}

}  // namespace vg::signal_context
