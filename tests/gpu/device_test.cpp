// The device as core uses it: memory by commit, copies and fills of every kind of memory, queues.
#include "backend/nvidia/device.h"
#include "arrays/place_levels.h"

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "backend/cpu/faults/faults.h"
#include "backend/nvidia/copies/box_pieces.h"
#include "backend/nvidia/traits.h"
#include "backend/queue.h"
#include "copy/copy.h"
#include "copy/guard.h"
#include "cubin/cubin.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kMiB = size_t{1} << 20;

FakeDriver::Description smallGpu() {
  FakeDriver::Description description;
  description.memory = 96 * kMiB;
  description.program = moveBoxes;
  return description;
}

// Four threads of its own for every call.
struct FourThreads final : copy::Parallel {
  unsigned width() const override { return 4; }
  void run(size_t chunks, void (*body)(void* state, size_t chunk), void* state) override {
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i; (i = next.fetch_add(1)) < chunks;) body(state, i);
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < width(); ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
  }
};

struct GpuDeviceTest : ::testing::Test {
  explicit GpuDeviceTest(copy::Parallel* threads = nullptr) : threads_(threads) { backend::cpu::faults::arm(); }

  copy::Parallel* const threads_;

  FakeGpu fake{smallGpu()};
  backend::Traits traits = must(traitsOf(*fake.gpu));
  Window window{128 * kMiB};
  GpuDevice device{std::move(fake.gpu), *fake.hostPages, fake.addresses(), traits, threads_};
  std::mt19937 random{1};

  std::vector<std::byte> noise(size_t bytes) {
    std::vector<std::byte> made((bytes + 3) / 4 * 4);
    for (size_t at = 0; at < made.size(); at += 4) {
      const auto word = static_cast<uint32_t>(random());
      std::memcpy(&made[at], &word, 4);
    }
    made.resize(bytes);
    return made;
  }
  CUresult copyRow(std::byte* to, const std::byte* from, size_t bytes) {
    copy::Shape s;
    s.destination.base = to;
    s.source.base = const_cast<std::byte*>(from);
    s.width = bytes;
    return device.transfer().copy(s);
  }
};

// As NVIDIA's driver answers on an H100 SXM and on an H200 (tests/conformance/records).
TEST(GpuTraits, WhatDiffersBetweenBoardsIsTheBoardsOwn) {
  struct Board {
    uint32_t device;
    int memoryClock;
  };
  for (const Board board : {Board{0x233010de, 2619000}, Board{0x233510de, 3201000}}) {
    FakeDriver::Description description;
    description.pciDevice = board.device;
    FakeGpu fake(description);
    const backend::Traits traits = must(traitsOf(*fake.gpu));
    EXPECT_EQ(static_cast<uint32_t>(traits.attribute(CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID)), board.device);
    EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID), 0x18be10de);
    EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), board.memoryClock);
    EXPECT_EQ(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE),
              traits.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) / 8 * 5);
  }
}

TEST_F(GpuDeviceTest, TellsWhatItIs) {
  EXPECT_EQ(device.traits().computeCapability, 90);
  EXPECT_EQ(device.traits().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 132);
  EXPECT_EQ(device.traits().attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT), 3);
  EXPECT_FALSE(device.hostAddressable());
  EXPECT_FALSE(device.traits().sharesMemory);  // nothing maps it for other GPUs
}

