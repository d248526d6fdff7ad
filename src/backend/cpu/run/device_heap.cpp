#include "backend/cpu/run/device_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "check/check.h"
#include "check/memory/heap_leaks.h"
#include "ptx/facts/reach.h"

namespace vg::backend::cpu {

namespace {

constexpr size_t kGranule = 16;
constexpr uint64_t kApart = kGranule;  // between pieces in checked mode: who leaves his piece is not in the next one

}  // namespace

KernelHeap::~KernelHeap() {
  if (!range_) return;
  if (check::heap_leaks::on()) check::heap_leaks::heapEnds(reinterpret_cast<uint64_t>(range_.start), range_.bytes);
  if (check::any()) check::endParts(reinterpret_cast<CUdeviceptr>(range_.start), range_.bytes);
  ptx::removeKernelMemory(range_.start);
  range_.release();
}

bool KernelHeap::reserve(size_t bytes) {
  range_ = GuardedRange::reserve(bytes);
  if (range_ && mprotect(range_.start, bytes, PROT_READ | PROT_WRITE)) range_.release();
  if (!range_) return false;
  try {
    ptx::addKernelMemory(range_.start, bytes);
  } catch (const std::bad_alloc&) {
    range_.release();
    return false;
  }
  if (!pieces_.begin(static_cast<uint32_t>(std::min<size_t>(bytes / kGranule, alloc::Pieces::kNone - 1)))) {
    ptx::removeKernelMemory(range_.start);
    range_.release();
    return false;
  }
  if (check::any()) check::beginParts(reinterpret_cast<CUdeviceptr>(range_.start), bytes);
  return true;
}

void* KernelHeap::allocate(uint64_t bytes, size_t limit) {
  const MutexLock lock(mutex_);
  if (!range_ && !reserve(limit)) return nullptr;
  if (!bytes || bytes > range_.bytes) return nullptr;
  const uint64_t granules = (bytes + (check::any() ? kApart : 0) + kGranule - 1) / kGranule;
  const uint32_t first =
      granules < alloc::Pieces::kNone ? pieces_.take(static_cast<uint32_t>(granules)) : alloc::Pieces::kNone;
  if (first == alloc::Pieces::kNone) return nullptr;
  std::byte* const piece = range_.start + first * kGranule;
  if (check::any()) check::addPart(reinterpret_cast<CUdeviceptr>(piece), bytes, "a piece that a kernel allocated");
  return piece;
}

bool KernelHeap::release(void* piece) {
  if (!piece) return true;
  const MutexLock lock(mutex_);
  const size_t offset = static_cast<size_t>(static_cast<std::byte*>(piece) - range_.start);
  if (!range_ || offset >= range_.bytes || offset % kGranule) return false;
  if (!pieces_.give(static_cast<uint32_t>(offset / kGranule))) return false;
  if (check::any()) check::removePart(reinterpret_cast<CUdeviceptr>(piece));
  if (check::heap_leaks::on()) check::heap_leaks::released(reinterpret_cast<uint64_t>(piece));
  return true;
}

}  // namespace vg::backend::cpu
