#include "arrays/requirements.h"

#include <algorithm>
#include <bit>

#include "arrays/layout.h"

namespace vg::arrays {
namespace {

size_t roundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

constexpr size_t kBlockWidth = 64, kBlockRows = 8;  // bytes and rows of the smallest block

// The largest block that is not more than what is to be stored, in rows.
size_t blockRows(size_t rows, size_t most) { return std::min(most, std::max(kBlockRows, std::bit_ceil(rows))); }

}  // namespace

size_t requiredBytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels) {
  const Layout layout = linearLayout(descriptor, levels);
  const bool box = layout.kind == Kind::Box;
  size_t bytes = 0;
  for (const Level& level : layout.levels) {
    const size_t rows = roundUp(level.rows, blockRows(level.rows, box ? 16 : 128));
    const size_t slices = box ? roundUp(level.slices, std::min<size_t>(16, std::bit_ceil(level.slices))) : level.slices;
    bytes += roundUp(level.rowBytes, kBlockWidth) * rows * slices;
  }
  return roundUp(bytes, kTileBytes);
}

}  // namespace vg::arrays
