// Textures and surfaces: the words that the hardware reads, and their numbers.
#include "arrays/place_levels.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/traits.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

arrays::TextureView viewOf(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels, std::byte* base) {
  const arrays::Layout layout = arrays::layoutOf(descriptor, levels, arrays::Storage::BlockLinear);
  arrays::TextureView view;
  view.kind = layout.kind;
  view.format = descriptor.Format;
  view.channels = descriptor.NumChannels;
  view.unit = layout.unit;
  view.base = base;
  view.levels = view.chain = layout.levels;
  view.layers = layout.layers();
  return view;
}

uint32_t bits(const TextureWords& words, unsigned first, unsigned width) {
  return words[first / 32] >> first % 32 & (width == 32 ? ~0u : (1u << width) - 1);
}

std::byte* const kBase = reinterpret_cast<std::byte*>(uintptr_t{0x123456789'a00});

TEST(TextureWords, OfAPlane) {
  const TextureWords w = must(headerOf(viewOf({100, 60, 0, CU_AD_FORMAT_FLOAT, 2, 0}, 3, kBase)));
  EXPECT_EQ((uint64_t{bits(w, 32, 25)} << 32 | bits(w, 9, 23) << 9), 0x123456789a00u);
  EXPECT_EQ(bits(w, 67, 3), 3u);     // blocks of 8 times 8 rows
  EXPECT_EQ(bits(w, 92, 4), 2u);     // the last level
  EXPECT_EQ(bits(w, 96, 12), 032u);  // red, green, zeros
  EXPECT_EQ(bits(w, 108, 4), 2u);    // floats
  EXPECT_EQ(bits(w, 112, 7), 4u);    // two of 32 bits
  EXPECT_EQ(bits(w, 124, 4), 3u);
  EXPECT_EQ(bits(w, 128, 17), 99u);
  EXPECT_EQ(bits(w, 150, 4), 1u);
  EXPECT_EQ(bits(w, 160, 17), 59u);
  EXPECT_EQ(bits(w, 228, 4), 2u);
}

TEST(TextureWords, OfSparseArraysSayHowWideTilesAre) {
  const auto tileWidth = [](const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels) {
    return bits(must(headerOf(viewOf(descriptor, levels, kBase))), 74, 3);
  };
  const TextureWords w = must(headerOf(viewOf({512, 512, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE}, 4, kBase)));
  EXPECT_EQ(bits(w, 67, 3), 4u);  // 128 rows
  EXPECT_EQ(bits(w, 74, 3), 3u);  // of 8 blocks
  EXPECT_EQ(tileWidth({512, 512, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_SPARSE}, 1), 2u);
  EXPECT_EQ(tileWidth({64, 64, 64, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE}, 1), 1u);
  EXPECT_EQ(tileWidth({64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE}, 1), 0u);  // less than a tile
  EXPECT_EQ(tileWidth({512, 512, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 1), 0u);
}

TEST(TextureWords, OfALineAreThoseOfAPlaneOfOneRow) {
  arrays::TextureView view = viewOf({40, 0, 0, CU_AD_FORMAT_HALF, 1, 0}, 1, kBase);
  view.sampler.addressing[0] = view.sampler.addressing[1] = arrays::Addressing::Border;
  EXPECT_EQ(bits(must(headerOf(view)), 150, 4), 1u);
  EXPECT_EQ(bits(must(headerOf(view)), 160, 17), 0u);
  EXPECT_EQ(bits(samplerOf(view), 0, 3), 3u);
  EXPECT_EQ(bits(samplerOf(view), 3, 3), 2u);
  view.surface = true;
  EXPECT_EQ(bits(must(headerOf(view)), 150, 4), 0u);
}

TEST(TextureWords, LevelsOfLayersAreCountedFromTheFirst) {
  arrays::TextureView view = viewOf({64, 64, 3, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED}, 4, kBase);
  view.levels.erase(view.levels.begin());
  view.firstLevel = 1;
  view.firstLayer = 1;
  view.layers = 2;
  view.asIntegers = false;
  const TextureWords w = must(headerOf(view));
  EXPECT_EQ((uint64_t{bits(w, 32, 25)} << 32 | bits(w, 9, 23) << 9),
            0x123456789a00u + view.chain[0].tiling->layerPitch);
  EXPECT_EQ(bits(w, 92, 4), 3u);
  EXPECT_EQ(bits(w, 108, 4), 0u);  // fractions
  EXPECT_EQ(bits(w, 150, 4), 5u);
  EXPECT_EQ(bits(w, 177, 15), 1u);
  EXPECT_EQ(bits(w, 224, 4), 1u);
  EXPECT_EQ(bits(w, 228, 4), 3u);
}

TEST(TextureWords, OfCubesCountCubesButOfSurfacesFaces) {
  arrays::TextureView view =
      viewOf({16, 16, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED}, 1, kBase);
  EXPECT_EQ(bits(must(headerOf(view)), 150, 4), 8u);
  EXPECT_EQ(bits(must(headerOf(view)), 177, 15), 1u);
  view.surface = true;
  EXPECT_EQ(bits(must(headerOf(view)), 150, 4), 5u);
  EXPECT_EQ(bits(must(headerOf(view)), 177, 15), 11u);
}

TEST(TextureWords, OfLinearAndPitchedMemory) {
  arrays::TextureView view;
  view.base = kBase;
  view.buffer = true;
  view.format = CU_AD_FORMAT_SIGNED_INT32;
  view.levels.resize(1);
  view.levels[0].extent.width = 1000;
  TextureWords w = must(headerOf(view));
  EXPECT_EQ(w[0], 0x56789a00u);
  EXPECT_EQ(w[1], 0x1234u);
  EXPECT_EQ(w[2], 999u);
  EXPECT_EQ(bits(w, 108, 4), 7u);
  EXPECT_EQ(bits(w, 124, 4), 5u);
  view.buffer = false;
  view.kind = arrays::Kind::Plane;
  view.levels[0].extent.height = 20;
  view.levels[0].rowPitch = 4096;
  w = must(headerOf(view));
  EXPECT_EQ(bits(w, 64, 17), 4096u / 32);
  EXPECT_EQ(bits(w, 124, 4), 2u);
  EXPECT_EQ(bits(w, 150, 4), 7u);
  EXPECT_EQ(bits(w, 160, 17), 19u);
}

TEST(TextureWords, WhatTheUnitsLackIsRefused) {
  arrays::TextureView paged = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 1, nullptr);
  EXPECT_EQ(headerOf(paged).error(), CUDA_ERROR_NOT_SUPPORTED);
  const arrays::TextureView video =
      viewOf({16, 16, 0, CU_AD_FORMAT_AYUV, 4, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE}, 1, kBase);
  EXPECT_EQ(headerOf(video).error(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(TextureWords, OfSurfacesOfVideoInOnePieceAreOfItsChannels) {
  const auto components = [](CUarray_format format, unsigned channels) {
    arrays::TextureView view = viewOf({16, 16, 0, format, channels, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE}, 1, kBase);
    view.surface = true;
    const TextureWords w = must(headerOf(view));
    EXPECT_EQ(bits(w, 108, 4), 6u);  // unsigned
    return bits(w, 112, 7);
  };
  EXPECT_EQ(components(CU_AD_FORMAT_AYUV, 4), 0x08u);
  EXPECT_EQ(components(CU_AD_FORMAT_Y210, 2), 0x0cu);
  EXPECT_EQ(components(CU_AD_FORMAT_Y410, 1), 0x0fu);
  EXPECT_EQ(components(CU_AD_FORMAT_Y416, 4), 0x03u);
}

TEST(TextureWords, OfSamplers) {
  arrays::TextureView view = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 1, kBase);
  view.sampler.addressing[0] = arrays::Addressing::Wrap;
  view.sampler.addressing[1] = arrays::Addressing::Border;
  view.sampler.linear = true;
  view.sampler.bias = -1.5f;
  view.sampler.maxLevel = 3.25f;
  view.sampler.border[0] = 2;
  view.sampler.border[1] = 9;
  const TextureWords w = samplerOf(view);
  EXPECT_EQ(bits(w, 0, 3), 0u);
  EXPECT_EQ(bits(w, 3, 3), 3u);
  EXPECT_EQ(bits(w, 6, 3), 2u);
  EXPECT_EQ(bits(w, 32, 3), 2u);
  EXPECT_EQ(bits(w, 36, 2), 2u);
  EXPECT_EQ(bits(w, 38, 2), 2u);
  EXPECT_EQ(bits(w, 44, 13), 0x2000u - 384);
  EXPECT_EQ(bits(w, 76, 12), 832u);
  EXPECT_EQ(w[4], 0x40000000u);
  EXPECT_EQ(w[5], 0u);  // a channel that the format lacks
}

TEST(TextureWords, OfAnisotropicSamplersSayHowManySamplesAndHowLevelsBlend) {
  arrays::TextureView view = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 3, kBase);
  view.sampler.linear = view.sampler.linearLevels = true;
  const struct {
    unsigned samples;
    uint32_t word, steepness, less;
  } cases[] = {{1, 0, 0, 0},  {2, 1, 4, 42},  {4, 2, 6, 54},  {6, 3, 6, 54},
               {8, 4, 8, 64}, {10, 5, 8, 64}, {12, 6, 8, 64}, {16, 7, 8, 64}};
  for (const auto& one : cases) {
    view.sampler.anisotropy = one.samples;
    view.sampler.blendsWidely = one.samples == 1;
    const TextureWords w = samplerOf(view);
    EXPECT_EQ(bits(w, 20, 3), one.word) << one.samples;
    EXPECT_EQ(bits(w, 36, 2), one.samples > 1 ? 3u : 2u) << one.samples;
    EXPECT_EQ(bits(w, 58, 5), one.steepness) << one.samples;
    EXPECT_EQ(bits(w, 44, 13), (0x2000u - one.less) % 0x2000) << one.samples;
    view.sampler.blendsWidely = true;
    EXPECT_EQ(bits(samplerOf(view), 58, 5), 0u) << one.samples;
    EXPECT_EQ(bits(samplerOf(view), 44, 13), 0u) << one.samples;
  }
  view.sampler.blendsWidely = view.sampler.linearLevels = false;
  EXPECT_EQ(bits(samplerOf(view), 58, 5), 0u);
  EXPECT_EQ(bits(samplerOf(view), 44, 13), 0u);
  view.sampler.linear = false;
  EXPECT_EQ(bits(samplerOf(view), 36, 2), 1u);
}

TEST(TextureWords, AskForTheBestQuality) {
  arrays::TextureView view = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 3, kBase);
  TextureWords w = must(headerOf(view));
  EXPECT_EQ(bits(w, 80, 3), 7u);
  EXPECT_EQ(bits(w, 215, 2), 2u);
  EXPECT_EQ(bits(w, 217, 2), 1u);
  view.levels.resize(1);
  view.levels[0].tiling = nullptr;
  view.levels[0].rowPitch = 64;
  w = must(headerOf(view));
  EXPECT_EQ(bits(w, 81, 3), 7u);
  EXPECT_EQ(bits(w, 215, 2), 2u);
}

TEST(TextureWords, BiasesAreCutToStepsTogether) {
  arrays::TextureView view = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 3, kBase);
  view.sampler.linear = view.sampler.linearLevels = true;
  const auto biasOf = [&](unsigned samples, float bias) {
    view.sampler.anisotropy = samples;
    view.sampler.blendsWidely = samples == 1;
    view.sampler.bias = bias;
    return bits(samplerOf(view), 44, 13);
  };
  EXPECT_EQ(biasOf(1, 0.709f), 181u);
  EXPECT_EQ(biasOf(1, -0.709f), 0x2000u - 181);
  EXPECT_EQ(biasOf(2, 0.7f), 136u);
  EXPECT_EQ(biasOf(8, -0.709f), 0x2000u - 245);
}

TEST(TextureWords, LimitsOfLevelsAreCutToSteps) {
  arrays::TextureView view = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 3, kBase);
  view.sampler.minLevel = 1.3f;
  view.sampler.maxLevel = 100;
  EXPECT_EQ(bits(samplerOf(view), 64, 12), 332u);
  EXPECT_EQ(bits(samplerOf(view), 76, 12), 4095u);
}

