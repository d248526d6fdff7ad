// Queues on the fake GPU: copies and grids that follow each other, within a queue and from one to the other, without a
// thread of the host in between; what becomes of it when some of it faults.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "backend/nvidia/sent_work.h"
#include "backend/queue.h"
#include "base/sync/spin.h"
#include "cubin/cubin.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint32_t kDies = 0xdead, kWaitsForGate = 0x6a7e;

std::atomic<bool> gateOpen;

// Adds its second parameter to the word that the first one points to.
uint32_t addTo(const FakeGrid& grid, const FakeTranslate& translate) {
  const auto value = grid.parameter<uint32_t>(8);
  if (value == kWaitsForGate) return gateOpen ? 0 : kRunsOn;
  if (value == kDies) return 13;
  std::byte* const word = translate(grid.parameter<uint64_t>(0), 4, true);
  if (!word) return 31;
  uint32_t sum;
  std::memcpy(&sum, word, sizeof sum);
  sum += value;
  std::memcpy(word, &sum, sizeof sum);
  return 0;
}

cubin::Cubin moduleOfAddTo() {
  cubin::Cubin c;
  c.architecture = fakeArchitecture();
  c.sections = {{".text.add", cubin::Kind::Code, 0, cubin::kNone, 128, 128}};
  c.bytes.assign(128, '\0');
  c.fileOffsets = {0};
  c.symbols = {{"", cubin::kNone, 0, false, false}};
  c.relocations = {{}};
  cubin::Kernel kernel;
  kernel.name = "add";
  kernel.registers = 16;
  kernel.reservedBytes = 0x400;
  kernel.parameters = {{0, 8}, {8, 4}};
  kernel.parameterBase = kDriverWords;
  kernel.parameterBytes = 12;
  kernel.bank0Bytes = kDriverWords + 12;
  c.kernels = {kernel};
  return c;
}

struct Streams : ::testing::Test {
  Streams() {
    gateOpen = false;
    pinned = must(device->parts().hostPages.allocate(kMiB));
    source.native = std::make_shared<const cubin::Cubin>(moduleOfAddTo());
    source.memoryOwner = window + 6 * kMiB;
    source.allocate = [](void* owner, size_t, size_t) -> Result<CUdeviceptr> {
      return reinterpret_cast<CUdeviceptr>(owner);
    };
    source.release = [](void*, CUdeviceptr) {};
    image = must(device->load(source, {}));
    kernel = must(image->kernel("add"));
  }
  ~Streams() override { gateOpen = true; }

