// Hands out the memory of one window: slots of 512 bytes to 32 KiB (heap/slabs.h), runs of 64 KiB pages below 2 MiB
// (heap/pages.h), runs of 2 MiB granules above (heap/granules.h).
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
#include <memory>
#include <unordered_map>
#include <vector>

#include "alloc/heap/account.h"
#include "alloc/heap/granules.h"
#include "alloc/heap/metadata.h"
#include "alloc/heap/pages.h"
#include "alloc/heap/parts.h"
#include "alloc/heap/slabs.h"
#include "alloc/memory_source.h"
#include "alloc/memory_table.h"
#include "base/sync/mutex.h"

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
  size_t capacity() const { return account_.capacity(); }
  // Bytes of granules with something live in them.
  size_t used() const { return account_.used(); }
  // Bytes kept committed although nothing lives there.
  size_t cached() const { return account_.cached(); }
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
  // Released memory that somebody wants to be kept out of use for a while (alloc/watch.h).
  struct Retired {
    heap::Slab* slab;
    heap::Run* run;
    Record* record;
    size_t bytes;
  };
  struct SharedRange {
    std::byte* start;
    size_t bytes;
    heap::SharedState*& state;
  };

  Record* allocateRecord(size_t bytes, size_t alignment) VG_REQUIRES(mutex_);
  Record* find(uintptr_t base, uint64_t id, heap::Slab*& slab, heap::Run*& run) VG_REQUIRES(mutex_);
  void giveUp(heap::Slab* slab, heap::Run* run, Record& record) VG_REQUIRES(mutex_);
  void retire(heap::Slab* slab, heap::Run* run, Record& record, size_t limit) VG_REQUIRES(mutex_);
  void endRetired(size_t limit) VG_REQUIRES(mutex_);
  void releaseRun(heap::Run& run) VG_REQUIRES(mutex_);

  SharedRange rangeOf(heap::Slab* slab, heap::Run* run) VG_REQUIRES(mutex_);
  CUresult move(ReleasableLock& lock, const SharedRange& range)
      VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;  // clang does not know that `lock` is of mutex_
  std::shared_ptr<const Share> shareOf(Record& record, const SharedRange& range) VG_REQUIRES(mutex_);
  void releaseShared(heap::Slab* slab, heap::Run* run) VG_REQUIRES(mutex_);
  void endSharedIfEmpty(heap::Slab* slab, heap::Run* run) VG_REQUIRES(mutex_);

  MemoryTable& table_;
  MemorySource& source_;
  const heap::Span span_;
  const unsigned window_;
  heap::Account account_;

  Mutex mutex_;  // guards everything below and the words of the window
  heap::Metadata metadata_ VG_GUARDED_BY(mutex_);
  heap::Granules granules_ VG_GUARDED_BY(mutex_);
  heap::Pages pages_ VG_GUARDED_BY(mutex_);
  heap::Slabs slabs_ VG_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, std::shared_ptr<const Share>> shares_ VG_GUARDED_BY(mutex_);  // by id
  std::condition_variable moved_;
  std::deque<Retired> retired_ VG_GUARDED_BY(mutex_);
  size_t retiredBytes_ VG_GUARDED_BY(mutex_) = 0;
};

template <class Visit>
void Heap::forEach(Visit visit) {
  const auto visitLive = [&](const Record& record) {
    if (record.live()) visit(record);
  };
  const auto visitRun = [&](uintptr_t word, uint32_t position) {
    if (const heap::Run& run = *heap::runOf(word); run.position == position) visitLive(run);
  };
  const auto visitPage = [&](uintptr_t word, unsigned page) {
    if (!word) return;
    if (!(word & 1)) return visitRun(word, page);
    const heap::Slab& slab = *heap::slabOf(word);
    for (unsigned i = 0; i < slab.slots; ++i) visitLive(slab.records[i]);
  };
  const MutexLock lock(mutex_);
  for (uint32_t granule = 0; granule < granules_.usedUpTo(); ++granule) {
    const uintptr_t word = span_.words[granule].load(std::memory_order_relaxed);
    if (word & 1) {
      for (unsigned page = 0; page < kPagesPerGranule; ++page)
        visitPage(heap::pagesOf(word)->pages[page].load(std::memory_order_relaxed), page);
    } else if (word) {
      visitRun(word, granule);
    }
  }
}

}  // namespace vg::alloc
