// Calls of the API, as checked mode sees them: those that fail (tool api), and what they make and never end (tool
// leaks). All functions are thread-safe.
#pragma once

#include <cuda.h>

namespace vg::check::calls {

// Whether somebody wants to be told of calls.
bool wanted();
// A call has ended, on the thread that made it. `symbol` lives as long as the process; `values`: the addresses of its
// arguments; `context`: that was current.
void ended(const char* symbol, CUresult result, const char* resultName, const void* const* values, CUcontext context);
// Reports what has not been ended by now.
void reportLeaks();

}  // namespace vg::check::calls
