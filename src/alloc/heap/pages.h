// Runs of 64 KiB pages inside one granule. Guarded by the heap's lock.
#pragma once

#include <cstdint>

#include "alloc/heap/account.h"
#include "alloc/heap/granules.h"
#include "alloc/heap/metadata.h"
#include "alloc/heap/parts.h"

namespace vg::alloc::heap {

class Pages {
 public:
  Pages(const Span& span, Account& account, Metadata& metadata, Granules& granules)
      : span_(span), account_(account), metadata_(metadata), granules_(granules) {}

  // A run of `count` pages that lives; null when there is no memory.
  Run* allocate(uint32_t count);
  void release(Run& run);

  // A granule with `count` free pages in a row, the fullest first, or a fresh one.
  PagedGranule* withFree(uint32_t count);
  // The first of `count` pages. Requires: the granule is of withFree(count).
  uint32_t take(PagedGranule& granule, uint32_t count);
  void give(PagedGranule& granule, uint32_t first, uint32_t count);
  // Something in the granule lives from now on, or does not any more.
  void countLive(PagedGranule& granule, int change) {
    const uint32_t before = granule.live;
    granule.live = before + change;
    if (!before || !granule.live) account_.countUsed(before ? -1 : 1);
  }
  // Nobody gets the pages of the slab, or else of the run, before their granule has gone. Requires: a granule of pages.
  static void spoil(Slab* slab, const Run* run);

 private:
  void refile(PagedGranule& granule);
  void unfile(PagedGranule& granule);

  const Span span_;
  Account& account_;
  Metadata& metadata_;
  Granules& granules_;
  PagedGranule* byLongest_[kPagesPerGranule + 1] = {};  // by the longest run of free pages
  uint64_t longestPresent_ = 0;                         // bit n: byLongest_[n] is not empty
  PagedGranule* freeGranules_ = nullptr;
};

}  // namespace vg::alloc::heap
