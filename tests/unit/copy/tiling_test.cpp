// Block-linear memory: where bytes are, and copies to and from it.
#include "copy/tiling.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "copy/copy.h"

namespace vg::copy {
namespace {

Tiling boxOf(uint32_t rowBytes, uint32_t rows, uint32_t slices, uint8_t blockRows, uint8_t blockSlices) {
  Tiling tiling;
  tiling.rowBytes = rowBytes;
  tiling.rows = rows;
  tiling.slices = slices;
  tiling.blockRows = blockRows;
  tiling.blockSlices = blockSlices;
  return tiling;
}

// As an H200 keeps them.
TEST(Tiling, PlacesBytesOfTheSmallestBlock) {
  const Tiling tiling = boxOf(64, 8, 1, 0, 0);
  EXPECT_EQ(tiling.bytes(), 512u);
  EXPECT_EQ(tiling.offset(15, 0, 0), 15u);
  EXPECT_EQ(tiling.offset(0, 1, 0), 16u);
  EXPECT_EQ(tiling.offset(0, 2, 0), 32u);
  EXPECT_EQ(tiling.offset(16, 0, 0), 64u);
  EXPECT_EQ(tiling.offset(0, 4, 0), 128u);
  EXPECT_EQ(tiling.offset(32, 0, 0), 256u);
  EXPECT_EQ(tiling.offset(63, 7, 0), 511u);
}

TEST(Tiling, BlocksFollowRowByRowAndSliceBySlice) {
  const Tiling tiling = boxOf(130, 20, 5, 1, 2);  // blocks of 16 rows and 4 slices: 3 across, 2 down, 2 deep
  EXPECT_EQ(tiling.blockBytes(), 4096u);
  EXPECT_EQ(tiling.bytes(), 12u * 4096);
  EXPECT_EQ(tiling.offset(64, 0, 0), 4096u);
  EXPECT_EQ(tiling.offset(0, 8, 0), 512u);
  EXPECT_EQ(tiling.offset(0, 16, 0), 3u * 4096);
  EXPECT_EQ(tiling.offset(0, 0, 1), 1024u);
  EXPECT_EQ(tiling.offset(0, 0, 4), 6u * 4096);
}

TEST(Tiling, EveryByteHasAPlaceOfItsOwn) {
  Tiling layers = boxOf(70, 11, 3, 0, 0);
  layers.layerPitch = 4096;
  for (const Tiling& tiling : {boxOf(130, 20, 5, 1, 2), layers}) {
    std::set<size_t> seen;
    for (size_t z = 0; z < tiling.slices; ++z)
      for (size_t y = 0; y < tiling.rows; ++y)
        for (size_t x = 0; x < tiling.rowBytes; ++x) {
          const size_t at = tiling.offset(x, y, z);
          EXPECT_LT(at, tiling.totalBytes());
          EXPECT_TRUE(seen.insert(at).second);
        }
  }
}

TEST(Tiling, EqualOnesAreKeptOnce) {
  EXPECT_EQ(&kept(boxOf(77, 3, 1, 0, 0)), &kept(boxOf(77, 3, 1, 0, 0)));
  EXPECT_NE(&kept(boxOf(77, 3, 1, 0, 0)), &kept(boxOf(77, 4, 1, 0, 0)));
}

TEST(Tiling, CopiesGoInAndOut) {
  const Tiling box = boxOf(100, 20, 3, 1, 1);
  const Tiling& tiling = kept(box);
  std::vector<std::byte> memory(tiling.totalBytes()), from(90 * 17 * 2), to(from.size());
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31);
  Shape in;
  in.source = {from.data(), 90, 90 * 17};
  in.destination = Side::tiled(memory.data(), tiling, 7, 2, 1);
  in.width = 90;
  in.height = 17;
  in.depth = 2;
  ASSERT_TRUE(copy(in));
  EXPECT_EQ(memory[tiling.offset(7 + 3, 2 + 5, 1)], from[5 * 90 + 3]);
  Shape out = in;
  out.source = in.destination;
  out.destination = {to.data(), 90, 90 * 17};
  ASSERT_TRUE(copy(out));
  EXPECT_EQ(from, to);
}

}  // namespace
}  // namespace vg::copy
