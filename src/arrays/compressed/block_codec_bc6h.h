// BC6H: blocks of 16 bytes with two or four colours of half floats, most stored as differences from the first.
#pragma once

#include <cstddef>

namespace vg::arrays {

// Red, green and blue of element 4 y + x; alpha is 1. A block of no known mode is black.
void decodeBc6h(const std::byte* block, unsigned element, bool isSigned, float (&values)[4]);

}  // namespace vg::arrays