  struct Record : backend::LaunchRecord {
    struct alignas(8) {
      uint64_t word;
      uint32_t value;
    } arguments;
  };
  backend::Command launch(std::byte* word, uint32_t value) {
    auto record = std::make_unique<Record>();
    record->kernel = kernel;
    record->arguments = {reinterpret_cast<uint64_t>(word), value};
    record->parameters = reinterpret_cast<const std::byte*>(&record->arguments);
    record->release = [](backend::LaunchRecord* one) { delete static_cast<Record*>(one); };
    EXPECT_EQ(kernel->prepare(record->shape), CUDA_SUCCESS);
    return backend::LaunchCommand{record.release(), &sink};
  }
  backend::Command copy(std::byte* to, std::byte* from, size_t bytes = 4) {
    copy::Shape s;
    s.destination.base = to;
    s.source.base = from;
    s.width = bytes;
    return backend::CopyCommand{s, &sink};
  }
  // The same in rows of four bytes.
  backend::Command copyRows(std::byte* to, std::byte* from, size_t rows) {
    copy::Shape s;
    s.destination = {to, 16, 16 * rows};
    s.source = {from, 8, 8 * rows};
    s.width = 4;
    s.height = rows;
    return backend::CopyCommand{s, &sink};
  }
  static uint32_t wordAt(const std::byte* at) {
    uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static void put(std::byte* at, uint32_t value) { std::memcpy(at, &value, sizeof value); }

  // A queue, and the point that its next command reaches.
  struct Stream {
    explicit Stream(GpuDevice& device) : queue(device.createQueue(0, nullptr)) {}
    Point add(const backend::Command& command) {
      EXPECT_EQ(queue->submit(&command, 1, {timeline, ++last}), CUDA_SUCCESS);
      return {timeline, last};
    }
    bool ends(uint64_t within = 20 * kSecond) const { return timeline->waitFor(last, within); }

    std::unique_ptr<backend::Queue> queue;
    Timeline* const timeline = Timeline::create();
    uint64_t last = timeline->value();
  };

  FakeGpu fake{[] {
    FakeDriver::Description description;
    description.program = addTo;
    return description;
  }()};
  GpuDevice* const device = keptDevice(fake);
  std::byte* const window = keptMemory(*device, 8 * kMiB);
  std::byte* pinned = nullptr;
  backend::ImageSource source;
  Sink sink;
  std::unique_ptr<backend::Image> image;
  backend::Kernel* kernel = nullptr;
};

TEST_F(Streams, CopiesAndGridsFollowEachOther) {
  Stream a(*device);
  a.add(launch(window, kWaitsForGate));
  constexpr uint32_t kRounds = 1000;
  std::byte* const results = pinned + 65536;
  for (uint32_t i = 0; i < kRounds; ++i) {
    put(pinned + 4 * i, 3 * i);
    a.add(copy(window, pinned + 4 * i));
    a.add(launch(window, 7));
    a.add(copy(results + 4 * i, window));
  }
  EXPECT_FALSE(a.ends(20'000'000));
  gateOpen = true;
  ASSERT_TRUE(a.ends());
  for (uint32_t i = 0; i < kRounds; ++i) ASSERT_EQ(wordAt(results + 4 * i), 3 * i + 7);
  EXPECT_EQ(sink.seen, CUDA_SUCCESS);
}

// Whoever calls has other things to do: the memory that the CPU must not touch yet it leaves alone, too.
TEST_F(Streams, ThousandsOfCopiesBehindAKernelKeepNobodyWaiting) {
  Stream a(*device);
  a.add(launch(window, kWaitsForGate));
  constexpr uint32_t kCopies = 5000;
  for (uint32_t i = 0; i < kCopies; ++i) {
    put(pinned + 4 * i, i);
    a.add(copy(window + 4096 + 4 * i, pinned + 4 * i));
  }
  for (uint32_t i = 0; i < 200; ++i) a.add(launch(window + 4096, 1));  // more than a channel takes
  EXPECT_EQ(wordAt(window + 4096 + 4 * 77), 0u);
  gateOpen = true;
  ASSERT_TRUE(a.ends());
  EXPECT_EQ(wordAt(window + 4096), 200u);
  for (uint32_t i = 1; i < kCopies; ++i) ASSERT_EQ(wordAt(window + 4096 + 4 * i), i);
}

TEST_F(Streams, ACopyThatWaitsForAKernelHoldsUpNoOtherStreams) {
  Stream a(*device), b(*device);
  a.add(launch(window, kWaitsForGate));
  put(pinned, 1);
  a.add(copy(window + 256, pinned));
  a.add(copy(pinned + 4, window + 256));
  put(pinned + 8, 2);
  b.add(copy(window + 512, pinned + 8));
  b.add(launch(window + 512, 5));
  b.add(copy(pinned + 12, window + 512));
  ASSERT_TRUE(b.ends());
  EXPECT_EQ(wordAt(pinned + 12), 7u);
  EXPECT_EQ(wordAt(pinned + 4), 0u);
  gateOpen = true;
  ASSERT_TRUE(a.ends());
  EXPECT_EQ(wordAt(pinned + 4), 1u);
}

// A channel takes long to make, so there are no more than are needed at once.
TEST_F(Streams, OneThatIsAloneNeedsOneChannelForItsCopies) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 12; ++i) streams.push_back(std::make_unique<Stream>(*device));
  const auto useAll = [&](bool atOnce) {
    for (const auto& stream : streams) {
      stream->add(launch(window, kWaitsForGate));
      for (int i = 0; i < 3; ++i) {
        stream->add(copy(window, pinned));
        stream->add(copy(pinned, window));
      }
      if (!atOnce) {
        gateOpen = true;
        EXPECT_TRUE(stream->ends());
        gateOpen = false;
      }
    }
    gateOpen = true;
    for (const auto& stream : streams) EXPECT_TRUE(stream->ends());
    gateOpen = false;
  };
  useAll(false);
  const size_t before = fake.driver.objects();
  useAll(false);
  EXPECT_EQ(fake.driver.objects(), before);
  for (int i = 0; i < 5; ++i) useAll(true);
  const size_t after = fake.driver.objects();
  const auto another = must(ChannelGroup::create(device->gpu(), fake.addresses(), 0xb, 1));
  const size_t ofOne = fake.driver.objects() - after;
  EXPECT_GT(after, before);
  EXPECT_LE(after, before + 14 * ofOne);  // seven more in each direction
}

