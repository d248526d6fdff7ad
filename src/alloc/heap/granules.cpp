#include "alloc/heap/granules.h"

#include <algorithm>
#include <bit>
#include <new>

namespace vg::alloc::heap {

Granules::Granules(const Span& span, MemorySource& source, Account& account, Metadata& metadata, uint32_t mostCached)
    : span_(span),
      source_(source),
      account_(account),
      metadata_(metadata),
      mostCached_(mostCached),
      bins_(kBins),
      binPresent_(kBins / 64) {
  freeSpace_[0] = span_.granules;
}

Run* Granules::allocate(uint32_t count) {
  if (!account_.roomFor(count)) return nullptr;
  Run* run = take(count);
  if (!run) return nullptr;
  account_.countUsed(run->extent);
  return run;
}

void Granules::release(Run& run) {
  account_.countUsed(-static_cast<ptrdiff_t>(run.extent));
  keep(run);
}

Run* Granules::take(uint32_t count) {
  if (Run* run = fromCache(count)) return run;
  if (Run* run = fromFreeSpace(count)) return run;
  if (!oldest_) return nullptr;
  giveBackCached();  // joins what is cached to longer pieces
  return fromFreeSpace(count);
}

// The same length, or up to an eighth more as long as the capacity allows.
Run* Granules::fromCache(uint32_t count) {
  const uint32_t last = std::min({count + count / 8, kBins - 1, account_.room()});
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
Run* Granules::fromFreeSpace(uint32_t count) {
  for (auto piece = freeSpace_.begin(); piece != freeSpace_.end(); ++piece) {
    const auto [first, length] = *piece;
    if (length < count) continue;
    std::byte* start = span_.at(first);
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
    span_.setWords(first, count, wordOf(run));
    return run;
  }
  return nullptr;
}

void Granules::keep(Run& run) {
  if (run.extent >= kBins || run.extent > mostCached_) return giveBack(run);
  Run*& bin = bins_[run.extent];
  run.binNext = bin;
  if (bin) bin->binPrevious = &run;
  bin = &run;
  binPresent_[run.extent / 64] |= uint64_t{1} << run.extent % 64;
  run.agePrevious = newest_;
  (newest_ ? newest_->ageNext : oldest_) = &run;
  newest_ = &run;
  account_.countCached(static_cast<int32_t>(run.extent));
  while (account_.cachedGranules() > mostCached_) evictOldest();
}

void Granules::removeFromCache(Run& run) {
  (run.binPrevious ? run.binPrevious->binNext : bins_[run.extent]) = run.binNext;
  if (run.binNext) run.binNext->binPrevious = run.binPrevious;
  if (!bins_[run.extent]) binPresent_[run.extent / 64] &= ~(uint64_t{1} << run.extent % 64);
  (run.agePrevious ? run.agePrevious->ageNext : oldest_) = run.ageNext;
  (run.ageNext ? run.ageNext->agePrevious : newest_) = run.agePrevious;
  run.binNext = run.binPrevious = run.ageNext = run.agePrevious = nullptr;
  account_.countCached(-static_cast<int32_t>(run.extent));
}

void Granules::evictOldest() {
  Run& run = *oldest_;
  removeFromCache(run);
  giveBack(run);
}

void Granules::giveBack(Run& run) {
  span_.setWords(run.position, run.extent, 0);
  source_.decommit(span_.at(run.position), size_t{run.extent} << kGranuleShift);
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

void Granules::giveBackCached() {
  while (oldest_) evictOldest();
}

Run* Granules::newRun() {
  Run* run = freeRuns_;
  if (!run) return metadata_.make<Run>();
  freeRuns_ = run->binNext;
  run->binNext = nullptr;
  return run;
}

// With what giveBack() needs to enter its piece, which must not fail.
Run* Granules::newRunAt(uint32_t first) {
  Run* const run = newRun();
  try {
    spareNodes_.emplace(first, 0);
  } catch (const std::bad_alloc&) {
    endRun(*run);
    throw;
  }
  return run;
}

void Granules::endRun(Run& run) {
  run.binNext = freeRuns_;
  freeRuns_ = &run;
}

}  // namespace vg::alloc::heap
