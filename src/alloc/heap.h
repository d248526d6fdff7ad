// Hands out the memory of one window: slots of 512 bytes to 32 KiB, runs of 64 KiB pages below 2 MiB, runs of 2 MiB
// granules above.
//
// Memory that was released stays committed, up to a bound, and is handed out again without a system call; beyond the
// bound the oldest goes back to the system and faults when it is touched. `capacity` counts granules with something
// live in them, as the vendor's driver does, so that a window that is all released has all its capacity free.
//
// An allocation can be shared with other processes. Its pages then hold nothing that is allocated later, and are
// replaced by fresh memory before anybody gets them again: what others have mapped stays theirs.
//
// All functions are thread-safe; one lock a heap, held for some tens of nanoseconds unless memory has to be committed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "alloc/memory_source.h"
#include "alloc/memory_table.h"
#include "base/mutex.h"

namespace vg::alloc {

// What a new record says of itself.
struct Description {
  Kind kind = Kind::Device;
  void* owner = nullptr;
  uint32_t flags = 0;
  size_t alignment = 0;  // a power of two up to kGranule; 0 and small ones mean kUnit
};

// The addresses of a heap: a whole window, or a part of one that was reserved for it.
struct HeapRange {
  uintptr_t start = 0;
  size_t bytes = 0;     // both multiples of kGranule
  unsigned window = 0;  // what records say of themselves
};

class Heap {
 public:
  // Requires: the table is reserved; no other heap uses this window. `cacheBytes` bounds what is kept committed.
  Heap(MemoryTable& table, unsigned window, MemorySource& source, size_t capacity, size_t cacheBytes);
  // Requires: nobody else hands out addresses of the range or publishes there.
  Heap(MemoryTable& table, const HeapRange& range, MemorySource& source, size_t capacity, size_t cacheBytes);
  ~Heap();
  Heap(const Heap&) = delete;

  // CUDA_ERROR_OUT_OF_MEMORY beyond the capacity or when the source has no more. Requires: bytes > 0.
  Result<Record*> allocate(size_t bytes, const Description& description);
  // Ends the allocation (live or released) that starts at `base` and has this id; false when it is not there.
  bool release(uintptr_t base, uint64_t id);
  // Ends all allocations for which match(record) says so; returns how many.
  template <class Match>
  size_t releaseIf(Match match) {
    std::vector<std::pair<uintptr_t, uint64_t>> found;
    forEach([&](const Record& record) {
      if (match(record)) found.emplace_back(record.base.load(), record.id.load());
    });
    size_t released = 0;
    for (auto [base, id] : found) released += release(base, id);
    return released;
  }
  // An allocation as other processes can map it. The object exists until the allocation ends.
  struct Share {
    PhysicalRef memory;
    size_t offset;  // of the allocation's first byte
    size_t bytes;
  };
  // The allocation that starts at `base` and has this id, the same object each time. CUDA_ERROR_INVALID_VALUE when it
  // is not there (any more), CUDA_ERROR_OUT_OF_MEMORY when the system has no memory or descriptor left. Allocating and
  // releasing go on meanwhile.
  Result<std::shared_ptr<const Share>> share(uintptr_t base, uint64_t id);

  // Takes capacity for memory that lies elsewhere; false when there is not that much. In whole granules.
  bool charge(size_t bytes);
  void uncharge(size_t bytes);
  // Calls visit(const Record&) for every live allocation, under the heap's lock.
  template <class Visit>
  void forEach(Visit visit);

  unsigned window() const { return window_; }
  size_t capacity() const { return capacity_; }
  // Bytes of granules with something live in them.
  size_t used() const { return usedGranules_.load(std::memory_order_relaxed) << kGranuleShift; }
  // Bytes kept committed although nothing lives there.
  size_t cached() const { return cachedGranules_.load(std::memory_order_relaxed) << kGranuleShift; }
  // Bytes that can still be allocated: what the capacity leaves, or what the source has left for all processes.
  size_t available() const;
  // Where other processes read used() from now on. Requires: the word outlives the heap.
  void publish(std::atomic<size_t>& used);
  // Gives all cached granules back to the source, and what the source keeps to the system.
  void trim();
  // Gives all memory back to the source, for a heap that is about to end before its addresses do. Requires: nothing
  // lives.
  void clear();

 private:
  static constexpr unsigned kClasses = 12;
  static constexpr uint32_t kBins = 4096;  // runs of fewer granules are cached by their exact length
  static constexpr unsigned kUnitsOfClass[kClasses] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 42, 64};

