// What the library asks of the operating system about processors and threads.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace vg::os {

// Cores this process may use at once: the affinity mask of the calling thread, limited by the cgroup's quota (rounded
// up). At least 1. Reads files: ask once.
uint32_t usableCores();
// The same, as found at the first call.
uint32_t cores();
// Whether there is just one: polling then only keeps others from doing what is awaited.
inline bool soleCore() { return cores() == 1; }

// The bytes of the last cache, as the processor says: sysconf multiplies it by cores that a virtual machine may not
// have.
size_t lastCacheBytes();

// Signals that may come at any time: all but those that an instruction causes. Async-signal-safe.
sigset_t asynchronousSignals();

// Starts a detached thread with this name (cut to 15 characters) and asynchronousSignals() blocked, so that the
// application's handlers never run on it. False, said in the log, when the system refuses.
bool startThread(const char* name, void (*main)(void*), void* argument);
// Whether startThread() made the calling thread. Async-signal-safe.
bool isOwnThread();

}  // namespace vg::os
