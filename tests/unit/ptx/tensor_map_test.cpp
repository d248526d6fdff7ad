// The bits of tensor maps, against what an H200's driver (580.159.04) wrote for the same arguments.
#include "ptx/operations/tensor_map.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace vg::ptx {
namespace {

TensorMap base(uint8_t rank) {
  TensorMap map;
  map.rank = rank;
  map.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  map.address = 0x7f0000001000;
  uint64_t stride = 256;
  for (uint32_t d = 0; d < rank; ++d) {
    map.lastIndex[d] = 63;
    map.box[d] = 4;
    map.elementStrides[d] = 1;
    if (d) map.strides[d - 1] = stride;
    if (d) stride *= 64;
  }
  return map;
}

using Words = std::map<uint32_t, uint32_t>;  // by number; all others are 0

// Those that differ from the base of rank 5.
void expectChanged(const TensorMap& map, const Words& changed) {
  const TensorMapBits before = encode(base(5)), bits = encode(map);
  for (uint32_t w = 0; w < 32; ++w)
    EXPECT_EQ(bits.words[w], changed.count(w) ? changed.at(w) : before.words[w]) << "word " << w;
}

TEST(TensorMapBits, AreTheVendorsOfEveryRank) {
  const Words known[] = {{{0, 0x1000}, {1, 0x7f00}, {2, 0x380}, {8, 63}, {13, 0x03000000}, {16, 0x10}, {18, 16}},
                         {{0, 0x1000},
                          {1, 0x7f00},
                          {2, 0x390},
                          {3, 16},
                          {8, 63},
                          {9, 63},
                          {13, 0x03000000},
                          {14, 3},
                          {16, 0x40},
                          {18, 16}},
                         {{0, 0x1000},
                          {1, 0x7f00},
                          {2, 0x3a0},
                          {3, 16},
                          {4, 0x400},
                          {8, 63},
                          {9, 63},
                          {10, 63},
                          {13, 0x03000000},
                          {14, 0x303},
                          {16, 0x100},
                          {18, 16}}};
  for (uint8_t rank = 1; rank <= 3; ++rank) {
    const TensorMapBits bits = encode(base(rank));
    for (uint32_t w = 0; w < 32; ++w)
      EXPECT_EQ(bits.words[w], known[rank - 1].count(w) ? known[rank - 1].at(w) : 0) << int{rank} << ", word " << w;
  }
  EXPECT_EQ(encode(base(5)).words[2], 0x3c0u);
  EXPECT_EQ(encode(base(5)).words[14], 0x03030303u);
}

TEST(TensorMapBits, AreTheVendorsOfEveryField) {
  const auto changed = [](auto change, const Words& words) {
    TensorMap map = base(5);
    change(map);
    expectChanged(map, words);
  };
  changed([](TensorMap& m) { m.address = 0xfffffffffffff0; }, {{0, 0xfffffff0}, {1, 0x00ffffff}});
  changed([](TensorMap& m) { m.lastIndex[3] = 0xffffffff; }, {{11, 0xffffffff}});
  changed([](TensorMap& m) { m.strides[2] = 0x7ffffffff0; }, {{5, 0xffffffff}, {7, 0x700}});
  changed([](TensorMap& m) { m.box[0] = 100; }, {{13, 0x63000000}, {16, 0x19000}});
  changed([](TensorMap& m) { m.box[4] = 17; }, {{14, 0x10030303}, {16, 0x4400}});
  changed([](TensorMap& m) { m.elementStrides[0] = 3; }, {{13, 0x03000002}, {16, 0x400}});
  changed([](TensorMap& m) { m.elementStrides[4] = 8; }, {{13, 0x03007000}, {16, 0}});
  changed([](TensorMap& m) { m.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }, {{2, 0x43c0}, {18, 0x200}});
  changed([](TensorMap& m) { m.interleave = CU_TENSOR_MAP_INTERLEAVE_32B; }, {{2, 0x13c0}});
  changed([](TensorMap& m) { m.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B; }, {{2, 0x603c0}});
  changed([](TensorMap& m) { m.nanFill = 1; }, {{2, 0x83c0}});
}

TEST(TensorMapBits, AreTheVendorsOfEveryType) {
  const uint32_t kinds[] = {0x40,  0xc0,  0x140, 0x1c0, 0x240,   0x2c0,  0x340,
                            0x3c0, 0x4c0, 0x540, 0x440, 0x103c0, 0x10440};
  const uint32_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  for (uint8_t type = 0; type < 13; ++type) {
    TensorMap map = base(5);
    map.type = type;
    map.box[0] = 32;
    expectChanged(map, {{2, kinds[type]}, {13, 0x1f000000}, {16, bytes[type] * 0x2000}});
    EXPECT_EQ(decode(encode(map)).type, type);
  }
}

TEST(TensorMapBits, AreTheVendorsOfColumns) {
  const uint32_t corners[] = {0xfffcffff, 0xfbfcfeff, 0x6b7c77df};
  for (uint8_t rank = 3; rank <= 5; ++rank) {
    TensorMap map = base(rank);
    map.im2col = 1;
    map.channels = 4;
    map.pixels = 200;
    for (int16_t axis = 0; axis < rank - 2; ++axis) {
      map.lowerCorner[axis] = static_cast<int16_t>(-1 - axis);
      map.upperCorner[axis] = static_cast<int16_t>(-4 - axis);
    }
    const TensorMapBits bits = encode(map);
    EXPECT_EQ(bits.words[2], 0x391u + 0x10 * (rank - 2u));
    EXPECT_EQ(bits.words[13], 0x03000000u);
    EXPECT_EQ(bits.words[14], corners[rank - 3]);
    EXPECT_EQ(bits.words[15], 199u);
    EXPECT_EQ(bits.words[16], 0xc80u);
    const TensorMap back = decode(bits);
    EXPECT_EQ(back.channels, 4);
    EXPECT_EQ(back.pixels, 200);
    for (int axis = 0; axis < rank - 2; ++axis) {
      EXPECT_EQ(back.lowerCorner[axis], map.lowerCorner[axis]);
      EXPECT_EQ(back.upperCorner[axis], map.upperCorner[axis]);
    }
  }
}

TEST(TensorMapBits, AnyBitsAreSomeMapOrNone) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    TensorMapBits bits;
    for (uint32_t& word : bits.words) word = static_cast<uint32_t>(random());
    const TensorMap map = decode(bits);
    if (!map.rank) continue;
    EXPECT_LE(map.rank, TensorMap::kMostDimensions);
    const TensorMapBits again = encode(map), twice = encode(decode(again));
    EXPECT_EQ(std::memcmp(&again, &twice, sizeof again), 0);
  }
  EXPECT_FALSE(TensorMapBits{}.encoded());
}

}  // namespace
}  // namespace vg::ptx