struct Textures : ::testing::Test {
  FakeGpu fake{[] {
    FakeDriver::Description description;
    description.memory = size_t{128} << 20;
    return description;
  }()};
  backend::Traits traits = must(traitsOf(*fake.gpu));
  GpuDevice device{std::move(fake.gpu), *fake.hostPages, fake.addresses(), traits};
};

TEST_F(Textures, HaveNumbersThatAreNotUsedAgainSoon) {
  int first = 0, second = 0;
  const arrays::TextureView view = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 1, kBase);
  EXPECT_EQ(device.textureOwner(1), nullptr);
  const uint64_t one = must(device.addTexture(view, &first)), two = must(device.addTexture(view, &second));
  EXPECT_NE(one, 0u);
  EXPECT_NE(one, two);
  EXPECT_EQ(device.textureOwner(one), &first);
  EXPECT_EQ(device.textureOwner(two), &second);
  EXPECT_EQ(device.textureOwner(two + (uint64_t{1} << 32)), nullptr);
  device.removeTexture(one);
  device.removeTexture(one);
  EXPECT_EQ(device.textureOwner(one), nullptr);
  EXPECT_NE(must(device.addTexture(view, &first)), one);
}

TEST_F(Textures, HandlesSayWhatTheyAre) {
  arrays::TextureView view = viewOf({16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 1, kBase);
  EXPECT_EQ(must(device.addTexture(view, nullptr)) >> 61, 1u);
  view.surface = true;
  EXPECT_EQ(must(device.addTexture(view, nullptr)) >> 61, 4u);
  EXPECT_EQ(must(must(device.parts().engine.textures()).addSampler({})) >> 61, 2u);
}

TEST(TextureDescription, HasItsWordsWhereCompiledQueriesLook) {
  arrays::TextureView view = viewOf({16, 8, 3, CU_AD_FORMAT_HALF, 1, CUDA_ARRAY3D_LAYERED}, 2, kBase);
  view.sampler.addressing[1] = arrays::Addressing::Border;
  view.sampler.linear = view.sampler.normalized = true;
  const TextureDescription texture = descriptionOf(view);
  EXPECT_EQ(texture[0x0c / 4], 3u);
  EXPECT_EQ(texture[0x10 / 4], 4u);
  EXPECT_EQ(texture[0x18 / 4], 1u);
  EXPECT_EQ(texture[0x1c / 4], 1u);
  EXPECT_EQ(texture[0x20 / 4], uint32_t{CU_AD_FORMAT_HALF});
  EXPECT_EQ(texture[0x28 / 4], 3u);
  EXPECT_EQ(texture[0x2c / 4], 2u);
  view.surface = true;
  const TextureDescription surface = descriptionOf(view);
  EXPECT_EQ(surface[0x0c / 4], uint32_t{CU_AD_FORMAT_HALF});
  EXPECT_EQ(surface[0x1c / 4], 3u);
}

}  // namespace
}  // namespace vg::testing
