#include "core/memory/advice_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/memory/memory.h"

namespace vg::core::memory::advice {
namespace {

constexpr size_t kPage = 4096;

// From the first page on which something holds to what holds there; ends where the next begins. Never empty.
using Pages = std::map<size_t, RangeAdvice>;

struct Entry {
  uintptr_t base;
  Pages pages;
};

constinit Mutex mutex;
std::unordered_map<uint64_t, Entry>& entries() VG_REQUIRES(mutex) {  // by Record::id, which is never used twice
  return undying<std::unordered_map<uint64_t, Entry>, Entry>();
}
constinit size_t sweepAt VG_GUARDED_BY(mutex) = 64;

void sweep() VG_REQUIRES(mutex) {
  if (entries().size() < sweepAt) return;
  std::erase_if(entries(), [](const auto& entry) {
    const alloc::Record* record = lookup(static_cast<CUdeviceptr>(entry.second.base));
    return !record || record->id.load(std::memory_order_relaxed) != entry.first;
  });
  sweepAt = std::max<size_t>(64, entries().size() * 2);
}

// Pages of one allocation. A record can change hands between the caller's lookup and here: the range may lie outside.
struct Span {
  uintptr_t base;
  size_t first, end;  // pages; first == end: no such range
};

Span spanOf(const alloc::Record& record, uintptr_t address, size_t bytes) {
  const uintptr_t base = record.base.load(std::memory_order_relaxed);
  const size_t offset = address - base, size = record.bytes();
  if (offset > size || bytes > size - offset) return {base, 0, 0};
  return {base, offset / kPage, (offset + bytes + kPage - 1) / kPage};
}

// Makes a piece begin at this page.
Pages::iterator cut(Pages& pages, size_t page) {
  const auto after = pages.upper_bound(page);
  const auto at = std::prev(after);
  if (at->first == page) return at;
  return pages.emplace_hint(after, page, at->second);
}

// Makes one of neighbours that say the same, as far as they begin at pages from `first` to `end`.
void join(Pages& pages, size_t first, size_t end) {
  for (auto piece = pages.lower_bound(std::max<size_t>(first, 1)); piece != pages.end() && piece->first <= end;)
    piece = std::prev(piece)->second == piece->second ? pages.erase(piece) : std::next(piece);
}

void meet(RangeAdvice& all, const RangeAdvice& piece) {
  all.readMostly &= piece.readMostly;
  all.accessors &= piece.accessors;
  if (all.preferredType != piece.preferredType || all.preferredId != piece.preferredId) {
    all.preferredType = CU_MEM_LOCATION_TYPE_INVALID;
    all.preferredId = CU_DEVICE_INVALID;
  }
  if (all.prefetchType != piece.prefetchType || all.prefetchId != piece.prefetchId) {
    all.prefetchType = CU_MEM_LOCATION_TYPE_INVALID;
    all.prefetchId = CU_DEVICE_INVALID;
  }
}

Entry& entryOf(uint64_t id, uintptr_t base) VG_REQUIRES(mutex) {
  return entries().try_emplace(id, Entry{base, Pages{{0, RangeAdvice{}}}}).first->second;
}

}  // namespace

void detail::update(const alloc::Record& record, uintptr_t address, size_t bytes,
                    void (*change)(RangeAdvice& advice, void* data), void* data) {
  const Span span = spanOf(record, address, bytes);
  if (span.first == span.end) return;
  const MutexLock lock(mutex);
  sweep();
  const uint64_t id = record.id.load(std::memory_order_relaxed);
  Pages& pages = entryOf(id, span.base).pages;
  cut(pages, span.end);
  for (auto piece = cut(pages, span.first); piece->first < span.end; ++piece) change(piece->second, data);
  join(pages, span.first, span.end);
  if (pages.size() == 1 && pages.begin()->second == RangeAdvice{}) entries().erase(id);
}

RangeAdvice common(const alloc::Record& record, uintptr_t address, size_t bytes) {
  const Span span = spanOf(record, address, bytes);
  const MutexLock lock(mutex);
  const auto entry = entries().find(record.id.load(std::memory_order_relaxed));
  if (entry == entries().end() || span.first == span.end) return {};
  const Pages& pages = entry->second.pages;
  auto piece = std::prev(pages.upper_bound(span.first));
  RangeAdvice all = piece->second;
  while (++piece != pages.end() && piece->first < span.end) meet(all, piece->second);
  return all;
}

Size size() {
  const MutexLock lock(mutex);
  size_t pieces = 0;
  for (const auto& entry : entries()) pieces += entry.second.pages.size();
  return {entries().size(), pieces};
}

}  // namespace vg::core::memory::advice
