// Channels, copies and fills, run by the fake GPU.
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint32_t kEngine = 0xb;

struct Channels : ::testing::Test {
  FakeGpu fake;
  std::unique_ptr<ChannelGroup> group = must(ChannelGroup::create(*fake.gpu, fake.addresses(), kEngine, 1));
  Channel& channel = group->channel(0);
  std::unique_ptr<Block> host = must(Block::createPinned(*fake.gpu, fake.addresses(), 2 * kMiB));
  std::unique_ptr<Block> video =
      must(Block::create(*fake.gpu, fake.addresses(), {Where::Video, 4 * kMiB}, SeenBy::GpuAndCpu));

  template <class Pieces>
  CUresult run(Pieces pieces) {
    while (!pieces.done()) {
      Push push = must(channel.begin());
      pieces.write(push);
      channel.submit(push);
    }
    return channel.wait(channel.submitted());
  }
};

TEST_F(Channels, CompleteInOrderAndStampTheTime) {
  const uint64_t before = must(fake.gpu->time());
  for (int i = 0; i < 3000; ++i) {
    Push push = must(channel.begin());
    channel.submit(push);
  }
  ASSERT_EQ(channel.wait(channel.submitted()), CUDA_SUCCESS);
  EXPECT_TRUE(channel.done(channel.submitted()));
  uint64_t last = before;
  for (uint64_t i = channel.submitted() - 2999; i <= channel.submitted(); ++i) {
    EXPECT_TRUE(channel.done(i));
    EXPECT_GE(channel.endedAt(i), last);
    last = channel.endedAt(i);
  }
  EXPECT_LE(last, must(fake.gpu->time()));
}

