#include "copy/decompress.h"

#include <gtest/gtest.h>
#include <libdeflate.h>
#include <lz4.h>
#include <snappy-c.h>

#include <random>
#include <vector>

namespace {

using vg::copy::decompress;
using vg::copy::Format;
using Bytes = std::vector<std::byte>;

char* chars(Bytes& bytes) { return reinterpret_cast<char*>(bytes.data()); }

Bytes compress(Format format, Bytes& plain) {
  Bytes packed(plain.size() * 2 + 1000);
  size_t size = packed.size();
  switch (format) {
    case Format::Deflate: {
      libdeflate_compressor* const compressor = libdeflate_alloc_compressor(6);
      size = libdeflate_deflate_compress(compressor, plain.data(), plain.size(), packed.data(), packed.size());
      libdeflate_free_compressor(compressor);
      break;
    }
    case Format::Snappy:
      EXPECT_EQ(snappy_compress(chars(plain), plain.size(), chars(packed), &size), SNAPPY_OK);
      break;
    case Format::Lz4:
      size = static_cast<size_t>(LZ4_compress_default(chars(plain), chars(packed), static_cast<int>(plain.size()),
                                                      static_cast<int>(packed.size())));
      break;
  }
  packed.resize(size);
  return packed;
}

// Text-like bytes: some runs, some noise.
Bytes plainBytes(std::mt19937& random, size_t size) {
  Bytes plain;
  while (plain.size() < size) plain.insert(plain.end(), 1 + random() % 30, static_cast<std::byte>(random() % 40));
  plain.resize(size);
  return plain;
}

class DecompressTest : public testing::TestWithParam<Format> {};

TEST_P(DecompressTest, GivesBackWhatWasCompressedAndNothingMore) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Bytes plain = plainBytes(random, 1 + random() % 20000);
    const Bytes packed = compress(GetParam(), plain);
    const size_t spare = random() % 3 * 100;
    Bytes out(plain.size() + spare + 64, std::byte{0xAA});
    size_t written = 0;
    ASSERT_TRUE(decompress(GetParam(), packed.data(), packed.size(), out.data(), plain.size() + spare, written));
    ASSERT_EQ(written, plain.size());
    ASSERT_TRUE(std::equal(plain.begin(), plain.end(), out.begin()));
    for (size_t i = plain.size() + spare; i < out.size(); ++i) ASSERT_EQ(out[i], std::byte{0xAA});
  }
}

TEST_P(DecompressTest, RefusesTooLittleRoomAndInputThatEndsEarly) {
  std::mt19937 random(2);
  Bytes plain = plainBytes(random, 5000);
  const Bytes packed = compress(GetParam(), plain);
  Bytes out(plain.size() + 64, std::byte{0xAA});
  size_t written = 0;
  EXPECT_FALSE(decompress(GetParam(), packed.data(), packed.size(), out.data(), plain.size() - 1, written));
  for (size_t i = plain.size(); i < out.size(); ++i) ASSERT_EQ(out[i], std::byte{0xAA});
  // An LZ4 block does not know its length: one that is cut between two sequences is a shorter block.
  const bool refused = !decompress(GetParam(), packed.data(), packed.size() / 2, out.data(), plain.size(), written);
  EXPECT_TRUE(refused || (GetParam() == Format::Lz4 && written < plain.size()));
}

TEST_P(DecompressTest, DamagedInputNeverWritesBeyondTheDestination) {
  std::mt19937 random(3);
  Bytes plain = plainBytes(random, 3000);
  const Bytes packed = compress(GetParam(), plain);
  for (int round = 0; round < 5000; ++round) {
    Bytes damaged = packed;
    for (unsigned i = 0; i <= random() % 4; ++i) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    Bytes out(plain.size() + 64, std::byte{0xAA});
    size_t written = 0;
    if (decompress(GetParam(), damaged.data(), damaged.size(), out.data(), plain.size(), written)) {
      ASSERT_LE(written, plain.size());
    }
    for (size_t i = plain.size(); i < out.size(); ++i) ASSERT_EQ(out[i], std::byte{0xAA});
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DecompressTest, testing::Values(Format::Deflate, Format::Snappy, Format::Lz4));

}  // namespace
