// The process gate: one word, tested once by every entry point.
//
// Closed until cuInit has succeeded, Open while the library may be used, Exiting once the process's atexit handlers
// have started, Forked in the child of a process that had used the library. Read from any thread. Nothing that cuInit
// makes is ever destroyed, so a call that is inside the library while the process exits stays harmless.
#pragma once

#include <cuda.h>

#include <atomic>

namespace vg::core {

enum class Gate : int { Closed, Open, Exiting, Forked };
extern std::atomic<Gate> gate;

// cuInit: reads the settings, discovers the devices, opens the gate. May be called again and from several threads.
CUresult initialise(unsigned flags);

// What a call that needs an open gate is answered while it is not open.
CUresult refusal();

}  // namespace vg::core
