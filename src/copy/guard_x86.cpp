// vgGuardedCall and vgGuardedFault of guard.h: the registers that belong to the caller are kept on the stack.
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
  jmp 1b
  .cfi_endproc
.size vgGuardedCall, .-vgGuardedCall
)");
