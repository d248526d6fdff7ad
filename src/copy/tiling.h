// Block-linear memory, in which GPUs keep arrays so that neighbours in every direction lie close together.
//
// The smallest block is 64 bytes by 8 rows (512 bytes, a "GOB"); blocks of a tiling are one of those wide and a power
// of two high and deep, and follow one another row by row, slice by slice.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace vg::copy {

// How many units it takes.
inline size_t tilesAcross(size_t value, size_t unit) { return (value + unit - 1) / unit; }

struct Tiling {
  static constexpr size_t kGobBytes = 64, kGobRows = 8, kGob = kGobBytes * kGobRows;
  static constexpr size_t kTogether = 16;  // bytes of a row, from a multiple of it on, that lie one after the other

  uint32_t rowBytes = 0, rows = 0, slices = 0;  // what is in use
  uint8_t blockRows = 0, blockSlices = 0;       // GOBs of a block, as powers of two
  uint64_t layerPitch = 0;                      // bytes between slices that are tiled each for itself; 0: one box

  auto operator<=>(const Tiling&) const = default;  // NOLINT(modernize-use-nullptr): its own zero
  size_t blockBytes() const { return kGob << (blockRows + blockSlices); }
  size_t bytes() const;       // of one layer, or of the box
  size_t totalBytes() const;  // of all
  // Where a byte is.
  size_t offset(size_t x, size_t row, size_t slice) const;
};

// In a GOB, as Turing and all that came after it have them: sectors of 32 bytes, two rows of half a sector each.
inline size_t offsetInGob(size_t x, size_t row) {
  return x / 32 * 256 + row / 4 * 128 + x % 32 / 16 * 64 + row % 4 / 2 * 32 + row % 2 * 16 + x % 16;
}

// Inline, as copies ask for every 16 bytes.
inline size_t Tiling::offset(size_t x, size_t row, size_t slice) const {
  const size_t layer = layerPitch ? slice : 0, z = slice - layer;
  const size_t gobRow = row / kGobRows;
  const size_t block = ((z >> blockSlices) * tilesAcross(rows, kGobRows << blockRows) + (gobRow >> blockRows)) *
                           tilesAcross(rowBytes, kGobBytes) +
                       x / kGobBytes;
  const size_t gob = ((z & ((size_t{1} << blockSlices) - 1)) << blockRows) + (gobRow & ((size_t{1} << blockRows) - 1));
  return layer * layerPitch + block * blockBytes() + gob * kGob + offsetInGob(x % kGobBytes, row % kGobRows);
}

// A copy of it that never goes away, the same for equal ones. Thread-safe.
const Tiling& kept(const Tiling& tiling);

}  // namespace vg::copy
