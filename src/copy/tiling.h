// Block-linear memory, in which GPUs keep arrays so that neighbours in every direction lie close together.
//
// The smallest block is 64 bytes by 8 rows (512 bytes, a "GOB"); blocks of a tiling are one of those wide and a power
// of two high and deep, and follow one another row by row, slice by slice.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace vg::copy {

struct Shape;

struct Tiling {
  static constexpr size_t kGobBytes = 64, kGobRows = 8, kGob = kGobBytes * kGobRows;
  static constexpr size_t kTogether = 16;  // bytes of a row, from a multiple of it on, that lie one after the other

  uint32_t rowBytes = 0, rows = 0, slices = 0;  // what is in use
  uint8_t blockRows = 0, blockSlices = 0;       // GOBs of a block, as powers of two
  uint64_t layerPitch = 0;                      // bytes between slices that are tiled each for itself; 0: one box

  auto operator<=>(const Tiling&) const = default;
  size_t blockBytes() const { return kGob << (blockRows + blockSlices); }
  size_t bytes() const;       // of one layer, or of the box
  size_t totalBytes() const;  // of all
  // Where a byte is.
  size_t offset(size_t x, size_t row, size_t slice) const;
};

// A copy of it that never goes away, the same for equal ones. Thread-safe.
const Tiling& kept(const Tiling& tiling);

// Copies between sides of which some are tiled. Faults go to the caller, as with the engines.
void copyTiled(const Shape& shape);

}  // namespace vg::copy
