// Block-compressed formats against what an independent decoder made of the same blocks.
#include "arrays/compressed/block_codec.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

namespace vg::arrays {
namespace {

// A block, and some of its elements in 8 bits a channel.
constexpr unsigned kElements[] = {0, 3, 6, 9, 15};
struct Known {
  uint64_t block[2];
  uint32_t elements[5];
};

// One a mode of the format.
constexpr Known kBc7[] = {
    {{0x40b2d002cc92d33d, 0x32833106536e95df}, {0xff465794u, 0xffc22b77u, 0xffad086bu, 0xffcc3c7cu, 0xffef6b4au}},
    {{0x3170fab23d90fbae, 0xf08db22fd293056a}, {0xffc7cbefu, 0xff4e4560u, 0xff375455u, 0xff126b44u, 0xffa3ab0eu}},
    {{0x4ad5cfbc1d74bd1c, 0xf3faa8e879eaa723}, {0xffa3f7d7u, 0xffcefff7u, 0xff9e3a28u, 0xfff75aefu, 0xff4ae794u}},
    {{0xffec3fee8ed23058, 0x3ce1268c9c8052e3}, {0xff66eb55u, 0xff25fd50u, 0xff25fd50u, 0xff00fc1cu, 0xff00fc1cu}},
    {{0x8e4edc90253d9e30, 0xa93f32a9a1725102}, {0xc6206ec8u, 0xf7107bcbu, 0xf7107bc5u, 0xf7107bb9u, 0xf7107bbcu}},
    {{0x009f001680289e20, 0x47aa2dbad9e2ec8d}, {0x2f41225eu, 0x3841225eu, 0x38c168a3u, 0x3802003cu, 0x2f41225eu}},
    {{0xd5de6e91074206c0, 0x7f453a0ef5097b4f}, {0xc7714e16u, 0xc7714e16u, 0xce815918u, 0xdfa5751bu, 0xc7714e16u}},
    {{0xcadd40e92c34bf80, 0x30f47f35d0380cfb}, {0x3f829476u, 0x63aa4f54u, 0x86cf0c34u, 0x356f8252u, 0x1cdfa665u}},
};
constexpr Known kBc6h[] = {
    {{0x783bea5c88b224f0, 0x39c0d03234795347}, {0xffff0e04u, 0xffff0e04u, 0xffff0e04u, 0xffff0f04u, 0xffff0f04u}},
    {{0xa0879a1471dbada9, 0xeb7361e9c6df1a56}, {0xff7141ffu, 0xff24ffffu, 0xff6f4affu, 0xff743bffu, 0xff7a2effu}},
    {{0xf9a5a4fb8d536942, 0x59f63b7e1f1950d9}, {0xffff0a37u, 0xffff0937u, 0xffff0937u, 0xffff0a3bu, 0xffff0a3cu}},
    {{0xc592cfc6d7d5c4a6, 0x67714350f959567c}, {0xff4e96ffu, 0xff4b8bffu, 0xff4e96ffu, 0xff5091ffu, 0xff54a3ffu}},
    {{0xc299ac8f5ba9468a, 0x6ecc5cb6fd42cbf8}, {0xff9f3bffu, 0xffa93affu, 0xffa73affu, 0xffa33bffu, 0xffa33bffu}},
    {{0x87fb1a354c59220e, 0x04653cb91781d74c}, {0xff080effu, 0xff0d0bffu, 0xff071bffu, 0xff081affu, 0xff0a19ffu}},
    {{0xe2a77a78d6d66e32, 0x78b181071a61dbd0}, {0xff40ff6fu, 0xff61ffffu, 0xff1eff0eu, 0xff1eff0eu, 0xff25ff11u}},
    {{0x15450a26adc19716, 0x6cd7983dc76ff7aa}, {0xff0fd8ffu, 0xff097affu, 0xff1a40ffu, 0xff0fd8ffu, 0xff0fd8ffu}},
    {{0x66f9e248c4b4a53a, 0xe095b35e31a99bb9}, {0xff2b5100u, 0xff187700u, 0xff0f6600u, 0xff0f6600u, 0xff0f6600u}},
    {{0xb11991d2a3b3921e, 0x20b971afd2bb86bd}, {0xff0eff6du, 0xff50ff08u, 0xfff1ff03u, 0xffffff01u, 0xff06ff0eu}},
    {{0x57d10b4df80b0123, 0xad8d899e0f7b8468}, {0xffff0000u, 0xff6a0d00u, 0xff00ff0fu, 0xff311e00u, 0xff125a01u}},
    {{0x1250c3adb6face87, 0xbcd18c092da80b82}, {0xff11ff06u, 0xff11ff06u, 0xff18ff10u, 0xff11ff06u, 0xff17ff0eu}},
    {{0x58407683287951eb, 0x25413b32ab9038fc}, {0xff000631u, 0xff000634u, 0xff00062eu, 0xff000634u, 0xff000634u}},
    {{0x4adcf92b726bd36f, 0x7e1bc7d64d6d9118}, {0xffff9206u, 0xffff9206u, 0xffff9206u, 0xffff9206u, 0xffff9206u}},
};

void compare(const Known& known, int format, float tolerance) {
  std::byte block[16];
  std::memcpy(block, known.block, sizeof block);
  for (unsigned i = 0; i < std::size(kElements); ++i) {
    float values[4] = {0, 0, 0, 1};
    decodeBlockElement(block, format, kElements[i] % 4, kElements[i] / 4, values);
    for (unsigned c = 0; c < 4; ++c)
      EXPECT_NEAR(std::clamp(values[c], 0.0f, 1.0f) * 255, static_cast<float>(known.elements[i] >> (8 * c) & 255),
                  tolerance)
          << std::hex << known.block[0] << " element " << kElements[i] << " channel " << c;
  }
}

TEST(BlockCodec, EveryModeOfBc7IsExact) {
  for (const Known& known : kBc7) compare(known, CU_AD_FORMAT_BC7_UNORM, 0.01f);
}

TEST(BlockCodec, EveryModeOfBc6hIsAsTheOther) {
  for (const Known& known : kBc6h) compare(known, CU_AD_FORMAT_BC6H_UF16, 1.2f);  // the other cuts to whole numbers
}

TEST(BlockCodec, SignedBc6hHasNegativeValues) {
  // The mode of two ends of 10 bits each: all elements at the first, which is -1 in 9 bits and a sign for red.
  const uint64_t low = 0x03 | uint64_t{0x3ff} << 5;
  std::byte block[16] = {};
  std::memcpy(block, &low, sizeof low);
  float values[4];
  decodeBlockElement(block, CU_AD_FORMAT_BC6H_SF16, 1, 0, values);
  EXPECT_LT(values[0], 0);
  EXPECT_EQ(values[1], 0);
  decodeBlockElement(block, CU_AD_FORMAT_BC6H_UF16, 1, 0, values);
  EXPECT_GT(values[0], 0);
}

TEST(BlockCodec, AnyBlockDecodes) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    const uint64_t halves[2] = {random(), random()};
    std::byte block[16];
    std::memcpy(block, halves, sizeof block);
    for (int format = CU_AD_FORMAT_BC1_UNORM; format <= CU_AD_FORMAT_BC7_UNORM_SRGB; ++format) {
      ASSERT_TRUE(hasCodec(format));
      float values[4] = {0, 0, 0, 1};
      decodeBlockElement(block, format, static_cast<unsigned>(round % 4), static_cast<unsigned>(round / 4 % 4), values);
      for (const float value : values) ASSERT_TRUE(std::isfinite(value)) << format;
    }
  }
}

}  // namespace
}  // namespace vg::arrays
