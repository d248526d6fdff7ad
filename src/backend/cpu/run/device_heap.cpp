#include "backend/cpu/run/device_heap.h"

#include <sys/mman.h>

#include <bit>
#include <new>

#include "check/check.h"
#include "ptx/facts/reach.h"

namespace vg::backend::cpu {

// Lies before each piece. A kernel that writes outside its piece can destroy it: release() trusts nothing.
struct KernelHeap::Header {
  static constexpr uint32_t kLiving = 0x6c697665, kFree = 0x66726565;
  uint32_t state;
  uint32_t sizeClass;
  Header* next;  // of the free ones of this class
};

KernelHeap::~KernelHeap() {
  if (!range_) return;
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
  if (check::any()) check::beginParts(reinterpret_cast<CUdeviceptr>(range_.start), bytes);
  return true;
}

void* KernelHeap::allocate(uint64_t bytes, size_t limit) {
  static_assert(sizeof(Header) == 16);
  const MutexLock lock(mutex_);
  if (!range_ && !reserve(limit)) return nullptr;
  std::byte* const base = range_.start;
  if (!bytes || bytes > range_.bytes) return nullptr;
  const uint64_t piece = std::bit_ceil(bytes + sizeof(Header));
  const auto sizeClass = static_cast<uint32_t>(std::countr_zero(piece));
  if (sizeClass >= kClasses) return nullptr;
  Header* header = free_[sizeClass];
  const auto inside = [&](const void* address) VG_REQUIRES(mutex_) {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base) <= used_ - sizeof(Header);
  };
  if (header && inside(header) && header->state == Header::kFree) {
    free_[sizeClass] = header->next;
  } else {
    free_[sizeClass] = nullptr;  // empty, or overwritten by a kernel
    if (piece > range_.bytes - used_) return nullptr;
    header = reinterpret_cast<Header*>(base + used_);
    used_ += piece;
  }
  header->state = Header::kLiving;
  header->sizeClass = sizeClass;
  if (check::any()) check::addPart(reinterpret_cast<CUdeviceptr>(header + 1), bytes, "a piece that a kernel allocated");
  return header + 1;
}

bool KernelHeap::release(void* piece) {
  if (!piece) return true;
  const MutexLock lock(mutex_);
  auto* const header = static_cast<Header*>(piece) - 1;
  const size_t offset = reinterpret_cast<std::byte*>(header) - range_.start;
  if (!range_ || offset >= used_ || offset % sizeof(Header) || header->state != Header::kLiving ||
      header->sizeClass >= kClasses)
    return false;
  if (check::any()) check::removePart(reinterpret_cast<CUdeviceptr>(piece));
  header->state = Header::kFree;
  header->next = free_[header->sizeClass];
  free_[header->sizeClass] = header;
  return true;
}

}  // namespace vg::backend::cpu
