#include "alloc/memory_table.h"

#include "alloc/table_guard.h"
#include "base/memory/own_memory.h"

namespace vg::alloc {
namespace {

constinit std::atomic<size_t> guard{0};

}  // namespace

size_t tableGuard() { return guard.load(std::memory_order_acquire); }

CUresult MemoryTable::reserve(unsigned windows, size_t bytes, unsigned spare) {
  bool limited = false;
  if (spare) {
    windowBytes_ = bytes;
    if (adopt(GuardedRange::reserveExactly(bytes * (windows + spare), GuardedRange::kWide, kGranule)))
      return CUDA_SUCCESS;
  }
  for (windowBytes_ = bytes; windowBytes_ >= kGranule; windowBytes_ /= 2) {
    GuardedRange range = GuardedRange::reserve(windowBytes_ * windows, GuardedRange::kWide, kGranule);
    if (!range) {
      limited = true;
      continue;
    }
    if (limited) {  // leave as much to the program
      range.release();
      limited = false;
      continue;
    }
    if (adopt(range)) return CUDA_SUCCESS;
  }
  windowBytes_ = 0;  // as before: the next caller tries again
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "no addresses for %u windows of device memory", windows);
}

// Takes over a reservation, or gives it back when there is no room for its words.
bool MemoryTable::adopt(GuardedRange range) {
  if (!range) return false;
  std::byte* const granules = own_memory::take(wordBytes(range.bytes));  // zeros: every granule is empty
  if (!granules) {
    range.release();
    return false;
  }
  range_ = range;
  granules_ = reinterpret_cast<std::atomic<uintptr_t>*>(granules);
  guard.store(range.guard, std::memory_order_release);
  base_.store(reinterpret_cast<uintptr_t>(range.start), std::memory_order_release);
  span_.store(range.bytes, std::memory_order_release);
  return true;
}

void MemoryTable::unreserve() {
  const size_t span = span_.exchange(0);
  if (!span) return;
  base_.store(0);
  range_.release();
  own_memory::give(granules_, wordBytes(span));
}

}  // namespace vg::alloc
