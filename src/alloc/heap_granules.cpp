// Runs of 2 MiB granules: what is cached, what is given back to the system.
#include <algorithm>
#include <bit>
#include <new>

#include "alloc/heap.h"
#include "base/mutex.h"

namespace vg::alloc {

Record* Heap::allocateGranules(uint32_t count) {
  if (!roomFor(count)) return nullptr;
  Run* run = takeRun(count);
  if (!run) return nullptr;
  countUsed(run->extent);
  return run;
}

void Heap::releaseGranules(Run& run) {
  countUsed(-static_cast<ptrdiff_t>(run.extent));
  toCache(run);
}

// A committed run of at least `count` granules whose words point to it.
Heap::Run* Heap::takeRun(uint32_t count) {
  if (Run* run = fromCache(count)) return run;
  if (Run* run = fromFreeSpace(count)) return run;
  if (!oldest_) return nullptr;
  while (oldest_) evictOldest();  // joins what is cached to longer pieces
  return fromFreeSpace(count);
}

// The same length, or up to an eighth more as long as the capacity allows.
Heap::Run* Heap::fromCache(uint32_t count) {
  const uint32_t room = capacityGranules_ - static_cast<uint32_t>(usedGranules_.load(std::memory_order_relaxed));
  const uint32_t last = std::min({count + count / 8, kBins - 1, room});
  for (uint32_t word = count / 64; word <= last / 64; ++word) {
    uint64_t present = binPresent_[word];
    if (word == count / 64) present &= ~uint64_t{0} << count % 64;
    if (!present) continue;
    const uint32_t bin = word * 64 + std::countr_zero(present);
    if (bin > last) return nullptr;
    Run* run = bins_[bin];
    removeFromCache(*run);
    return run;
  }
  return nullptr;
}

// The first piece that is long enough, made usable.
Heap::Run* Heap::fromFreeSpace(uint32_t count) {
  for (auto piece = freeSpace_.begin(); piece != freeSpace_.end(); ++piece) {
    const auto [first, length] = *piece;
    if (length < count) continue;
    std::byte* start = start_ + (size_t{first} << kGranuleShift);
    Run* const run = newRunAt(first);
    if (source_.commit(start, size_t{count} << kGranuleShift) != CUDA_SUCCESS) {
      spareNodes_.erase(first);
      endRun(*run);
      return nullptr;
    }
    auto node = freeSpace_.extract(piece);
    if (length > count) {
      node.key() = first + count;
      node.mapped() = length - count;
      freeSpace_.insert(std::move(node));
    }
    usedUpTo_ = std::max(usedUpTo_, first + count);
    run->position = first;
    run->extent = count;
    run->granule = nullptr;
    run->base.store(reinterpret_cast<uintptr_t>(start), std::memory_order_relaxed);
    setWords(first, count, reinterpret_cast<uintptr_t>(static_cast<Record*>(run)));
    return run;
  }
  return nullptr;
}

// Requires: the words of the run point to it.
void Heap::toCache(Run& run) {
  if (run.extent >= kBins || run.extent > cacheGranules_) return giveBack(run);
  Run*& bin = bins_[run.extent];
  run.binNext = bin;
  if (bin) bin->binPrevious = &run;
  bin = &run;
  binPresent_[run.extent / 64] |= uint64_t{1} << run.extent % 64;
  run.agePrevious = newest_;
  (newest_ ? newest_->ageNext : oldest_) = &run;
  newest_ = &run;
  cachedGranules_.fetch_add(run.extent, std::memory_order_relaxed);
  while (cachedGranules_.load(std::memory_order_relaxed) > cacheGranules_) evictOldest();
}

void Heap::removeFromCache(Run& run) {
  (run.binPrevious ? run.binPrevious->binNext : bins_[run.extent]) = run.binNext;
  if (run.binNext) run.binNext->binPrevious = run.binPrevious;
  if (!bins_[run.extent]) binPresent_[run.extent / 64] &= ~(uint64_t{1} << run.extent % 64);
  (run.agePrevious ? run.agePrevious->ageNext : oldest_) = run.ageNext;
  (run.ageNext ? run.ageNext->agePrevious : newest_) = run.agePrevious;
  run.binNext = run.binPrevious = run.ageNext = run.agePrevious = nullptr;
  cachedGranules_.fetch_sub(run.extent, std::memory_order_relaxed);
}

void Heap::evictOldest() {
  Run& run = *oldest_;
  removeFromCache(run);
  giveBack(run);
}

// Decommits a run and joins it with the free pieces beside it.
void Heap::giveBack(Run& run) {
  setWords(run.position, run.extent, 0);
  source_.decommit(start_ + (size_t{run.position} << kGranuleShift), size_t{run.extent} << kGranuleShift);
  uint32_t first = run.position, count = run.extent;
  auto next = freeSpace_.lower_bound(first);
  if (next != freeSpace_.begin()) {
    if (auto previous = std::prev(next); previous->first + previous->second == first) {
      first = previous->first;
      count += previous->second;
      freeSpace_.erase(previous);
    }
  }
  if (next != freeSpace_.end() && next->first == run.position + run.extent) {
    count += next->second;
    freeSpace_.erase(next);
  }
  auto node = spareNodes_.extract(run.position);
  node.key() = first;
  node.mapped() = count;
  freeSpace_.insert(std::move(node));
  endRun(run);
}

void Heap::trim() {
  const MutexLock lock(mutex_);
  while (oldest_) evictOldest();
  source_.trim();
}

// Of each class a slab stays although it is empty.
void Heap::clear() {
  const MutexLock lock(mutex_);
  for (Slab* const first : partial_)
    for (Slab *slab = first, *next; slab; slab = next) {
      next = slab->next;
      endSlab(*slab);
    }
  while (oldest_) evictOldest();
}

void Heap::setWords(uint32_t first, uint32_t count, uintptr_t word) {
  for (uint32_t granule = first; granule < first + count; ++granule)
    words_[granule].store(word, std::memory_order_release);
}

Heap::Run* Heap::newRun() {
  Run* run = freeRuns_;
  if (!run) return new (metadata(sizeof(Run), alignof(Run))) Run;
  freeRuns_ = run->binNext;
  run->binNext = nullptr;
  return run;
}

// With what giveBack() needs to enter its piece, which must not fail.
Heap::Run* Heap::newRunAt(uint32_t first) {
  Run* const run = newRun();
  try {
    spareNodes_.emplace(first, 0);
  } catch (const std::bad_alloc&) {
    endRun(*run);
    throw;
  }
  return run;
}

void Heap::endRun(Run& run) {
  run.binNext = freeRuns_;
  freeRuns_ = &run;
}

}  // namespace vg::alloc
