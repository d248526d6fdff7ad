#include "arrays/compressed/block_codec_bc6h.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "arrays/compressed/block_partitions.h"
#include "arrays/half_float.h"

namespace vg::arrays {
namespace {

constexpr unsigned kEnds = 4, kPartition = 3 * kEnds, kFields = kPartition + 1;
constexpr unsigned kMostBits = 80;

// Where the bits after a mode's number go, in order: "rw0-9" are bits 0 to 9 of red of the first end (w, x, y, z), "d"
// is the partition.
struct Mode {
  unsigned number, numberBits, regions;
  unsigned bits;       // of the first end
  unsigned change[3];  // bits of red, green and blue of the others
  bool differences;    // the others are differences from the first
  const char* layout;
};
constexpr Mode kModes[] = {
    {0x00,
     2,
     2,
     10,
     {5, 5, 5},
     true,
     "gy4 by4 bz4 rw0-9 gw0-9 bw0-9 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"},
    {0x01,
     2,
     2,
     7,
     {6, 6, 6},
     true,
     "gy5 gz4 gz5 rw0-6 bz0 bz1 by4 gw0-6 by5 bz2 gy4 bw0-6 bz3 bz5 bz4 rx0-5 gy0-3 gx0-5 gz0-3 bx0-5 by0-3 ry0-5 "
     "rz0-5 d0-4"},
    {0x02,
     5,
     2,
     11,
     {5, 4, 4},
     true,
     "rw0-9 gw0-9 bw0-9 rx0-4 rw10 gy0-3 gx0-3 gw10 bz0 gz0-3 bx0-3 bw10 bz1 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"},
    {0x06,
     5,
     2,
     11,
     {4, 5, 4},
     true,
     "rw0-9 gw0-9 bw0-9 rx0-3 rw10 gz4 gy0-3 gx0-4 gw10 gz0-3 bx0-3 bw10 bz1 by0-3 ry0-3 bz0 bz2 rz0-3 gy4 bz3 d0-4"},
    {0x0a,
     5,
     2,
     11,
     {4, 4, 5},
     true,
     "rw0-9 gw0-9 bw0-9 rx0-3 rw10 by4 gy0-3 gx0-3 gw10 bz0 gz0-3 bx0-4 bw10 by0-3 ry0-3 bz1 bz2 rz0-3 bz4 bz3 d0-4"},
    {0x0e,
     5,
     2,
     9,
     {5, 5, 5},
     true,
     "rw0-8 by4 gw0-8 gy4 bw0-8 bz4 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"},
    {0x12,
     5,
     2,
     8,
     {6, 5, 5},
     true,
     "rw0-7 gz4 by4 gw0-7 bz2 gy4 bw0-7 bz3 bz4 rx0-5 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-5 rz0-5 d0-4"},
    {0x16,
     5,
     2,
     8,
     {5, 6, 5},
     true,
     "rw0-7 bz0 by4 gw0-7 gy5 gy4 bw0-7 gz5 bz4 rx0-4 gz4 gy0-3 gx0-5 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"},
    {0x1a,
     5,
     2,
     8,
     {5, 5, 6},
     true,
     "rw0-7 bz1 by4 gw0-7 by5 gy4 bw0-7 bz5 bz4 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-5 by0-3 ry0-4 bz2 rz0-4 bz3 d0-4"},
    {0x1e,
     5,
     2,
     6,
     {6, 6, 6},
     false,
     "rw0-5 gz4 bz0 bz1 by4 gw0-5 gy5 by5 bz2 gy4 bw0-5 gz5 bz3 bz5 bz4 rx0-5 gy0-3 gx0-5 gz0-3 bx0-5 by0-3 ry0-5 "
     "rz0-5 d0-4"},
    {0x03, 5, 1, 10, {10, 10, 10}, false, "rw0-9 gw0-9 bw0-9 rx0-9 gx0-9 bx0-9"},
    {0x07, 5, 1, 11, {9, 9, 9}, true, "rw0-9 gw0-9 bw0-9 rx0-8 rw10 gx0-8 gw10 bx0-8 bw10"},
    {0x0b, 5, 1, 12, {8, 8, 8}, true, "rw0-9 gw0-9 bw0-9 rx0-7 rw11-10 gx0-7 gw11-10 bx0-7 bw11-10"},
    {0x0f, 5, 1, 16, {4, 4, 4}, true, "rw0-9 gw0-9 bw0-9 rx0-3 rw15-10 gx0-3 gw15-10 bx0-3 bw15-10"},
};

// A layout as one entry a bit: the field and the bit of the field.
struct Place {
  uint8_t field = 0, bit = 0;
};
struct Layout {
  std::array<Place, kMostBits> places{};
  unsigned count = 0;
};

constexpr unsigned numberAt(const char*& text) {
  unsigned value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + static_cast<unsigned>(*text++ - '0');
  return value;
}

constexpr Layout parsed(const char* text) {
  Layout layout;
  while (*text) {
    unsigned field = kPartition;
    if (*text != 'd') {
      field = *text == 'r' ? 0 : *text == 'g' ? kEnds : 2 * kEnds;
      ++text;
      field += *text == 'w' ? 0 : static_cast<unsigned>(*text - 'x') + 1;
    }
    ++text;
    const unsigned first = numberAt(text);
    unsigned last = first;
    if (*text == '-') last = numberAt(++text);
    for (unsigned bit = first;; bit += first < last ? 1u : ~0u) {
      layout.places[layout.count++] = {static_cast<uint8_t>(field), static_cast<uint8_t>(bit)};
      if (bit == last) break;
    }
    if (*text == ' ') ++text;
  }
  return layout;
}

constexpr auto kLayouts = [] {
  std::array<Layout, std::size(kModes)> layouts{};
  for (size_t m = 0; m < layouts.size(); ++m) layouts[m] = parsed(kModes[m].layout);
  return layouts;
}();

int32_t signExtended(uint32_t value, unsigned bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

// An end as it is mixed: 16 bits, or 15 and a sign.
int32_t unquantised(int32_t value, unsigned bits, bool isSigned) {
  if (!isSigned) {
    if (bits >= 15 || value == 0) return value;
    return value == (1 << bits) - 1 ? 0xFFFF : ((value << 15) + 0x4000) >> (bits - 1);
  }
  if (bits >= 16 || value == 0) return value;
  const int32_t size = value < 0 ? -value : value;
  const int32_t wide = size >= (1 << (bits - 1)) - 1 ? 0x7FFF : ((size << 15) + 0x4000) >> (bits - 1);
  return value < 0 ? -wide : wide;
}

uint16_t finished(int32_t mixed, bool isSigned) {
  if (!isSigned) return static_cast<uint16_t>(mixed * 31 >> 6);
  if (mixed < 0) return static_cast<uint16_t>(0x8000 | -mixed * 31 >> 5);
  return static_cast<uint16_t>(mixed * 31 >> 5);
}

int modeOf(unsigned lowBits) {
  for (size_t m = 0; m < std::size(kModes); ++m)
    if ((lowBits & ((1u << kModes[m].numberBits) - 1)) == kModes[m].number) return static_cast<int>(m);
  return -1;
}

// End `end` of channel c.
int32_t endOf(const Mode& mode, const uint32_t (&fields)[kFields], unsigned c, unsigned end, bool isSigned) {
  const unsigned bits = mode.bits;
  uint32_t value = fields[c * kEnds + end];
  if (end && mode.differences)
    value = (static_cast<uint32_t>(signExtended(value, mode.change[c])) + fields[c * kEnds]) & ((1u << bits) - 1);
  return unquantised(isSigned ? signExtended(value, bits) : static_cast<int32_t>(value), bits, isSigned);
}

}  // namespace

void decodeBc6h(const std::byte* block, unsigned element, bool isSigned, float (&values)[4]) {
  uint64_t halves[2];
  std::memcpy(halves, block, sizeof halves);
  values[0] = values[1] = values[2] = 0, values[3] = 1;
  const int number = modeOf(static_cast<unsigned>(halves[0] & 31));
  if (number < 0) return;
  const Mode& mode = kModes[number];
  const Layout& layout = kLayouts[static_cast<size_t>(number)];
  BlockBits bits(halves[0], halves[1]);
  bits.skip(mode.numberBits);
  uint32_t fields[kFields] = {};
  for (unsigned i = 0; i < layout.count; ++i) fields[layout.places[i].field] |= bits.take(1) << layout.places[i].bit;
  const unsigned partition = fields[kPartition], indexBits = mode.regions == 2 ? 3 : 4;
  const unsigned region = regionOf(mode.regions, partition, element);
  const auto weight =
      static_cast<int32_t>(weightOf(indexBits, indexOf(bits, indexBits, mode.regions, partition, element)));
  for (unsigned c = 0; c < 3; ++c) {
    const int32_t first = endOf(mode, fields, c, 2 * region, isSigned);
    const int32_t second = endOf(mode, fields, c, 2 * region + 1, isSigned);
    values[c] = floatOfHalf(finished((first * (64 - weight) + second * weight + 32) >> 6, isSigned));
  }
}

}  // namespace vg::arrays