TEST_F(Streams, WhatComesBehindAHostFunctionIsSentAsWell) {
  static Streams* test;
  static uint32_t atCall;
  test = this;
  Stream a(*device);
  put(pinned, 40);
  a.add(copy(window, pinned));
  a.add(launch(window, 2));
  a.add(copy(pinned + 4, window));
  a.add(backend::HostCall{[](void*) { atCall = wordAt(test->pinned + 4); }, nullptr});
  for (uint32_t i = 0; i < 300; ++i) a.add(launch(window, 1));
  a.add(copy(pinned + 4, window));
  uint64_t stamp = 0;
  a.add(backend::Timestamp{&stamp});
  ASSERT_TRUE(a.ends());
  EXPECT_EQ(atCall, 42u);
  EXPECT_EQ(wordAt(pinned + 4), 342u);
  EXPECT_LE(stamp, device->timestamp());
  EXPECT_GT(stamp + kSecond * 20, device->timestamp());
}

TEST_F(Streams, CopiesOfRowsBothWays) {
  Stream a(*device);
  constexpr uint32_t kRows = 500;
  for (uint32_t i = 0; i < kRows; ++i) put(pinned + 8 * i, i + 1);
  a.add(launch(window, 1));
  a.add(copyRows(window + 4096, pinned, kRows));
  a.add(launch(window + 4096, 1));
  copy::Shape back;
  back.destination = {pinned + 65536, 4, 4 * kRows};
  back.source = {window + 4096, 16, 16 * kRows};
  back.width = 4;
  back.height = kRows;
  a.add(backend::CopyCommand{back, &sink});
  ASSERT_TRUE(a.ends());
  for (uint32_t i = 0; i < kRows; ++i) ASSERT_EQ(wordAt(pinned + 65536 + 4 * i), i + (i ? 1 : 2));
}

TEST_F(Streams, StampsOfCopiesAreTheGpus) {
  Stream a(*device);
  uint64_t before = 0, between = 0, after = 0;
  a.add(launch(window, kWaitsForGate));
  a.add(backend::Timestamp{&before});
  a.add(copy(window, pinned, kMiB));
  a.add(backend::Timestamp{&between});
  a.add(copy(pinned, window, kMiB));
  a.add(backend::Timestamp{&after});
  const uint64_t opened = device->timestamp();
  gateOpen = true;
  ASSERT_TRUE(a.ends());
  EXPECT_GT(before, opened - kSecond / 1000);
  EXPECT_GT(between, before);
  EXPECT_GT(after, between);
  EXPECT_LE(after, device->timestamp());
}

// What a queue takes is sent by whoever calls, and there is no thread in between.
TEST_F(Streams, WhatGoesToTheGpuByItself) {
  const auto work = std::make_shared<SentWork>(device->queueParts(), std::array<uint32_t, 4>{});
  std::vector<std::byte> pageable(64);
  const auto takes = [&](const backend::Command& command) { return work->take(command, {}, Patience::Any); };
  EXPECT_TRUE(takes(copy(window, pinned)));
  EXPECT_TRUE(takes(copy(pinned, window)));
  EXPECT_TRUE(takes(copyRows(window + 4096, pinned, 3)));
  EXPECT_TRUE(takes(launch(window, 1)));
  EXPECT_TRUE(takes(copy(window, pinned, 0)));
  EXPECT_FALSE(takes(copy(window, pageable.data(), 64)));
  EXPECT_FALSE(takes(copy(pageable.data(), window, 64)));
  EXPECT_FALSE(takes(copy(pinned, pinned + 4096, 64)));
  EXPECT_FALSE(takes(backend::HostCall{[](void*) {}, nullptr}));
  Timeline* const never = Timeline::create();
  EXPECT_FALSE(takes(backend::Wait{{never, never->value() + 1}}));
  EXPECT_TRUE(takes(backend::Wait{{never, never->value()}}));
  work->end().wait();
}

