// Functions of run-time compilers that are asked for the native code of a GPU. On an emulated device that code is of no
// use, but the PTX that it was made from is at hand: these functions give out the text instead, which programs pass on
// to cuModuleLoadData as they would the code.
//
// Each library that is loaded (a process may have several versions) gets replacements of its own. All functions are
// thread-safe.
#pragma once

#include <link.h>

#include <string_view>

namespace vg::redirect {

// A library of the program, as the dynamic linker names it to us.
using Handle = const link_map*;

// The library's own function of this name, or null.
void* symbolOf(Handle library, const char* name);
template <class Function>
Function* functionOf(Handle library, const char* name) {
  return reinterpret_cast<Function*>(symbolOf(library, name));
}
// Remembers that as the answer of symbolOf; false when there is no room. One thread at a time.
bool keepOriginal(Handle library, const char* name, void* function);
// Whether this thread is asking for one: that is not redirected.
bool askingForOriginal();

// What stands in for the function of this name, or null where the library's own will do. `number`: 0 for the first
// library of its kind in the process, and so on; null from kMost on.
inline constexpr unsigned kMost = 4;
void* nvrtcReplacement(std::string_view name, Handle library, unsigned number);
void* nvJitLinkReplacement(std::string_view name, Handle library, unsigned number);

// The driver's library, which links PTX; null when the process has none.
extern Handle theDriver;
// NVRTC, the one that was asked for last; null when the process has none.
extern Handle theCompiler;

}  // namespace vg::redirect
