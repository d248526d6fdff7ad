// Shapes against the plain loop: small ones at random, large ones through every way of copying, alone and in parallel.
#include "copy/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace vg::copy {
namespace {

class ThreadPair final : public Parallel {
 public:
  unsigned width() const override { return 2; }
  void run(size_t chunks, void (*body)(void*, size_t), void* state) override {
    ++runs;
    std::thread other([&] {
      for (size_t i = 1; i < chunks; i += 2) body(state, i);
    });
    for (size_t i = 0; i < chunks; i += 2) body(state, i);
    other.join();
  }
  int runs = 0;
};

std::vector<std::byte> noise(size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    const uint64_t word = random();
    std::memcpy(made.data() + i, &word, 8);
  }
  return made;
}

void plainCopy(const Shape& s) {
  for (size_t z = 0; z < s.depth; ++z)
    for (size_t y = 0; y < s.height; ++y)
      std::memcpy(s.destination.base + z * s.destination.slicePitch + y * s.destination.rowPitch,
                  s.source.base + z * s.source.slicePitch + y * s.source.rowPitch, s.width);
}

TEST(CopyTest, BoxesOfAnyShapeArriveAndNothingElseChanges) {
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    Shape shape;
    shape.width = random() % 100;
    shape.height = random() % 5;
    shape.depth = random() % 4;
    const auto pitches = [&](Side& side) {
      side.rowPitch = shape.width + (random() % 2 ? random() % 40 : 0);
      side.slicePitch = side.rowPitch * (shape.height + random() % 3);
      return side.slicePitch * 4 + 256;
    };
    const std::vector<std::byte> source = noise(pitches(shape.source), round);
    std::vector<std::byte> actual = noise(pitches(shape.destination), round + 1), expected = actual;
    shape.source.base = const_cast<std::byte*>(source.data()) + 64;
    shape.destination.base = expected.data() + 64;
    plainCopy(shape);
    shape.destination.base = actual.data() + 64;
    EXPECT_TRUE(copy(shape));
    ASSERT_EQ(actual, expected) << shape.width << 'x' << shape.height << 'x' << shape.depth;
  }
}

TEST(CopyTest, LargeCopiesAreRightAloneAndInParallel) {
  for (size_t bytes : {size_t{5} << 20, (size_t{33} << 20) + 77, (size_t{64} << 20) + 1}) {
    const std::vector<std::byte> source = noise(bytes + 100, 9);
    for (bool parallel : {false, true}) {
      ThreadPair pair;
      std::vector<std::byte> target(bytes + 128, std::byte{0x5A});
      EXPECT_TRUE(
          (copy({{target.data() + 64, bytes, bytes}, {const_cast<std::byte*>(source.data()) + 3, bytes, bytes}, bytes},
                parallel ? &pair : nullptr)));
      ASSERT_EQ(std::memcmp(target.data() + 64, source.data() + 3, bytes), 0);
      for (int i = 0; i < 64; ++i)
        ASSERT_TRUE(target[i] == std::byte{0x5A} && target[bytes + 64 + i] == std::byte{0x5A});
      EXPECT_EQ(pair.runs, parallel ? 1 : 0);
    }
  }
}

TEST(CopyTest, LargePitchedCopiesAreRightAloneAndInParallel) {
  const size_t width = 9000, height = 4001, from = 9216, to = 10240;
  const std::vector<std::byte> source = noise(from * height, 10);
  for (bool parallel : {false, true}) {
    ThreadPair pair;
    std::vector<std::byte> actual = noise(to * height, 11), expected = actual;
    Shape shape{{expected.data(), to, 0}, {const_cast<std::byte*>(source.data()), from, 0}, width, height};
    plainCopy(shape);
    shape.destination.base = actual.data();
    EXPECT_TRUE(copy(shape, parallel ? &pair : nullptr));
    ASSERT_TRUE(actual == expected);
    EXPECT_EQ(pair.runs, parallel ? 1 : 0);
  }
}

