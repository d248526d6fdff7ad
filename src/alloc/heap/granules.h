// Runs of 2 MiB granules: which are committed, which of those are cached, which addresses are free.
//
// Runs of fewer granules than kBins are cached by their exact length; beyond the bound the oldest goes back to the
// source. Guarded by the heap's lock.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "alloc/heap/account.h"
#include "alloc/heap/metadata.h"
#include "alloc/heap/parts.h"
#include "alloc/memory_source.h"

namespace vg::alloc::heap {

class Granules {
 public:
  Granules(const Span& span, MemorySource& source, Account& account, Metadata& metadata, uint32_t mostCached);

  // A committed run of at least `count` granules whose words point to it; null when there is none.
  Run* take(uint32_t count);
  // Caches a run, or gives it back. Requires: its words point to it.
  void keep(Run& run);
  // Decommits a run and joins it with the free pieces beside it.
  void giveBack(Run& run);
  // Gives back all that is cached.
  void giveBackCached();

  // The same with the account: a run that lives.
  Run* allocate(uint32_t count);
  void release(Run& run);

  // A run that says nothing yet, of granules or pages.
  Run* newRun();
  void endRun(Run& run);

  // No granule from here on has ever been committed.
  uint32_t usedUpTo() const { return usedUpTo_; }

 private:
  static constexpr uint32_t kBins = 4096;

  Run* fromCache(uint32_t count);
  Run* fromFreeSpace(uint32_t count);
  void removeFromCache(Run& run);
  void evictOldest();
  Run* newRunAt(uint32_t first);

  const Span span_;
  MemorySource& source_;
  Account& account_;
  Metadata& metadata_;
  const uint32_t mostCached_;
  std::vector<Run*> bins_;
  std::vector<uint64_t> binPresent_;
  Run *oldest_ = nullptr, *newest_ = nullptr;
  std::map<uint32_t, uint32_t> freeSpace_;  // uncommitted: first granule -> count
  // An entry for each run, by its first granule, which becomes that of the free piece when the run goes.
  std::map<uint32_t, uint32_t> spareNodes_;
  uint32_t usedUpTo_ = 0;
  Run* freeRuns_ = nullptr;
};

}  // namespace vg::alloc::heap
