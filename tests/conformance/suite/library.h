// The library under test: opened by path, its functions reached through the trampolines that stand in for libcuda.
#pragma once

#include <cstddef>
#include <string>

namespace suite {

extern const size_t kSymbolCount;
extern const char* const kSymbolNames[];

// Opens `path` (or what the loader finds under a plain name) and points the trampolines at its functions. A function
// that the library lacks keeps a trampoline that fails the running test. False with a message in `error`.
bool openLibrary(const std::string& path, std::string* error);

// The file that was opened, without links.
std::string libraryFile();

// The address of an exported symbol, null when the library lacks it: for symbols that cuda.h maps to another name, such
// as the per-thread twins (cuMemcpy_ptds) and old versions.
void* symbolAddress(const char* name);

}  // namespace suite
