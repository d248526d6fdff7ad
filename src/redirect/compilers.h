// Which loaded libraries are run-time compilers.
#pragma once

#include <cstdint>
#include <string_view>

#include "redirect/replacement.h"

namespace vg::redirect {

// C is no compiler: see device_nodes.h.
enum class Library : uintptr_t { Other, Nvrtc, NvJitLink, C };

// By its file's name.
Library libraryOf(const char* path);
bool isNamed(const char* path, const char* prefix);
// 0 for the first library of its kind that asks, and so on. Thread-safe.
unsigned nextNumber(Library library);
// What stands in for a function of such a library; null where its own will do.
void* replacementIn(Library library, std::string_view name, Handle handle, unsigned number);

}  // namespace vg::redirect
