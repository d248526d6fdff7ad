#include <cstdint>

#include "base/system/stack_switch.h"

// Where a new fibre begins: x19 holds the argument, x20 the function.
extern "C" void vgFibreStart();

// The layout of a left stack, upwards: x29, the address to go on at, x19 to x28, d8 to d15.
asm(R"(
.text
.p2align 4
.globl vgFibreSwitch
.hidden vgFibreSwitch
.type vgFibreSwitch, @function
vgFibreSwitch:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
.globl vgFibreResume
.hidden vgFibreResume
.type vgFibreResume, @function
vgFibreResume:
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
  mov x16, x30
  br x16
.size vgFibreSwitch, .-vgFibreSwitch
.p2align 4
.globl vgFibreStart
.hidden vgFibreStart
.type vgFibreStart, @function
vgFibreStart:
  mov x0, x19
  mov x16, x20
  mov x29, #0
  mov x30, #0
  br x16
.size vgFibreStart, .-vgFibreStart
)");

namespace vg {

void* prepareStack(std::byte* top, void (*main)(void*), void* argument) {
  constexpr int kWords = 20;
  auto* const words = reinterpret_cast<uint64_t*>(top) - kWords;
  for (int i = 0; i < kWords; ++i) words[i] = 0;
  words[1] = reinterpret_cast<uint64_t>(&vgFibreStart);
  words[2] = reinterpret_cast<uint64_t>(argument);  // x19
  words[3] = reinterpret_cast<uint64_t>(main);      // x20
  return words;
}

}  // namespace vg
