// The line program of an object file's debug information (DWARF 4): which line of the PTX each piece of code is from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ptx/abi/kernel_blob.h"

namespace vg::ptx::gen {

// A number of DWARF, seven bits a byte; moves `p` behind it, never beyond `end`.
uint64_t readUleb(const uint8_t*& p, const uint8_t* end);

// The lines that the program of a section .debug_line describes, by address; those before what cannot be read.
// `addressAt` tells which address stands at an offset of the section.
std::vector<LineEntry> linesOf(const uint8_t* section, size_t size,
                               const std::function<uint64_t(uint64_t offset)>& addressAt);

}  // namespace vg::ptx::gen
