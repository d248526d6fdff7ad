#include "ptx/kernel_abi.h"

namespace vg::ptx {

BlockShape blockShapeOf(uint32_t x, uint32_t y, uint32_t z) {
  if (x % kWarpSize == 0) return BlockShape::RowsOf32;
  return y == 1 && z == 1 ? BlockShape::Line : BlockShape::Other;
}

}  // namespace vg::ptx
