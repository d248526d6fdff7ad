// Runs of 64 KiB pages inside one granule.
#include <algorithm>
#include <bit>
#include <new>

#include "alloc/heap.h"

namespace vg::alloc {
namespace {

// Bit i of the result: `count` set bits of the mask start there.
uint32_t startsOfRuns(uint32_t mask, uint32_t count) {
  for (uint32_t have = 1; have < count;) {
    const uint32_t step = std::min(have, count - have);
    mask &= mask >> step;
    have += step;
  }
  return mask;
}

unsigned longestRun(uint32_t mask) {
  if (mask == ~0u) return kPagesPerGranule;
  unsigned length = 0;
  for (; mask; mask &= mask >> 1) ++length;
  return length;
}

constexpr uint32_t bitsOf(uint32_t first, uint32_t count) { return ((count < 32 ? 1u << count : 0u) - 1) << first; }

}  // namespace

// Requires: memory of a granule of pages.
void Heap::spoil(Slab* slab, const Run* run) {
  if (slab)
    slab->granule->spoilt |= bitsOf(slab->page, 1);
  else
    run->granule->spoilt |= bitsOf(run->position, run->extent);
}

Record* Heap::allocatePages(uint32_t count) {
  PagedGranule* granule = granuleWithPages(count);
  if (!granule || (!granule->live && !roomFor(1))) return nullptr;
  Run* run = newRun();
  const uint32_t first = takePages(*granule, count);
  run->position = first;
  run->extent = count;
  run->granule = granule;
  run->base.store(reinterpret_cast<uintptr_t>(start_) + (size_t{granule->run->position} << kGranuleShift) +
                      (size_t{first} << kPageShift),
                  std::memory_order_relaxed);
  for (uint32_t page = first; page < first + count; ++page)
    granule->pages[page].store(reinterpret_cast<uintptr_t>(static_cast<Record*>(run)), std::memory_order_release);
  countLive(*granule, 1);
  return run;
}

void Heap::releasePages(Run& run) {
  PagedGranule& granule = *run.granule;
  for (uint32_t page = run.position; page < run.position + run.extent; ++page)
    granule.pages[page].store(0, std::memory_order_release);
  countLive(granule, -1);
  givePages(granule, run.position, run.extent);
  endRun(run);
}

// A granule with `count` free pages in a row, the fullest first, or a fresh one.
Heap::PagedGranule* Heap::granuleWithPages(uint32_t count) {
  if (const uint64_t lists = longestPresent_ >> count << count) return byLongest_[std::countr_zero(lists)];
  if (!roomFor(1)) return nullptr;
  Run* run = takeRun(1);
  if (!run) return nullptr;
  PagedGranule* granule = freeGranules_;
  if (granule) {
    freeGranules_ = granule->next;
    granule->next = nullptr;
  } else {
    granule = new (metadata(sizeof(PagedGranule), alignof(PagedGranule))) PagedGranule;
  }
  granule->run = run;
  granule->list = 0;
  refile(*granule);
  words_[run->position].store(reinterpret_cast<uintptr_t>(static_cast<PageTable*>(granule)) | 1,
                              std::memory_order_release);
  return granule;
}

// Requires: byLongest_ says that there are `count` free pages in a row.
uint32_t Heap::takePages(PagedGranule& granule, uint32_t count) {
  const uint32_t first = std::countr_zero(startsOfRuns(granule.freePages, count));
  granule.freePages &= ~bitsOf(first, count);
  refile(granule);
  return first;
}

void Heap::givePages(PagedGranule& granule, uint32_t first, uint32_t count) {
  granule.freePages |= bitsOf(first, count) & ~granule.spoilt;
  if ((granule.freePages | granule.spoilt) != ~0u) return refile(granule);
  unfile(granule);
  granule.list = 0;
  setWords(granule.run->position, 1, reinterpret_cast<uintptr_t>(static_cast<Record*>(granule.run)));
  granule.spoilt ? giveBack(*granule.run) : toCache(*granule.run);
  granule.freePages = ~0u;
  granule.spoilt = 0;
  granule.next = freeGranules_;
  freeGranules_ = &granule;
}

// List 0 holds nothing: a granule without free pages is in no list.
void Heap::refile(PagedGranule& granule) {
  const unsigned list = longestRun(granule.freePages);
  if (list == granule.list) return;
  unfile(granule);
  granule.list = list;
  if (!list) return;
  granule.next = byLongest_[list];
  if (granule.next) granule.next->previous = &granule;
  byLongest_[list] = &granule;
  longestPresent_ |= uint64_t{1} << list;
}

void Heap::unfile(PagedGranule& granule) {
  if (!granule.list) return;
  (granule.previous ? granule.previous->next : byLongest_[granule.list]) = granule.next;
  if (granule.next) granule.next->previous = granule.previous;
  granule.next = granule.previous = nullptr;
  if (!byLongest_[granule.list]) longestPresent_ &= ~(uint64_t{1} << granule.list);
}

void Heap::countLive(PagedGranule& granule, int change) {
  const uint32_t before = granule.live;
  granule.live = before + change;
  if (!before || !granule.live) countUsed(before ? -1 : 1);
}

}  // namespace vg::alloc
