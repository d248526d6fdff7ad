#include "host_register/ring_pins.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "host_register/page_locker.h"

namespace vg::host_register {
namespace {

constexpr size_t kPage = 4096;

// A line of /proc/self/status in bytes: VmPin counts what devices and rings hold, VmLck what mlock does.
size_t status(const char* name) {
  size_t kilobytes = 0;
  FILE* const file = std::fopen("/proc/self/status", "r");
  char line[256];
  while (std::fgets(line, sizeof line, file))
    if (!std::strncmp(line, name, std::strlen(name))) std::sscanf(line + std::strlen(name), ": %zu kB", &kilobytes);
  std::fclose(file);
  return kilobytes << 10;
}

class RingPinsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RingPins::shared().error()) GTEST_SKIP() << "the system forbids rings: " << lockingMethod();
    before = status("VmPin");
  }
  size_t pinned() const { return status("VmPin") - before; }
  static char* map(size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1) {
    return static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0));
  }
  // Pinned as long as it is locked, and by the ring alone.
  void expectPinned(void* memory, size_t bytes, const char* kind) {
    const size_t locked = status("VmLck");
    Result<LockState> state = locker.lock(memory, bytes, false);
    ASSERT_TRUE(state) << kind;
    EXPECT_EQ(state.value(), LockState::Locked) << kind;
    EXPECT_GE(pinned(), bytes) << kind;
    EXPECT_EQ(status("VmLck"), locked) << kind;
    std::memset(memory, 3, bytes);
    locker.unlock(memory, bytes);
    EXPECT_EQ(pinned(), 0u) << kind;
  }

  SystemPageLocker locker;
  size_t before = 0;
};

TEST_F(RingPinsTest, EveryKindOfWritableMemoryIsPinned) {
  char path[] = "/tmp/ring-XXXXXX";
  const int file = mkstemp(path), memory = memfd_create("test", MFD_CLOEXEC);
  unlink(path);
  ASSERT_EQ(ftruncate(file, 4 * kPage) | ftruncate(memory, 4 * kPage), 0);
  std::vector<char> heap(5 * kPage);
  char stack[2 * kPage];
  static char global[2 * kPage];
  expectPinned(heap.data(), heap.size(), "heap");
  expectPinned(stack, sizeof stack, "stack");
  expectPinned(global, sizeof global, "global variable");
  expectPinned(map(4 * kPage), 4 * kPage, "fresh pages");
  expectPinned(map(4 * kPage, MAP_PRIVATE, file), 4 * kPage, "private file mapping");
  expectPinned(map(4 * kPage, MAP_SHARED, memory), 4 * kPage, "memory file");
  expectPinned(map(4 * kPage, MAP_SHARED | MAP_ANONYMOUS), 4 * kPage, "shared memory");
  constexpr size_t kHuge = size_t{2} << 20;
  if (char* huge = map(kHuge, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB); huge != MAP_FAILED)
    expectPinned(huge, kHuge, "huge pages");
  close(file);
  close(memory);
}

TEST_F(RingPinsTest, RangesOfOnePageAreIndependent) {
  char* const pages = map(2 * kPage);
  ASSERT_TRUE(locker.lock(pages, 100, false));
  ASSERT_TRUE(locker.lock(pages + 200, 100, false));
  locker.unlock(pages, 100);
  EXPECT_EQ(pinned(), kPage);
  locker.unlock(pages + 200, 100);
  EXPECT_EQ(pinned(), 0u);
}

TEST_F(RingPinsTest, RangesEndThoughTheirMemoryIsGone) {
  char* const pages = map(2 * kPage);
  ASSERT_TRUE(locker.lock(pages, 2 * kPage, false));
  munmap(pages, 2 * kPage);
  EXPECT_EQ(pinned(), 2 * kPage);
  locker.unlock(pages, 2 * kPage);
  EXPECT_EQ(pinned(), 0u);
}

TEST_F(RingPinsTest, WhatCannotBePinnedLeavesNothingBehind) {
  char* const pages = map(4 * kPage);
  munmap(pages + 2 * kPage, kPage);
  EXPECT_EQ(locker.lock(pages, 4 * kPage, false).error(), CUDA_ERROR_INVALID_VALUE);
  mprotect(pages, kPage, PROT_READ);
  EXPECT_EQ(locker.lock(pages, kPage, false).error(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pinned(), 0u);
}

TEST_F(RingPinsTest, PlacesAreUsedAgain) {
  char* const pages = map(kPage);
  for (int i = 0; i < 20000; ++i) {  // more than there are
    Result<LockState> state = locker.lock(pages, kPage, false);
    ASSERT_TRUE(state && state.value() == LockState::Locked);
    ASSERT_GE(pinned(), i % 1000 ? 0 : kPage) << i;
    locker.unlock(pages, kPage);
  }
}

TEST_F(RingPinsTest, WhatIsReleasedIsTakenBack) {
  constexpr size_t kBytes = size_t{1} << 20;
  RingPins ring;
  SystemPageLocker own(&ring);
  char* const first = map(kBytes);
  char* const second = map(kBytes);
  ASSERT_TRUE(own.lock(first, kBytes, false));
  ASSERT_TRUE(own.lock(second, kBytes, false));
  own.unlock(first, kBytes);
  for (int round = 0; round < 3; ++round) {
    ring.release();
    ring.release();
    // The system unpins a closed ring's pages when it gets round to it.
    for (int i = 0; i < 2000 && pinned(); ++i) usleep(1000);
    EXPECT_EQ(pinned(), 0u);
    ring.retake();
    ring.retake();
    EXPECT_EQ(pinned(), kBytes);
  }
  ASSERT_TRUE(own.lock(first, kBytes, false));
  own.unlock(first, kBytes);
  own.unlock(second, kBytes);
  EXPECT_EQ(pinned(), 0u);
  ring.release();
}

// In a process of its own that has no privilege and may lock 64 KiB.
TEST_F(RingPinsTest, BeyondTheLimitMemoryStaysPageableAndWhole) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers make mlock do nothing";
#endif
  if (geteuid()) GTEST_SKIP() << "only root can give its privilege up";
  const pid_t child = fork();
  if (!child) {
    const rlimit small{64 << 10, 64 << 10};
    if (setrlimit(RLIMIT_MEMLOCK, &small) || setresuid(65534, 65534, 65534)) _exit(0);
    RingPins ring;
    SystemPageLocker own(&ring);
    constexpr size_t kBytes = size_t{4} << 20;
    char* const pages = map(kBytes);
    std::memset(pages, 7, kBytes);
    Result<LockState> state = own.lock(pages, kBytes, false);
    const bool degraded = state && state.value() == LockState::Degraded;
    bool whole = true;
    for (size_t i = 0; i < kBytes; ++i) whole &= pages[i] == 7;
    own.unlock(pages, kBytes);
    _exit(degraded && whole && !status("VmPin") && !status("VmLck") ? 0 : 1);
  }
  int ended = -1;
  waitpid(child, &ended, 0);
  EXPECT_TRUE(WIFEXITED(ended));
  EXPECT_EQ(WEXITSTATUS(ended), 0);
}

}  // namespace
}  // namespace vg::host_register