TEST_F(GpuDeviceTest, MemoryIsCommittedAndGivenBackInAnyPieces) {
  alloc::MemorySource& memory = device.memory();
  ASSERT_EQ(memory.commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(fake.driver.usedMemory(), 8 * kMiB);
  memory.decommit(window.start + 2 * kMiB, 4 * kMiB);
  ASSERT_EQ(memory.commit(window.start + 2 * kMiB, 2 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory.commit(window.start + 8 * kMiB, 4 * kMiB), CUDA_SUCCESS);
  memory.decommit(window.start, 4 * kMiB);
  memory.decommit(window.start + 6 * kMiB, 6 * kMiB);  // the rest of one, all of another
  EXPECT_EQ(fake.driver.usedMemory(), 0u);
}

TEST_F(GpuDeviceTest, ACommitThatFailsLeavesNothing) {
  alloc::MemorySource& memory = device.memory();
  ASSERT_EQ(memory.commit(window.start + 20 * kMiB, 20 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(memory.commit(window.start, 110 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(fake.driver.usedMemory(), 20 * kMiB);
  memory.decommit(window.start + 20 * kMiB, 20 * kMiB);
}

bool seenByHost(const std::byte* address) {
  std::byte seen;
  return copy::guarded([&] { seen = *static_cast<const volatile std::byte*>(address); });
}

TEST_F(GpuDeviceTest, TheHostSeesMemoryOnceItHasAskedOften) {
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  EXPECT_FALSE(seenByHost(window.start));
  std::vector<std::byte> from = noise(64), to(64);
  int copies = 0;
  for (; copies < 1000 && !seenByHost(window.start); ++copies) {
    from[0] = static_cast<std::byte>(copies);
    ASSERT_EQ(copyRow(window.start + kMiB, from.data(), 64), CUDA_SUCCESS);
    ASSERT_EQ(copyRow(to.data(), window.start + kMiB, 64), CUDA_SUCCESS);
    ASSERT_EQ(from, to);
  }
  EXPECT_GT(copies, 10);
  EXPECT_LT(copies, 100);
  device.memory().decommit(window.start, 8 * kMiB);
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  EXPECT_FALSE(seenByHost(window.start));
}

TEST_F(GpuDeviceTest, WhoeverCopiesWithoutKnowingOfTheDeviceFindsItsMemory) {
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(device.memory().commit(window.start + 8 * kMiB, 8 * kMiB), CUDA_SUCCESS);
  const std::vector<std::byte> from = noise(9 * kMiB);
  std::vector<std::byte> to(from.size());
  EXPECT_TRUE(copy::copyBytes(window.start + 4096, from.data(), 100));
  EXPECT_FALSE(seenByHost(window.start + 9 * kMiB));
  copy::Shape in;  // the second half of it is out of sight still
  in.destination.base = window.start + 5;
  in.source.base = const_cast<std::byte*>(from.data());
  in.width = from.size();
  ASSERT_TRUE(copy::copy(in));
  ASSERT_EQ(copyRow(to.data(), window.start + 5, to.size()), CUDA_SUCCESS);
  EXPECT_TRUE(from == to);
  device.memory().decommit(window.start, 16 * kMiB);
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  EXPECT_TRUE(copy::fill({window.start, 300, 100, 7, 0x5a, 1}));
  EXPECT_EQ(window.start[6 * 300 + 99], std::byte{0x5a});
  EXPECT_FALSE(copy::copyBytes(window.start + 20 * kMiB, from.data(), 100));  // nothing is there
}

TEST_F(GpuDeviceTest, RoundTripsOfAllKindsOfMemoryAndSizes) {
  ASSERT_EQ(device.memory().commit(window.start, 16 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(device.memory().commit(window.start + 16 * kMiB, 16 * kMiB), CUDA_SUCCESS);
  for (const bool locked : {false, true}) {
    for (const size_t bytes : {size_t{1}, size_t{16}, size_t{5000}, size_t{70000}, 5 * kMiB, 14 * kMiB}) {
      std::vector<std::byte> from = noise(bytes + 3), to(bytes + 3);
      if (locked) {
        ASSERT_TRUE(device.pageLocker().lock(from.data(), from.size(), false).ok());
        ASSERT_TRUE(device.pageLocker().lock(to.data(), to.size(), false).ok());
      }
      ASSERT_EQ(copyRow(window.start + 5, from.data() + 1, bytes), CUDA_SUCCESS);
      ASSERT_EQ(copyRow(window.start + 16 * kMiB + 1, window.start + 5, bytes), CUDA_SUCCESS);
      ASSERT_EQ(copyRow(to.data() + 2, window.start + 16 * kMiB + 1, bytes), CUDA_SUCCESS);
      EXPECT_EQ(std::memcmp(from.data() + 1, to.data() + 2, bytes), 0) << bytes << (locked ? " locked" : " pageable");
      if (locked) {
        device.pageLocker().unlock(from.data(), from.size());
        device.pageLocker().unlock(to.data(), to.size());
      }
    }
  }
}

// More than the slots of a ring hold, so that they come round again.
struct RelayTest : GpuDeviceTest, ::testing::WithParamInterface<bool> {
  static constexpr size_t kBytes = 3 * Staging::kSlots / 2 * Staging::kSlotBytes + 12345;
  static inline FourThreads four;

  RelayTest() : GpuDeviceTest(GetParam() ? &four : nullptr) {
    if (device.memory().commit(window.start, 64 * kMiB) != CUDA_SUCCESS) throw std::runtime_error("no memory");
  }
};

TEST_P(RelayTest, BringsRowsInAndOut) {
  const std::vector<std::byte> from = noise(kBytes);
  std::vector<std::byte> to(kBytes);
  ASSERT_EQ(copyRow(window.start, from.data(), kBytes), CUDA_SUCCESS);
  ASSERT_EQ(copyRow(to.data(), window.start, kBytes), CUDA_SUCCESS);
  EXPECT_TRUE(from == to);
}

TEST_P(RelayTest, BringsBoxesWithGapsInAndOut) {
  constexpr size_t kWidth = 70001, kRows = 300, kSlices = 2, kPitch = 70020, kVideoPitch = 70144;
  const std::vector<std::byte> from = noise(kPitch * kRows * kSlices);
  std::vector<std::byte> to(from.size());
  copy::Shape s;
  s.width = kWidth;
  s.height = kRows;
  s.depth = kSlices;
  s.source = {const_cast<std::byte*>(from.data()), kPitch, kPitch * kRows};
  s.destination = {window.start + 3, kVideoPitch, kVideoPitch * kRows};
  ASSERT_EQ(device.transfer().copy(s), CUDA_SUCCESS);
  std::swap(s.source, s.destination);
  s.destination.base = to.data();
  ASSERT_EQ(device.transfer().copy(s), CUDA_SUCCESS);
  for (size_t row = 0; row < kRows * kSlices; ++row) {
    ASSERT_EQ(std::memcmp(&from[row * kPitch], &to[row * kPitch], kWidth), 0) << row;
    for (size_t gap = kWidth; gap < kPitch; ++gap) ASSERT_EQ(to[row * kPitch + gap], std::byte{0});
  }
}

TEST_P(RelayTest, MemoryThatIsMissingEndsTheCopyAndNothingElse) {
  auto* const pages =
      static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(pages + 20 * kMiB, 4096, PROT_NONE), 0);
  EXPECT_EQ(copyRow(window.start, pages, kBytes), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(copyRow(pages, window.start, kBytes), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(mprotect(pages + 20 * kMiB, 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(copyRow(window.start, pages, kBytes), CUDA_SUCCESS);
  munmap(pages, kBytes);
}

INSTANTIATE_TEST_SUITE_P(Threads, RelayTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Four" : "None"; });

TEST_F(GpuDeviceTest, ArraysAreCopiedAsTextureUnitsReadThem) {
  ASSERT_EQ(device.memory().commit(window.start, 4 * kMiB), CUDA_SUCCESS);
  device.showToHost(window.start, 4 * kMiB);
  const CUDA_ARRAY3D_DESCRIPTOR box{50, 30, 5, CU_AD_FORMAT_UNSIGNED_INT16, 2, 0},
      layers{33, 21, 3, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED};
  for (const CUDA_ARRAY3D_DESCRIPTOR& descriptor : {box, layers}) {
    const arrays::Layout layout = arrays::layoutOf(descriptor, 2, arrays::Storage::BlockLinear);
    for (const arrays::Level& level : layout.levels) {
      const size_t slice = level.rowBytes * level.rows;
      const std::vector<std::byte> from = noise(slice * level.slices);
      std::vector<std::byte> to(from.size());
      std::byte* const other = window.start + 2 * kMiB;
      copy::Shape in;
      in.source = {const_cast<std::byte*>(from.data()), level.rowBytes, slice};
      in.destination = copy::Side::tiled(window.start + level.offset, *level.tiling, 0, 0, 0);
      in.width = level.rowBytes;
      in.height = level.rows;
      in.depth = level.slices;
      EXPECT_FALSE(device.transfer().isQuick(in));
      ASSERT_EQ(device.transfer().copy(in), CUDA_SUCCESS);
      const size_t at = level.offset + level.tiling->offset(9, 4, 1);
      EXPECT_EQ(window.start[at], from[slice + 4 * level.rowBytes + 9]);
      copy::Shape inside = in;  // to rows in video memory, and from there out
      inside.source = in.destination;
      inside.destination = {other, level.rowBytes, slice};
      EXPECT_EQ(device.transfer().route(inside).way, Transfer::Way::Engine);
      ASSERT_EQ(device.transfer().copy(inside), CUDA_SUCCESS);
      EXPECT_EQ(std::memcmp(other, from.data(), from.size()), 0);
      copy::Shape part = in;  // without the first bytes, rows and slice
      part.source = in.destination.moved(5, 3, 1);
      part.destination = {to.data(), level.rowBytes, slice};
      part.width -= 5;
      part.height -= 3;
      part.depth -= 1;
      ASSERT_EQ(device.transfer().copy(part), CUDA_SUCCESS);
      EXPECT_EQ(std::memcmp(to.data() + level.rowBytes, from.data() + slice + 4 * level.rowBytes + 5, part.width), 0);
    }
  }
}

// Wherever rows begin and end: by themselves, and as boxes of one.
TEST_F(GpuDeviceTest, RowsInsideAreCopiedWhole) {
  constexpr size_t kBytes = 2 * kMiB, kGuard = 64;
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  device.showToHost(window.start, 8 * kMiB);
  std::byte* const from = window.start + 4 * kMiB;
  const std::vector<std::byte> all = noise(kBytes + 64);
  std::memcpy(from, all.data(), all.size());
  for (const size_t rest : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{2047}})
    for (const size_t into : {size_t{0}, size_t{16}, size_t{1}})
      for (const size_t outOf : {size_t{0}, size_t{32}, size_t{3}}) {
        const size_t bytes = kBytes - 4096 + rest;
        std::byte* const to = window.start + kGuard + into;
        std::memset(window.start, 0x5A, kBytes + 4 * kGuard);
        ASSERT_EQ(copyRow(to, from + outOf, bytes), CUDA_SUCCESS);
        ASSERT_EQ(std::memcmp(to, all.data() + outOf, bytes), 0) << rest << " " << into << " " << outOf;
        ASSERT_EQ(to[-1], std::byte{0x5A});
        ASSERT_EQ(to[bytes], std::byte{0x5A});
      }
}

// Of all that are started; and what a warp touches at once is in few rows.
TEST_F(GpuDeviceTest, KernelsOfCopiesAndFillsHaveFewThreadsToSpare) {
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  const auto expectBusy = [](const Grid& grid, size_t units, size_t rows, uint32_t rowsOfThread) {
    size_t threads = 1;
    for (int axis = 0; axis < 3; ++axis) threads *= size_t{grid.blocks[axis]} * grid.threads[axis];
    const size_t least = units * ((rows + rowsOfThread - 1) / rowsOfThread);
    EXPECT_LE(threads, least + least / 8 + 1024) << units << " units, " << rows << " rows";
    EXPECT_GE(grid.threads[0], units < 64 ? 1u : 8u) << units << " units, " << rows << " rows";
  };
  for (const size_t width : {16, 64, 1000, 1023, 1040, 4000, 4001, 10000, 65552})
    for (const size_t rows : {1, 1000, 30000}) {
      copy::Shape shape;
      const size_t pitch = (width + 15) / 16 * 16 + 16;
      shape.destination = {window.start, pitch, pitch * rows};
      shape.source = {window.start + 16, pitch, pitch * rows};
      shape.width = width;
      shape.height = rows;
      expectBusy(must(device.transfer().kernelFor(shape)).grid, (width + 15) / 16, rows, 1);
      copy::Fill fill;
      fill.base = window.start;
      fill.pitch = pitch;
      fill.width = width;
      fill.height = rows;
      if (rows > 1) expectBusy(must(device.transfer().kernelFor(fill)).grid, (width + 15) / 16, rows, 4);
    }
}

TEST_F(GpuDeviceTest, OverlappingCopiesInsideMoveTheBytes) {
  ASSERT_EQ(device.memory().commit(window.start, 20 * kMiB), CUDA_SUCCESS);
  device.showToHost(window.start, 20 * kMiB);
  for (const ptrdiff_t distance : {ptrdiff_t{1}, ptrdiff_t{-1}, ptrdiff_t(3 * kMiB), -ptrdiff_t(3 * kMiB)}) {
    const std::vector<std::byte> all = noise(15 * kMiB);
    std::memcpy(window.start, all.data(), all.size());
    const size_t bytes = 10 * kMiB, at = 4 * kMiB;
    ASSERT_EQ(copyRow(window.start + at + distance, window.start + at, bytes), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(window.start + at + distance, all.data() + at, bytes), 0) << distance;
  }
}

TEST_F(GpuDeviceTest, BoxesOfPageableMemory) {
  ASSERT_EQ(device.memory().commit(window.start, 32 * kMiB), CUDA_SUCCESS);
  const std::vector<std::byte> host = noise(24 * kMiB);
  copy::Shape in;
  in.width = 3001;
  in.height = 700;
  in.depth = 3;
  in.source = {const_cast<std::byte*>(host.data()) + 1, 3100, size_t{3100} * 720};
  in.destination = {window.start + 3, 4096, size_t{4096} * 701};
  ASSERT_EQ(device.transfer().copy(in), CUDA_SUCCESS);
  std::vector<std::byte> back(24 * kMiB);
  copy::Shape out = in;
  out.source = in.destination;
  out.destination = {back.data() + 1, 3100, size_t{3100} * 720};
  ASSERT_EQ(device.transfer().copy(out), CUDA_SUCCESS);
  for (size_t z = 0; z < in.depth; ++z)
    for (size_t y = 0; y < in.height; ++y)
      ASSERT_EQ(std::memcmp(back.data() + 1 + z * 3100 * 720 + y * 3100, host.data() + 1 + z * 3100 * 720 + y * 3100,
                            in.width),
                0);
}

TEST_F(GpuDeviceTest, FillsSmallAndLarge) {
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  device.showToHost(window.start, 8 * kMiB);
  for (const size_t width : {size_t{8}, size_t{4} * kMiB}) {
    copy::Fill f;
    f.base = window.start + 4;
    f.width = width;
    f.elementSize = 4;
    f.pattern = 0xabcd1234;
    ASSERT_EQ(device.transfer().fill(f), CUDA_SUCCESS);
    for (size_t i = 0; i < width; i += 4) ASSERT_EQ(std::memcmp(f.base + i, &f.pattern, 4), 0) << i;
  }
}

TEST_F(GpuDeviceTest, MemoryThatIsNotThereIsReported) {
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  std::byte* const nothing = window.start + 64 * kMiB;
  EXPECT_EQ(copyRow(window.start, nothing, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(copyRow(window.start, nothing, 5 * kMiB), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(copyRow(nothing, window.start, 5 * kMiB), CUDA_ERROR_ILLEGAL_ADDRESS);
  // The device is none the worse.
  const std::vector<std::byte> from = noise(kMiB);
  EXPECT_EQ(copyRow(window.start, from.data(), kMiB), CUDA_SUCCESS);
}

TEST_F(GpuDeviceTest, LockedMemoryCanBeHiddenPiecemeal) {
  ASSERT_EQ(device.memory().commit(window.start, 8 * kMiB), CUDA_SUCCESS);
  device.showToHost(window.start, 8 * kMiB);
  void* const pages = mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::byte* const start = static_cast<std::byte*>(pages);
  device.hostMemoryLocked(start, 4 * kMiB, false);
  ASSERT_EQ(copyRow(window.start, start, 4 * kMiB), CUDA_SUCCESS);  // the channels are there now
  device.hostMemoryUnlocked(start, 4 * kMiB);
  const size_t ranges = fake.driver.ranges();
  device.hostMemoryLocked(start, 4 * kMiB, false);
  EXPECT_EQ(fake.driver.ranges(), ranges + 1);
  device.hostMemoryUnlocked(start + kMiB, kMiB);
  EXPECT_EQ(fake.driver.ranges(), ranges + 2);
  EXPECT_EQ(copyRow(window.start, start, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(copyRow(window.start, start + 2 * kMiB, kMiB), CUDA_SUCCESS);
  device.hostMemoryUnlocked(start, 4 * kMiB);
  EXPECT_EQ(fake.driver.ranges(), ranges);
  munmap(pages, 4 * kMiB);
}

TEST_F(GpuDeviceTest, QueuesRunCommandsInOrder) {
  ASSERT_EQ(device.memory().commit(window.start, 16 * kMiB), CUDA_SUCCESS);
  const std::vector<std::byte> from = noise(3 * kMiB);
  std::vector<std::byte> to(3 * kMiB);
  Timeline* const timeline = Timeline::create();
  Timeline* const gate = Timeline::create();
  const uint64_t end = timeline->value() + 1, open = gate->value() + 1;
  Sink sink;
  uint64_t stamp = 0;
  const auto row = [&](std::byte* a, const std::byte* b) {
    copy::Shape s;
    s.destination.base = a;
    s.source.base = const_cast<std::byte*>(b);
    s.width = 3 * kMiB;
    return backend::CopyCommand{s, &sink};
  };
  const backend::Command commands[] = {backend::Wait{{gate, open}}, row(window.start, from.data()),
                                       row(window.start + 8 * kMiB, window.start),
                                       row(to.data(), window.start + 8 * kMiB), backend::Timestamp{&stamp}};
  auto queue = device.createQueue(0, nullptr);
  ASSERT_EQ(queue->submit(commands, std::size(commands), {timeline, end}), CUDA_SUCCESS);
  EXPECT_FALSE(timeline->waitFor(end, 20'000'000));
  gate->advance(open);
  timeline->wait(end);
  EXPECT_EQ(from, to);
  EXPECT_EQ(sink.seen, CUDA_SUCCESS);
  EXPECT_GT(stamp, 0u);
}

TEST_F(GpuDeviceTest, OnlyNativeCodeOfItsKindCanBeLoaded) {
  backend::ImageSource source;
  EXPECT_EQ(device.load(source, {}).error(), CUDA_ERROR_NO_BINARY_FOR_GPU);
  cubin::Cubin other;
  other.architecture = 80;
  source.native = std::make_shared<const cubin::Cubin>(other);
  EXPECT_EQ(device.load(source, {}).error(), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST(BoxPieces, CoverEveryByteOnce) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    copy::Shape box;
    box.width = 1 + random() % 50;
    box.height = 1 + random() % 20;
    box.depth = 1 + random() % 4;
    const size_t pitch = box.width + random() % 3, slice = pitch * box.height + random() % 3;
    std::vector<std::byte> memory(slice * box.depth);
    box.source = box.destination = {memory.data(), pitch, slice};
    const size_t most = 1 + random() % 200;
    size_t bytes = 0;
    for (BoxPieces cut(box, most); !cut.done();) {
      const copy::Shape piece = cut.next();
      EXPECT_LE(piece.bytes(), most);
      bytes += piece.bytes();
      for (size_t y = 0; y < piece.height; ++y)
        for (size_t x = 0; x < piece.width; ++x) {
          std::byte& b = piece.source.base[y * pitch + x];
          EXPECT_EQ(b, std::byte{0});
          b = std::byte{1};
        }
    }
    EXPECT_EQ(bytes, box.bytes());
  }
}

}  // namespace
}  // namespace vg::testing
