#include "alloc/heap.h"

#include <algorithm>
#include <bit>

#include "alloc/watch.h"
#include "base/memory/shortage.h"
#include "base/sync/mutex.h"

namespace vg::alloc {

constinit std::atomic<const Watcher*> watcher{nullptr};

namespace {

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

heap::Span spanOf(MemoryTable& table, const HeapRange& range) {
  auto* const start = reinterpret_cast<std::byte*>(range.start);
  return {start, table.granules(0) + ((start - table.windowStart(0)) >> kGranuleShift),
          static_cast<uint32_t>(range.bytes >> kGranuleShift)};
}

}  // namespace

Heap::Heap(MemoryTable& table, unsigned window, MemorySource& source, size_t capacity, size_t cacheBytes)
    : Heap(table, {reinterpret_cast<uintptr_t>(table.windowStart(window)), table.windowBytes(), window}, source,
           capacity, cacheBytes) {}

Heap::Heap(MemoryTable& table, const HeapRange& range, MemorySource& source, size_t capacity, size_t cacheBytes)
    : table_(table),
      source_(source),
      span_(spanOf(table, range)),
      window_(range.window),
      account_(std::min(capacity, range.bytes)),
      granules_(span_, source, account_, metadata_,
                static_cast<uint32_t>(std::min<size_t>(cacheBytes >> kGranuleShift, UINT32_MAX))),
      pages_(span_, account_, metadata_, granules_),
      slabs_(span_, account_, metadata_, pages_) {}

Record* Heap::allocateRecord(size_t bytes, size_t alignment) {
  if (bytes <= heap::Slabs::kSlotLimit) return slabs_.allocate(alignment > kUnit ? std::bit_ceil(bytes) : bytes);
  if (bytes <= kGranule - kPage && alignment <= kPage)
    return pages_.allocate(static_cast<uint32_t>((bytes + kPage - 1) >> kPageShift));
  return granules_.allocate(static_cast<uint32_t>((bytes + kGranule - 1) >> kGranuleShift));
}

Result<Record*> Heap::allocate(size_t bytes, const Description& description) {
  const size_t needed = std::max(bytes + gapBehind(), description.alignment);
  if (needed > capacity()) {
    shortage::tell(Shortage::DeviceMemory, "%zu bytes of %zu", bytes, capacity());
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes of %zu", bytes, capacity());
  }
  const MutexLock lock(mutex_);
  Record* record = allocateRecord(needed, description.alignment);
  if (!record && !retired_.empty()) [[unlikely]] {
    endRetired(0);
    record = allocateRecord(needed, description.alignment);
  }
  if (!record) {
    const bool room = account_.unused() >= bytes;  // by the account; the system has refused it
    shortage::tell(room ? Shortage::HostMemory : Shortage::DeviceMemory, "%zu bytes: %zu of %zu in use", bytes, used(),
                   capacity());
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes: %zu of %zu in use", bytes, used(), capacity());
  }
  begin(table_, *record, record->base.load(std::memory_order_relaxed), bytes, window_, description);
  tellBegan(*record);
  return record;
}

bool Heap::release(uintptr_t base, uint64_t id) {
  const MutexLock lock(mutex_);
  heap::Slab* slab = nullptr;
  heap::Run* run = nullptr;
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

void Heap::giveUp(heap::Slab* slab, heap::Run* run, Record& record) {
  if (slab ? slab->shared : run->shared) {
    releaseShared(slab, run);
  } else if (slab) {
    slabs_.release(*slab, record);
  } else {
    releaseRun(*run);
  }
}

[[gnu::cold]] void Heap::retire(heap::Slab* slab, heap::Run* run, Record& record, size_t limit) {
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

void Heap::releaseRun(heap::Run& run) { run.granule ? pages_.release(run) : granules_.release(run); }

bool Heap::charge(size_t bytes) {
  const size_t granules = bytes / kGranule + (bytes % kGranule != 0);
  const MutexLock lock(mutex_);
  if (granules > account_.room()) return false;
  account_.countUsed(static_cast<ptrdiff_t>(granules));
  return true;
}

size_t Heap::available() const {
  const size_t unused = account_.unused();
  if (!unused) return 0;
  const size_t elsewhere = source_.available(), kept = cached();
  return elsewhere > unused - std::min(unused, kept) ? unused : elsewhere + kept;
}

void Heap::publish(std::atomic<size_t>& used) {
  const MutexLock lock(mutex_);
  account_.publish(used);
}

void Heap::uncharge(size_t bytes) {
  const MutexLock lock(mutex_);
  account_.countUsed(-static_cast<ptrdiff_t>(bytes / kGranule + (bytes % kGranule != 0)));
}

void Heap::trim() {
  const MutexLock lock(mutex_);
  granules_.giveBackCached();
  source_.trim();
}

void Heap::clear() {
  const MutexLock lock(mutex_);
  slabs_.clear();
  granules_.giveBackCached();
}

// The live record that starts at `base`, and the slab or run it belongs to.
Record* Heap::find(uintptr_t base, uint64_t id, heap::Slab*& slab, heap::Run*& run) {
  const size_t offset = base - reinterpret_cast<uintptr_t>(span_.start);
  if (offset >= size_t{span_.granules} << kGranuleShift) return nullptr;
  uintptr_t word = span_.words[offset >> kGranuleShift].load(std::memory_order_relaxed);
  Record* record;
  if (word & 1)
    word = heap::pagesOf(word)->pages[(offset >> kPageShift) % kPagesPerGranule].load(std::memory_order_relaxed);
  if (word & 1) {
    slab = heap::slabOf(word);
    record = slab->records + ((offset >> kUnitShift) % kUnitsPerPage * slab->reciprocal >> 16);
  } else {
    record = run = heap::runOf(word);
  }
  if (!record || record->state.load(std::memory_order_acquire) == State::Free ||
      record->base.load(std::memory_order_relaxed) != base || record->id.load(std::memory_order_relaxed) != id)
    return nullptr;
  return record;
}

}  // namespace vg::alloc
