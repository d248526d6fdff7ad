// How BC6H and BC7 divide a block of 4 x 4 elements into regions, and the weights of mixed colours: the tables of the
// formats.
#pragma once

#include <cstdint>

namespace vg::arrays {

// The region, 0 to `regions` - 1, of an element in one of 64 partitions. Requires: regions is 1, 2 or 3.
unsigned regionOf(unsigned regions, unsigned partition, unsigned element);
// The element of a region whose index has one bit less: the highest is always 0.
unsigned anchorOf(unsigned regions, unsigned partition, unsigned region);
// The share of the second colour in 1/64, of an index of 2, 3 or 4 bits.
unsigned weightOf(unsigned indexBits, unsigned index);

// The bits of a block from the lowest on.
class BlockBits {
 public:
  BlockBits(uint64_t low, uint64_t high) : low_(low), high_(high) {}
  unsigned take(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i) value |= bit(at_++) << i;
    return value;
  }
  void skip(unsigned count) { at_ += count; }
  unsigned bit(unsigned at) const { return static_cast<unsigned>((at < 64 ? low_ >> at : high_ >> (at - 64)) & 1); }

 private:
  uint64_t low_, high_;
  unsigned at_ = 0;
};

// The index of an element, where the indices of all elements follow one another and those of anchors are a bit shorter.
unsigned indexOf(BlockBits bits, unsigned indexBits, unsigned regions, unsigned partition, unsigned element);

}  // namespace vg::arrays
