// Faults of kernels and copies: the signals that become CUDA errors instead of ending the process.
//
// SIGSEGV, SIGBUS, SIGFPE and SIGILL that happen while a thread runs a kernel throw the thread out of it, the first two
// also out of a copy (copy/guard.h); in a thread that compiles they end the compile. All others go to whoever handled
// the signal before, except those of stores to memory that is being shared with other processes (alloc/memory_move.h),
// which run again. SIGURG, which is ignored by default, interrupts threads whose launch has ended.
#pragma once

#include <pthread.h>

#include <csignal>

namespace vg::backend::cpu::faults {

// Throws the calling thread out of the kernel that it runs; false: it runs none, or may not be interrupted now.
// `interrupts`: the signal is the one of interrupt(). Async-signal-safe.
using Thrower = bool (*)(int signal, const siginfo_t& info, void* context, bool interrupts);
// For kernel_faults.cpp, before a thread runs a kernel.
void throwWith(Thrower thrower);
// Does not return in a thread that compiles. Async-signal-safe.
using Abandoner = void (*)();
void abandonWith(Abandoner abandoner);

// Makes sure that our handlers are in place; an application may have put its own in front since. Cheap when they are.
void arm();
// The same, and for accesses of the host that checked mode follows from one instruction to the next; false: they would
// go to others.
bool armForSteps();
// Sends the interrupting signal; the handler is installed at the first use.
void interrupt(pthread_t thread);

}  // namespace vg::backend::cpu::faults
