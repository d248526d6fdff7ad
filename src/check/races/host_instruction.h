// How many bytes an instruction of the host accesses at its address in memory.
#pragma once

#include <cstdint>

namespace vg::check {

// Of x86-64 code; 1 where that is not known, so never too many. Requires: a whole instruction.
uint32_t accessedBytes(const uint8_t* code);
// Of those, how many lie from the address on that the processor gave for a fault: where the operand crosses into
// another page, that is where the page begins. `registers` as instructions number them.
uint32_t accessedBytesFrom(uint64_t address, const uint8_t* code, const uint64_t (&registers)[16]);

}  // namespace vg::check
