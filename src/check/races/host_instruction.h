// How many bytes an instruction of the host accesses at its address in memory.
#pragma once

#include <cstdint>

namespace vg::check {

// Of x86-64 code; 1 where that is not known, so never too many. Requires: a whole instruction.
uint32_t accessedBytes(const uint8_t* code);

}  // namespace vg::check
