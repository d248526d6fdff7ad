// Elements of textures and surfaces: from the bytes of every format to four channels, and back.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vg::arrays {

// What kernels get of an element: floats, or integers as they are.
enum class Channels : uint8_t { Float, Unsigned, Signed };

// Four channels as 32-bit words: floats, or integers extended to 32 bits. What a format lacks is 0, alpha too; blocks
// without alpha give 1.
struct Texel {
  uint32_t words[4];
};

// How the elements of a format are read. `asIntegers`: 8 and 16-bit integers are not mapped to [0, 1] or [-1, 1].
Channels channelsOf(int format, bool asIntegers);
// Whether kernels may read this format as a texture.
bool readable(int format);

// One element. For block-compressed formats `bytes` is the block of 4 x 4 elements, x and y say which one it is.
// `srgb`: red, green and blue of 8-bit formats are encoded for the eye. `forSums`: the lowest signed numbers are beyond
// -1, as texture units add them up.
Texel decode(const std::byte* bytes, int format, unsigned channels, bool asIntegers, bool srgb, unsigned x, unsigned y,
             bool forSums = false);
// Whether red, green and blue are encoded for the eye.
bool isEncoded(int format, bool asIntegers, bool srgb);
// The other way, for formatted stores: floats for floating-point and normalised formats, integers for others, which
// saturate. Requires: not block-compressed.
void encode(const Texel& texel, std::byte* bytes, int format, unsigned channels);

// One channel of the border as a format keeps it: fractions saturate and lose what its bits do not hold, whole numbers
// are the low bits of what the application gave.
uint32_t borderWord(float border, int format, bool asIntegers);

// Fractions are summed in multiples of 1 / summed and their sums kept in multiples of 1 / kept; 0: of nothing. They
// differ for signed bytes only.
struct Steps {
  float summed, kept;
};
Steps stepsOf(int format);
// Decoded colours are multiples of this; those of a bright colour are larger.
float stepOfDecoded(float colour);
bool isHalf(int format);

}  // namespace vg::arrays
