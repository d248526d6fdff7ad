#include "ptx/abi/kernel_blob.h"

#include <gtest/gtest.h>

namespace vg::ptx {
namespace {

KernelBlob sample() {
  KernelBlob blob;
  blob.traits.staticShared = 128;
  blob.traits.dynamicSharedOffset = 256;
  blob.traits.localPerThread = 40;
  blob.traits.stackPerWarp = 4096;
  blob.traits.frameBytes = 192;
  blob.traits.registers = 33;
  blob.traits.streamedPerThread = 12;
  blob.traits.waits = true;
  blob.traits.usesDynamicShared = true;
  blob.traits.spans = true;
  blob.traits.keptBytes = 4096;
  blob.traits.allocates = true;
  blob.traits.atomics = true;
  for (int k = 0; k < 300; ++k) blob.code.push_back(static_cast<uint8_t>(k * 7));
  blob.textSize = 200;
  blob.entryOffset = 64;
  blob.lines = {{0, 5}, {16, 6}, {180, 9}};
  blob.alignments = {{0, 0, 4}, {8, 2, 16}};
  return blob;
}

TEST(KernelBlob, ComesBackAsItWas) {
  const KernelBlob blob = sample();
  const std::vector<uint8_t> bytes = encode(blob);
  EXPECT_EQ(bytes, encode(sample()));
  auto back = decode(bytes.data(), bytes.size());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->code, blob.code);
  EXPECT_EQ(back->textSize, 200u);
  EXPECT_EQ(back->entryOffset, 64u);
  EXPECT_EQ(back->traits.staticShared, 128u);
  EXPECT_EQ(back->traits.dynamicSharedOffset, 256u);
  EXPECT_EQ(back->traits.localPerThread, 40u);
  EXPECT_EQ(back->traits.stackPerWarp, 4096u);
  EXPECT_EQ(back->traits.registers, 33u);
  EXPECT_EQ(back->traits.streamedPerThread, 12u);
  EXPECT_EQ(back->traits.keptBytes, 4096u);
  EXPECT_TRUE(back->traits.waits && back->traits.usesDynamicShared && back->traits.spans && back->traits.allocates &&
              back->traits.atomics);
  EXPECT_EQ(back->traits.frameBytes, 192u);
  EXPECT_FALSE(back->traits.polls || back->traits.loops);
  ASSERT_EQ(back->lines.size(), 3u);
  EXPECT_EQ(back->lines[2].codeOffset, 180u);
  EXPECT_EQ(back->lines[2].ptxLine, 9u);
  ASSERT_EQ(back->alignments.size(), 2u);
  EXPECT_EQ(back->alignments[1].bytes, 16u);
}

TEST(KernelBlob, ARuleAsksForAMultipleOfTheAccess) {
  const uint64_t pointers[2] = {0x1004, 0x200e};
  const auto* const parameters = reinterpret_cast<const std::byte*>(pointers);
  EXPECT_TRUE((AlignmentRule{0, 0, 4}.holds(parameters)));
  EXPECT_FALSE((AlignmentRule{0, 0, 8}.holds(parameters)));
  EXPECT_TRUE((AlignmentRule{8, 2, 16}.holds(parameters)));
}

TEST(KernelBlob, EveryDamagedByteAndEveryTruncationIsNoticed) {
  const std::vector<uint8_t> bytes = encode(sample());
  for (size_t k = 0; k < bytes.size(); ++k) {
    std::vector<uint8_t> damaged = bytes;
    damaged[k] ^= 0x40;
    EXPECT_EQ(decode(damaged.data(), damaged.size()).error(), CUDA_ERROR_INVALID_IMAGE) << "byte " << k;
    EXPECT_EQ(decode(bytes.data(), k).error(), CUDA_ERROR_INVALID_IMAGE) << "size " << k;
  }
}

}  // namespace
}  // namespace vg::ptx
