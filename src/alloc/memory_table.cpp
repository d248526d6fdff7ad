#include "alloc/memory_table.h"

#include <sys/mman.h>

namespace vg::alloc {
namespace {

void* reserveRange(size_t bytes, int protection) {
  void* range = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? nullptr : range;
}

// `bytes` of addresses that start on a granule.
std::byte* reserveAligned(size_t bytes) {
  auto* range = static_cast<std::byte*>(reserveRange(bytes + kGranule, PROT_NONE));
  if (!range) return nullptr;
  const size_t before = -reinterpret_cast<uintptr_t>(range) % kGranule;
  if (before) munmap(range, before);
  munmap(range + before + bytes, kGranule - before);
  return range + before;
}

}  // namespace

CUresult MemoryTable::reserve(unsigned windows, size_t bytes, unsigned spare) {
  bool limited = false;
  if (spare) {
    windowBytes_ = bytes;
    if (std::byte* base = reserveAligned(bytes * (windows + spare))) {
      if (adopt(base, windows + spare)) return CUDA_SUCCESS;
    }
  }
  for (windowBytes_ = bytes; windowBytes_ >= kGranule; windowBytes_ /= 2) {
    const size_t span = windowBytes_ * windows;
    std::byte* base = reserveAligned(span);
    if (!base) {
      limited = true;
      continue;
    }
    if (limited) {  // leave as much to the program
      munmap(base, span);
      limited = false;
      continue;
    }
    if (adopt(base, windows)) return CUDA_SUCCESS;
  }
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "no addresses for %u windows of device memory", windows);
}

// Takes over a reservation, or gives it back when there is no room for its words.
bool MemoryTable::adopt(std::byte* base, unsigned windows) {
  const size_t span = windowBytes_ * windows;
  const size_t words = (span >> kGranuleShift) * sizeof(std::atomic<uintptr_t>);
  void* granules = reserveRange(words, PROT_READ | PROT_WRITE);  // zero pages: every granule is empty
  if (!granules) {
    munmap(base, span);
    return false;
  }
  granules_ = static_cast<std::atomic<uintptr_t>*>(granules);
  base_.store(reinterpret_cast<uintptr_t>(base), std::memory_order_release);
  span_.store(span, std::memory_order_release);
  return true;
}

void MemoryTable::unreserve() {
  const size_t span = span_.exchange(0);
  if (!span) return;
  munmap(reinterpret_cast<void*>(base_.exchange(0)), span);
  munmap(granules_, (span >> kGranuleShift) * sizeof(std::atomic<uintptr_t>));
}

}  // namespace vg::alloc
