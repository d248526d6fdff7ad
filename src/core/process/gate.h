// The process gate: one word, tested once by every entry point.
//
// Closed until cuInit has succeeded, Open while the library may be used, Exiting once the process's atexit handlers
// have started, Forked in the child of a process that had used the library. Locked and Stopped while another process
// holds this one (core/process/checkpoint.h): calls wait then, in Locked only those that change something. Read from
// any thread. Nothing that cuInit makes is ever destroyed, so a call that is inside the library while the process exits
// stays harmless.
#pragma once

#include <cuda.h>

#include <atomic>

namespace vg::core {

enum class Gate : int { Closed, Open, Locked, Stopped, Exiting, Forked };
extern std::atomic<Gate> gate;

// Whether cuInit has succeeded and the process is not at its end.
constexpr bool initialised(Gate state) {
  return state == Gate::Open || state == Gate::Locked || state == Gate::Stopped;
}

// What a call that needs an open gate is answered while it is not open.
CUresult refusal();

// For calls that find the gate not open: waits as long as another process holds this one, then CUDA_SUCCESS or the
// refusal. `whileLocked`: the call need not wait while the process is only locked.
CUresult passGate(bool whileLocked);
// From one state of the gate to another, by whoever serves other processes; wakes who waits. False when the process
// has come to its end.
bool moveGate(Gate from, Gate to);

}  // namespace vg::core
