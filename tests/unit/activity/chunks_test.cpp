#include "activity/chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace vg::activity {
namespace {

struct Packet {
  PacketHead head;
  uint64_t thread, number;
};

bool put(Chunks& chunks, Chunk*& mine, uint64_t thread, uint64_t number, uint32_t padding = 0) {
  const auto bytes = static_cast<uint32_t>(sizeof(Packet)) + padding;
  std::byte* const place = chunks.claim(mine, bytes);
  if (!place) return false;
  const Packet packet{{1, bytes}, thread, number};
  std::memcpy(place, &packet, sizeof packet);
  Chunks::publish(mine, bytes);
  return true;
}

Packet packetAt(const PacketHead& head) {
  Packet packet;
  std::memcpy(&packet, &head, sizeof packet);
  return packet;
}

TEST(Chunks, HaveRoomUntilTooMuchWaitsAndAgainOnceThatIsRead) {
  const auto chunks = std::make_unique<Chunks>();
  Chunk* mine = nullptr;
  uint64_t count = 0;
  while (put(*chunks, mine, 0, count)) ++count;
  EXPECT_GE(count * sizeof(Packet), (Chunks::kMost - 1) * Chunk::kBytes);
  EXPECT_TRUE(chunks->manyWait());
  uint64_t read = 0;
  EXPECT_TRUE(
      chunks->read([&](const PacketHead& head, const std::byte*) { EXPECT_EQ(packetAt(head).number, read++); }));
  EXPECT_EQ(read, count);
  EXPECT_FALSE(chunks->read([](const PacketHead&, const std::byte*) {}));
  EXPECT_TRUE(put(*chunks, mine, 0, 0));
}

TEST(Chunks, WhatIsNotPublishedIsNotThere) {
  const auto chunks = std::make_unique<Chunks>();
  Chunk* mine = nullptr;
  ASSERT_TRUE(chunks->claim(mine, sizeof(Packet)));
  EXPECT_FALSE(chunks->read([](const PacketHead&, const std::byte*) {}));
}

TEST(Chunks, OfThreadsThatEndAreUsedAgain) {
  const auto chunks = std::make_unique<Chunks>();
  std::vector<Chunk*> met;
  for (uint64_t i = 0; i < 10 * Chunks::kMost; ++i) {
    Chunk* mine = nullptr;
    ASSERT_TRUE(put(*chunks, mine, i, 0));
    met.push_back(mine);
    chunks->close(mine);
    uint64_t read = 0;
    chunks->read([&](const PacketHead&, const std::byte*) { ++read; });
    ASSERT_EQ(read, 1u);
  }
  std::sort(met.begin(), met.end());
  EXPECT_LE(std::unique(met.begin(), met.end()) - met.begin(), 2);
}

TEST(Chunks, APacketThatItsReaderGivesUpIsGoneAndTheOthersCome) {
  const auto chunks = std::make_unique<Chunks>();
  Chunk* mine = nullptr;
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(put(*chunks, mine, 0, i));
  EXPECT_THROW(chunks->read([](const PacketHead&, const std::byte*) { throw std::bad_alloc(); }), std::bad_alloc);
  std::vector<uint64_t> read;
  chunks->read([&](const PacketHead& head, const std::byte*) { read.push_back(packetAt(head).number); });
  EXPECT_EQ(read, (std::vector<uint64_t>{1, 2}));
}

TEST(Chunks, LoseNothingOfManyThreadsAndKeepTheOrderOfEach) {
  constexpr uint64_t kThreads = 4, kEach = 40'000;
  const auto chunks = std::make_unique<Chunks>();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Chunk* mine = nullptr;
      for (uint64_t i = 0; i < kEach; ++i)
        while (!put(*chunks, mine, t, i, static_cast<uint32_t>(i % 50) * 8)) std::this_thread::yield();
      chunks->close(mine);
    });
  uint64_t next[kThreads] = {}, taken = 0;
  while (taken < kThreads * kEach)
    if (!chunks->read([&](const PacketHead& head, const std::byte*) {
          const Packet packet = packetAt(head);
          EXPECT_EQ(packet.number, next[packet.thread]++);
          ++taken;
        }))
      std::this_thread::yield();
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(chunks->read([](const PacketHead&, const std::byte*) {}));
}

}  // namespace
}  // namespace vg::activity
