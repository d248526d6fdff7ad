// Slots of 512 bytes to 32 KiB: a slab is a page of slots of one size. Guarded by the heap's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/heap/account.h"
#include "alloc/heap/metadata.h"
#include "alloc/heap/pages.h"
#include "alloc/heap/parts.h"

namespace vg::alloc::heap {

class Slabs {
 public:
  static constexpr size_t kSlotLimit = size_t{32} << 10;  // larger allocations take pages

  Slabs(const Span& span, Account& account, Metadata& metadata, Pages& pages)
      : span_(span), account_(account), metadata_(metadata), pages_(pages) {}

  // The record of a slot that lives from now on; null when there is no memory. Requires: bytes <= kSlotLimit. Slots
  // whose size is a power of two are aligned to it.
  Record* allocate(size_t bytes);
  void release(Slab& slab, Record& record);

  // No slot of the slab is given out any more. Requires: it has a free one.
  void unlist(Slab& slab);
  // Gives back the page of a slab that was taken out. Requires: nothing lives in it.
  void retire(Slab& slab);
  // Ends the slabs that stay although they are empty. Requires: nothing lives.
  void clear();

 private:
  static constexpr unsigned kClasses = 12;
  static constexpr unsigned kUnitsOfClass[kClasses] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 42, 64};
  struct ClassOfUnits;

  static constexpr ClassOfUnits makeClassOfUnits();
  Slab* newSlab(unsigned sizeClass);
  Slab* makeSlab(unsigned sizeClass);

  const Span span_;
  Account& account_;
  Metadata& metadata_;
  Pages& pages_;
  Slab* partial_[kClasses] = {};  // with a free slot
  Slab* freeSlabs_[kClasses] = {};
};

}  // namespace vg::alloc::heap
