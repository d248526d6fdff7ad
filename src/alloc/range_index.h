// A sorted index of disjoint address ranges outside our reservation: registered host memory.
//
// find() takes no lock: it searches a sorted array between two reads of a sequence number and repeats when a writer was
// there. Arrays that were outgrown are kept, so a slow reader never touches freed memory. insert() and remove() take
// the index's own lock; they are rare.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloc/record_pool.h"
#include "base/sync/mutex.h"

namespace vg::alloc {

class RangeIndex {
 public:
  // The live record whose range contains the address, or null.
  const Record* find(uintptr_t address) const {
    if (address < lowest_.load(std::memory_order_relaxed) || address >= highest_.load(std::memory_order_relaxed))
      return nullptr;
    return search(address);
  }

  // A live record with these members, or null when the range overlaps one that is there. Throws std::bad_alloc.
  Record* insert(const Record& prototype);
  // Ends the record whose range starts at `base`; false when there is none.
  bool remove(uintptr_t base);
  // A live record that overlaps [address, address + bytes), or null.
  const Record* overlapping(uintptr_t address, size_t bytes) const;
  // Calls visit(record) for every live record, under the lock.
  template <class Visit>
  void forEach(Visit visit) {
    const MutexLock lock(mutex_);
    Array* array = array_.load(std::memory_order_relaxed);
    for (size_t i = 0, n = count_.load(std::memory_order_relaxed); i < n; ++i)
      visit(*array->records[i].load(std::memory_order_relaxed));
  }

 private:
  struct Array {
    size_t capacity;
    std::atomic<Record*>* records;
  };

  const Record* search(uintptr_t address) const;
  const Record* overlappingLocked(uintptr_t address, size_t bytes) const;
  // The number of records that start at or below the address.
  static size_t upperBound(const Array& array, size_t count, uintptr_t address);
  void grow();
  void widenBounds(uintptr_t base, size_t bytes);

  std::atomic<uint64_t> sequence_{0};  // odd while a writer is at work
  std::atomic<Array*> array_{nullptr};
  std::atomic<size_t> count_{0};
  // Bounds of all ranges there ever were: they only move apart, so a reader may see one of them late and miss nothing
  // but a range that is just being inserted.
  std::atomic<uintptr_t> lowest_{UINTPTR_MAX};
  std::atomic<uintptr_t> highest_{0};
  mutable Mutex mutex_;
  RecordPool records_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::alloc
