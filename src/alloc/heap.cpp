#include "alloc/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "alloc/watch.h"
#include "base/mutex.h"
#include "base/own_memory.h"
#include "base/shortage.h"

namespace vg::alloc {

constinit std::atomic<const Watcher*> watcher{nullptr};

namespace {

constexpr uint8_t kNoClass = 0xFF;
constexpr size_t kLine = 64;                     // of the processor's caches
constexpr size_t kSlotLimit = size_t{32} << 10;  // larger allocations take pages

// From units to the smallest size class that holds them.
struct ClassOfUnits {
  uint8_t of[kSlotLimit / kUnit + 1];
};

template <size_t kCount>
constexpr ClassOfUnits makeClassOfUnits(const unsigned (&unitsOfClass)[kCount]) {
  ClassOfUnits table{};
  for (unsigned units = 0; units <= kSlotLimit / kUnit; ++units) {
    table.of[units] = kNoClass;
    for (unsigned c = 0; c < kCount && table.of[units] == kNoClass; ++c)
      if (unitsOfClass[c] >= units) table.of[units] = static_cast<uint8_t>(c);
  }
  return table;
}

void begin(MemoryTable& table, Record& record, uintptr_t base, size_t bytes, unsigned window,
           const Description& description) {
  record.base.store(base, std::memory_order_relaxed);
  record.size.store(bytes, std::memory_order_relaxed);
  record.id.store(table.nextId(), std::memory_order_relaxed);
  record.owner.store(description.owner, std::memory_order_relaxed);
  record.kind.store(description.kind, std::memory_order_relaxed);
  record.window.store(static_cast<uint16_t>(window), std::memory_order_relaxed);
  record.flags.store(description.flags, std::memory_order_relaxed);
  record.attributes.store(0, std::memory_order_relaxed);
  record.access.store(0, std::memory_order_relaxed);
  record.shared.store(false, std::memory_order_relaxed);
  record.state.store(State::Live, std::memory_order_release);
}

}  // namespace

Heap::Heap(MemoryTable& table, unsigned window, MemorySource& source, size_t capacity, size_t cacheBytes)
    : Heap(table, {reinterpret_cast<uintptr_t>(table.windowStart(window)), table.windowBytes(), window}, source,
           capacity, cacheBytes) {}

Heap::Heap(MemoryTable& table, const HeapRange& range, MemorySource& source, size_t capacity, size_t cacheBytes)
    : table_(table),
      source_(source),
      start_(reinterpret_cast<std::byte*>(range.start)),
      words_(table.granules(0) + ((start_ - table.windowStart(0)) >> kGranuleShift)),
      window_(range.window),
      capacity_(std::min(capacity, range.bytes)),
      capacityGranules_(static_cast<uint32_t>(capacity_ >> kGranuleShift)),
      windowGranules_(static_cast<uint32_t>(range.bytes >> kGranuleShift)),
      cacheGranules_(static_cast<uint32_t>(std::min<size_t>(cacheBytes >> kGranuleShift, UINT32_MAX))),
      bins_(kBins),
      binPresent_(kBins / 64) {
  freeSpace_[0] = windowGranules_;
}

Heap::~Heap() {
  for (auto [chunk, bytes] : metadataChunks_) own_memory::give(chunk, bytes);
}

Record* Heap::allocateRecord(size_t bytes, size_t alignment) {
  static constexpr ClassOfUnits kClassOfUnits = makeClassOfUnits(kUnitsOfClass);
  if (bytes <= kSlotLimit) {
    // Slots whose size is a power of two are aligned to it.
    const size_t size = alignment > kUnit ? std::bit_ceil(bytes) : bytes;
    return allocateSlot(kClassOfUnits.of[(size + kUnit - 1) >> kUnitShift]);
  }
  if (bytes <= kGranule - kPage && alignment <= kPage)
    return allocatePages(static_cast<uint32_t>((bytes + kPage - 1) >> kPageShift));
  return allocateGranules(static_cast<uint32_t>((bytes + kGranule - 1) >> kGranuleShift));
}

Result<Record*> Heap::allocate(size_t bytes, const Description& description) {
  const size_t needed = std::max(bytes + gapBehind(), description.alignment);
  if (needed > capacity_) {
    shortage::tell(Shortage::DeviceMemory, "%zu bytes of %zu", bytes, capacity_);
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes of %zu", bytes, capacity_);
  }
  const MutexLock lock(mutex_);
  Record* record = allocateRecord(needed, description.alignment);
  if (!record && !retired_.empty()) [[unlikely]] {
    endRetired(0);
    record = allocateRecord(needed, description.alignment);
  }
  if (!record) {
    const bool room = capacity_ - std::min(capacity_, used()) >= bytes;  // by the account; the system has refused it
    shortage::tell(room ? Shortage::HostMemory : Shortage::DeviceMemory, "%zu bytes: %zu of %zu in use", bytes, used(),
                   capacity_);
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes: %zu of %zu in use", bytes, used(), capacity_);
  }
  begin(table_, *record, record->base.load(std::memory_order_relaxed), bytes, window_, description);
  tellBegan(*record);
  return record;
}

bool Heap::release(uintptr_t base, uint64_t id) {
  const MutexLock lock(mutex_);
  Slab* slab = nullptr;
  Run* run = nullptr;
  Record* record = find(base, id, slab, run);
  if (!record) return false;
  tellEnded(*record);
  record->state.store(State::Free, std::memory_order_release);
  if (record->shared.load(std::memory_order_relaxed)) shares_.erase(id);
  if (const size_t limit = retiredLimit()) [[unlikely]] {
    retire(slab, run, *record, limit);
  } else {
    giveUp(slab, run, *record);
  }
  return true;
}

void Heap::giveUp(Slab* slab, Run* run, Record& record) {
  if (slab ? slab->shared : run->shared) {
    releaseShared(slab, run);
  } else if (slab) {
    releaseSlot(*slab, record);
  } else {
    releaseRun(*run);
  }
}

[[gnu::cold]] void Heap::retire(Slab* slab, Run* run, Record& record, size_t limit) {
  retired_.push_back({slab, run, &record, record.bytes()});
  retiredBytes_ += record.bytes();
  endRetired(limit);
}

// Gives up the oldest until no more than `limit` bytes are kept.
[[gnu::cold]] void Heap::endRetired(size_t limit) {
  for (; retiredBytes_ > limit || (!limit && !retired_.empty()); retired_.pop_front()) {
    const Retired& oldest = retired_.front();
    retiredBytes_ -= oldest.bytes;
    giveUp(oldest.slab, oldest.run, *oldest.record);
  }
}

void Heap::releaseRun(Run& run) { run.granule ? releasePages(run) : releaseGranules(run); }

bool Heap::charge(size_t bytes) {
  const size_t granules = bytes / kGranule + (bytes % kGranule != 0);
  const MutexLock lock(mutex_);
  if (granules > capacityGranules_ - usedGranules_.load(std::memory_order_relaxed)) return false;
  countUsed(static_cast<ptrdiff_t>(granules));
  return true;
}

size_t Heap::available() const {
  const size_t taken = used(), unused = capacity_ - std::min(capacity_, taken);
  if (!unused) return 0;
  const size_t elsewhere = source_.available(), kept = cached();
  return elsewhere > unused - std::min(unused, kept) ? unused : elsewhere + kept;
}

void Heap::publish(std::atomic<size_t>& used) {
  const MutexLock lock(mutex_);
  published_ = &used;
  countUsed(0);
}

void Heap::uncharge(size_t bytes) {
  const MutexLock lock(mutex_);
  countUsed(-static_cast<ptrdiff_t>(bytes / kGranule + (bytes % kGranule != 0)));
}

// The live record that starts at `base`, and the slab or run it belongs to.
Record* Heap::find(uintptr_t base, uint64_t id, Slab*& slab, Run*& run) {
  const size_t offset = base - reinterpret_cast<uintptr_t>(start_);
  if (offset >= size_t{windowGranules_} << kGranuleShift) return nullptr;
  uintptr_t word = words_[offset >> kGranuleShift].load(std::memory_order_relaxed);
  Record* record;
  if (word & 1) {
    const auto* granule = static_cast<PagedGranule*>(reinterpret_cast<PageTable*>(word - 1));
    word = granule->pages[(offset >> kPageShift) % kPagesPerGranule].load(std::memory_order_relaxed);
  }
  if (word & 1) {
    slab = static_cast<Slab*>(reinterpret_cast<SlabTable*>(word - 1));
    record = slab->records + ((offset >> kUnitShift) % kUnitsPerPage * slab->reciprocal >> 16);
  } else {
    record = reinterpret_cast<Record*>(word);
    run = static_cast<Run*>(record);
  }
  if (!record || record->state.load(std::memory_order_acquire) == State::Free ||
      record->base.load(std::memory_order_relaxed) != base || record->id.load(std::memory_order_relaxed) != id)
    return nullptr;
  return record;
}

Record* Heap::allocateSlot(unsigned sizeClass) {
  Slab* slab = partial_[sizeClass];
  if (!slab && !(slab = newSlab(sizeClass))) return nullptr;
  if (!slab->live && !slab->granule->live && !roomFor(1)) return nullptr;
  const unsigned word = slab->freeSlots[0] ? 0 : 1;
  const unsigned slot = word * 64 + std::countr_zero(slab->freeSlots[word]);
  slab->freeSlots[word] &= slab->freeSlots[word] - 1;
  if (++slab->live == slab->slots) {  // full: nobody looks at it until something is released
    partial_[sizeClass] = slab->next;
    if (slab->next) slab->next->previous = nullptr;
    slab->next = slab->previous = nullptr;
  }
  countLive(*slab->granule, 1);
  Record& record = slab->records[slot];
  record.base.store(reinterpret_cast<uintptr_t>(start_) + (size_t{slab->granule->run->position} << kGranuleShift) +
                        (size_t{slab->page} << kPageShift) + (size_t{slot} * kUnitsOfClass[sizeClass] << kUnitShift),
                    std::memory_order_relaxed);
  return &record;
}

void Heap::releaseSlot(Slab& slab, Record& record) {
  const size_t slot = &record - slab.records;
  slab.freeSlots[slot / 64] |= uint64_t{1} << slot % 64;
  countLive(*slab.granule, -1);
  Slab*& first = partial_[slab.sizeClass];
  if (slab.live-- == slab.slots) {
    slab.next = first;
    if (first) first->previous = &slab;
    first = &slab;
  }
  // The last slab of a class with free slots stays, so that one allocation more or less costs nothing.
  if (!slab.live && (slab.next || slab.previous)) endSlab(slab);
}

Heap::Slab* Heap::newSlab(unsigned sizeClass) {
  PagedGranule* granule = granuleWithPages(1);
  if (!granule) return nullptr;
  Slab* slab = freeSlabs_[sizeClass];
  if (slab) {
    freeSlabs_[sizeClass] = slab->next;
    slab->next = nullptr;
  } else {
    // One record more than slots where they do not fill the page: a lookup in the remainder lands there.
    const unsigned units = kUnitsOfClass[sizeClass], records = (kUnitsPerPage + units - 1) / units;
    slab = new (metadata(sizeof(Slab), alignof(Slab))) Slab;
    slab->records =
        reinterpret_cast<Record*>(metadata(records * sizeof(Record), records > 8 ? kLine : alignof(Record)));
    for (unsigned i = 0; i < records; ++i) new (slab->records + i) Record;
    slab->reciprocal = 65536 / units + 1;
    slab->slots = kUnitsPerPage / units;
    slab->sizeClass = sizeClass;
  }
  slab->freeSlots[0] = slab->slots >= 64 ? ~uint64_t{0} : (uint64_t{1} << slab->slots) - 1;
  slab->freeSlots[1] = slab->slots > 64 ? ~uint64_t{0} >> (128 - slab->slots) : 0;
  slab->granule = granule;
  slab->page = takePages(*granule, 1);
  partial_[sizeClass] = slab;
  granule->pages[slab->page].store(reinterpret_cast<uintptr_t>(static_cast<SlabTable*>(slab)) | 1,
                                   std::memory_order_release);
  return slab;
}

// Requires: nothing lives in the slab and it is in partial_.
void Heap::endSlab(Slab& slab) {
  unlistSlab(slab);
  retireSlab(slab);
}

// Requires: the slab is in partial_.
void Heap::unlistSlab(Slab& slab) {
  (slab.previous ? slab.previous->next : partial_[slab.sizeClass]) = slab.next;
  if (slab.next) slab.next->previous = slab.previous;
  slab.next = slab.previous = nullptr;
}

// Requires: nothing lives in the slab and it is not in partial_.
void Heap::retireSlab(Slab& slab) {
  slab.granule->pages[slab.page].store(0, std::memory_order_release);
  givePages(*slab.granule, slab.page, 1);
  slab.previous = nullptr;
  slab.next = freeSlabs_[slab.sizeClass];
  freeSlabs_[slab.sizeClass] = &slab;
}

namespace {

// Where there is much metadata, huge pages spare lookups of many allocations a miss of the address translation each.
std::pair<void*, size_t> metadataChunk(size_t made) {
  constexpr size_t kFirst = size_t{1} << 20, kFew = 4;
  const size_t bytes = made < kFew ? kFirst : 2 * kGranule;
  std::byte* const chunk = own_memory::take(bytes);
  if (!chunk) throw std::bad_alloc();
  if (made >= kFew) madvise(chunk, bytes, MADV_HUGEPAGE);
  return {chunk, bytes};
}

}  // namespace

// Metadata is never given back while the heap exists: lookups that lost a race may still read it.
std::byte* Heap::metadata(size_t bytes, size_t alignment) {
  metadataAt_ += -reinterpret_cast<uintptr_t>(metadataAt_) % alignment;
  if (metadataEnd_ < metadataAt_ || static_cast<size_t>(metadataEnd_ - metadataAt_) < bytes) {
    metadataChunks_.reserve(metadataChunks_.size() + 1);  // first what may fail
    const auto [chunk, size] = metadataChunks_.emplace_back(metadataChunk(metadataChunks_.size()));
    metadataAt_ = static_cast<std::byte*>(chunk);
    metadataEnd_ = metadataAt_ + size;
  }
  std::byte* taken = metadataAt_;
  metadataAt_ += bytes;
  return taken;
}

}  // namespace vg::alloc
