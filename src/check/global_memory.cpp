#include "check/global_memory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/own_memory.h"
#include "base/shared_mutex.h"
#include "base/spin_lock.h"
#include "base/undying.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::check::global_memory {
namespace {

constexpr uint32_t kGranule = 128, kWord = 4, kWords = kGranule / kWord;
constexpr uint64_t kPage = 64 << 10;
constexpr size_t kSlab = 256 << 10;
constexpr uint8_t kOneThread = 31;  // a shift by which all words are of the first thread

// An access of all words of a granule: the thread of word k is that of `first` and k >> shift.
struct Whole {
  Who first;
  Where where = 0;
  uint8_t shift = 0;

  Who of(uint32_t word) const { return first.anybody() ? first.plus(word >> shift) : first; }
};

// The accesses of parts, words or bytes.
struct Cells {
  static size_t bytesFor(uint32_t units) { return sizeof(Cells) + 3 * size_t{units} * (sizeof(Who) + sizeof(Where)); }
  Who* slot(unsigned k) { return reinterpret_cast<Who*>(this + 1) + k * size_t{units}; }
  Where* where(unsigned k) { return reinterpret_cast<Where*>(slot(3)) + k * size_t{units}; }

  uint32_t units = 0;
  Cells* next = nullptr;  // of those that are spare
};

enum Slot : unsigned { kWriter, kReader, kOther };  // kOther: a reader of another block

struct Granule {
  SpinLock lock;
  Cells* cells = nullptr;  // null: `whole` counts
  Whole whole[3];
};
struct Page {
  Granule granules[kPage / kGranule];
};

class Shadow {
 public:
  bool start(const alloc::MemoryTable& table) {
    const MutexLock lock(mutex_);
    if (pages_) return true;
    span_ = table.windows() * table.windowBytes();
    base_ = reinterpret_cast<uint64_t>(table.windowStart(0));
    std::byte* const words = span_ ? own_memory::take(span_ / kPage * sizeof(void*)) : nullptr;
    if (!words) return false;
    most_ = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 4;
    pages_ = reinterpret_cast<std::atomic<Page*>*>(words);
    ready_.store(true, std::memory_order_release);
    return true;
  }

  // Null: not followed.
  Granule* granule(uint64_t address, bool outside, bool make) {
    Page* const page = outside ? pageOutside(address, make) : pageInside(address, make);
    return page ? &page->granules[address % kPage / kGranule] : nullptr;
  }

  Cells* take(uint32_t units) {
    const SpinGuard guard(cellsLock_);
    Cells*& spare = spare_[units == kWords];
    if (!spare) {
      const size_t each = Cells::bytesFor(units);
      std::byte* const slab = memory(kSlab);
      if (!slab) return nullptr;
      for (size_t at = 0; at + each <= kSlab; at += each) {
        auto* const cells = new (slab + at) Cells;
        cells->units = units;
        cells->next = spare;
        spare = cells;
      }
    }
    Cells* const cells = spare;
    spare = cells->next;
    return cells;
  }
  void give(Cells* cells) {
    if (!cells) return;
    const SpinGuard guard(cellsLock_);
    Cells*& spare = spare_[cells->units == kWords];
    cells->next = spare;
    spare = cells;
  }

