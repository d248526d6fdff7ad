// What this library's code gets from malloc where malloc has nothing left. LLVM cannot be told that there is no memory:
// it ends the process, or leaves locks behind that the next compile waits for. So its small change comes from here
// then, until the reserve is used up as well. What is taken from it is not given back.
//
// The linker puts these in the place of malloc and its kin for all code of the library (CMakeLists.txt).
#pragma once

#include <cstddef>

namespace vg::ptx::gen {

// Null when it is used up.
void* takeReserve(size_t bytes, size_t alignment) noexcept;
bool isReserve(const void* memory) noexcept;

}  // namespace vg::ptx::gen
