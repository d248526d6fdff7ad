// What a heap cuts its window into, and what it keeps of each piece beside the records that lookups find.
//
// A window is granules of 2 MiB. A run is some of them, or some pages of one; a granule of pages holds runs of pages
// and slabs; a slab is a page of slots of one size. All belong to one heap and are guarded by its lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/memory_source.h"
#include "alloc/memory_table.h"

namespace vg::alloc::heap {

// The window, or the part of one, that a heap hands out.
struct Span {
  std::byte* start;
  std::atomic<uintptr_t>* words;  // of the memory table, one a granule
  uint32_t granules;

  std::byte* at(uint32_t granule, uint32_t page = 0) const {
    return start + (size_t{granule} << kGranuleShift) + (size_t{page} << kPageShift);
  }
  void setWords(uint32_t first, uint32_t count, uintptr_t word) const {
    for (uint32_t granule = first; granule < first + count; ++granule)
      words[granule].store(word, std::memory_order_release);
  }
};

// What a run or a slab that is or becomes shared memory has besides.
struct SharedState {
  SharedMemory shared;
  unsigned users = 0;   // threads that are about to share something in it: it may not end meanwhile
  bool moving = false;  // one of them moves it, without the lock
  bool ended = false;   // a run that was released
};

struct PagedGranule;

// A run of pages or granules; also a granule run while it is cached.
struct Run : Record {
  uint32_t position = 0;                           // first page of the granule, or first granule of the window
  uint32_t extent = 0;                             // pages or granules
  PagedGranule* granule = nullptr;                 // page runs
  SharedState* shared = nullptr;                   // while it lives
  Run *binNext = nullptr, *binPrevious = nullptr;  // cached: same extent, newest first
  Run *ageNext = nullptr, *agePrevious = nullptr;  // cached: oldest first
};

struct Slab : SlabTable {
  uint64_t freeSlots[2] = {};
  uint32_t live = 0, slots = 0, page = 0, sizeClass = 0;
  PagedGranule* granule = nullptr;
  SharedState* shared = nullptr;              // then no slot is given out any more
  Slab *next = nullptr, *previous = nullptr;  // among those of its class with a free slot
};

struct PagedGranule : PageTable {
  uint32_t freePages = ~0u;  // bit set: free
  uint32_t spoilt = 0;       // bit set: other processes may see it, so nobody gets it before the granule has gone
  uint32_t live = 0;         // live allocations inside
  Run* run = nullptr;        // the granule
  unsigned list = 0;         // of Pages, by the longest run of free pages
  PagedGranule *next = nullptr, *previous = nullptr;
};

// What a word of the memory table says of a granule, and one of a granule of pages of a page.
inline uintptr_t wordOf(Run* run) { return reinterpret_cast<uintptr_t>(static_cast<Record*>(run)); }
inline uintptr_t wordOf(Slab* slab) { return reinterpret_cast<uintptr_t>(static_cast<SlabTable*>(slab)) | 1; }
inline uintptr_t wordOf(PagedGranule* granule) {
  return reinterpret_cast<uintptr_t>(static_cast<PageTable*>(granule)) | 1;
}
inline Run* runOf(uintptr_t word) { return static_cast<Run*>(reinterpret_cast<Record*>(word)); }
inline Slab* slabOf(uintptr_t word) { return static_cast<Slab*>(reinterpret_cast<SlabTable*>(word - 1)); }
inline PagedGranule* pagesOf(uintptr_t word) {
  return static_cast<PagedGranule*>(reinterpret_cast<PageTable*>(word - 1));
}

}  // namespace vg::alloc::heap