  struct PagedGranule;
  // What a run or a slab that is or becomes shared memory has besides.
  struct SharedState {
    SharedMemory shared;
    unsigned users = 0;   // threads that are about to share something in it: it may not end meanwhile
    bool moving = false;  // one of them moves it, without the lock
    bool ended = false;   // a run that was released
  };
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
    Slab *next = nullptr, *previous = nullptr;  // in partial_, while a slot is free
  };
  struct PagedGranule : PageTable {
    uint32_t freePages = ~0u;  // bit set: free
    uint32_t spoilt = 0;       // bit set: other processes may see it, so nobody gets it before the granule has gone
    uint32_t live = 0;         // live allocations inside
    Run* run = nullptr;        // the granule
    unsigned list = 0;         // which of byLongest_ it is in
    PagedGranule *next = nullptr, *previous = nullptr;
  };

  // Released memory that somebody wants to be kept out of use for a while (alloc/watch.h).
  struct Retired {
    Slab* slab;
    Run* run;
    Record* record;
    size_t bytes;
  };

  Record* allocateRecord(size_t bytes, size_t alignment) VG_REQUIRES(mutex_);
  void giveUp(Slab* slab, Run* run, Record& record) VG_REQUIRES(mutex_);
  void retire(Slab* slab, Run* run, Record& record, size_t limit) VG_REQUIRES(mutex_);
  void endRetired(size_t limit) VG_REQUIRES(mutex_);
  Record* allocateSlot(unsigned sizeClass) VG_REQUIRES(mutex_);
  Record* allocatePages(uint32_t count) VG_REQUIRES(mutex_);
  Record* allocateGranules(uint32_t count) VG_REQUIRES(mutex_);
  void releaseSlot(Slab& slab, Record& record) VG_REQUIRES(mutex_);
  void releasePages(Run& run) VG_REQUIRES(mutex_);
  void releaseGranules(Run& run) VG_REQUIRES(mutex_);

  Slab* newSlab(unsigned sizeClass) VG_REQUIRES(mutex_);
  void endSlab(Slab& slab) VG_REQUIRES(mutex_);
  void unlistSlab(Slab& slab) VG_REQUIRES(mutex_);
  void retireSlab(Slab& slab) VG_REQUIRES(mutex_);

  struct SharedRange {
    std::byte* start;
    size_t bytes;
    SharedState*& state;
  };
  SharedRange rangeOf(Slab* slab, Run* run) VG_REQUIRES(mutex_);
  CUresult move(ReleasableLock& lock, const SharedRange& range)
      VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;  // clang does not know that `lock` is of mutex_
  std::shared_ptr<const Share> shareOf(Record& record, const SharedRange& range) VG_REQUIRES(mutex_);
  void releaseShared(Slab* slab, Run* run) VG_REQUIRES(mutex_);
  void endSharedIfEmpty(Slab* slab, Run* run) VG_REQUIRES(mutex_);
  static void spoil(Slab* slab, const Run* run);
  void releaseRun(Run& run) VG_REQUIRES(mutex_);
  PagedGranule* granuleWithPages(uint32_t count) VG_REQUIRES(mutex_);
  uint32_t takePages(PagedGranule& granule, uint32_t count) VG_REQUIRES(mutex_);
  void givePages(PagedGranule& granule, uint32_t first, uint32_t count) VG_REQUIRES(mutex_);
  void refile(PagedGranule& granule) VG_REQUIRES(mutex_);
  void unfile(PagedGranule& granule) VG_REQUIRES(mutex_);
  void countLive(PagedGranule& granule, int change) VG_REQUIRES(mutex_);

  Run* takeRun(uint32_t count) VG_REQUIRES(mutex_);
  Run* fromCache(uint32_t count) VG_REQUIRES(mutex_);
  Run* fromFreeSpace(uint32_t count) VG_REQUIRES(mutex_);
  void toCache(Run& run) VG_REQUIRES(mutex_);
  void removeFromCache(Run& run) VG_REQUIRES(mutex_);
  void evictOldest() VG_REQUIRES(mutex_);
  void setWords(uint32_t first, uint32_t count, uintptr_t word) VG_REQUIRES(mutex_);
  bool roomFor(uint32_t granules) const {
    return usedGranules_.load(std::memory_order_relaxed) + granules <= capacityGranules_;
  }
  // By how many granules used() changes.
  void countUsed(ptrdiff_t change) VG_REQUIRES(mutex_) {
    const size_t now = usedGranules_.load(std::memory_order_relaxed) + static_cast<size_t>(change);
    usedGranules_.store(now, std::memory_order_relaxed);
    published_->store(now << kGranuleShift, std::memory_order_relaxed);
  }
  void giveBack(Run& run) VG_REQUIRES(mutex_);

  Run* newRun() VG_REQUIRES(mutex_);
  Run* newRunAt(uint32_t first) VG_REQUIRES(mutex_);
  void endRun(Run& run) VG_REQUIRES(mutex_);
  std::byte* metadata(size_t bytes, size_t alignment) VG_REQUIRES(mutex_);
  Record* find(uintptr_t base, uint64_t id, Slab*& slab, Run*& run) VG_REQUIRES(mutex_);

  MemoryTable& table_;
  MemorySource& source_;
  std::byte* const start_;
  std::atomic<uintptr_t>* const words_;
  const unsigned window_;
  const size_t capacity_;
  const uint32_t capacityGranules_, windowGranules_, cacheGranules_;
  std::atomic<size_t> usedGranules_{0}, cachedGranules_{0};
  std::atomic<size_t> unpublished_{0}, *published_ = &unpublished_;  // bytes; written under the lock

  Mutex mutex_;  // guards everything below and the words of the window
  Slab* partial_[kClasses] VG_GUARDED_BY(mutex_) = {};
  PagedGranule* byLongest_[kPagesPerGranule + 1] VG_GUARDED_BY(mutex_) = {};  // by the longest run of free pages
  uint64_t longestPresent_ VG_GUARDED_BY(mutex_) = 0;                         // bit n: byLongest_[n] is not empty
  std::vector<Run*> bins_ VG_GUARDED_BY(mutex_);
  std::vector<uint64_t> binPresent_ VG_GUARDED_BY(mutex_);
  Run *oldest_ VG_GUARDED_BY(mutex_) = nullptr, *newest_ VG_GUARDED_BY(mutex_) = nullptr;
  std::map<uint32_t, uint32_t> freeSpace_ VG_GUARDED_BY(mutex_);  // uncommitted: first granule -> count
  // An entry for each run, by its first granule, which becomes that of the free piece when the run goes.
  std::map<uint32_t, uint32_t> spareNodes_ VG_GUARDED_BY(mutex_);
  uint32_t usedUpTo_ VG_GUARDED_BY(mutex_) = 0;  // no granule from here on has ever been committed
  Run* freeRuns_ VG_GUARDED_BY(mutex_) = nullptr;
  Slab* freeSlabs_[kClasses] VG_GUARDED_BY(mutex_) = {};
  PagedGranule* freeGranules_ VG_GUARDED_BY(mutex_) = nullptr;
  std::unordered_map<uint64_t, std::shared_ptr<const Share>> shares_ VG_GUARDED_BY(mutex_);  // by id
  std::condition_variable moved_;
  std::deque<Retired> retired_ VG_GUARDED_BY(mutex_);
  size_t retiredBytes_ VG_GUARDED_BY(mutex_) = 0;
  std::byte *metadataAt_ VG_GUARDED_BY(mutex_) = nullptr, *metadataEnd_ VG_GUARDED_BY(mutex_) = nullptr;
  std::vector<std::pair<void*, size_t>> metadataChunks_ VG_GUARDED_BY(mutex_);
};

