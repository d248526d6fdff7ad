#include "core/advice_table.h"

#include <map>
#include <mutex>
#include <unordered_map>

#include "core/memory.h"

namespace vg::core::memory::advice {
namespace {

constexpr size_t kPage = 4096;

// From the first page on which something holds to what holds there; ends where the next begins.
using Pages = std::map<size_t, RangeAdvice>;

struct Entry {
  uintptr_t base;
  Pages pages;
};

constinit std::mutex mutex;
std::unordered_map<uint64_t, Entry>& entries() {  // by Record::id, which is never used twice
  static auto* const all = new std::unordered_map<uint64_t, Entry>;
  return *all;
}
constinit size_t sweepAt = 64;

// Requires: the mutex.
void sweep() {
  if (entries().size() < sweepAt) return;
  std::erase_if(entries(), [](const auto& entry) {
    const alloc::Record* record = lookup(static_cast<CUdeviceptr>(entry.second.base));
    return !record || record->id.load(std::memory_order_relaxed) != entry.first;
  });
  sweepAt = std::max<size_t>(64, entries().size() * 2);
}

// Makes a piece begin at this page.
Pages::iterator cut(Pages& pages, size_t page) {
  const auto after = pages.upper_bound(page);
  const auto at = std::prev(after);
  if (at->first == page) return at;
  return pages.emplace_hint(after, page, at->second);
}

struct Span {
  size_t first, end;  // pages
};

Span spanOf(uintptr_t base, uintptr_t address, size_t bytes) {
  return {(address - base) / kPage, (address - base + bytes + kPage - 1) / kPage};
}

void join(Pages& pages) {
  for (auto piece = std::next(pages.begin()); piece != pages.end();)
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

}  // namespace

void detail::update(const alloc::Record& record, uintptr_t address, size_t bytes,
                    void (*change)(RangeAdvice& advice, void* data), void* data) {
  const uintptr_t base = record.base.load(std::memory_order_relaxed);
  const Span span = spanOf(base, address, bytes);
  std::lock_guard lock(mutex);
  sweep();
  Entry& entry = entries()[record.id.load(std::memory_order_relaxed)];
  entry.base = base;
  if (entry.pages.empty()) entry.pages[0] = {};
  cut(entry.pages, span.end);
  for (auto piece = cut(entry.pages, span.first); piece->first < span.end; ++piece) change(piece->second, data);
  join(entry.pages);
}

RangeAdvice common(const alloc::Record& record, uintptr_t address, size_t bytes) {
  const Span span = spanOf(record.base.load(std::memory_order_relaxed), address, bytes);
  std::lock_guard lock(mutex);
  const auto entry = entries().find(record.id.load(std::memory_order_relaxed));
  if (entry == entries().end()) return {};
  const Pages& pages = entry->second.pages;
  auto piece = std::prev(pages.upper_bound(span.first));
  RangeAdvice all = piece->second;
  while (++piece != pages.end() && piece->first < span.end) meet(all, piece->second);
  return all;
}

}  // namespace vg::core::memory::advice
