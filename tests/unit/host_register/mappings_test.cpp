#include "host_register/mappings.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <vector>

namespace vg::host_register {
namespace {

constexpr size_t kPage = 4096;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

class MappingsTest : public testing::Test {
 protected:
  void TearDown() override {
    for (char* pages : made) munmap(pages, 4 * kPage);
  }
  char* map(int protection, int flags, int file = -1) {
    auto* pages = static_cast<char*>(mmap(nullptr, 4 * kPage, protection, flags, file, 0));
    EXPECT_NE(pages, MAP_FAILED);
    made.push_back(pages);
    return pages;
  }
  static Mapped ask(const void* start, size_t bytes) {
    const std::optional<Mapped> mapped = mappedAs(start, bytes);
    EXPECT_TRUE(mapped);
    return mapped.value_or(Mapped{});
  }
  std::vector<char*> made;
};

TEST_F(MappingsTest, AHoleIsSeen) {
  char* const pages = map(kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS);
  EXPECT_TRUE(ask(pages, 4 * kPage).everywhere);
  munmap(pages + kPage, kPage);
  EXPECT_FALSE(ask(pages, 4 * kPage).everywhere);
  EXPECT_TRUE(ask(pages + 2 * kPage, 2 * kPage).everywhere);
}

TEST_F(MappingsTest, AccessIsWhatEveryPartAllows) {
  char* const pages = map(kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS);
  mprotect(pages + kPage, kPage, PROT_READ);
  mprotect(pages + 2 * kPage, kPage, PROT_NONE);
  EXPECT_TRUE(ask(pages, kPage).writable);
  EXPECT_FALSE(ask(pages, 2 * kPage).writable);
  EXPECT_TRUE(ask(pages, 2 * kPage).accessible);
  EXPECT_FALSE(ask(pages, 3 * kPage).accessible);
}

TEST_F(MappingsTest, SharedMemoryOfTheSystemLasts) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 4 * kPage), 0);
  EXPECT_TRUE(ask(map(kReadWrite, MAP_SHARED, file), kPage).lasting);
  EXPECT_TRUE(ask(map(kReadWrite, MAP_SHARED | MAP_ANONYMOUS), kPage).lasting);
  close(file);
}

TEST_F(MappingsTest, WritableSharedMappingsOfFilesDoNotLast) {
  char path[] = "/var/tmp/mappings-XXXXXX";  // by convention on a disk
  const int file = mkstemp(path);
  struct statfs system {};
  if (file < 0 || fstatfs(file, &system) || system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "no directory on a disk";
  unlink(path);
  ASSERT_EQ(ftruncate(file, 4 * kPage), 0);
  char* const shared = map(kReadWrite, MAP_SHARED, file);
  EXPECT_TRUE(ask(map(kReadWrite, MAP_PRIVATE, file), kPage).lasting);
  EXPECT_TRUE(ask(map(PROT_READ, MAP_SHARED, file), kPage).lasting);
  EXPECT_FALSE(ask(shared, kPage).lasting);
  close(file);
}

}  // namespace
}  // namespace vg::host_register
