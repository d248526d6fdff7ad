#include "alloc/heap/pages.h"

#include <algorithm>
#include <bit>

namespace vg::alloc::heap {
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

void Pages::spoil(Slab* slab, const Run* run) {
  if (slab)
    slab->granule->spoilt |= bitsOf(slab->page, 1);
  else
    run->granule->spoilt |= bitsOf(run->position, run->extent);
}

Run* Pages::allocate(uint32_t count) {
  PagedGranule* granule = withFree(count);
  if (!granule || (!granule->live && !account_.roomFor(1))) return nullptr;
  Run* run = granules_.newRun();
  const uint32_t first = take(*granule, count);
  run->position = first;
  run->extent = count;
  run->granule = granule;
  run->base.store(reinterpret_cast<uintptr_t>(span_.at(granule->run->position, first)), std::memory_order_relaxed);
  for (uint32_t page = first; page < first + count; ++page)
    granule->pages[page].store(wordOf(run), std::memory_order_release);
  countLive(*granule, 1);
  return run;
}

void Pages::release(Run& run) {
  PagedGranule& granule = *run.granule;
  for (uint32_t page = run.position; page < run.position + run.extent; ++page)
    granule.pages[page].store(0, std::memory_order_release);
  countLive(granule, -1);
  give(granule, run.position, run.extent);
  granules_.endRun(run);
}

PagedGranule* Pages::withFree(uint32_t count) {
  if (const uint64_t lists = longestPresent_ >> count << count) return byLongest_[std::countr_zero(lists)];
  if (!account_.roomFor(1)) return nullptr;
  Run* run = granules_.take(1);
  if (!run) return nullptr;
  PagedGranule* granule = freeGranules_;
  if (granule) {
    freeGranules_ = granule->next;
    granule->next = nullptr;
  } else {
    granule = metadata_.make<PagedGranule>();
  }
  granule->run = run;
  granule->list = 0;
  refile(*granule);
  span_.setWords(run->position, 1, wordOf(granule));
  return granule;
}

uint32_t Pages::take(PagedGranule& granule, uint32_t count) {
  const uint32_t first = std::countr_zero(startsOfRuns(granule.freePages, count));
  granule.freePages &= ~bitsOf(first, count);
  refile(granule);
  return first;
}

void Pages::give(PagedGranule& granule, uint32_t first, uint32_t count) {
  granule.freePages |= bitsOf(first, count) & ~granule.spoilt;
  if ((granule.freePages | granule.spoilt) != ~0u) return refile(granule);
  unfile(granule);
  granule.list = 0;
  span_.setWords(granule.run->position, 1, wordOf(granule.run));
  granule.spoilt ? granules_.giveBack(*granule.run) : granules_.keep(*granule.run);
  granule.freePages = ~0u;
  granule.spoilt = 0;
  granule.next = freeGranules_;
  freeGranules_ = &granule;
}

// List 0 holds nothing: a granule without free pages is in no list.
void Pages::refile(PagedGranule& granule) {
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

void Pages::unfile(PagedGranule& granule) {
  if (!granule.list) return;
  (granule.previous ? granule.previous->next : byLongest_[granule.list]) = granule.next;
  if (granule.next) granule.next->previous = granule.previous;
  granule.next = granule.previous = nullptr;
  if (!byLongest_[granule.list]) longestPresent_ &= ~(uint64_t{1} << granule.list);
}

}  // namespace vg::alloc::heap
