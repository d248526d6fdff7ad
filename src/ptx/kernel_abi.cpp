#include "ptx/kernel_abi.h"

namespace vg::ptx {

BlockShape blockShapeOf(uint32_t x, uint32_t, uint32_t) {
  if (x % kWarpSize == 0) return BlockShape::RowsOf32;
  const bool powerOfTwo = x < kWarpSize && (x & (x - 1)) == 0;
  return powerOfTwo ? BlockShape::PowerOfTwo : BlockShape::Other;
}

}  // namespace vg::ptx
