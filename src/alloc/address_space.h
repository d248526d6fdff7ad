// Addresses for memory that is mapped where the application or an import wants it: reserved ranges in the shared
// windows of the memory table, and the records that make lookups, pointer attributes and copies know what is mapped.
//
// Addresses and lengths are multiples of kGranule. A range that is reserved is inaccessible and unknown to lookups
// until something is mapped in it (alloc/physical_memory.h) and published here. Everything but lookups takes the one
// lock.
//
// To import memory: reserve(), PhysicalMemory::map(), publish(). To end it: withdraw(), PhysicalMemory::unmap(),
// free().
#pragma once

#include <cstdint>
#include <map>

#include "alloc/memory_table.h"
#include "alloc/record_pool.h"
#include "base/sync/mutex.h"

namespace vg::alloc {

class AddressSpace {
 public:
  struct Range {
    uintptr_t start = 0;
    size_t bytes = 0;  // 0: no range
    bool contains(uintptr_t address, size_t length) const {
      return length <= bytes && address - start <= bytes - length;
    }
  };

  // Requires: the windows from `firstWindow` on are reserved and nobody else publishes there.
  AddressSpace(MemoryTable& table, unsigned firstWindow, unsigned windows);
  AddressSpace(const AddressSpace&) = delete;

  uintptr_t start() const { return start_; }
  // A range of its own, aligned to `alignment` (a power of two; 0: kGranule), at `wanted` if that is free and fits.
  // CUDA_ERROR_OUT_OF_MEMORY when no free range is long enough. Requires: bytes > 0, a multiple of kGranule.
  Result<uintptr_t> reserve(size_t bytes, size_t alignment = 0, uintptr_t wanted = 0);
  // Ends the reservation that is exactly this range; false when there is none such. Requires: nothing is published in
  // it.
  bool free(uintptr_t start, size_t bytes);
  // The reservation that contains the address, or none.
  Range reservationAt(uintptr_t address) const;

  // Makes a live record with the members of `prototype` known for [base, base + size). Its id is a new one unless the
  // prototype has one. Throws std::bad_alloc. Requires: the range is inside a reservation, and nothing is published in
  // the granules it touches.
  Record* publish(const Record& prototype);
  // Ends a published record: lookups do not find it any more. The memory of records is never given back.
  void withdraw(Record* record);

 private:
  void setWords(const Record& record, uintptr_t word) VG_REQUIRES(mutex_);
  uintptr_t takeAt(std::map<uintptr_t, size_t>::iterator piece, uintptr_t start, size_t bytes) VG_REQUIRES(mutex_);

  MemoryTable& table_;
  const uintptr_t start_;
  const size_t bytes_;
  std::atomic<uintptr_t>* const words_;
  mutable Mutex mutex_;  // guards what follows, and the words
  std::map<uintptr_t, size_t> free_ VG_GUARDED_BY(mutex_), reserved_ VG_GUARDED_BY(mutex_);
  RecordPool records_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::alloc
