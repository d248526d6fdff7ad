#include "base/memory/own_range.h"

#include <initializer_list>

#include "base/memory/own_memory.h"
#include "base/round.h"

namespace vg {

constexpr size_t kPage = 4096;

GuardedRange reserveOwnRange(size_t bytes, size_t guard) noexcept {
  bytes = roundUp(bytes, kPage);
  for (const size_t width : {guard, GuardedRange::kNarrow, size_t{0}})
    if (width <= guard)
      if (std::byte* const start = own_memory::reserve(width + bytes + width)) return {start + width, bytes, width};
  return {};
}

void releaseOwnRange(GuardedRange& range) noexcept {
  if (range) own_memory::give(range.start - range.guard, range.guard + range.bytes + range.guard);
  range = {};
}

}  // namespace vg
