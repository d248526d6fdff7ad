// Every engine against the plain loop, with guard bytes on all sides.
#include "copy/engines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace vg::copy {
namespace {

class EnginesTest : public testing::TestWithParam<const Engines*> {
 protected:
  void SetUp() override {
    if (!GetParam()->supported()) GTEST_SKIP() << "the processor lacks " << GetParam()->name;
  }
};

std::vector<std::byte> noise(size_t bytes, std::mt19937& random) {
  std::vector<std::byte> made(bytes);
  for (std::byte& b : made) b = static_cast<std::byte>(random());
  return made;
}

size_t someSize(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return random() % 70;
    case 1:
      return random() % 600;
    case 2:
      return random() % 5000;
    default:
      return 64 * (random() % 40) + random() % 3;
  }
}

TEST_P(EnginesTest, MoveIsMemmoveWhateverTheOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 30000; ++round) {
    const size_t bytes = someSize(random), from = 64 + random() % 700, to = 64 + random() % 700;
    std::vector<std::byte> actual = noise(bytes + 900, random), expected = actual;
    std::memmove(expected.data() + to, expected.data() + from, bytes);
    GetParam()->move(actual.data() + to, actual.data() + from, bytes);
    ASSERT_EQ(actual, expected) << "bytes " << bytes << " from " << from << " to " << to;
  }
}

TEST_P(EnginesTest, ShortRowsAreCopiedAndTheirGapsKept) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const size_t bytes = random() % (kShortRow + 1), rows = random() % 70;
    const size_t toPitch = bytes + random() % 100, fromPitch = random() % 4 ? bytes + random() % 9 : 0;
    const std::vector<std::byte> source = noise(fromPitch * rows + bytes + 80, random);
    std::vector<std::byte> actual = noise(toPitch * rows + bytes + 200, random), expected = actual;
    for (size_t row = 0; row < rows; ++row)
      std::memcpy(expected.data() + 64 + row * toPitch, source.data() + 7 + row * fromPitch, bytes);
    GetParam()->moveShortRows(actual.data() + 64, toPitch, source.data() + 7, fromPitch, bytes, rows);
    ASSERT_EQ(actual, expected) << "bytes " << bytes << " rows " << rows << " pitches " << toPitch << ' ' << fromPitch;
  }
}

TEST_P(EnginesTest, StreamCopiesAndTouchesNothingElse) {
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    const size_t bytes = someSize(random), from = random() % 80, to = 64 + random() % 80;
    const std::vector<std::byte> source = noise(bytes + 80, random);
    std::vector<std::byte> actual = noise(bytes + 200, random), expected = actual;
    std::memcpy(expected.data() + to, source.data() + from, bytes);
    const auto stream = round % 2 ? GetParam()->stream : GetParam()->streamKeptSource;
    stream(actual.data() + to, source.data() + from, bytes);
    streamFence();
    ASSERT_EQ(actual, expected) << "bytes " << bytes << " from " << from << " to " << to;
  }
}

TEST_P(EnginesTest, FillRepeatsThePatternAndTouchesNothingElse) {
  std::mt19937 random(3);
  for (int round = 0; round < 30000; ++round) {
    const size_t element = size_t{1} << random() % 3;
    const size_t bytes = someSize(random) / element * element, to = 64 + random() % 20 * element;
    const uint32_t value = random();
    const uint32_t pattern = element == 1   ? (value & 0xFF) * 0x01010101u
                             : element == 2 ? (value & 0xFFFF) * 0x00010001u
                                            : value;
    std::vector<std::byte> actual = noise(bytes + 256, random), expected = actual;
    for (size_t i = 0; i < bytes; i += element) std::memcpy(expected.data() + to + i, &value, element);
    (round % 2 ? GetParam()->fill : GetParam()->streamFill)(actual.data() + to, bytes, pattern);
    streamFence();
    ASSERT_EQ(actual, expected) << "bytes " << bytes << " element " << element << " to " << to;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, EnginesTest, testing::ValuesIn(kAllEngines),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace vg::copy
