// From an address to the record of the allocation that contains it, without a lock.
//
// One range of addresses is reserved for the whole process and cut into windows of equal size: one for each device, one
// for managed and one for page-locked memory, the rest for what is mapped at addresses of its own
// (alloc/address_space.h). On both sides of the range nothing lies that an index gone wrong could reach
// (base/memory/guarded_range.h). Inside it a lookup takes at most three acquire loads (granule, page,
// slot). Host ranges that are not ours live in a sorted index beside it.
//
// Invariants:
// 1. The reservation and all metadata stay for ever once made.
// 2. A granule or page word may point to a record that is free or belongs to another place by now: find() checks the
//    record's state and range before it believes it.
// 3. Words are published with release stores by the one heap that owns the window, under that heap's lock.
//
// find() may be called from any thread and from signal handlers. Meant for one constinit instance; tests may have more.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloc/geometry.h"
#include "alloc/range_index.h"
#include "alloc/record.h"
#include "base/memory/guarded_range.h"
#include "base/result.h"

namespace vg::alloc {

// 64 KiB pieced out in slots of one size.
struct SlabTable {
  Record* records = nullptr;  // one a slot; constant once the slab exists
  uint32_t reciprocal = 0;    // unit number * reciprocal >> 16 is the slot number
};

// 2 MiB pieced out in pages: a word is null, a Record, or a SlabTable with the lowest bit set.
struct PageTable {
  std::atomic<uintptr_t> pages[kPagesPerGranule];
};

class MemoryTable {
 public:
  // Reserves addresses for `windows` windows of `bytes` each (a power of two). Where the system limits them, takes at
  // most half of what there is; CUDA_ERROR_OUT_OF_MEMORY when not even a granule each is left. Call once, before
  // anything else but find(). `spare` more windows are reserved behind them if the system has that many addresses.
  CUresult reserve(unsigned windows, size_t bytes, unsigned spare = 0);
  unsigned windows() const { return static_cast<unsigned>(span_.load(std::memory_order_acquire) / windowBytes_); }

  // The record of the live allocation that contains `address`, or null.
  const Record* find(const void* address) const { return find(reinterpret_cast<uintptr_t>(address)); }
  const Record* find(uintptr_t address) const {
    const uintptr_t offset = address - base_.load(std::memory_order_acquire);
    if (offset >= span_.load(std::memory_order_acquire)) return ranges_.find(address);
    const Record* record = recordAt(offset);
    return record && record->live() && record->contains(address) ? record : nullptr;
  }

  // The same for one that was released in the order of a stream and has not gone back to its heap.
  const Record* findReleased(uintptr_t address) const {
    const uintptr_t offset = address - base_.load(std::memory_order_acquire);
    if (offset >= span_.load(std::memory_order_acquire)) return nullptr;
    const Record* record = recordAt(offset);
    const bool released = record && record->state.load(std::memory_order_acquire) == State::Released;
    return released && record->contains(address) ? record : nullptr;
  }

  // Whether the address lies in the reservation, allocated or not.
  bool ours(uintptr_t address) const {
    return address - base_.load(std::memory_order_acquire) < span_.load(std::memory_order_acquire);
  }
  std::byte* windowStart(unsigned window) const {
    return reinterpret_cast<std::byte*>(base_.load(std::memory_order_relaxed)) + window * windowBytes_;
  }
  size_t windowBytes() const { return windowBytes_; }

  // The words of a window, one a granule: null, a Record, or a PageTable with the lowest bit set.
  std::atomic<uintptr_t>* granules(unsigned window) const {
    return granules_ + window * (windowBytes_ >> kGranuleShift);
  }
  RangeIndex& ranges() { return ranges_; }
  uint64_t nextId() { return nextId_.fetch_add(1, std::memory_order_relaxed); }

  // Takes the reservation back. For tests: nobody may use the table any more.
  void unreserve();

 private:
  bool adopt(GuardedRange range);
  static size_t wordBytes(size_t span) { return (span >> kGranuleShift) * sizeof(std::atomic<uintptr_t>); }
  const Record* recordAt(uintptr_t offset) const {
    const uintptr_t granule = granules_[offset >> kGranuleShift].load(std::memory_order_acquire);
    if (!(granule & 1)) return reinterpret_cast<const Record*>(granule);
    const auto* pages = reinterpret_cast<const PageTable*>(granule - 1);
    const uintptr_t page = pages->pages[(offset >> kPageShift) % kPagesPerGranule].load(std::memory_order_acquire);
    if (!(page & 1)) return reinterpret_cast<const Record*>(page);
    const auto* slab = reinterpret_cast<const SlabTable*>(page - 1);
    const uint32_t unit = (offset >> kUnitShift) % kUnitsPerPage;
    return slab->records + (unit * slab->reciprocal >> 16);
  }

  std::atomic<uintptr_t> base_{0};
  std::atomic<size_t> span_{0};
  std::atomic<uintptr_t>* granules_ = nullptr;
  size_t windowBytes_ = 0;
  GuardedRange range_;  // the reservation; constant once made
  std::atomic<uint64_t> nextId_{1};
  RangeIndex ranges_;
};

}  // namespace vg::alloc
