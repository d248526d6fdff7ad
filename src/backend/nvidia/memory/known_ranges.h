// Which addresses a GPU knows, and what is there. Everything else is memory of the host that copies must stage.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>

#include "base/result.h"
#include "base/sync/shared_mutex.h"

namespace vg::backend::nvidia {

// Managed memory is where it was touched last.
enum class Place { Unknown, Video, Pinned, Managed };

class KnownRanges {
 public:
  // CUDA_ERROR_OUT_OF_MEMORY without memory to note it, which throws nothing. Requires: no overlap with another range.
  CUresult add(const std::byte* start, size_t bytes, Place place);
  void remove(const std::byte* start);
  // Of any part of what was added.
  void cut(const std::byte* start, size_t bytes);
  // What is unknown here may be known there. `others` outlive this.
  void alsoAsk(const KnownRanges& others) { others_.store(&others, std::memory_order_release); }
  // What all of [start, start + bytes) is; Unknown when a part is unknown or the parts differ.
  Place placeOf(const std::byte* start, size_t bytes) const;

 private:
  struct Range {
    const std::byte* end;
    Place place;
  };
  Place placeHere(const std::byte* start, size_t bytes) const;

  std::atomic<const KnownRanges*> others_{nullptr};
  mutable SharedMutex mutex_;
  std::map<const std::byte*, Range> ranges_ VG_GUARDED_BY(mutex_);  // by start
};

}  // namespace vg::backend::nvidia