TEST(CopyTest, OverlappingRowsBehaveAsMemmove) {
  for (size_t bytes : {size_t{1000}, size_t{100000}, size_t{30} << 20}) {
    for (long shift : {-4097L, -64L, -1L, 1L, 63L, 5000L}) {
      ThreadPair pair;
      std::vector<std::byte> actual = noise(bytes + 20000, 12), expected = actual;
      std::memmove(expected.data() + 8192 + shift, expected.data() + 8192, bytes);
      EXPECT_TRUE(
          (copy({{actual.data() + 8192 + shift, bytes, bytes}, {actual.data() + 8192, bytes, bytes}, bytes}, &pair)));
      ASSERT_TRUE(actual == expected) << bytes << " shifted by " << shift;
    }
  }
}

TEST(CopyTest, OverlappingBoxesOfOnePitchBehaveAsIfCopiedThroughABuffer) {
  const size_t pitch = 256, width = 200, height = 50;
  for (long shift : {-300L, -256L, -8L, 8L, 256L, 512L, 700L}) {
    std::vector<std::byte> actual = noise(pitch * (height + 8), 13), expected = actual;
    const std::vector<std::byte> before = actual;
    for (size_t y = 0; y < height; ++y)
      std::memcpy(expected.data() + 1024 + shift + y * pitch, before.data() + 1024 + y * pitch, width);
    EXPECT_TRUE((copy({{actual.data() + 1024 + shift, pitch, 0}, {actual.data() + 1024, pitch, 0}, width, height})));
    ASSERT_TRUE(actual == expected) << "shifted by " << shift;
  }
}

TEST(CopyTest, FillsOfAnyShapeWriteEveryRowAndNothingElse) {
  std::mt19937 random(14);
  for (int round = 0; round < 20000; ++round) {
    Fill fill;
    fill.elementSize = 1u << random() % 3;
    fill.width = random() % 200 * fill.elementSize;
    fill.height = random() % 5;
    fill.pitch = fill.width + random() % 4 * fill.elementSize;
    fill.pattern = random();
    std::vector<std::byte> actual = noise(fill.pitch * 5 + 200, round), expected = actual;
    for (size_t y = 0; y < fill.height; ++y)
      for (size_t x = 0; x < fill.width; x += fill.elementSize)
        std::memcpy(expected.data() + 64 + y * fill.pitch + x, &fill.pattern, fill.elementSize);
    fill.base = actual.data() + 64;
    EXPECT_TRUE(copy::fill(fill));
    ASSERT_EQ(actual, expected);
  }
}

TEST(CopyTest, LargeFillsAreRightAloneAndInParallel) {
  for (size_t height : {size_t{1}, size_t{300}}) {
    for (uint32_t element : {1u, 2u, 4u}) {
      for (bool parallel : {false, true}) {
        ThreadPair pair;
        const size_t width = (size_t{70} << 20) / height / 4 * 4, pitch = width + 64, start = 64 + 3 * element;
        std::vector<std::byte> actual(pitch * height + 128, std::byte{0x77});
        Fill fill{actual.data() + start, pitch, width, height, 0x01F203E4, element};
        EXPECT_TRUE(copy::fill(fill, parallel ? &pair : nullptr));
        EXPECT_EQ(pair.runs, parallel ? 1 : 0);
        size_t wrong = 0;
        for (size_t y = 0; y < height; ++y) {
          const std::byte* row = actual.data() + start + y * pitch;
          for (size_t x = 0; x < width; x += element) wrong += std::memcmp(row + x, &fill.pattern, element) != 0;
          for (size_t x = width; x < pitch; ++x) wrong += y + 1 < height && row[x] != std::byte{0x77};
        }
        EXPECT_EQ(wrong, 0u);
        EXPECT_EQ(actual[start - 1], std::byte{0x77});
        EXPECT_EQ(actual[start + (height - 1) * pitch + width], std::byte{0x77});
      }
    }
  }
}

}  // namespace
}  // namespace vg::copy
