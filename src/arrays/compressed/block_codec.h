// Block-compressed formats: one element of a block of 4 x 4.
#pragma once

#include <cstddef>

namespace vg::arrays {

// Whether the format is known here.
bool hasCodec(int format);

// The element at (x, y), 0 to 3 each, as floats. Channels that the format lacks stay as they are. Requires: hasCodec().
void decodeBlockElement(const std::byte* block, int format, unsigned x, unsigned y, float (&values)[4]);

}  // namespace vg::arrays
