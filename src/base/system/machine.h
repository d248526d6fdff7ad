// What the processor of this build is called elsewhere.
#pragma once

#include <elf.h>

#include <cstdint>

namespace vg::machine {

#if defined(__x86_64__)
inline constexpr uint16_t kElf = EM_X86_64;
inline constexpr char kLibraries[] = "x86_64-linux-gnu";  // the folder of Debian's libraries
#elif defined(__aarch64__)
inline constexpr uint16_t kElf = EM_AARCH64;
inline constexpr char kLibraries[] = "aarch64-linux-gnu";
#else
#error "written for x86-64 and 64-bit ARM"
#endif

}  // namespace vg::machine
