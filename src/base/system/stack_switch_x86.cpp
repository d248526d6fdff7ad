#include <cstdint>

#include "base/system/stack_switch.h"

// Where a new fibre begins: rbx holds the argument, r12 the function.
extern "C" void vgFibreStart();

// The layout of a left stack, upwards: r15 r14 r13 r12 rbp rbx, address to go on at.
asm(R"(
.text
.p2align 4
.globl vgFibreSwitch
.hidden vgFibreSwitch
.type vgFibreSwitch, @function
vgFibreSwitch:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
.globl vgFibreResume
.hidden vgFibreResume
.type vgFibreResume, @function
vgFibreResume:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  popq %rcx
  jmpq *%rcx
.size vgFibreSwitch, .-vgFibreSwitch
.p2align 4
.globl vgFibreStart
.hidden vgFibreStart
.type vgFibreStart, @function
vgFibreStart:
  movq %rbx, %rdi
  xorl %ebp, %ebp
  pushq $0
  jmpq *%r12
.size vgFibreStart, .-vgFibreStart
)");

namespace vg {

void* prepareStack(std::byte* top, void (*main)(void*), void* argument) {
  auto* words = reinterpret_cast<uint64_t*>(top);
  // vgFibreStart begins with a stack aligned to 16, as a caller's is.
  *--words = 0;
  *--words = 0;
  *--words = reinterpret_cast<uint64_t>(&vgFibreStart);
  *--words = reinterpret_cast<uint64_t>(argument);  // rbx
  *--words = 0;                                     // rbp
  *--words = reinterpret_cast<uint64_t>(main);      // r12
  for (int i = 0; i < 3; ++i) *--words = 0;         // r13, r14, r15
  return words;
}

}  // namespace vg
