// Records as kernels write them, and what a kernel that runs wild leaves in their place.
#include "backend/device_side/device_output.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace vg::backend {
namespace {

using cubin::OutputHeader;
using cubin::RecordHeader;
using cubin::RecordKind;

class Ring {
 public:
  Ring() : bytes_(DeviceOutput::bytesFor(1)), output(bytes_.data(), bytes_.size()) {}

  uint64_t capacity() const { return bytes_.size() - sizeof(OutputHeader); }
  std::byte* at(uint64_t place) { return bytes_.data() + sizeof(OutputHeader) + place % capacity(); }
  void setReserved(uint64_t end) { std::memcpy(bytes_.data(), &end, sizeof end); }
  // A record of this body at the end of what was written; around the ring's end in 16-byte steps.
  void add(RecordKind kind, uint32_t detail, std::string body, bool whole = true) {
    body.resize((body.size() + 15) / 16 * 16);
    const auto size = static_cast<uint32_t>(sizeof(RecordHeader) + body.size());
    const RecordHeader header{size, whole ? cubin::markOf(end_) : 0, kind, detail};
    std::memcpy(at(end_), &header, sizeof header);
    for (size_t i = 0; i < body.size(); i += 16) std::memcpy(at(end_ + 16 + i), &body[i], 16);
    setReserved(end_ += size);
  }
  void addText(const std::string& text) { add(RecordKind::Print, 0, text + std::string(8 - text.size() % 8, '\0')); }

 private:
  std::vector<std::byte> bytes_;
  uint64_t end_ = 0;

 public:
  DeviceOutput output;
};

TEST(DeviceOutput, RecordsAreReadOnceAndInOrder) {
  Ring ring;
  ring.addText("one ");
  ring.addText("two");
  EXPECT_EQ(ring.output.drain().printed, "one two");
  EXPECT_EQ(ring.output.drain().printed, "");
  for (int i = 0; i < 10000; ++i) {
    ring.addText("more");
    ASSERT_EQ(ring.output.drain().printed, "more");
  }
}

TEST(DeviceOutput, WhatIsNotWholeYetWaits) {
  Ring ring;
  ring.addText("one");
  ring.add(RecordKind::Print, 0, "two", false);
  ring.addText("three");
  EXPECT_EQ(ring.output.drain().printed, "one");
  const uint32_t mark = cubin::markOf(32);
  std::memcpy(ring.at(32) + 4, &mark, sizeof mark);
  EXPECT_EQ(ring.output.drain().printed, "twothree");
}

TEST(DeviceOutput, TheFirstRecordThatIsLeftIsFound) {
  Ring ring;
  for (int i = 0; i < 5000; ++i) ring.addText("l" + std::to_string(i % 10) + "\n");
  const std::string printed = ring.output.drain().printed;
  EXPECT_EQ(printed.size(), ring.capacity() / 32 * 3);
  EXPECT_EQ(printed.substr(printed.size() - 3), "l9\n");
}

TEST(DeviceOutput, DamageCostsOnlyTheRecordThatItHits) {
  Ring ring;
  for (int i = 0; i < 5000; ++i) ring.addText("line");
  std::memset(ring.at(1600), 0x55, 16);
  EXPECT_EQ(ring.output.drain().printed.size(), (ring.capacity() / 32 - 1) * 4);
}

TEST(DeviceOutput, ArgumentsThatWereNotWrittenAreZeroes) {
  Ring ring;
  ring.add(RecordKind::Print, 0, std::string("%d %s %f %lld %*d\n\0\0\0\0\0\0", 24));
  EXPECT_EQ(ring.output.drain().printed, "0 (null) 0.000000 0 0\n");
}

TEST(DeviceOutput, WildBytesDoNoHarm) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Ring ring;
    uint64_t place = 0;
    for (int record = 0; record < 50; ++record) {
      std::string body(random() % 200, '\0');
      for (char& c : body) c = static_cast<char>(random() % 4 ? "%sdlf*c0123"[random() % 11] : random());
      const auto kind = static_cast<RecordKind>(random() % 4);
      ring.add(kind, random() % 3 ? random() % 256 : static_cast<uint32_t>(random()), std::move(body), random() % 20);
      if (random() % 10 == 0) ring.at(place)[random() % 16] = static_cast<std::byte>(random());
      place += 16;
    }
    if (random() % 4 == 0) ring.setReserved((uint64_t{random()} << 32 | random()) & ~uint64_t{15});
    (void)ring.output.drain();
    (void)ring.output.drain();
  }
}

}  // namespace
}  // namespace vg::backend