 private:
  std::byte* memory(size_t bytes) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_) {
      taken_.fetch_sub(bytes, std::memory_order_relaxed);
      if (!told_.exchange(true, std::memory_order_relaxed))
        VG_LOG(Warn,
               "checked mode follows races on global memory no further: a quarter of the machine's memory is "
               "taken for that; what comes now is not looked at");
      return nullptr;
    }
    return own_memory::take(bytes);
  }
  Page* newPage() {
    constexpr size_t kBytes = (sizeof(Page) + 4095) / 4096 * 4096;
    std::byte* const bytes = memory(kBytes);
    return bytes ? new (bytes) Page : nullptr;
  }
  Page* pageInside(uint64_t address, bool make) {
    if (!ready_.load(std::memory_order_acquire) || address - base_ >= span_) return nullptr;
    std::atomic<Page*>& word = pages_[(address - base_) / kPage];
    Page* page = word.load(std::memory_order_acquire);
    if (page || !make) return page;
    const MutexLock lock(mutex_);
    page = word.load(std::memory_order_relaxed);
    if (!page) word.store(page = newPage(), std::memory_order_release);
    return page;
  }
  Page* pageOutside(uint64_t address, bool make) {
    {
      const SharedLock lock(outsideMutex_);
      const auto found = outside_.find(address / kPage);
      if (found != outside_.end() || !make) return found == outside_.end() ? nullptr : found->second;
    }
    const ExclusiveLock lock(outsideMutex_);
    Page*& page = outside_[address / kPage];
    if (!page) page = newPage();
    return page;
  }

  Mutex mutex_;  // guards the making of pages
  std::atomic<bool> ready_{false};
  uint64_t base_ = 0, span_ = 0;
  uint64_t most_ = uint64_t{1} << 30;  // bytes
  std::atomic<Page*>* pages_ = nullptr;
  std::atomic<uint64_t> taken_{0};
  std::atomic<bool> told_{false};
  SpinLock cellsLock_;
  Cells* spare_[2] VG_GUARDED_BY(cellsLock_) = {};
  SharedMutex outsideMutex_;
  std::unordered_map<uint64_t, Page*> outside_ VG_GUARDED_BY(outsideMutex_);
};
Shadow& shadow() {  // never destroyed
  return undyingFrom<Shadow>([] { return Shadow(); });
}

// Accesses that are meant to meet; but two copies are not.
bool meantToMeet(Where one, Where other) { return (one & other & kStrong) && !(one & other & kCopy); }

// A row's part in one granule, while it is looked at.
class Touch {
 public:
  Touch(const Row& row, const Party& party, uint64_t from, uint64_t end)
      : row_(row), party_(party), from_(from), end_(end), start_(from / kGranule * kGranule) {}

  bool run(Granule& granule, Conflict* conflict) {
    conflict_ = conflict;
    const bool all = end_ - from_ == kGranule && isWhole();
    if (all && !granule.cells) return whole(granule);
    if (!granule.cells && !open(granule)) return true;
    if (granule.cells->units == kWords && !byWords() && !split(granule)) return true;
    const bool fine = parts(*granule.cells);
    if (all && row_.writes && (fine || conflict_)) close(granule);
    return fine;
  }

  // Makes what is known of the whole that of its words.
  static bool open(Granule& granule) {
    Cells* const cells = shadow().take(kWords);
    if (!cells) return false;
    for (unsigned slot = 0; slot < 3; ++slot)
      for (uint32_t k = 0; k < kWords; ++k) {
        cells->slot(slot)[k] = granule.whole[slot].of(k);
        cells->where(slot)[k] = granule.whole[slot].where;
      }
    granule.cells = cells;
    return true;
  }
  // From words to bytes.
  static bool split(Granule& granule) {
    Cells* const bytes = shadow().take(kGranule);
    if (!bytes) return false;
    for (unsigned slot = 0; slot < 3; ++slot)
      for (uint32_t k = 0; k < kGranule; ++k) {
        bytes->slot(slot)[k] = granule.cells->slot(slot)[k / kWord];
        bytes->where(slot)[k] = granule.cells->where(slot)[k / kWord];
      }
    shadow().give(granule.cells);
    granule.cells = bytes;
    return true;
  }

 private:
  bool isWhole() const { return !row_.laneBytes || (row_.laneBytes >= kWord && row_.laneBytes <= kGranule); }
  bool byWords() const {
    return from_ % kWord == 0 && end_ % kWord == 0 && (!row_.laneBytes || row_.laneBytes % kWord == 0);
  }
  Who at(uint64_t address) const {
    return row_.laneBytes
               ? row_.first.plus(static_cast<uint32_t>((address - row_.address) >> std::countr_zero(row_.laneBytes)))
               : row_.first;
  }
  Whole mine() const {
    const auto shift = static_cast<uint8_t>(row_.laneBytes ? std::countr_zero(row_.laneBytes / kWord) : kOneThread);
    return {at(start_), row_.where, shift};
  }

  bool conflicts(Who earlier, Where where, Who now) const {
    if (!earlier.anybody() || party_.surely(earlier, now) || meantToMeet(where, row_.where)) return false;
    return !party_.ordered(earlier, now.thread());
  }
  // Whether that is a conflict which ends it.
  bool meets(Who earlier, Where where, Who now, uint64_t address, bool wrote) {
    if (!conflicts(earlier, where, now)) return false;
    if (!found_ && conflict_) *conflict_ = {address, now, earlier, where, wrote, row_.writes, row_.outside};
    found_ = true;
    return !conflict_;
  }

