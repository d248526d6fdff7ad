// vgGuardedCall and vgGuardedFault of guard.h: the registers that belong to the caller are kept on the stack.
asm(R"(
.text
.p2align 4
.globl vgGuardedCall
.hidden vgGuardedCall
.type vgGuardedCall, @function
vgGuardedCall:
  .cfi_startproc
  stp x29, x30, [sp, #-160]!
  .cfi_def_cfa_offset 160
  .cfi_offset x29, -160
  .cfi_offset x30, -152
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x29, sp
  str x29, [x4]
  blr x3
  mov w0, #1
1:
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
.globl vgGuardedFault
.hidden vgGuardedFault
vgGuardedFault:
  .cfi_def_cfa_offset 160
  .cfi_offset x29, -160
  .cfi_offset x30, -152
  mov w0, #0
  b 1b
  .cfi_endproc
.size vgGuardedCall, .-vgGuardedCall
)");
