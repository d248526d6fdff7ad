// BC7: blocks of 16 bytes with up to three pairs of colours, which say by region how colours are mixed.
#pragma once

#include <cstddef>

namespace vg::arrays {

// Red, green, blue and alpha of element 4 y + x of the block, from 0 to 1. A block of no known mode is all zero.
void decodeBc7(const std::byte* block, unsigned element, float (&values)[4]);

}  // namespace vg::arrays
