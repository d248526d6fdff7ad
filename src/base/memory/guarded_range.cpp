#include "base/memory/guarded_range.h"

#include <sys/mman.h>

#include <cstdint>
#include <initializer_list>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace vg {

#ifdef __SANITIZE_THREAD__
const size_t GuardedRange::kWide = size_t{1} << 30;  // the sanitizer leaves few addresses
#else
const size_t GuardedRange::kWide = size_t{64} << 30;
#endif

GuardedRange GuardedRange::reserveExactly(size_t bytes, size_t guard, size_t alignment) {
  constexpr size_t kPage = 4096;  // what mappings are aligned to anyway
  const size_t whole = guard + bytes + guard, spare = alignment > kPage ? alignment : 0;
  void* const mapped = mmap(nullptr, whole + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return {};
  auto* const first = static_cast<std::byte*>(mapped);
  const size_t before = -reinterpret_cast<uintptr_t>(first + guard) % alignment;
  if (before) munmap(first, before);
  if (spare) munmap(first + before + whole, spare - before);
  return {first + before + guard, bytes, guard};
}

GuardedRange GuardedRange::reserve(size_t bytes, size_t guard, size_t alignment) {
  for (const size_t width : {guard, kOfOffsets, size_t{64} << 20, kNarrow, size_t{0}})
    if (width <= guard)
      if (const GuardedRange range = reserveExactly(bytes, width, alignment)) return range;
  return {};
}

void GuardedRange::release() {
  if (start) munmap(start - guard, guard + bytes + guard);
  *this = {};
}

}  // namespace vg