TEST_F(Channels, OfTheGraphicsEngineWorkToo) {
  auto graphics = must(ChannelGroup::create(*fake.gpu, fake.addresses(), rm::kEngineGraphics, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(graphics->channel(i).wait(graphics->channel(i).submitted()), CUDA_SUCCESS);
}

TEST_F(Channels, LetOthersInBetweenTheBlocksOfTheirGrids) {
  EXPECT_TRUE(fake.driver.preemptions().empty());
  auto graphics = must(ChannelGroup::create(*fake.gpu, fake.addresses(), rm::kEngineGraphics, 3));
  EXPECT_EQ(fake.driver.preemptions(), std::vector<uint32_t>(3, rm::kBetweenBlocks));
  ASSERT_EQ(graphics->add(fake.addresses(), 1), CUDA_SUCCESS);
  EXPECT_EQ(fake.driver.preemptions(), std::vector<uint32_t>(4, rm::kBetweenBlocks));
}

TEST_F(Channels, WaitForEachOther) {
  auto other = must(ChannelGroup::create(*fake.gpu, fake.addresses(), 0xc, 1));
  const uint64_t word = host->address(4096);
  Push waiting = must(channel.begin());
  host::acquire(waiting, {word, 5});
  const uint64_t number = channel.submit(waiting);
  EXPECT_EQ(channel.wait(number, 20'000'000), CUDA_ERROR_TIMEOUT);
  Push releasing = must(other->channel(0).begin());
  host::release(releasing, {word, 5});
  other->channel(0).submit(releasing);
  EXPECT_EQ(channel.wait(number), CUDA_SUCCESS);
}

// Seen on an H100 beside other processes whose channels come and go.
TEST(Channel, RingsAgainWhenTheHardwareDoesNotHearIt) {
  FakeDriver::Description description;
  description.lostDoorbells = 5;
  FakeGpu fake(description);
  const auto group = must(ChannelGroup::create(*fake.gpu, fake.addresses(), kEngine, 1));
  EXPECT_EQ(group->channel(0).wait(group->channel(0).submitted()), CUDA_SUCCESS);
}

TEST_F(Channels, ThatAreAbandonedTakeNothingMoreAndStopForWhoeverWaits) {
  Push waiting = must(channel.begin());
  host::acquire(waiting, {host->address(4096), 5});
  const uint64_t number = channel.submit(waiting);
  std::thread other([&] { EXPECT_EQ(channel.wait(number), CUDA_ERROR_LAUNCH_TIMEOUT); });
  channel.abandon(CUDA_ERROR_LAUNCH_TIMEOUT);
  other.join();
  group->close();
  EXPECT_EQ(channel.begin().error(), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(channel.state(), CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST_F(Channels, CopyBoxesOfAnyShape) {
  std::mt19937 random(1);
  for (size_t i = 0; i < host->bytes(); ++i) host->start()[i] = static_cast<std::byte>(random());
  for (int round = 0; round < 200; ++round) {
    copy::Shape s;
    s.width = 1 + random() % 300;
    s.height = 1 + random() % 9;
    s.depth = 1 + random() % 150;
    const size_t gap = random() % 3;
    s.source = {host->start() + random() % 9, s.width + gap, (s.width + gap) * s.height};
    s.destination = {video->start() + random() % 9, s.width + gap, (s.width + gap) * s.height + random() % 2};
    std::memset(video->start(), 0x11, kMiB);
    std::vector<std::byte> expected(video->start(), video->start() + kMiB);
    for (size_t z = 0; z < s.depth; ++z)
      for (size_t y = 0; y < s.height; ++y)
        std::memcpy(expected.data() + (s.destination.base - video->start()) + z * s.destination.slicePitch +
                        y * s.destination.rowPitch,
                    s.source.base + z * s.source.slicePitch + y * s.source.rowPitch, s.width);
    ASSERT_EQ(run(CopyPieces(s)), CUDA_SUCCESS) << channel.describe();
    ASSERT_EQ(std::memcmp(expected.data(), video->start(), kMiB), 0) << "round " << round;
  }
}

TEST_F(Channels, FillRowsOfAnyElement) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    copy::Fill f;
    f.elementSize = 1u << random() % 3;
    f.width = f.elementSize * (1 + random() % 200);
    f.height = 1 + random() % 8;
    f.pitch = f.width + f.elementSize * (random() % 3);
    f.pattern = random();
    f.base = video->start() + f.elementSize * (random() % 7);
    std::memset(video->start(), 0x22, 65536);
    std::vector<std::byte> expected(video->start(), video->start() + 65536);
    for (size_t y = 0; y < f.height; ++y)
      for (size_t x = 0; x < f.width; x += f.elementSize)
        std::memcpy(expected.data() + (f.base - video->start()) + y * f.pitch + x, &f.pattern, f.elementSize);
    ASSERT_EQ(run(FillPieces(f)), CUDA_SUCCESS) << channel.describe();
    ASSERT_EQ(std::memcmp(expected.data(), video->start(), 65536), 0) << "round " << round;
  }
}

TEST_F(Channels, EmptyBoxesNeedNoLaunch) {
  const uint64_t before = channel.submitted();
  copy::Shape s;
  s.width = 16;
  s.height = 0;
  EXPECT_EQ(run(CopyPieces(s)), CUDA_SUCCESS);
  EXPECT_EQ(run(FillPieces(copy::Fill{})), CUDA_SUCCESS);
  EXPECT_EQ(channel.submitted(), before);
}

TEST_F(Channels, AFaultEndsOneChannelAndNoOther) {
  copy::Shape s;
  s.source.base = host->start();
  s.destination.base = video->start() + video->bytes();  // nothing is mapped there
  s.width = 64;
  EXPECT_EQ(run(CopyPieces(s)), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(channel.state(), CUDA_ERROR_ILLEGAL_ADDRESS);
  auto next = must(ChannelGroup::create(*fake.gpu, fake.addresses(), kEngine, 1));
  EXPECT_EQ(next->channel(0).wait(next->channel(0).submitted()), CUDA_SUCCESS);
}

TEST_F(Channels, ReadOnlyMemoryIsNotWritten) {
  void* const pages = mmap(nullptr, kSmallPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  {
    const auto pinned = must(Block::pin(*fake.gpu, pages, kSmallPage, true));
    copy::Shape s;
    s.destination.base = pinned->start();
    s.source.base = video->start();
    s.width = 64;
    EXPECT_EQ(run(CopyPieces(s)), CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  munmap(pages, kSmallPage);
}

TEST_F(Channels, AreFreedWithAllTheirMemory) {
  const size_t ranges = fake.driver.ranges(), objects = fake.driver.objects();
  const uint64_t used = fake.driver.usedMemory();
  { auto more = must(ChannelGroup::create(*fake.gpu, fake.addresses(), 0xd, 4)); }
  EXPECT_EQ(fake.driver.ranges(), ranges);
  EXPECT_EQ(fake.driver.objects(), objects);
  EXPECT_EQ(fake.driver.usedMemory(), used);
}

TEST_F(Channels, AreAddedToAGroupWhileOthersWait) {
  const uint64_t word = host->address(4096);
  Push waiting = must(channel.begin());
  host::acquire(waiting, {word, 5});
  const uint64_t number = channel.submit(waiting);
  ASSERT_EQ(group->add(fake.addresses(), 2), CUDA_SUCCESS);
  ASSERT_EQ(group->count(), 3);
  for (int i = 1; i < 3; ++i) EXPECT_EQ(group->channel(i).wait(group->channel(i).submitted()), CUDA_SUCCESS);
  EXPECT_FALSE(channel.done(number));
  Push releasing = must(group->channel(2).begin());
  host::release(releasing, {word, 5});
  group->channel(2).submit(releasing);
  EXPECT_EQ(channel.wait(number), CUDA_SUCCESS);
  const size_t ranges = fake.driver.ranges(), objects = fake.driver.objects();
  fake.driver.failNext(fake.driver.classes().copy, kNoMemory);
  EXPECT_NE(group->add(fake.addresses(), 1), CUDA_SUCCESS);
  EXPECT_EQ(group->count(), 3);
  EXPECT_EQ(fake.driver.ranges(), ranges);
  EXPECT_EQ(fake.driver.objects(), objects);
}

// The number and the time of what other channels wait for come from the engine that has done it.
TEST_F(Channels, CopiesThatOthersWaitForSayThemselvesThatTheyAreDone) {
  copy::Shape s;
  s.source.base = host->start();
  s.destination.base = video->start();
  s.width = 64;
  auto other = must(ChannelGroup::create(*fake.gpu, fake.addresses(), 0xc, 1));
  for (const bool stamped : {false, true}) {
    Push push = must(channel.begin());
    const CopyEnd end = channel.copyEnd(channel.submitted() + 1, stamped);
    CopyPieces(s).write(push, &end);
    const uint64_t number = channel.submitCopy(push, stamped);
    EXPECT_EQ(channel.wait(number), CUDA_SUCCESS);
    const uint64_t own = channel.ownEnd(number).at();
    EXPECT_EQ(own != 0, stamped) << "the time that the copy itself writes";
    EXPECT_GT(channel.endedAt(number), 0u);
    EXPECT_TRUE(!stamped || channel.endedAt(number) == own);
    Push waiting = must(other->channel(0).begin());
    host::acquire(waiting, channel.end(number));
    EXPECT_EQ(other->channel(0).wait(other->channel(0).submit(waiting)), CUDA_SUCCESS);
  }
}

TEST_F(Channels, AFailedGroupLeavesNothing) {
  const FakeClasses& classes = fake.driver.classes();
  for (const uint32_t objectClass : {rm::kChannelGroup, rm::kMemoryLocalUser, rm::kMemorySystem, classes.channel,
                                     classes.copy, classes.compute, rm::kContextShare}) {
    const size_t ranges = fake.driver.ranges(), objects = fake.driver.objects();
    fake.driver.failNext(objectClass, kNoMemory);
    EXPECT_FALSE(ChannelGroup::create(*fake.gpu, fake.addresses(), rm::kEngineGraphics, 2).ok());
    EXPECT_EQ(fake.driver.ranges(), ranges) << std::hex << objectClass;
    EXPECT_EQ(fake.driver.objects(), objects) << std::hex << objectClass;
  }
}

}  // namespace
}  // namespace vg::testing
