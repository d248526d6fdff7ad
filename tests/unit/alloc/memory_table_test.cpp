#include "alloc/memory_table.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "alloc/table_guard.h"

namespace vg::alloc {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

MemoryTable table;

// A refusal does not last: half a table would be one of no size for ever.
void reserveWithoutAddresses() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 1 * kMiB;
  if (setrlimit(RLIMIT_AS, &limit)) std::exit(2);
  const CUresult refused = table.reserve(2, 64 * kMiB);
  limit.rlim_cur = before;
  if (setrlimit(RLIMIT_AS, &limit)) std::exit(3);
  if (refused != CUDA_ERROR_OUT_OF_MEMORY || table.windowBytes()) std::exit(4);
  if (table.reserve(2, 64 * kMiB) != CUDA_SUCCESS || table.windowBytes() != 64 * kMiB) std::exit(5);
  std::exit(0);
}

TEST(MemoryTable, CanBeReservedAfterARefusal) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer needs the addresses";
#endif
  EXPECT_EXIT(reserveWithoutAddresses(), ::testing::ExitedWithCode(0), "");
}

TEST(MemoryTable, TellsHowWideItsGuardIs) {
  ASSERT_EQ(table.reserve(1, 64 * kMiB), CUDA_SUCCESS);
  EXPECT_LE(tableGuard(), GuardedRange::kWide);
  EXPECT_TRUE(table.ours(reinterpret_cast<uintptr_t>(table.windowStart(0))));
  table.unreserve();
}

}  // namespace
}  // namespace vg::alloc