  // All words by one look where that does.
  bool wholeMeets(const Whole& earlier, const Whole& now, bool wrote) {
    const bool alike = earlier.shift == now.shift && earlier.first.sameThread(now.first);
    if (alike || over(earlier.first)) return false;
    for (uint32_t k = 0; k < kWords; ++k)
      if (meets(earlier.of(k), earlier.where, now.of(k), start_ + k * kWord, wrote)) return true;
    return false;
  }
  // Before what any thread of the party does now.
  bool over(Who earlier) const { return party_.surely(earlier, Who()); }

  bool whole(Granule& granule) {
    const Whole now = mine();
    Whole& writer = granule.whole[kWriter];
    if (wholeMeets(writer, now, true)) return false;
    if (!row_.writes) {
      noteReader(granule.whole[kReader], granule.whole[kOther], now);
      return !found_;
    }
    for (const Slot slot : {kReader, kOther})
      if (wholeMeets(granule.whole[slot], now, false)) return false;
    writer = now;
    granule.whole[kReader] = granule.whole[kOther] = Whole();
    return !found_;
  }
  void noteReader(Whole& latest, Whole& other, const Whole& now) {
    const bool replaces = over(latest.first) || (latest.shift == now.shift && latest.first.sameThread(now.first));
    if (!replaces && !keeps(latest.first, other.first, now.first)) other = latest;
    latest = now;
  }
  // Whether the other reader says more than the latest one will.
  bool keeps(Who latest, Who other, Who now) const {
    if (latest.id() != party_.id() || over(other)) return false;
    const auto warp = [](Who who) { return who.thread() / ptx::kWarpSize; };
    return other.id() != party_.id() || (warp(latest) == warp(now) && warp(other) != warp(now));
  }

  bool parts(Cells& cells) {
    const uint32_t unit = kGranule / cells.units;
    const auto first = static_cast<uint32_t>((from_ - start_) / unit);
    const auto end = static_cast<uint32_t>((end_ - start_ + unit - 1) / unit);
    if (!quick(cells, first, end, unit))
      for (uint32_t k = first; k < end; ++k)
        if (partMeets(cells, k, start_ + k * unit)) return false;
    for (uint32_t k = first; k < end; ++k) notePart(cells, k, at(std::max(start_ + k * unit, from_)));
    return !found_;
  }
  // Whether no part can be in conflict.
  bool quick(Cells& cells, uint32_t first, uint32_t end, uint32_t unit) {
    bool fine = true;
    for (unsigned slot = 0; slot < (row_.writes ? 3u : 1u); ++slot) {
      const Who* const who = cells.slot(slot);
      for (uint32_t k = first; k < end; ++k) fine &= party_.surely(who[k], at(std::max(start_ + k * unit, from_)));
    }
    return fine;
  }
  bool partMeets(Cells& cells, uint32_t k, uint64_t address) {
    const Who now = at(std::max(address, from_));
    if (meets(cells.slot(kWriter)[k], cells.where(kWriter)[k], now, address, true)) return true;
    if (!row_.writes) return false;
    for (const Slot slot : {kReader, kOther})
      if (meets(cells.slot(slot)[k], cells.where(slot)[k], now, address, false)) return true;
    return false;
  }
  void notePart(Cells& cells, uint32_t k, Who now) {
    if (row_.writes) {
      cells.slot(kWriter)[k] = now;
      cells.where(kWriter)[k] = row_.where;
      cells.slot(kReader)[k] = cells.slot(kOther)[k] = Who();
      return;
    }
    Who &latest = cells.slot(kReader)[k], &other = cells.slot(kOther)[k];
    if (!party_.surely(latest, now) && !keeps(latest, other, now)) {
      other = latest;
      cells.where(kOther)[k] = cells.where(kReader)[k];
    }
    latest = now;
    cells.where(kReader)[k] = row_.where;
  }

  // All words have been written by the row: one place says so.
  void close(Granule& granule) {
    shadow().give(granule.cells);
    granule.cells = nullptr;
    granule.whole[kWriter] = mine();
    granule.whole[kReader] = granule.whole[kOther] = Whole();
  }

