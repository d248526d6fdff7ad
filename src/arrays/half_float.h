// Floats of 16 bits, as textures, block-compressed formats and filters have them.
#pragma once

#include <cstdint>

namespace vg::arrays {

float floatOfHalf(uint16_t half);
uint16_t halfOfFloat(float value);  // to the nearest, ties to even
uint16_t truncatedHalf(float value);
float roundedToHalf(float value);  // to the nearest, ties away from zero

}  // namespace vg::arrays
