#include "arrays/compressed/block_codec_bc7.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "arrays/compressed/block_partitions.h"

namespace vg::arrays {
namespace {

struct Mode {
  unsigned regions, partitionBits, rotationBits, choiceBits;
  unsigned colourBits, alphaBits;    // of an end
  unsigned ownParity, sharedParity;  // a lowest bit an end, or a region
  unsigned indexBits, secondIndexBits;
};
constexpr Mode kModes[8] = {{3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0},
                            {3, 6, 0, 0, 5, 0, 0, 0, 2, 0}, {2, 6, 0, 0, 7, 0, 1, 0, 2, 0},
                            {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
                            {1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0}};

constexpr unsigned kMostEnds = 6;

struct Ends {
  unsigned channels[4][kMostEnds];
};

// To 8 bits, the highest bits again below.
unsigned widened(unsigned value, unsigned bits) {
  value <<= 8 - bits;
  return value | value >> bits;
}

Ends readEnds(BlockBits& bits, const Mode& mode) {
  Ends ends{};
  const unsigned count = 2 * mode.regions;
  for (unsigned c = 0; c < 4; ++c)
    for (unsigned e = 0; e < count; ++e) ends.channels[c][e] = bits.take(c < 3 ? mode.colourBits : mode.alphaBits);
  const bool hasParity = mode.ownParity || mode.sharedParity;
  unsigned parity[kMostEnds] = {};
  for (unsigned e = 0; hasParity && e < count; ++e) {
    if (mode.ownParity || e % 2 == 0) parity[e] = bits.take(1);
    if (mode.sharedParity && e % 2) parity[e] = parity[e - 1];
  }
  for (unsigned c = 0; c < 4; ++c)
    for (unsigned e = 0; e < count; ++e) {
      unsigned own = c < 3 ? mode.colourBits : mode.alphaBits;
      unsigned& value = ends.channels[c][e];
      if (hasParity && own) value = value << 1 | parity[e], ++own;
      value = own ? widened(value, own) : 255;
    }
  return ends;
}

unsigned mixed(unsigned first, unsigned second, unsigned weight) {
  return (first * (64 - weight) + second * weight + 32) >> 6;
}

}  // namespace

void decodeBc7(const std::byte* block, unsigned element, float (&values)[4]) {
  uint64_t halves[2];
  std::memcpy(halves, block, sizeof halves);
  BlockBits bits(halves[0], halves[1]);
  unsigned number = 0;
  while (number < 8 && !bits.take(1)) ++number;
  for (float& value : values) value = 0;
  if (number == 8) return;
  const Mode& mode = kModes[number];
  const unsigned partition = bits.take(mode.partitionBits), rotation = bits.take(mode.rotationBits);
  const bool swapped = bits.take(mode.choiceBits);
  const Ends ends = readEnds(bits, mode);
  const unsigned region = regionOf(mode.regions, partition, element);
  const unsigned index = indexOf(bits, mode.indexBits, mode.regions, partition, element);
  unsigned colour = weightOf(mode.indexBits, index), alpha = colour;
  if (mode.secondIndexBits) {
    bits.skip(16 * mode.indexBits - mode.regions);
    alpha = weightOf(mode.secondIndexBits, indexOf(bits, mode.secondIndexBits, 1, 0, element));
    if (swapped) std::swap(colour, alpha);
  }
  unsigned result[4];
  for (unsigned c = 0; c < 4; ++c)
    result[c] = mixed(ends.channels[c][2 * region], ends.channels[c][2 * region + 1], c < 3 ? colour : alpha);
  if (rotation) std::swap(result[3], result[rotation - 1]);
  for (unsigned c = 0; c < 4; ++c) values[c] = static_cast<float>(result[c]) / 255;
}

}  // namespace vg::arrays
