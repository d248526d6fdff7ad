#include "copy/guard.h"

#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// Keeps the registers that belong to its caller on the stack. vgGuardedFault is entered by the return from a signal,
// with the stack that vgGuardedCall told.
asm(R"(
.text
.p2align 4
.globl vgGuardedCall
.hidden vgGuardedCall
.type vgGuardedCall, @function
vgGuardedCall:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %r12
  .cfi_adjust_cfa_offset 8
  pushq %r13
  .cfi_adjust_cfa_offset 8
  pushq %r14
  .cfi_adjust_cfa_offset 8
  pushq %r15
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movq %rsp, (%r8)
  callq *%rcx
  movl $1, %eax
1:
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
.globl vgGuardedFault
.hidden vgGuardedFault
vgGuardedFault:
  xorl %eax, %eax
  cld
  jmp 1b
  .cfi_endproc
.size vgGuardedCall, .-vgGuardedCall
)");

extern "C" void vgGuardedFault();

namespace vg::copy {

constinit thread_local Guard* innermostGuard [[gnu::tls_model("initial-exec")]] = nullptr;

void forgetFrames([[maybe_unused]] const Guard& guard) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr size_t kFrames = size_t{32} << 10;  // more than any guarded body uses
  __asan_unpoison_memory_region(static_cast<char*>(guard.stack) - kFrames, kFrames);
#endif
}

bool throwOut(void* signalContext) {
  if (!innermostGuard) return false;
  auto& registers = static_cast<ucontext_t*>(signalContext)->uc_mcontext.gregs;
  registers[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(innermostGuard->stack));
  registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(&vgGuardedFault));
  return true;
}

}  // namespace vg::copy
