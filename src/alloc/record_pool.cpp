#include "alloc/record_pool.h"

#include <new>

#include "base/memory/own_memory.h"

namespace vg::alloc {

// Release stores: a reader that sees a new member of a recycled record sees as well that its place has changed.
Record* RecordPool::take(const Record& prototype, uint64_t id) {
  if (!free_) {
    constexpr size_t kChunk = size_t{64} << 10;
    std::byte* const chunk = own_memory::take(kChunk);
    if (!chunk) throw std::bad_alloc();
    for (size_t i = 0; i < kChunk / sizeof(Record); ++i) give(new (chunk + i * sizeof(Record)) Record);
  }
  Record* record = free_;
  free_ = static_cast<Record*>(record->owner.load(std::memory_order_relaxed));
  const auto copied = [&](auto& to, const auto& from) {
    to.store(from.load(std::memory_order_relaxed), std::memory_order_release);
  };
  copied(record->base, prototype.base);
  copied(record->size, prototype.size);
  copied(record->owner, prototype.owner);
  copied(record->kind, prototype.kind);
  copied(record->window, prototype.window);
  copied(record->flags, prototype.flags);
  copied(record->attributes, prototype.attributes);
  record->access.store(0, std::memory_order_release);
  record->id.store(id, std::memory_order_release);
  return record;
}

void RecordPool::give(Record* record) {
  record->state.store(State::Free, std::memory_order_release);
  record->owner.store(free_, std::memory_order_release);
  free_ = record;
}

}  // namespace vg::alloc
