// What stands in a core dump for the code of a kernel.
//
// A debugger wants an image with the kernel's function and a table of lines. An emulated device has no such code: its
// image is one instruction of nothing for each line of the PTX, so that a place in it tells a line of the PTX.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/launches/fault_scene.h"

namespace vg::core::dump {

inline constexpr uint64_t kInstructionBytes = 16;
inline constexpr uint64_t kCodeStart = uint64_t{1} << 32;  // where the image pretends to lie

// Registers of PTX lie in registers of 32 bits from R0 on, in the order in which the text names
// them first.
constexpr uint32_t wordsOf(const backend::FunctionScene::Register& r) { return r.bits <= 32 ? 1 : r.bits / 32; }

// An ELF image of a function with lines 0 .. lines-1 for devices of this compute capability. `functions`: those in it
// whose registers are known, as variables of their lines; what lies beyond `mostWords` is left out.
std::vector<unsigned char> imageOf(const char* kernel, uint32_t lines, unsigned capability,
                                   const std::vector<backend::FunctionScene>& functions, uint32_t mostWords);

}  // namespace vg::core::dump
