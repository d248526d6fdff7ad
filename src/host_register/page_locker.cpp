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

// Kernels before 5.14 know no population, and some sandboxes refuse it; there pages come with the lock or the first
// access.
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
  if (knowsPopulation()) return refuse(start, bytes, strerror(error));
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

std::string lockingMethod() {
  const int error = RingPins::shared().error();
  if (!error) return "io_uring registered buffers (read-only memory and the library's own by mlock)";
  return std::string("mlock, because io_uring answers: ") + strerror(error);
}

Result<LockState> SystemPageLocker::lock(void* start, size_t bytes, bool readOnly) {
  const Pages pages = pagesOf(start, bytes);
  std::byte* const first = pageAddress(pages.first);
  const size_t length = (pages.end - pages.first) << kPageShift;
  // A ring pins for writing alone, and finds out by itself what cannot be pinned; then we look for the reason.
  if (!readOnly && pin(first, length)) return LockState::Locked;
  VG_CHECK(checkMapping(first, length, readOnly));
  VG_CHECK(touch(first, length, readOnly));
  return lockByMlock(first, length);
}

Result<LockState> SystemPageLocker::lockOwn(std::byte* start, size_t bytes) {
  if (!populate(start, bytes, MADV_POPULATE_WRITE) && knowsPopulation())
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no pages for %zu bytes: %s", bytes, strerror(errno));
  return lockByMlock(start, bytes);
}

void SystemPageLocker::unlock(void* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  const MutexLock guard(mutex_);
  if (!unpin(pages.first, pages.end)) unlockByMlock(pages.first, pages.end);
}

bool SystemPageLocker::pin(std::byte* start, size_t bytes) {
  RingPins::Places places;
  if (!ring_ || ring_->pin(start, bytes, places)) return false;
  const size_t first = reinterpret_cast<uintptr_t>(start) >> kPageShift;
  const MutexLock guard(mutex_);
  pinned_.emplace(first, Pinned{first + (bytes >> kPageShift), std::move(places)});
  return true;
}

bool SystemPageLocker::unpin(size_t first, size_t end) {
  const auto [begin, stop] = pinned_.equal_range(first);
  const auto own = std::find_if(begin, stop, [&](const auto& range) { return range.second.end == end; });
  if (own == stop) return false;
  ring_->unpin(own->second.places);
  pinned_.erase(own);
  return true;
}

LockState SystemPageLocker::lockByMlock(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  if (mlock(start, bytes)) {
    const int error = errno;
    const log::Level level = warned_ ? log::Level::Info : log::Level::Warn;
    if (log::enabled(level))
      log::write(level, "%zu bytes of host memory stay pageable: %s (raise the limit with ulimit -l)", bytes,
                 strerror(error));
    warned_ = true;
    return LockState::Degraded;
  }
  const size_t first = reinterpret_cast<uintptr_t>(start) >> kPageShift;
  ranges_.emplace(first, first + (bytes >> kPageShift));
  return LockState::Locked;
}

// Locked ranges are disjoint, so only the first and the last page can belong to another one too.
void SystemPageLocker::unlockByMlock(size_t first, size_t end) {
  auto own = ranges_.lower_bound(first);
  while (own != ranges_.end() && own->first == first && own->second != end) ++own;
  if (own == ranges_.end() || own->first != first) return;  // was degraded
  ranges_.erase(own);

  auto next = ranges_.lower_bound(first);
  bool firstShared = next != ranges_.end() && next->first == first;
  if (next != ranges_.begin()) {
    auto before = std::prev(next);
    const size_t key = before->first;
    for (;; --before) {
      if (before->first != key) break;
      firstShared |= before->second > first;
      if (before == ranges_.begin()) break;
    }
  }
  const bool lastShared = ranges_.count(end - 1) != 0;
  if (firstShared) ++first;
  if (lastShared && end > first) --end;
  if (first < end) munlock(pageAddress(first), (end - first) << kPageShift);
}

}  // namespace vg::host_register
