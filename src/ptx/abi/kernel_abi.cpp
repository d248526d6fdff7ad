#include "ptx/abi/kernel_abi.h"

namespace vg::ptx {

BlockShape blockShapeOf(uint32_t x, uint32_t y, uint32_t z) {
  if (y == 1 && z == 1 && x <= kWarpSize) return x <= kWarpSize / 2 ? BlockShape::HalfWarp : BlockShape::LoneWarp;
  if (x % kWarpSize == 0) return BlockShape::RowsOf32;
  if (y == 1 && z == 1) return BlockShape::Line;
  const bool wholeRows = x * y % kWarpSize == 0;
  if (x == 16 && wholeRows) return BlockShape::RowsOf16;
  if (x == 8 && wholeRows) return BlockShape::RowsOf8;
  if (x % 16 == 0) return BlockShape::PartsOf16;
  if (x % 8 == 0) return BlockShape::PartsOf8;
  return x % 4 == 0 ? BlockShape::PartsOf4 : BlockShape::Other;
}

bool hasFullWarps(BlockShape shape, uint32_t threads) {
  return shape == BlockShape::HalfWarp ? threads == kWarpSize / 2 : threads % kWarpSize == 0;
}

}  // namespace vg::ptx
