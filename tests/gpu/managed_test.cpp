// Managed memory on the fake driver: committed, moved by copies, prefetches and advice, known to all GPUs.
#include <algorithm>
#include <cstring>
#include <vector>

#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kMiB = size_t{1} << 20;

std::byte* reserved(size_t bytes) { return must(reserveAnywhere(bytes, kHugePage)); }

struct ManagedMemoryTest : ::testing::Test {
  ManagedMemoryTest() : start(reserved(kBytes)), device(*keptDevice(fake)), memory(*device.managedMemory()) {}
  ~ManagedMemoryTest() override { munmap(start, kBytes); }

  FakeUvm::Page page(size_t offset) const { return fake.driver.managedPage(start + offset); }
  void copy(std::byte* to, std::byte* from, size_t bytes) {
    copy::Shape shape;
    shape.destination.base = to;
    shape.source.base = from;
    shape.width = bytes;
    EXPECT_EQ(device.transfer().copy(shape), CUDA_SUCCESS);
  }

  static constexpr size_t kBytes = 16 * kMiB;
  FakeGpu fake{{.program = moveBoxes}};
  std::byte* const start;
  GpuDevice& device;
  backend::MovableMemory& memory;
};

TEST_F(ManagedMemoryTest, IsThereFromCommitToDecommitInParts) {
  ASSERT_EQ(memory.commit(start, 8 * kMiB), CUDA_SUCCESS);
  std::memset(start, 1, 8 * kMiB);
  EXPECT_TRUE(page(0).there);
  EXPECT_EQ(page(0).place, FakeUvm::kNowhere);
  memory.decommit(start + 2 * kMiB, 4 * kMiB);
  EXPECT_TRUE(page(2 * kMiB - 1).there);
  EXPECT_FALSE(page(2 * kMiB).there);
  EXPECT_FALSE(page(6 * kMiB - 1).there);
  EXPECT_TRUE(page(6 * kMiB).there);
  EXPECT_EQ(memory.moveTo(&device, start, 8 * kMiB), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(memory.commit(start + 2 * kMiB, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(memory.moveTo(&device, start, 8 * kMiB), CUDA_SUCCESS);
  memory.decommit(start, 8 * kMiB);
  EXPECT_FALSE(page(0).there);
}

TEST_F(ManagedMemoryTest, MovesWholePagesToAPlace) {
  ASSERT_EQ(memory.commit(start, 4 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory.moveTo(&device, start + kSmallPage + 8, kSmallPage), CUDA_SUCCESS);
  EXPECT_EQ(page(0).place, FakeUvm::kNowhere);
  EXPECT_EQ(page(kSmallPage).place, 0);
  EXPECT_EQ(page(2 * kSmallPage).place, 0);
  EXPECT_EQ(page(3 * kSmallPage).place, FakeUvm::kNowhere);
  ASSERT_EQ(memory.moveTo(nullptr, start, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(page(kSmallPage).place, FakeUvm::kHost);
}

TEST_F(ManagedMemoryTest, AdviceHoldsUntilItIsTakenBackOrForgotten) {
  ASSERT_EQ(memory.commit(start, 4 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory.prefer(nullptr, start, kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory.setAccessedBy(&device, start, kMiB, true), CUDA_SUCCESS);
  ASSERT_EQ(memory.setReadMostly(start, kMiB, true), CUDA_SUCCESS);
  EXPECT_EQ(page(0).preferred, FakeUvm::kHost);
  EXPECT_EQ(page(0).accessors, std::set<int>{0});
  EXPECT_TRUE(page(0).readMostly);
  EXPECT_EQ(page(kMiB).preferred, FakeUvm::kNowhere);

  ASSERT_EQ(memory.preferNone(start, kSmallPage), CUDA_SUCCESS);
  ASSERT_EQ(memory.setAccessedBy(&device, start, kSmallPage, false), CUDA_SUCCESS);
  ASSERT_EQ(memory.setReadMostly(start, kSmallPage, false), CUDA_SUCCESS);
  EXPECT_EQ(page(0).preferred, FakeUvm::kNowhere);
  EXPECT_TRUE(page(0).accessors.empty());
  EXPECT_FALSE(page(0).readMostly);
  EXPECT_TRUE(page(kSmallPage).readMostly);

  // Its neighbours keep the pages that a new allocation shares with them.
  memory.forget(start + kSmallPage + 8, 2 * kSmallPage);
  EXPECT_TRUE(page(kSmallPage).readMostly);
  EXPECT_FALSE(page(2 * kSmallPage).readMostly);
  EXPECT_TRUE(page(3 * kSmallPage).readMostly);
  memory.forget(start, 4 * kMiB);
  EXPECT_EQ(page(3 * kSmallPage).preferred, FakeUvm::kNowhere);
  EXPECT_TRUE(page(3 * kSmallPage).accessors.empty());
}

TEST_F(ManagedMemoryTest, LittleIsCopiedWhereItIs) {
  ASSERT_EQ(memory.commit(start, 4 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory.moveTo(nullptr, start, kMiB), CUDA_SUCCESS);
  std::vector<std::byte> host(4096, std::byte{3}), back(4096);
  copy(start, host.data(), host.size());
  copy(back.data(), start, back.size());
  EXPECT_EQ(back, host);
  EXPECT_EQ(page(0).place, FakeUvm::kHost);

  ASSERT_EQ(memory.moveTo(&device, start, kMiB), CUDA_SUCCESS);
  std::fill(host.begin(), host.end(), std::byte{4});
  copy(start, host.data(), host.size());
  copy(back.data(), start, back.size());
  EXPECT_EQ(back, host);
  EXPECT_EQ(page(0).place, 0);

  // What was never touched comes into being on the GPU.
  copy(start + 2 * kMiB, start, 100);
  EXPECT_EQ(page(2 * kMiB).place, 0);
  EXPECT_EQ(start[2 * kMiB + 99], std::byte{4});
}

TEST_F(ManagedMemoryTest, MuchIsTakenToTheGpu) {
  ASSERT_EQ(memory.commit(start, 16 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory.moveTo(nullptr, start, 16 * kMiB), CUDA_SUCCESS);
  std::vector<std::byte> host(2 * kMiB), back(2 * kMiB);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::byte>(i * 7);
  copy(start, host.data(), host.size());
  EXPECT_EQ(page(0).place, 0);
  EXPECT_EQ(page(2 * kMiB - 1).place, 0);
  EXPECT_EQ(page(2 * kMiB).place, FakeUvm::kHost);
  EXPECT_EQ(std::memcmp(start, host.data(), host.size()), 0);
  copy(back.data(), start, back.size());
  EXPECT_EQ(back, host);
  copy(start + 4 * kMiB + 100, start + 1, kMiB / 2);
  EXPECT_EQ(page(4 * kMiB).place, 0);
  EXPECT_EQ(std::memcmp(start + 4 * kMiB + 100, host.data() + 1, kMiB / 2), 0);
  copy(start + 5, start, kMiB);  // overlapping
  EXPECT_EQ(std::memcmp(start + 5, host.data(), kMiB), 0);
}

TEST_F(ManagedMemoryTest, IsFilledWhereItIsUnlessItIsMuch) {
  ASSERT_EQ(memory.commit(start, 8 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory.moveTo(nullptr, start, 4 * kMiB), CUDA_SUCCESS);
  const auto fill = [&](size_t offset, size_t bytes) {
    const copy::Fill box{start + offset, bytes, bytes, 1, 0x5a, 1};
    EXPECT_EQ(device.transfer().fill(box), CUDA_SUCCESS);
    std::byte* const from = start + offset;
    EXPECT_TRUE(std::all_of(from, from + bytes, [](std::byte b) { return b == std::byte{0x5a}; }));
    EXPECT_EQ(from[bytes], std::byte{0});
  };
  fill(0, 100);
  EXPECT_EQ(page(0).place, FakeUvm::kHost);
  fill(2 * kMiB, 512 * 1024);
  EXPECT_EQ(page(2 * kMiB).place, 0);
  fill(4 * kMiB, 100);
  EXPECT_EQ(page(4 * kMiB).place, 0);
  fill(6 * kMiB, kMiB + 3);
  EXPECT_EQ(page(6 * kMiB).place, 0);
}

}  // namespace
}  // namespace vg::testing
