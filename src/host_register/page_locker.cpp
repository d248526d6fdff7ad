#include "host_register/page_locker.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "host_register/mappings.h"

namespace vg::host_register {
namespace {

constexpr size_t kPageShift = 12;  // the smallest page: ranges are counted in these
constexpr size_t kPageBytes = size_t{1} << kPageShift;

std::byte* pageAddress(size_t page) { return reinterpret_cast<std::byte*>(page << kPageShift); }

bool populate(std::byte* start, size_t bytes, int advice) {
  int result;
  do result = madvise(start, bytes, advice);
  while (result && errno == EAGAIN);
  return result == 0;
}

// Kernels before 5.14 know no population; there pages come with the lock or the first access.
bool knowsPopulation() { return madvise(nullptr, 0, MADV_POPULATE_READ) == 0; }

CUresult refuse(std::byte* start, size_t bytes, const char* why) {
  return fail(CUDA_ERROR_INVALID_VALUE, "%p + %zu is not all accessible memory: %s", static_cast<void*>(start), bytes,
              why);
}

CUresult checkMapping(std::byte* start, size_t bytes, bool readOnly) {
  const std::optional<Mapped> mapped = mappedAs(start, bytes);
  if (!mapped) return CUDA_SUCCESS;
  if (!mapped->everywhere || !mapped->accessible) return refuse(start, bytes, "it has holes or cannot be accessed");
  if (!mapped->writable && !readOnly)
    return refuse(start, bytes, "it is mapped read-only: CU_MEMHOSTREGISTER_READ_ONLY is needed");
  if (!mapped->lasting && !readOnly) return refuse(start, bytes, "it is a shared mapping of a file on a disk");
  return CUDA_SUCCESS;
}

// Brings the pages into memory as the device is going to use them.
CUresult touch(std::byte* start, size_t bytes, bool readOnly) {
  if (populate(start, bytes, readOnly ? MADV_POPULATE_READ : MADV_POPULATE_WRITE)) return CUDA_SUCCESS;
  const int error = errno;
  if (error != EINVAL || knowsPopulation()) return refuse(start, bytes, strerror(error));
  return CUDA_SUCCESS;
}

struct Pages {
  size_t first, end;
};

Pages pagesOf(void* start, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(start);
  return {address >> kPageShift, (address + bytes + kPageBytes - 1) >> kPageShift};
}

}  // namespace

Result<LockState> SystemPageLocker::lock(void* start, size_t bytes, bool readOnly) {
  const Pages pages = pagesOf(start, bytes);
  std::byte* const first = pageAddress(pages.first);
  const size_t length = (pages.end - pages.first) << kPageShift;
  VG_CHECK(checkMapping(first, length, readOnly));
  VG_CHECK(touch(first, length, readOnly));
  std::lock_guard guard(mutex_);
  if (mlock(first, length)) {
    const int error = errno;
    const log::Level level = warned_ ? log::Level::Info : log::Level::Warn;
    if (log::enabled(level))
      log::write(level, "%zu bytes of host memory stay pageable: %s (raise the limit with ulimit -l)", bytes,
                 strerror(error));
    warned_ = true;
    return LockState::Degraded;
  }
  ranges_.emplace(pages.first, pages.end);
  return LockState::Locked;
}

// Locked ranges are disjoint, so only the first and the last page can belong to another one too.
void SystemPageLocker::unlock(void* start, size_t bytes) {
  Pages pages = pagesOf(start, bytes);
  std::lock_guard guard(mutex_);
  auto own = ranges_.lower_bound(pages.first);
  while (own != ranges_.end() && own->first == pages.first && own->second != pages.end) ++own;
  if (own == ranges_.end() || own->first != pages.first) return;  // was degraded
  ranges_.erase(own);

  auto next = ranges_.lower_bound(pages.first);
  bool firstShared = next != ranges_.end() && next->first == pages.first;
  if (next != ranges_.begin()) {
    auto before = std::prev(next);
    const size_t key = before->first;
    for (;; --before) {
      if (before->first != key) break;
      firstShared |= before->second > pages.first;
      if (before == ranges_.begin()) break;
    }
  }
  const bool lastShared = ranges_.count(pages.end - 1) != 0;
  if (firstShared) ++pages.first;
  if (lastShared && pages.end > pages.first) --pages.end;
  if (pages.first < pages.end) munlock(pageAddress(pages.first), (pages.end - pages.first) << kPageShift);
}

}  // namespace vg::host_register
