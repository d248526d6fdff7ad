// Formats, descriptors and layouts: every byte of an array has one place, tiles are as the devices make them.
#include <gtest/gtest.h>

#include <set>

#include "arrays/descriptor.h"
#include "arrays/format.h"
#include "arrays/place_levels.h"

namespace vg::arrays {
namespace {

CUDA_ARRAY3D_DESCRIPTOR describe(size_t width, size_t height, size_t depth, unsigned flags = 0,
                                 CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT32, unsigned channels = 1) {
  return {width, height, depth, format, channels, flags};
}

CUDA_ARRAY3D_DESCRIPTOR sparse(CUDA_ARRAY3D_DESCRIPTOR descriptor) {
  descriptor.Flags |= CUDA_ARRAY3D_SPARSE;
  return descriptor;
}

TEST(BlockLinear, LevelsFollowInEachLayerAndLayersBeginWithABlock) {
  const Layout layout = layoutOf(describe(100, 60, 3, CUDA_ARRAY3D_LAYERED), 3, Storage::BlockLinear);
  const copy::Tiling& first = *layout.levels[0].tiling;
  EXPECT_EQ(first.blockRows, 3);  // 64 rows
  EXPECT_EQ(layout.levels[1].tiling->blockRows, 2);
  EXPECT_EQ(layout.levels[1].offset, 7u * 64 * 64);
  EXPECT_EQ(layout.levels[2].offset, layout.levels[1].offset + 4u * 64 * 32);
  EXPECT_EQ(first.layerPitch % first.blockBytes(), 0u);
  EXPECT_GE(first.layerPitch, layout.levels[2].offset + layout.levels[2].tiling->bytes());
  EXPECT_EQ(layout.bytes, 3 * first.layerPitch);
}

TEST(BlockLinear, BoxesHaveDeepBlocks) {
  const Layout layout = layoutOf(describe(20, 12, 9), 2, Storage::BlockLinear);
  EXPECT_EQ(layout.levels[0].tiling->blockRows, 0);
  EXPECT_EQ(layout.levels[0].tiling->blockSlices, 4);
  EXPECT_EQ(layout.levels[1].tiling->blockSlices, 2);
  EXPECT_EQ(layout.levels[1].offset, 2u * 2 * 16 * 512);
}

TEST(Formats, PlainOnesTakeOneTwoOrFourChannels) {
  EXPECT_EQ(unitOf(CU_AD_FORMAT_HALF, 1).bytes, 2u);
  EXPECT_EQ(unitOf(CU_AD_FORMAT_HALF, 4).bytes, 8u);
  EXPECT_EQ(unitOf(CU_AD_FORMAT_FLOAT, 4).bytes, 16u);
  for (unsigned channels : {0u, 3u, 5u, 8u, 0x80000001u}) EXPECT_EQ(unitOf(CU_AD_FORMAT_FLOAT, channels).bytes, 0u);
}

TEST(Formats, OthersHaveTheirChannelsInTheirName) {
  EXPECT_EQ(unitOf(CU_AD_FORMAT_UNORM_INT8X2, 2).bytes, 2u);
  EXPECT_EQ(unitOf(CU_AD_FORMAT_UNORM_INT8X2, 1).bytes, 0u);
  EXPECT_EQ(unitOf(CU_AD_FORMAT_SNORM_INT16X4, 4).bytes, 8u);
  EXPECT_EQ(unitOf(CU_AD_FORMAT_UNORM_INT_101010_2, 4).bytes, 4u);
}

TEST(Formats, BlocksAreFourByFour) {
  for (int format = CU_AD_FORMAT_BC1_UNORM; format <= CU_AD_FORMAT_BC7_UNORM_SRGB; ++format) {
    int found = 0;
    for (unsigned channels = 1; channels <= 4; ++channels) {
      const Unit unit = unitOf(format, channels);
      if (!unit.bytes) continue;
      ++found;
      EXPECT_EQ(unit.edge, 4u);
      EXPECT_TRUE(unit.bytes == 8 || unit.bytes == 16);
      EXPECT_EQ(unit.across(5), 2u);
    }
    EXPECT_EQ(found, 1) << format;
  }
}

TEST(Formats, UnknownNumbersHaveNoUnit) {
  for (int format : {0, 4, 0x7fffffff, -1, 0x90}) EXPECT_EQ(unitOf(format, 1).bytes, 0u) << format;
}

TEST(Levels, HalveDownToOneAndLayersStay) {
  const auto box = describe(65, 33, 17);
  EXPECT_EQ(mostLevels(box), 7u);
  EXPECT_EQ(extentOfLevel(box, 3).width, 8u);
  EXPECT_EQ(extentOfLevel(box, 3).depth, 2u);
  EXPECT_EQ(extentOfLevel(box, 6).height, 1u);
  const auto layers = describe(4, 4, 64, CUDA_ARRAY3D_LAYERED);
  EXPECT_EQ(mostLevels(layers), 3u);
  EXPECT_EQ(extentOfLevel(layers, 2).depth, 64u);
  EXPECT_EQ(extentOfLevel(describe(8, 0, 0), 3).height, 0u);
}

// Visits the span of every row; fails when two rows share a byte or leave the storage.
void expectDistinctBytes(const Layout& layout) {
  std::set<size_t> used;
  size_t bytes = 0;
  for (const Level& level : layout.levels)
    for (size_t slice = 0; slice < level.slices; ++slice)
      for (size_t row = 0; row < level.rows; ++row)
        for (size_t x = 0; x < level.rowBytes;) {
          const Level::Span span = level.span(x, row, slice);
          ASSERT_GT(span.bytes, 0u);
          ASSERT_LE(x + span.bytes, level.rowBytes);
          ASSERT_LE(span.offset + span.bytes, layout.bytes);
          for (size_t i = 0; i < span.bytes; ++i) ASSERT_TRUE(used.insert(span.offset + i).second);
          x += span.bytes;
          bytes += span.bytes;
        }
  EXPECT_EQ(used.size(), bytes);
}

TEST(LinearLayout, GivesEveryByteAPlaceOfItsOwn) {
  for (unsigned flags : {0u, static_cast<unsigned>(CUDA_ARRAY3D_LAYERED)}) {
    const auto d = describe(37, 11, 6, flags);
    for (unsigned levels = 1; levels <= mostLevels(d); ++levels) expectDistinctBytes(layoutOf(d, levels));
  }
  expectDistinctBytes(layoutOf(describe(37, 0, 0), 3));
  expectDistinctBytes(layoutOf(describe(37, 0, 5, CUDA_ARRAY3D_LAYERED), 3));
  expectDistinctBytes(layoutOf(describe(37, 35, 4, 0, CU_AD_FORMAT_BC7_UNORM, 4), 6));
}

TEST(TiledLayout, GivesEveryByteAPlaceOfItsOwn) {
  expectDistinctBytes(layoutOf(sparse(describe(200, 300, 0)), 1));
  expectDistinctBytes(layoutOf(sparse(describe(200, 300, 0)), 8));
  expectDistinctBytes(layoutOf(sparse(describe(200, 130, 3, CUDA_ARRAY3D_LAYERED)), 8));
  expectDistinctBytes(layoutOf(sparse(describe(40, 70, 33)), 6));
  expectDistinctBytes(layoutOf(sparse(describe(600, 270, 0, 0, CU_AD_FORMAT_BC1_UNORM, 4)), 3));
}

TEST(TiledLayout, TilesArePages) {
  const Layout layout = layoutOf(sparse(describe(256, 256, 2, CUDA_ARRAY3D_LAYERED)), 1);
  EXPECT_EQ(layout.bytes, 8 * kTileBytes);
  const Level& level = layout.levels[0];
  EXPECT_EQ(level.span(128 * 4, 0, 0).offset, kTileBytes);
  EXPECT_EQ(level.span(0, 128, 0).offset, 2 * kTileBytes);
  EXPECT_EQ(level.span(0, 0, 1).offset, 4 * kTileBytes);
  EXPECT_EQ(level.span(4, 1, 0).offset, 512u + 4);
}

// Descriptors of sparse arrays of every kind, with levels in tiles, levels in tails and edges that cut tiles.
std::vector<CUDA_ARRAY3D_DESCRIPTOR> sparseOnes() {
  std::vector<CUDA_ARRAY3D_DESCRIPTOR> all;
  const std::pair<CUarray_format, unsigned> formats[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1},
                                                         {CU_AD_FORMAT_UNSIGNED_INT16, 1},
                                                         {CU_AD_FORMAT_FLOAT, 1},
                                                         {CU_AD_FORMAT_FLOAT, 2},
                                                         {CU_AD_FORMAT_FLOAT, 4}};
  for (const auto& [format, channels] : formats) {
    all.push_back(sparse(describe(512, 512, 0, 0, format, channels)));
    all.push_back(sparse(describe(600, 1030, 0, 0, format, channels)));
    all.push_back(sparse(describe(520, 300, 3, CUDA_ARRAY3D_LAYERED, format, channels)));
    all.push_back(sparse(describe(130, 70, 67, 0, format, channels)));
    all.push_back(sparse(describe(10, 10, 0, 0, format, channels)));
  }
  all.push_back(sparse(describe(1200, 600, 0, 0, CU_AD_FORMAT_BC1_UNORM, 4)));
  return all;
}

TEST(BlockLinearTiles, ArePages) {
  for (const CUDA_ARRAY3D_DESCRIPTOR& d : sparseOnes()) {
    const Layout layout = layoutOf(d, mostLevels(d), Storage::BlockLinear);
    const size_t layers = layout.layers();
    for (size_t i = 0; i < layout.levels.size(); ++i) {
      const Level& level = layout.levels[i];
      const bool inTail = layout.singleTail || i >= layout.firstTailLevel;
      EXPECT_EQ(level.tileRowBytes == 0, inTail);
      for (size_t slice = 0; slice < level.slices; ++slice)
        for (size_t row = 0; row < level.rows; row += 3)
          for (size_t x = 0; x < level.rowBytes; x += 16) {
            const size_t offset = level.offset + level.tiling->offset(x, row, slice);
            ASSERT_LT(offset, layout.bytes);
            const size_t layer = layers > 1 ? slice : 0;
            if (!inTail) {
              const size_t deep = layers > 1 ? slice : slice / level.tileSlices;
              ASSERT_EQ(offset / kTileBytes, level.pageOf(x / level.tileRowBytes, row / level.tileRows, deep));
            } else if (!layout.singleTail) {
              ASSERT_GE(offset, layout.tailOffset + layer * layout.tailPitch);
              ASSERT_LT(offset, layout.tailOffset + layer * layout.tailPitch + layout.tailBytes);
            }
          }
    }
  }
}

TEST(BlockLinearTiles, NoTwoBytesShareAPlace) {
  for (const CUDA_ARRAY3D_DESCRIPTOR& d : {sparse(describe(200, 300, 0)), sparse(describe(40, 70, 33)),
                                           sparse(describe(200, 130, 3, CUDA_ARRAY3D_LAYERED))}) {
    const Layout layout = layoutOf(d, mostLevels(d), Storage::BlockLinear);
    std::set<size_t> used;
    size_t words = 0;
    for (const Level& level : layout.levels)
      for (size_t slice = 0; slice < level.slices; ++slice)
        for (size_t row = 0; row < level.rows; ++row)
          for (size_t x = 0; x < level.rowBytes; x += 4, ++words)
            ASSERT_TRUE(used.insert(level.offset + level.tiling->offset(x, row, slice)).second);
    EXPECT_EQ(used.size(), words);
  }
}

// What programs are told does not depend on who lays the array out.
TEST(BlockLinearTiles, AreAsManyAndTheTailAsLargeAsInTheOtherLayout) {
  for (const CUDA_ARRAY3D_DESCRIPTOR& d : sparseOnes())
    for (unsigned levels : {1u, 3u, mostLevels(d)}) {
      const Layout blocks = layoutOf(d, std::min(levels, mostLevels(d)), Storage::BlockLinear),
                   rows = layoutOf(d, std::min(levels, mostLevels(d)), Storage::Linear);
      EXPECT_EQ(blocks.firstTailLevel, rows.firstTailLevel);
      EXPECT_EQ(blocks.singleTail, rows.singleTail);
      EXPECT_EQ(blocks.tailBytes, rows.tailBytes) << d.Width << "x" << d.Height << "x" << d.Depth << " " << levels;
      EXPECT_EQ(blocks.bytes, rows.bytes);
      auto deferred = d;
      deferred.Flags = (d.Flags & ~unsigned{CUDA_ARRAY3D_SPARSE}) | CUDA_ARRAY3D_DEFERRED_MAPPING;
      EXPECT_EQ(layoutOf(deferred, 1, Storage::BlockLinear).bytes, layoutOf(deferred, 1).bytes);
    }
}

// As the vendor's driver of an H200 says them.
TEST(Requirements, OfTailsAreTheVendors) {
  const auto tail = [](const CUDA_ARRAY3D_DESCRIPTOR& d) { return layoutOf(sparse(d), mostLevels(d)).tailBytes; };
  EXPECT_EQ(tail(describe(1000, 700, 0)), 131072u);
  EXPECT_EQ(tail(describe(1024, 1024, 0)), 65536u);
  EXPECT_EQ(tail(describe(1100, 900, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8)), 131072u);
  EXPECT_EQ(tail(describe(520, 600, 5, CUDA_ARRAY3D_LAYERED, CU_AD_FORMAT_UNSIGNED_INT8)), 131072u);
  EXPECT_EQ(tail(describe(130, 70, 67)), 131072u);
  EXPECT_EQ(tail(describe(128, 128, 128, 0, CU_AD_FORMAT_UNSIGNED_INT8)), 131072u);
  EXPECT_EQ(tail(describe(100, 90, 40, 0, CU_AD_FORMAT_UNSIGNED_INT16)), 327680u);
  EXPECT_EQ(tail(describe(20, 20, 20)), 131072u);
}

TEST(TiledLayout, TilesHoldSixtyFourKibibytes) {
  for (unsigned bytes = 1; bytes <= 16; bytes *= 2)
    for (unsigned edge : {1u, 4u})
      for (bool box : {false, true}) {
        const TileExtent tile = tileExtentOf({bytes, edge}, box);
        EXPECT_EQ(size_t{tile.width} / edge * (tile.height / edge) * tile.depth * bytes, kTileBytes);
        EXPECT_EQ(box, tile.depth > 1);
        EXPECT_GE(tile.width, tile.height);
      }
}

TEST(Planes, LieBesideEachOther) {
  const auto d = describe(64, 32, 0, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, CU_AD_FORMAT_NV12, 3);
  const Layout layout = layoutOf(d, 1);
  ASSERT_EQ(layout.planes.size(), 2u);
  EXPECT_EQ(layout.planes[1].descriptor.Width, 32u);
  EXPECT_EQ(layout.planes[1].descriptor.Height, 16u);
  EXPECT_EQ(layout.planes[1].level.rowBytes, 64u);
  EXPECT_GE(layout.planes[1].level.offset, 64u * 32);
  EXPECT_GE(layout.bytes, layout.planes[1].level.offset + 64u * 16);
  EXPECT_EQ(layout.levels[0].rowBytes, 0u);
}

TEST(Planes, OfSparseArraysBeginAtPages) {
  const Layout layout =
      layoutOf(sparse(describe(512, 256, 0, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, CU_AD_FORMAT_P010, 3)), 1);
  EXPECT_EQ(layout.planes[1].level.offset, 4 * kTileBytes);
  EXPECT_EQ(layout.bytes % kTileBytes, 0u);
}

TEST(Requirements, HoldWhatTheLinearLayoutTakes) {
  for (size_t width : {1u, 15u, 64u, 1000u})
    for (size_t height : {0u, 1u, 7u, 129u})
      for (size_t depth : {0u, 1u, 5u, 40u}) {
        const unsigned flags = !height && depth ? CUDA_ARRAY3D_LAYERED : 0;
        for (unsigned channels : {1u, 4u}) {
          const auto d = describe(width, height, depth, flags, CU_AD_FORMAT_UNSIGNED_INT16, channels);
          for (unsigned levels = 1; levels <= mostLevels(d); ++levels) {
            auto deferred = d;
            deferred.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
            const size_t bytes = layoutOf(deferred, levels).bytes;
            EXPECT_GE(bytes, layoutOf(d, levels).bytes) << width << "x" << height << "x" << depth;
            EXPECT_EQ(bytes % kTileBytes, 0u);
          }
        }
      }
}

}  // namespace
}  // namespace vg::arrays
