#include "host_register/page_locker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace vg::host_register {
namespace {

constexpr size_t kPage = 4096;

// Bytes that the kernel counts as locked in this process.
size_t lockedBytes() {
  size_t kilobytes = 0;
  FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  while (std::fgets(line, sizeof line, status))
    if (std::sscanf(line, "VmLck: %zu kB", &kilobytes) == 1) break;
  std::fclose(status);
  return kilobytes << 10;
}

class PageLockerTest : public testing::Test {
 protected:
  void SetUp() override {
    pages =
        static_cast<char*>(mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    before = lockedBytes();
  }
  void TearDown() override { munmap(pages, kPages * kPage); }
  size_t lockedPages() const { return (lockedBytes() - before) / kPage; }
  // False where the system lets nobody lock so much, and under sanitizers, which replace mlock by nothing.
  bool lock(size_t offset, size_t bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#endif
    Result<LockState> state = locker.lock(pages + offset, bytes, false);
    EXPECT_TRUE(state);
    return state && state.value() == LockState::Locked;
  }

  static constexpr size_t kPages = 16;
  SystemPageLocker locker{nullptr};
  char* pages = nullptr;
  size_t before = 0;
};

TEST_F(PageLockerTest, PagesAreLockedAndUnlocked) {
  if (!lock(kPage, 3 * kPage)) GTEST_SKIP() << "locking is not permitted";
  EXPECT_EQ(lockedPages(), 3u);
  locker.unlock(pages + kPage, 3 * kPage);
  EXPECT_EQ(lockedPages(), 0u);
}

TEST_F(PageLockerTest, APageStaysLockedWhileAnyRangeNeedsIt) {
  if (!lock(100, 5000) || !lock(5200, 100) || !lock(5400, 3000)) GTEST_SKIP() << "locking is not permitted";
  EXPECT_EQ(lockedPages(), 3u);
  locker.unlock(pages + 100, 5000);
  EXPECT_EQ(lockedPages(), 2u);
  locker.unlock(pages + 5400, 3000);
  EXPECT_EQ(lockedPages(), 1u);
  locker.unlock(pages + 5200, 100);
  EXPECT_EQ(lockedPages(), 0u);
}

TEST_F(PageLockerTest, WhatIsNotAllMappedIsInvalid) {
  munmap(pages + 2 * kPage, kPage);
  EXPECT_EQ(locker.lock(pages, 4 * kPage, false).error(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(locker.lock(reinterpret_cast<void*>(kPage), kPage, false).error(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(lockedPages(), 0u);
}

TEST_F(PageLockerTest, ReadOnlyPagesNeedToBeAskedForAsSuch) {
  mprotect(pages, 2 * kPage, PROT_READ);
  EXPECT_EQ(locker.lock(pages, kPage, false).error(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(locker.lock(pages, kPage, true));
  locker.unlock(pages, kPage);
}

TEST_F(PageLockerTest, OurOwnMemoryIsLockedWithoutARing) {
  SystemPageLocker own;
  Result<LockState> state = own.lockOwn(reinterpret_cast<std::byte*>(pages), 4 * kPage);
  ASSERT_TRUE(state);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they replace mlock by nothing
  EXPECT_EQ(lockedPages(), state.value() == LockState::Locked ? 4u : 0u);
#endif
  own.unlock(pages, 4 * kPage);
  EXPECT_EQ(lockedPages(), 0u);
}

TEST_F(PageLockerTest, EveryKindOfMemoryIsLockedByMlockToo) {
  char path[] = "/var/tmp/locker-XXXXXX";
  const int file = mkstemp(path), memory = memfd_create("test", MFD_CLOEXEC);
  unlink(path);
  ASSERT_EQ(ftruncate(file, 2 * kPage) | ftruncate(memory, 2 * kPage), 0);
  const auto map = [](int protection, int flags, int descriptor) {
    return mmap(nullptr, 2 * kPage, protection, flags, descriptor, 0);
  };
  constexpr int kReadWrite = PROT_READ | PROT_WRITE;
  std::vector<char> heap(2 * kPage);
  char stack[2 * kPage];
  const struct {
    const char* name;
    void* start;
    bool readOnly, taken;
  } kinds[] = {{"heap", heap.data(), false, true},
               {"stack", stack, false, true},
               {"private file mapping", map(kReadWrite, MAP_PRIVATE, file), false, true},
               {"read-only private file mapping", map(PROT_READ, MAP_PRIVATE, file), false, false},
               {"read-only private file mapping, as such", map(PROT_READ, MAP_PRIVATE, file), true, true},
               {"read-only shared file mapping, as such", map(PROT_READ, MAP_SHARED, file), true, true},
               {"memory file", map(kReadWrite, MAP_SHARED, memory), false, true},
               {"shared memory", map(kReadWrite, MAP_SHARED | MAP_ANONYMOUS, -1), false, true},
               {"inaccessible", map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), true, false}};
  for (const auto& kind : kinds) {
    Result<LockState> state = locker.lock(kind.start, 2 * kPage, kind.readOnly);
    EXPECT_EQ(state.ok(), kind.taken) << kind.name;
    if (state) locker.unlock(kind.start, 2 * kPage);
    EXPECT_EQ(lockedPages(), 0u) << kind.name;
  }
  close(file);
  close(memory);
}

TEST_F(PageLockerTest, BeyondTheSystemsLimitTheRangeWorksUnlocked) {
  rlimit old;
  getrlimit(RLIMIT_MEMLOCK, &old);
  const rlimit none{0, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  Result<LockState> state = locker.lock(pages, 4 * kPage, false);
  setrlimit(RLIMIT_MEMLOCK, &old);
  ASSERT_TRUE(state);  // a privileged process has no limit
  EXPECT_TRUE(state.value() == LockState::Locked || lockedPages() == 0);
  std::memset(pages, 1, 4 * kPage);
  locker.unlock(pages, 4 * kPage);
  EXPECT_EQ(lockedPages(), 0u);
}

}  // namespace
}  // namespace vg::host_register
