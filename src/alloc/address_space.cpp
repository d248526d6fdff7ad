#include "alloc/address_space.h"

#include <algorithm>

#include "base/round.h"

namespace vg::alloc {

AddressSpace::AddressSpace(MemoryTable& table, unsigned firstWindow, unsigned windows)
    : table_(table),
      start_(reinterpret_cast<uintptr_t>(table.windowStart(firstWindow))),
      bytes_(table.windowBytes() * windows),
      words_(table.granules(firstWindow)) {
  free_[start_] = bytes_;
}

Result<uintptr_t> AddressSpace::reserve(size_t bytes, size_t alignment, uintptr_t wanted) {
  alignment = std::max(alignment, kGranule);
  const MutexLock lock(mutex_);
  if (wanted % alignment == 0 && wanted - start_ < bytes_) {
    auto piece = free_.upper_bound(wanted);
    if (piece != free_.begin() && Range{(--piece)->first, piece->second}.contains(wanted, bytes))
      return takeAt(piece, wanted, bytes);
  }
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const uintptr_t start = roundUp(piece->first, alignment);
    if (start >= piece->first && Range{piece->first, piece->second}.contains(start, bytes))
      return takeAt(piece, start, bytes);
  }
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu free addresses of %zu", bytes, bytes_);
}

// Requires: the piece is free and holds the range.
uintptr_t AddressSpace::takeAt(std::map<uintptr_t, size_t>::iterator piece, uintptr_t start, size_t bytes) {
  const auto [first, length] = *piece;
  const uintptr_t end = start + bytes, left = first + length - end;
  const auto taken = reserved_.emplace(start, bytes).first;
  if (start != first && left) try {  // nothing is done yet that could not be undone
      free_.emplace(end, left);
    } catch (const std::bad_alloc&) {
      reserved_.erase(taken);
      throw;
    }
  if (start != first) {
    piece->second = start - first;
    return start;
  }
  auto node = free_.extract(piece);
  if (!left) return start;
  node.key() = end;
  node.mapped() = left;
  free_.insert(std::move(node));
  return start;
}

bool AddressSpace::free(uintptr_t start, size_t bytes) {
  const MutexLock lock(mutex_);
  const auto found = reserved_.find(start);
  if (found == reserved_.end() || found->second != bytes) return false;
  auto node = reserved_.extract(found);  // becomes the free piece: giving back needs no memory
  const uintptr_t end = start + bytes;
  auto next = free_.lower_bound(start);
  if (next != free_.end() && next->first == end) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    if (auto previous = std::prev(next); previous->first + previous->second == start) {
      previous->second += bytes;
      return true;
    }
  }
  node.mapped() = bytes;
  free_.insert(std::move(node));
  return true;
}

AddressSpace::Range AddressSpace::reservationAt(uintptr_t address) const {
  const MutexLock lock(mutex_);
  auto found = reserved_.upper_bound(address);
  if (found == reserved_.begin()) return {};
  --found;
  const Range range{found->first, found->second};
  return range.contains(address, 1) ? range : Range{};
}

Record* AddressSpace::publish(const Record& prototype) {
  const MutexLock lock(mutex_);
  const uint64_t id = prototype.id.load(std::memory_order_relaxed);
  Record* record = records_.take(prototype, id ? id : table_.nextId());
  record->state.store(State::Live, std::memory_order_release);
  setWords(*record, reinterpret_cast<uintptr_t>(record));
  return record;
}

void AddressSpace::withdraw(Record* record) {
  const MutexLock lock(mutex_);
  setWords(*record, 0);
  records_.give(record);
}

void AddressSpace::setWords(const Record& record, uintptr_t word) {
  const size_t first = (record.base.load(std::memory_order_relaxed) - start_) >> kGranuleShift;
  const uintptr_t last = record.base.load(std::memory_order_relaxed) + record.bytes() - 1;
  for (size_t granule = first; granule <= (last - start_) >> kGranuleShift; ++granule)
    words_[granule].store(word, std::memory_order_release);
}

}  // namespace vg::alloc
