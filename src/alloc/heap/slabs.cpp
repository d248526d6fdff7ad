#include "alloc/heap/slabs.h"

#include <bit>
#include <new>

namespace vg::alloc::heap {
namespace {

constexpr uint8_t kNoClass = 0xFF;
constexpr size_t kLine = 64;  // of the processor's caches

}  // namespace

// From units to the smallest size class that holds them.
struct Slabs::ClassOfUnits {
  uint8_t of[kSlotLimit / kUnit + 1];
};

constexpr Slabs::ClassOfUnits Slabs::makeClassOfUnits() {
  ClassOfUnits table{};
  for (unsigned units = 0; units <= kSlotLimit / kUnit; ++units) {
    table.of[units] = kNoClass;
    for (unsigned c = 0; c < kClasses && table.of[units] == kNoClass; ++c)
      if (kUnitsOfClass[c] >= units) table.of[units] = static_cast<uint8_t>(c);
  }
  return table;
}

Record* Slabs::allocate(size_t bytes) {
  static constexpr ClassOfUnits kClassOfUnits = makeClassOfUnits();
  const unsigned sizeClass = kClassOfUnits.of[(bytes + kUnit - 1) >> kUnitShift];
  Slab* slab = partial_[sizeClass];
  if (!slab && !(slab = newSlab(sizeClass))) return nullptr;
  if (!slab->live && !slab->granule->live && !account_.roomFor(1)) return nullptr;
  const unsigned word = slab->freeSlots[0] ? 0 : 1;
  const unsigned slot = word * 64 + std::countr_zero(slab->freeSlots[word]);
  slab->freeSlots[word] &= slab->freeSlots[word] - 1;
  if (++slab->live == slab->slots) {  // full: nobody looks at it until something is released
    partial_[sizeClass] = slab->next;
    if (slab->next) slab->next->previous = nullptr;
    slab->next = slab->previous = nullptr;
  }
  pages_.countLive(*slab->granule, 1);
  Record& record = slab->records[slot];
  record.base.store(reinterpret_cast<uintptr_t>(span_.at(slab->granule->run->position, slab->page)) +
                        (size_t{slot} * kUnitsOfClass[sizeClass] << kUnitShift),
                    std::memory_order_relaxed);
  return &record;
}

void Slabs::release(Slab& slab, Record& record) {
  const size_t slot = &record - slab.records;
  slab.freeSlots[slot / 64] |= uint64_t{1} << slot % 64;
  pages_.countLive(*slab.granule, -1);
  Slab*& first = partial_[slab.sizeClass];
  if (slab.live-- == slab.slots) {
    slab.next = first;
    if (first) first->previous = &slab;
    first = &slab;
  }
  // The last slab of a class with free slots stays, so that one allocation more or less costs nothing.
  if (slab.live || (!slab.next && !slab.previous)) return;
  unlist(slab);
  retire(slab);
}

Slab* Slabs::newSlab(unsigned sizeClass) {
  PagedGranule* granule = pages_.withFree(1);
  if (!granule) return nullptr;
  Slab* slab = freeSlabs_[sizeClass];
  if (slab) {
    freeSlabs_[sizeClass] = slab->next;
    slab->next = nullptr;
  } else {
    slab = makeSlab(sizeClass);
  }
  slab->freeSlots[0] = slab->slots >= 64 ? ~uint64_t{0} : (uint64_t{1} << slab->slots) - 1;
  slab->freeSlots[1] = slab->slots > 64 ? ~uint64_t{0} >> (128 - slab->slots) : 0;
  slab->granule = granule;
  slab->page = pages_.take(*granule, 1);
  partial_[sizeClass] = slab;
  granule->pages[slab->page].store(wordOf(slab), std::memory_order_release);
  return slab;
}

// One record more than slots where they do not fill the page: a lookup in the remainder lands there.
Slab* Slabs::makeSlab(unsigned sizeClass) {
  const unsigned units = kUnitsOfClass[sizeClass], records = (kUnitsPerPage + units - 1) / units;
  Slab* const slab = metadata_.make<Slab>();
  slab->records =
      reinterpret_cast<Record*>(metadata_.take(records * sizeof(Record), records > 8 ? kLine : alignof(Record)));
  for (unsigned i = 0; i < records; ++i) new (slab->records + i) Record;
  slab->reciprocal = 65536 / units + 1;
  slab->slots = kUnitsPerPage / units;
  slab->sizeClass = sizeClass;
  return slab;
}

void Slabs::unlist(Slab& slab) {
  (slab.previous ? slab.previous->next : partial_[slab.sizeClass]) = slab.next;
  if (slab.next) slab.next->previous = slab.previous;
  slab.next = slab.previous = nullptr;
}

void Slabs::retire(Slab& slab) {
  slab.granule->pages[slab.page].store(0, std::memory_order_release);
  pages_.give(*slab.granule, slab.page, 1);
  slab.previous = nullptr;
  slab.next = freeSlabs_[slab.sizeClass];
  freeSlabs_[slab.sizeClass] = &slab;
}

// Of each class a slab stays although it is empty.
void Slabs::clear() {
  for (Slab* const first : partial_)
    for (Slab *slab = first, *next; slab; slab = next) {
      next = slab->next;
      unlist(*slab);
      retire(*slab);
    }
}

}  // namespace vg::alloc::heap
