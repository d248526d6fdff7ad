// The processor's part of a change of stacks: one file for each.
#pragma once

#include <cstddef>

extern "C" {
// Saves the callee-saved registers and the stack pointer in *from, takes those of `to`.
void vgFibreSwitch(void** from, void* to);
// The second half: goes on where the stack that the processor has now left off.
void vgFibreResume();
}

namespace vg {

// Makes the stack below `top`, a multiple of 16, look as if it had been left where main(argument) begins. Returns what
// vgFibreSwitch wants.
void* prepareStack(std::byte* top, void (*main)(void*), void* argument);

}  // namespace vg
