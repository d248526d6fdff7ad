#include "alloc/range_index.h"

#include <algorithm>
#include <new>

#include "base/memory/own_memory.h"

namespace vg::alloc {

// A writer makes the sequence odd, changes words with release stores and makes it even again. A reader that loaded a
// changed word with acquire therefore sees the odd (or a later) number in its second read, and repeats.
const Record* RangeIndex::search(uintptr_t address) const {
  for (;;) {
    const uint64_t before = sequence_.load(std::memory_order_acquire);
    if (before & 1) continue;
    const Array* array = array_.load(std::memory_order_acquire);
    const size_t count = count_.load(std::memory_order_acquire);
    const Record* found = nullptr;
    if (array) {
      const size_t above = upperBound(*array, std::min(count, array->capacity), address);
      if (above) found = array->records[above - 1].load(std::memory_order_acquire);
      if (found && !(found->live() && found->contains(address))) found = nullptr;
    }
    if (sequence_.load(std::memory_order_acquire) == before) return found;
  }
}

size_t RangeIndex::upperBound(const Array& array, size_t count, uintptr_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const Record* record = array.records[middle].load(std::memory_order_acquire);
    // A null word is seen only while a writer is at work; the reader will repeat.
    if (record && record->base.load(std::memory_order_acquire) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const Record* RangeIndex::overlapping(uintptr_t address, size_t bytes) const {
  const MutexLock lock(mutex_);
  return overlappingLocked(address, bytes);
}

const Record* RangeIndex::overlappingLocked(uintptr_t address, size_t bytes) const {
  const Array* array = array_.load(std::memory_order_relaxed);
  const size_t count = count_.load(std::memory_order_relaxed);
  if (!array || !count || !bytes) return nullptr;
  const size_t above = upperBound(*array, count, address + (bytes - 1));
  if (!above) return nullptr;
  const Record* last = array->records[above - 1].load(std::memory_order_relaxed);
  const uintptr_t base = last->base.load(std::memory_order_relaxed);
  return base >= address || last->contains(address) ? last : nullptr;
}

Record* RangeIndex::insert(const Record& prototype) {
  const uintptr_t base = prototype.base.load(std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  if (overlappingLocked(base, prototype.bytes())) return nullptr;
  const size_t count = count_.load(std::memory_order_relaxed);
  if (Array* array = array_.load(std::memory_order_relaxed); !array || array->capacity == count) grow();
  Record* record = records_.take(prototype, prototype.id.load(std::memory_order_relaxed));
  Array& array = *array_.load(std::memory_order_relaxed);
  const size_t at = upperBound(array, count, base);

  sequence_.fetch_add(1, std::memory_order_acq_rel);
  record->state.store(State::Live, std::memory_order_release);
  for (size_t i = count; i > at; --i)
    array.records[i].store(array.records[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
  array.records[at].store(record, std::memory_order_release);
  count_.store(count + 1, std::memory_order_release);
  widenBounds(base, prototype.bytes());
  sequence_.fetch_add(1, std::memory_order_acq_rel);
  return record;
}

bool RangeIndex::remove(uintptr_t base) {
  const MutexLock lock(mutex_);
  Array* array = array_.load(std::memory_order_relaxed);
  const size_t count = count_.load(std::memory_order_relaxed);
  const size_t above = array ? upperBound(*array, count, base) : 0;
  if (!above) return false;
  Record* record = array->records[above - 1].load(std::memory_order_relaxed);
  if (record->base.load(std::memory_order_relaxed) != base) return false;

  sequence_.fetch_add(1, std::memory_order_acq_rel);
  for (size_t i = above; i < count; ++i)
    array->records[i - 1].store(array->records[i].load(std::memory_order_relaxed), std::memory_order_release);
  count_.store(count - 1, std::memory_order_release);
  records_.give(record);
  sequence_.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

// Arrays come straight from the system and are never given back: readers may be slow.
void RangeIndex::grow() {
  const Array* old = array_.load(std::memory_order_relaxed);
  const size_t capacity = old ? old->capacity * 2 : 510;
  const size_t bytes = sizeof(Array) + capacity * sizeof(std::atomic<Record*>);
  std::byte* const memory = own_memory::take(bytes);
  if (!memory) throw std::bad_alloc();
  auto* array =
      new (memory) Array{capacity, reinterpret_cast<std::atomic<Record*>*>(reinterpret_cast<Array*>(memory) + 1)};
  for (size_t i = 0, n = count_.load(std::memory_order_relaxed); i < n; ++i)
    array->records[i].store(old->records[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  array_.store(array, std::memory_order_release);
}

void RangeIndex::widenBounds(uintptr_t base, size_t bytes) {
  if (base < lowest_.load(std::memory_order_relaxed)) lowest_.store(base, std::memory_order_relaxed);
  if (base + bytes > highest_.load(std::memory_order_relaxed)) highest_.store(base + bytes, std::memory_order_relaxed);
}

}  // namespace vg::alloc
