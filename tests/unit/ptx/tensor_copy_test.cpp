// What no recorded tensor copy shows: rows that are named one by one, packed elements, the swizzles of later hardware,
// and rows that are narrower than what is turned.
#include "ptx/operations/tensor_copy.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace vg::ptx {
namespace {

constexpr uint8_t kGap = 0xee;

class TensorCopy : public ::testing::Test {
 protected:
  TensorCopy() {
    std::iota(memory, memory + sizeof memory, uint8_t{0});
    std::memset(shared, kGap, sizeof shared);
  }
  // `width` elements by 8 rows, of which a tile has `boxWidth` by 4.
  TensorMap flat(uint8_t type, uint32_t width, uint16_t boxWidth, uint64_t stride) {
    TensorMap map;
    map.rank = 2;
    map.type = type;
    map.address = reinterpret_cast<uint64_t>(memory);
    map.lastIndex[0] = width - 1;
    map.lastIndex[1] = 7;
    map.strides[0] = stride;
    map.box[0] = boxWidth;
    map.box[1] = 4;
    for (uint8_t& step : map.elementStrides) step = 1;
    return map;
  }
  std::byte* tile() { return reinterpret_cast<std::byte*>(shared); }

  alignas(1024) uint8_t memory[2048];
  alignas(1024) uint8_t shared[1024];
};

TEST_F(TensorCopy, GathersAndScattersNamedRows) {
  const TensorMap map = flat(CU_TENSOR_MAP_DATA_TYPE_UINT8, 30, 16, 64);
  TensorPlace place{{16, 5, 1, -1, 6}, 4, {}};
  loadTensor(map, place, tile());
  EXPECT_EQ(tensorBytes(map, place), 64u);
  const int rows[] = {5, 1, -1, 6};
  for (int k = 0; k < 64; ++k) {
    const int row = rows[k / 16], column = 16 + k % 16;
    EXPECT_EQ(shared[k], row < 0 || column >= 30 ? 0 : memory[row * 64 + column]) << k;
  }
  EXPECT_EQ(shared[64], kGap);
  EXPECT_FALSE(canStoreTensor(map, place));
  place.coordinates[3] = 2;
  ASSERT_TRUE(canStoreTensor(map, place));
  std::memset(shared, 0x55, 64);
  storeTensor(map, place, tile());
  for (int k = 0; k < 512; ++k) {
    const int row = k / 64, column = k % 64;
    const bool stored = (row == 5 || row == 1 || row == 2 || row == 6) && column >= 16 && column < 32;
    EXPECT_EQ(memory[k], stored ? 0x55 : static_cast<uint8_t>(k)) << k;
  }
}

TEST_F(TensorCopy, RowsNarrowerThanTheSwizzleLieItsSpanApart) {
  TensorMap map = flat(CU_TENSOR_MAP_DATA_TYPE_UINT8, 64, 16, 64);
  map.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  loadTensor(map, {}, tile());
  EXPECT_EQ(tensorBytes(map, {}), 64u);
  EXPECT_EQ(tensorSpan(map, {}), 3 * 64u + 16);
  const int at[] = {0, 64, 128 + 16, 192 + 16};  // as an H100 puts them
  for (int row = 0; row < 4; ++row) EXPECT_EQ(std::memcmp(&shared[at[row]], &memory[row * 64], 16), 0) << row;
  EXPECT_EQ(shared[16], kGap);
}

TEST_F(TensorCopy, TheLaterSwizzlesTurnWiderPieces) {
  TensorMap map = flat(CU_TENSOR_MAP_DATA_TYPE_UINT8, 128, 128, 128);
  const auto placeOf = [&](uint8_t swizzle, uint32_t byte) {
    map.swizzle = swizzle;
    loadTensor(map, {}, tile());
    for (uint32_t k = 0; k < 512; ++k) memory[k] = static_cast<uint8_t>(k / 8 * 37 + k % 8);
    loadTensor(map, {}, tile());
    return shared[byte];
  };
  const auto original = [](uint32_t byte) { return static_cast<uint8_t>(byte / 8 * 37 + byte % 8); };
  EXPECT_EQ(placeOf(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, 128 + 5), original(128 + 32 + 5));
  EXPECT_EQ(placeOf(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, 128 + 5), original(128 + 32 + 8 + 5));
  EXPECT_EQ(placeOf(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, 256 + 5), original(256 + 64 + 5));
  EXPECT_EQ(placeOf(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, 128 + 5), original(128 + 64 + 5));
  EXPECT_EQ(placeOf(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, 256 + 5), original(256 + 5));
}

TEST_F(TensorCopy, PackedElementsHaveGapsInSharedMemory) {
  const TensorMap fours = flat(CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, 256, 128, 128);
  loadTensor(fours, {{128, 2}, 0, {}}, tile());
  EXPECT_EQ(tensorBytes(fours, {}), 4 * 128u);
  for (int k = 0; k < 128; ++k) EXPECT_EQ(shared[k], k % 16 < 8 ? memory[2 * 128 + 64 + k / 16 * 8 + k % 16] : 0) << k;

  const TensorMap sixes = flat(CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B, 128, 128, 96);
  loadTensor(sixes, {{0, 1}, 0, {}}, tile());
  for (int k = 0; k < 128; ++k) EXPECT_EQ(shared[k], k % 16 < 12 ? memory[96 + k / 16 * 12 + k % 16] : 0) << k;
  loadTensor(sixes, {{128, 1}, 0, {}}, tile());
  EXPECT_EQ(shared[5], 0);

  const TensorMap dense = flat(CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, 96, 64, 64);
  loadTensor(dense, {{64, 1}, 0, {}}, tile());
  EXPECT_EQ(tensorBytes(dense, {}), 4 * 32u);
  for (int k = 0; k < 32; ++k) EXPECT_EQ(shared[k], k < 16 ? memory[64 + 32 + k] : 0) << k;
}

TEST_F(TensorCopy, StoresOfSixBitsLeaveOutWhatIsAboveThem) {
  const TensorMap sixes = flat(CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B, 128, 128, 96);
  for (int k = 0; k < 512; ++k) shared[k] = static_cast<uint8_t>(0xc0 | (k * 7 % 64));
  storeTensor(sixes, {}, tile());
  for (int k = 0; k < 128; ++k) {
    const int bit = k * 6;
    const uint32_t two = memory[bit / 8] | memory[bit / 8 + 1] << 8;
    EXPECT_EQ(two >> bit % 8 & 63, static_cast<uint32_t>(k * 7 % 64)) << k;
  }
}

TEST_F(TensorCopy, MapsOfEveryTypeAndSwizzleComeBackFromTheirBits) {
  for (uint8_t type = 0; type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B; ++type)
    for (uint8_t swizzle = 0; swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B; ++swizzle) {
      TensorMap map = flat(type, 128, 128, 128);
      map.swizzle = swizzle;
      const TensorMap back = decode(encode(map));
      EXPECT_EQ(back.type, type);
      EXPECT_EQ(back.swizzle, swizzle);
    }
}

}  // namespace
}  // namespace vg::ptx