template <class Visit>
void Heap::forEach(Visit visit) {
  const auto visitLive = [&](const Record& record) {
    if (record.live()) visit(record);
  };
  const auto visitPage = [&](uintptr_t word, unsigned page) {
    if (!word) return;
    if (word & 1) {
      const auto& slab = *static_cast<const Slab*>(reinterpret_cast<const SlabTable*>(word - 1));
      for (unsigned i = 0; i < slab.slots; ++i) visitLive(slab.records[i]);
      return;
    }
    const auto& run = *static_cast<const Run*>(reinterpret_cast<const Record*>(word));
    if (run.position == page) visitLive(run);
  };
  const MutexLock lock(mutex_);
  for (uint32_t granule = 0; granule < usedUpTo_; ++granule) {
    const uintptr_t word = words_[granule].load(std::memory_order_relaxed);
    if (word & 1) {
      const auto& pages = *reinterpret_cast<const PageTable*>(word - 1);
      for (unsigned page = 0; page < kPagesPerGranule; ++page)
        visitPage(pages.pages[page].load(std::memory_order_relaxed), page);
    } else if (word) {
      const auto& run = *static_cast<const Run*>(reinterpret_cast<const Record*>(word));
      if (run.position == granule) visitLive(run);
    }
  }
}

}  // namespace vg::alloc
