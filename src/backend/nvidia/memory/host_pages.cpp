#include "backend/nvidia/memory/host_pages.h"

#include <sys/mman.h>

#include <vector>

#include "base/log.h"
#include "base/memory/out_of_memory.h"

namespace vg::backend::nvidia {
namespace {

std::byte* pageOf(void* address) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(address) & ~(kSmallPage - 1));
}

// The pages that a range touches: first and last one where it covers only a part of them, and those between.
struct Pages {
  std::byte *head = nullptr, *tail = nullptr;
  std::byte *whole = nullptr, *wholeEnd = nullptr;
};

Pages pagesOf(void* start, size_t bytes) {
  std::byte* const from = static_cast<std::byte*>(start);
  std::byte* const to = from + bytes;
  Pages pages;
  pages.whole = pageOf(from), pages.wholeEnd = pageOf(to);
  if (pages.whole != from) pages.head = pages.whole, pages.whole += kSmallPage;
  if (pages.wholeEnd != to && pages.wholeEnd != pages.head) pages.tail = pages.wholeEnd;
  return pages;
}

}  // namespace

Result<host_register::LockState> HostPages::lock(void* start, size_t bytes, bool readOnly) {
  VG_TRY(const host_register::LockState state, system_.lock(start, bytes, readOnly));
  const Pages pages = pagesOf(start, bytes);
  const MutexLock guard(mutex_);
  // Pages that there is no memory to remember are staged, as those are that the driver does not pin.
  (void)unlessOutOfMemory([&]() VG_REQUIRES(mutex_) {
    if (pages.head) holdPage(pages.head, readOnly);
    if (pages.whole < pages.wholeEnd)
      showLocked(pages.whole, static_cast<size_t>(pages.wholeEnd - pages.whole), readOnly);
    if (pages.tail) holdPage(pages.tail, readOnly);
    return CUDA_SUCCESS;
  });
  return state;
}

void HostPages::unlock(void* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  {
    const MutexLock guard(mutex_);
    if (pages.head) dropPage(pages.head);
    if (pages.whole < pages.wholeEnd) hideLocked(pages.whole, static_cast<size_t>(pages.wholeEnd - pages.whole));
    if (pages.tail) dropPage(pages.tail);
  }
  system_.unlock(start, bytes);
}

// A page that the device may only read is shown anew when a range that it may write shares it.
void HostPages::holdPage(std::byte* page, bool readOnly) {
  const auto [at, isNew] = partPages_.try_emplace(page, PartPage{0, readOnly});
  PartPage& part = at->second;
  ++part.ranges;
  if (!isNew && (readOnly || !part.readOnly)) return;
  if (!isNew) hideLocked(page, kSmallPage);
  part.readOnly = readOnly;
  showLocked(page, kSmallPage, readOnly);
}

void HostPages::dropPage(std::byte* page) {
  const auto at = partPages_.find(page);
  if (at == partPages_.end() || --at->second.ranges) return;
  partPages_.erase(at);
  hideLocked(page, kSmallPage);
}

void HostPages::show(std::byte* start, size_t bytes, bool readOnly) {
  const MutexLock guard(mutex_);
  showLocked(start, bytes, readOnly);
}

// What the driver does not pin, such as a page that is pinned already, is staged.
void HostPages::showLocked(std::byte* start, size_t bytes, bool readOnly) {
  // Both tables know the range or none does: one alone would keep it from ever being shown again.
  const CUresult shown = unlessOutOfMemory([&]() VG_REQUIRES(mutex_) {
    VG_TRY(std::unique_ptr<Block> block, Block::pin(gpu_, start, bytes, readOnly));
    const auto at = shown_.insert_or_assign(start, Shown{std::move(block), readOnly}).first;
    const CUresult known = known_.add(start, bytes, Place::Pinned);
    if (known != CUDA_SUCCESS) shown_.erase(at);
    return known;
  });
  if (shown != CUDA_SUCCESS) VG_LOG(Debug, "copies of %zu bytes at %p are staged", bytes, static_cast<void*>(start));
}

CUresult HostPages::showOnce(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  if (known_.placeOf(start, bytes) != Place::Pinned) showLocked(start, bytes, false);
  if (known_.placeOf(start, bytes) == Place::Pinned) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes of the host cannot be shown to the device", bytes);
}

Result<std::byte*> HostPages::allocate(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes to be pinned", bytes);
  (void)madvise(memory, bytes, MADV_DONTFORK);
  auto* const start = static_cast<std::byte*>(memory);
  const CUresult shown = showOnce(start, bytes);
  if (shown == CUDA_SUCCESS) return start;
  munmap(memory, bytes);
  return shown;
}

void HostPages::release(std::byte* start, size_t bytes) {
  hide(start, bytes);
  munmap(start, bytes);
}

void HostPages::hide(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  hideLocked(start, bytes);
}

// A block goes as a whole; what is left of it is shown anew.
void HostPages::hideLocked(std::byte* start, size_t bytes) {
  std::byte* const end = start + bytes;
  std::vector<std::byte*> touched;
  for (const auto& [from, shown] : shown_)
    if (from < end && start < from + shown.block->bytes()) touched.push_back(from);
  for (std::byte* const from : touched) {
    const bool readOnly = shown_[from].readOnly;
    std::byte* const behind = from + shown_[from].block->bytes();
    known_.remove(from);
    shown_.erase(from);
    if (from < start) showLocked(from, static_cast<size_t>(start - from), readOnly);
    if (behind > end) showLocked(end, static_cast<size_t>(behind - end), readOnly);
  }
}

}  // namespace vg::backend::nvidia
