// How many bytes the vendor's devices take for levels: their storage is cut into blocks of 64 bytes by 8 rows and
// larger. Arrays of deferred mapping and mip tails ask for as much, so that programs find the sizes that they know.
#pragma once

#include <cstddef>

#include "arrays/layout.h"

namespace vg::arrays {

// The levels from `first` on, of `layers` layers (1 where there are none). Never less than they take when they are
// linear; a multiple of 64 KiB. Requires: first < layout.levels.size().
size_t requiredBytes(const Layout& layout, size_t first, size_t layers);

// The block of a level of the layout, in rows and slices: powers of two.
struct BlockExtent {
  size_t rows, slices;
};
BlockExtent blockOf(const Level& level, const Layout& layout);

}  // namespace vg::arrays
