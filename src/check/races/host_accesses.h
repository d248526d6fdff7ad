// Races of the program's own host code on managed memory: its accesses to pages that are closed (memory/host_pages.h)
// are judged, told of, and then made, one instruction at a time.
//
// A read or write of the host is in conflict with what work did to the same bytes when the host has not waited for that
// work, and one of both writes. Atomics, volatile accesses and flags of kernels are meant to meet the host, as every
// access of the host may be one. All functions are for handlers of signals, on the thread that got them.
#pragma once

namespace vg::check::host_accesses {

// Whether the processor can do that: a program cannot make 64-bit ARM stop after one instruction. Without it no page is
// closed.
bool canFollow();

// SIGSEGV: false when it is about something else.
bool faulted(const void* address, void* context);
// SIGTRAP, after one instruction: false when nobody here asked for it.
bool stepped(void* context);

}  // namespace vg::check::host_accesses