// Of a row that is submitted at once; copies in between part it.
TEST_F(Streams, LaunchesInARowGoTogetherAndInOrder) {
  constexpr uint32_t kEach = 100;
  Stream a(*device);
  std::vector<backend::Command> commands;
  for (uint32_t i = 0; i < kEach; ++i) commands.push_back(launch(window, 1));
  commands.push_back(copy(pinned, window));
  for (uint32_t i = 0; i < kEach; ++i) commands.push_back(launch(window, 1));
  commands.push_back(copy(pinned + 4, window));
  ASSERT_EQ(a.queue->submit(commands.data(), commands.size(), {a.timeline, ++a.last}), CUDA_SUCCESS);
  ASSERT_TRUE(a.ends());
  EXPECT_EQ(wordAt(pinned), kEach);
  EXPECT_EQ(wordAt(pinned + 4), 2 * kEach);
  EXPECT_EQ(sink.state(), CUDA_SUCCESS);
}

TEST_F(Streams, AFaultAmongLaunchesInARowEndsThemAll) {
  Stream a(*device);
  std::vector<backend::Command> commands;
  for (uint32_t i = 0; i < 8; ++i) commands.push_back(launch(i == 3 ? nullptr : window, 1));
  ASSERT_EQ(a.queue->submit(commands.data(), commands.size(), {a.timeline, ++a.last}), CUDA_SUCCESS);
  ASSERT_TRUE(a.ends());
  EXPECT_EQ(sink.state(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(wordAt(window), 3u);
}

TEST_F(Streams, WaitsForEachOtherAreTheGpus) {
  const auto a = std::make_shared<SentWork>(device->queueParts(), std::array<uint32_t, 4>{});
  const auto b = std::make_shared<SentWork>(device->queueParts(), std::array<uint32_t, 4>{});
  Timeline* const timeline = Timeline::create();
  const uint64_t zero = timeline->value();
  ASSERT_TRUE(a->take(launch(window, kWaitsForGate), {}, Patience::Any));
  ASSERT_TRUE(a->take(launch(window, 5), {timeline, zero + 1}, Patience::Any));
  ASSERT_TRUE(a->take(copy(pinned, window), {timeline, zero + 2}, Patience::Any));
  ASSERT_TRUE(b->take(backend::Wait{{timeline, zero + 2}}, {}, Patience::Any));
  ASSERT_TRUE(b->take(copy(window + 8, pinned), {}, Patience::Any));
  ASSERT_TRUE(b->take(launch(window + 8, 1), {timeline, zero + 3}, Patience::Any));
  ASSERT_TRUE(a->take(backend::Wait{{timeline, zero + 3}}, {}, Patience::Any));
  ASSERT_TRUE(a->take(copy(pinned + 4, window + 8), {}, Patience::Any));
  usleep(10'000);
  EXPECT_FALSE(a->empty() || b->empty());
  gateOpen = true;
  a->end().wait();
  EXPECT_EQ(wordAt(pinned + 4), 6u);
  b->end().wait();
}

// Of very many promises only the last ones are kept; the host waits for the others.
TEST_F(Streams, OldPointsAreWaitedForAsWell) {
  Stream a(*device), b(*device);
  const Point old = a.add(launch(window, 1));
  a.add(launch(window, kWaitsForGate));
  std::thread opener([] {
    usleep(20'000);
    gateOpen = true;
  });
  for (int i = 0; i < 6000; ++i) a.add(launch(window, 1));
  b.add(backend::Wait{old});
  b.add(backend::Wait{{a.timeline, a.last}});
  b.add(copy(pinned, window));
  ASSERT_TRUE(b.ends());
  EXPECT_EQ(wordAt(pinned), 6001u);
  opener.join();
}

// Each waits for what the other has sent before, again and again, in two channels that they share with six more.
TEST_F(Streams, ManyThatWaitForEachOtherComeToAnEnd) {
  constexpr uint32_t kStreams = 19, kRounds = 60;
  std::vector<std::unique_ptr<Stream>> streams;
  for (uint32_t i = 0; i < kStreams; ++i) streams.push_back(std::make_unique<Stream>(*device));
  streams[0]->add(launch(window, kWaitsForGate));
  for (uint32_t round = 0; round < kRounds; ++round)
    for (uint32_t i = 0; i < kStreams; ++i) {
      Stream& one = *streams[i];
      const Stream& before = *streams[(i + kStreams - 1) % kStreams];
      one.add(backend::Wait{{before.timeline, before.last}});
      if (round % 3 == 1)
        one.add(copy(pinned + 64, window));
      else if (round % 3 == 2)
        one.add(copy(window, pinned + 64));
      else
        one.add(launch(window, 1));
    }
  gateOpen = true;
  for (const auto& stream : streams) ASSERT_TRUE(stream->ends());
  // Rounds that add are followed by one that takes the sum along and one that brings back what it was.
  EXPECT_EQ(wordAt(window), kRounds / 3 * kStreams);
}

TEST_F(Streams, AFaultOfACopyEndsWhatWaitsForIt) {
  void* const pages = mmap(nullptr, kSmallPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const readOnly = static_cast<std::byte*>(pages);
  device->hostMemoryLocked(readOnly, kSmallPage, true);
  Stream a(*device), b(*device), c(*device);
  a.add(launch(window, kWaitsForGate));
  const Point fault = a.add(copy(readOnly, window));
  a.add(launch(window, 1));
  a.add(copy(pinned, window));
  b.add(backend::Wait{fault});
  b.add(launch(window, 1));
  const Point behind = b.add(copy(pinned + 4, window));
  c.add(backend::Wait{behind});
  c.add(copy(window, pinned));
  gateOpen = true;
  for (const Stream* stream : {&a, &b, &c}) EXPECT_TRUE(stream->ends());
  EXPECT_EQ(sink.seen, CUDA_ERROR_ILLEGAL_ADDRESS);
  Stream d(*device);
  d.add(launch(window, 1));
  d.add(copy(pinned, window));
  EXPECT_TRUE(d.ends());
}

TEST_F(Streams, AFaultOfAKernelEndsCopiesThatWaitForIt) {
  Stream a(*device), b(*device);
  a.add(copy(window, pinned));
  a.add(launch(window, kWaitsForGate));
  a.add(launch(window, kDies));
  a.add(copy(pinned, window));
  const Point behind = a.add(copy(window, pinned));
  b.add(backend::Wait{behind});
  b.add(copy(pinned + 4, window));
  b.add(launch(window, 1));
  gateOpen = true;
  EXPECT_TRUE(a.ends());
  EXPECT_TRUE(b.ends());
  EXPECT_EQ(sink.seen, CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(Streams, AKernelThatDoesNotEndTakesTheCopiesBehindItAlong) {
  device->setLaunchLimit(30'000'000);
  Stream a(*device), b(*device);
  a.add(launch(window, kWaitsForGate));
  const Point behind = a.add(copy(pinned, window));
  b.add(backend::Wait{behind});
  b.add(copy(pinned + 4, window));
  EXPECT_TRUE(a.ends());
  EXPECT_TRUE(b.ends());
  EXPECT_EQ(sink.seen, CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST_F(Streams, WhatIsLeftOfAStreamThatIsGoneComesToItsEnd) {
  Stream b(*device);
  Point end;
  {
    Stream a(*device);
    a.add(launch(window, kWaitsForGate));
    for (int i = 0; i < 100; ++i) {
      a.add(launch(window, 1));
      end = a.add(copy(pinned, window));
    }
  }
  b.add(backend::Wait{end});
  b.add(copy(pinned + 4, window));
  gateOpen = true;
  ASSERT_TRUE(b.ends());
  EXPECT_EQ(wordAt(pinned), 100u);
  EXPECT_EQ(wordAt(pinned + 4), 100u);
}

}  // namespace
}  // namespace vg::testing