  const Row& row_;
  const Party& party_;
  const uint64_t from_, end_, start_;
  Conflict* conflict_ = nullptr;
  bool found_ = false;
};

void clear(Granule& granule, uint32_t from, uint32_t end) {
  const SpinGuard guard(granule.lock);
  if (from == 0 && end == kGranule) {
    shadow().give(granule.cells);
    granule.cells = nullptr;
    std::fill(std::begin(granule.whole), std::end(granule.whole), Whole());
    return;
  }
  if (!granule.cells && !granule.whole[kWriter].first.anybody() && !granule.whole[kReader].first.anybody()) return;
  if (!granule.cells && !Touch::open(granule)) return;
  const uint32_t unit = kGranule / granule.cells->units;
  for (unsigned slot = 0; slot < 3; ++slot)
    std::fill(granule.cells->slot(slot) + from / unit, granule.cells->slot(slot) + (end + unit - 1) / unit, Who());
}

// Calls visit(granule, first byte, end) for the granules of a range that are followed; false ends it.
template <class Visit>
bool each(uint64_t address, uint64_t bytes, bool outside, bool make, Visit visit) {
  for (uint64_t from = address, end = address + bytes; from < end;) {
    const uint64_t next = std::min(end, (from / kGranule + 1) * kGranule);
    Granule* const granule = shadow().granule(from, outside, make);
    if (granule && !visit(*granule, from, next)) return false;
    from = granule ? next : std::min(end, (from / kPage + 1) * kPage);
  }
  return true;
}

}  // namespace

struct Region::Granules {
  std::vector<Granule> all;
};

Region::Region() : granules_(std::make_unique<Granules>()) {}
Region::~Region() {
  for (const Granule& granule : granules_->all) shadow().give(granule.cells);
}

void Region::reserve(uint64_t bytes) {
  const size_t count = (bytes + kGranule - 1) / kGranule;
  if (granules_->all.size() >= count) return;
  std::vector<Granule> more(count);  // granules are not moved, as their locks are not
  for (size_t k = 0; k < granules_->all.size(); ++k) {
    more[k].cells = std::exchange(granules_->all[k].cells, nullptr);
    std::copy(std::begin(granules_->all[k].whole), std::end(granules_->all[k].whole), more[k].whole);
  }
  granules_->all = std::move(more);
}

bool Region::touch(const Row& row, const Party& party, Conflict* conflict) {
  bool fine = true;
  Conflict further;
  for (uint64_t from = row.address, end = row.address + row.bytes; from < end && (fine || conflict);) {
    const uint64_t next = std::min(end, (from / kGranule + 1) * kGranule);
    Granule& granule = granules_->all[from / kGranule];
    fine &= Touch(row, party, from, next).run(granule, fine || !conflict ? conflict : &further);
    from = next;
  }
  return fine;
}

bool start(const alloc::MemoryTable& table) { return shadow().start(table); }

bool touch(const Row& row, const Party& party, Conflict* conflict) {
  bool fine = true;
  Conflict further;
  each(row.address, row.bytes, row.outside, true, [&](Granule& granule, uint64_t from, uint64_t end) {
    const SpinGuard guard(granule.lock);
    fine &= Touch(row, party, from, end).run(granule, fine || !conflict ? conflict : &further);
    return fine || conflict;
  });
  return fine;
}

Who writerOf(uint64_t address, Where* where) {
  Granule* const granule = shadow().granule(address, false, false);
  if (!granule) return {};
  const SpinGuard guard(granule->lock);
  const auto offset = static_cast<uint32_t>(address % kGranule);
  if (!granule->cells) {
    *where = granule->whole[kWriter].where;
    return granule->whole[kWriter].of(offset / kWord);
  }
  const uint32_t k = offset / (kGranule / granule->cells->units);
  *where = granule->cells->where(kWriter)[k];
  return granule->cells->slot(kWriter)[k];
}

void forget(uint64_t address, uint64_t bytes, bool outside) {
  each(address, bytes, outside, false, [&](Granule& granule, uint64_t from, uint64_t end) {
    const uint64_t start = from / kGranule * kGranule;
    clear(granule, static_cast<uint32_t>(from - start), static_cast<uint32_t>(end - start));
    return true;
  });
}

}  // namespace vg::check::global_memory
