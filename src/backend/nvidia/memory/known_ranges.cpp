#include "backend/nvidia/memory/known_ranges.h"

#include "base/memory/out_of_memory.h"

namespace vg::backend::nvidia {

CUresult KnownRanges::add(const std::byte* start, size_t bytes, Place place) {
  const ExclusiveLock lock(mutex_);
  return unlessOutOfMemory([&]() VG_REQUIRES(mutex_) {
    ranges_[start] = {start + bytes, place};
    return CUDA_SUCCESS;
  });
}

void KnownRanges::remove(const std::byte* start) {
  const ExclusiveLock lock(mutex_);
  ranges_.erase(start);
}

void KnownRanges::cut(const std::byte* start, size_t bytes) {
  const std::byte* const end = start + bytes;
  const ExclusiveLock lock(mutex_);
  auto range = ranges_.upper_bound(start);
  if (range != ranges_.begin()) --range;
  while (range != ranges_.end() && range->first < end) {
    const auto [from, known] = *range;
    if (known.end <= start) {
      ++range;
      continue;
    }
    range = ranges_.erase(range);
    if (from < start) ranges_[from] = {start, known.place};
    if (known.end > end) ranges_[end] = known;
  }
}

Place KnownRanges::placeOf(const std::byte* start, size_t bytes) const {
  const Place here = placeHere(start, bytes);
  if (here != Place::Unknown) return here;
  const KnownRanges* const others = others_.load(std::memory_order_acquire);
  return others ? others->placeOf(start, bytes) : Place::Unknown;
}

// One allocation may span several ranges that touch.
Place KnownRanges::placeHere(const std::byte* start, size_t bytes) const {
  const SharedLock lock(mutex_);
  auto range = ranges_.upper_bound(start);
  if (range == ranges_.begin()) return Place::Unknown;
  --range;
  const Place place = range->second.place;
  const std::byte* const end = start + bytes;
  for (const std::byte* at = start; at < end;) {
    if (range == ranges_.end() || range->first > at || range->second.end <= at || range->second.place != place)
      return Place::Unknown;
    at = range->second.end;
    ++range;
  }
  return place;
}

}  // namespace vg::backend::nvidia
