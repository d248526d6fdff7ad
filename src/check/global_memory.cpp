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
constexpr size_t kEntries = 8;      // of a granule: what a stencil leaves in blocks of 16 x 16

// An access of the words from..end of a granule: the thread of word k is that of `first` and (k - from) >> shift.
struct Entry {
  Who first;
  Where where = 0;
  uint8_t from = 0, end = 0;  // equal: none
  uint8_t shift : 7 = 0;
  uint8_t writes : 1 = 0;

  bool any() const { return end > from; }
  Who of(uint32_t word) const { return first.plus((word - from) >> shift); }
  bool covers(const Entry& other) const { return from <= other.from && end >= other.end; }
  bool meets(const Entry& other) const { return from < other.end && other.from < end; }
  // Whether the lanes of both are the same where they meet.
  bool alike(const Entry& other) const {
    if (shift != other.shift) return false;
    if (shift == kOneThread) return first.sameThread(other.first);
    const uint32_t k = std::max(from, other.from), part = (1u << shift) - 1;
    return !((k - from) & part) && !((k - other.from) & part) && of(k).sameThread(other.of(k));
  }
};
static_assert(sizeof(Entry) == 16);

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
  Cells* cells = nullptr;  // null: the entries count
  Entry entries[kEntries];
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
    const bool inWords = byWords();
    if (inWords && !granule.cells)
      if (const Done done = entries(granule.entries); done != Done::NoRoom) return done == Done::Fine;
    if (!granule.cells && !open(granule)) return true;
    if (granule.cells->units == kWords && !inWords && !split(granule)) return true;
    const bool fine = parts(*granule.cells);
    const bool all = inWords && end_ - from_ == kGranule;
    if (all && row_.writes && (fine || conflict_)) close(granule);
    return fine;
  }

  // Makes what is known by entries that of words. Of more than two readers of a word two stay, of different warps where
  // there are such.
  static bool open(Granule& granule) {
    Cells* const cells = shadow().take(kWords);
    if (!cells) return false;
    for (unsigned slot = 0; slot < 3; ++slot) std::fill_n(cells->slot(slot), kWords, Who());
    for (const Entry& entry : granule.entries)
      for (uint32_t k = entry.from; k < entry.end; ++k) {
        const Who reader = cells->slot(kReader)[k], other = cells->slot(kOther)[k];
        const bool isSecond = reader.anybody();
        if (!entry.writes && isSecond && other.anybody() && place(other) != place(reader)) continue;
        const Slot slot = entry.writes ? kWriter : isSecond ? kOther : kReader;
        cells->slot(slot)[k] = entry.of(k);
        cells->where(slot)[k] = entry.where;
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
  enum class Done : uint8_t { Fine, Conflict, NoRoom };

  bool byWords() const {
    return from_ % kWord == 0 && end_ % kWord == 0 && (!row_.laneBytes || row_.laneBytes % kWord == 0);
  }
  Who at(uint64_t address) const {
    return row_.laneBytes
               ? row_.first.plus(static_cast<uint32_t>((address - row_.address) >> std::countr_zero(row_.laneBytes)))
               : row_.first;
  }
  Entry mine() const {
    const auto shift = static_cast<uint8_t>(row_.laneBytes ? std::countr_zero(row_.laneBytes / kWord) : kOneThread);
    return {at(from_),
            row_.where,
            static_cast<uint8_t>((from_ - start_) / kWord),
            static_cast<uint8_t>((end_ - start_) / kWord),
            shift,
            row_.writes};
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

  // All words by one look where that does. True: it ends here.
  bool entryMeets(const Entry& earlier, const Entry& now) {
    if (!earlier.meets(now) || !(earlier.writes || now.writes) || over(earlier.first) || earlier.alike(now))
      return false;
    if (party_.orderedWhole(earlier.first.id())) return false;
    for (uint32_t k = std::max(earlier.from, now.from); k < std::min(earlier.end, now.end); ++k)
      if (meets(earlier.of(k), earlier.where, now.of(k), start_ + k * kWord, earlier.writes)) return true;
    return false;
  }
  // Before what any thread of the party does now.
  bool over(Who earlier) const { return party_.surely(earlier, Who()); }

  // What entries can tell; NoRoom, with nothing changed, where they cannot.
  Done entries(Entry (&all)[kEntries]) {
    const Entry now = mine();
    if (now.shift != kOneThread && (from_ - row_.address) % row_.laneBytes)
      return Done::NoRoom;  // begins inside of a lane
    Entry next[kEntries];
    std::copy(std::begin(all), std::end(all), next);
    if (!(row_.writes ? write(next, now) : read(next, now))) return Done::NoRoom;
    for (const Entry& earlier : all)
      if (entryMeets(earlier, now)) return Done::Conflict;
    std::copy(std::begin(next), std::end(next), all);
    return found_ ? Done::Conflict : Done::Fine;
  }

  static Entry* freeOf(Entry (&all)[kEntries]) {
    for (Entry& entry : all)
      if (!entry.any()) return &entry;
    return nullptr;
  }
  static bool put(Entry (&all)[kEntries], const Entry& now) {
    Entry* const place = freeOf(all);
    if (place) *place = now;
    return place;
  }

  // What is written over is forgotten.
  static bool write(Entry (&all)[kEntries], const Entry& now) {
    for (Entry& entry : all) {
      if (!entry.meets(now)) continue;
      if (now.covers(entry)) {
        entry = Entry();
      } else if (entry.from < now.from) {
        if (entry.end > now.end) return false;
        entry.end = now.from;
      } else {
        if (entry.shift != kOneThread && ((now.end - entry.from) & ((1u << entry.shift) - 1))) return false;
        entry.first = entry.of(now.end);
        entry.from = now.end;
      }
    }
    return put(all, now);
  }

  bool read(Entry (&all)[kEntries], const Entry& now) const {
    unsigned own = 0;      // covering ones of its own warp
    uint64_t first = 0;    // the place of a covering one
    bool several = false;  // ... and there are others
    for (Entry& entry : all) {
      if (!entry.any() || entry.writes) continue;
      if (over(entry.first)) {
        if (now.covers(entry)) entry = Entry();
        continue;
      }
      const uint64_t there = place(entry.first);
      const bool sameStep = there == place(now.first) && entry.first.clock() == now.first.clock();
      if (sameStep && extends(entry, now)) return true;
      if (!entry.covers(now)) continue;
      own += there == place(now.first);
      several |= first && there != first;
      first = there;
    }
    if (several || own > 1 || put(all, now))
      return true;  // two readers are enough, of different warps where they can be
    Entry* const old = superfluous(all);
    if (old) *old = now;
    return old;
  }
  // A reader that is over and whose words another one has read, too.
  Entry* superfluous(Entry (&all)[kEntries]) const {
    for (Entry& old : all)
      for (const Entry& other : all)
        if (&old != &other && !old.writes && !other.writes && over(old.first) && other.covers(old)) return &old;
    return nullptr;
  }
  static uint64_t place(Who who) { return who.id() << Who::kThreadBits | who.thread() / ptx::kWarpSize; }
  // Makes one entry of two where lanes are alike.
  static bool extends(Entry& entry, const Entry& now) {
    if (entry.end < now.from || now.end < entry.from || !alikeBeside(entry, now)) return false;
    if (now.from < entry.from) entry.first = now.first;
    entry.from = std::min(entry.from, now.from);
    entry.end = std::max(entry.end, now.end);
    return true;
  }
  static bool alikeBeside(const Entry& one, const Entry& other) {
    if (one.shift != other.shift) return false;
    if (one.shift == kOneThread) return one.first.sameThread(other.first);
    const Entry &left = one.from <= other.from ? one : other, &right = one.from <= other.from ? other : one;
    return !((right.from - left.from) & ((1u << one.shift) - 1)) && left.of(right.from).sameThread(right.first);
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
    std::fill(std::begin(granule.entries), std::end(granule.entries), Entry());
    granule.entries[0] = mine();
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
    std::fill(std::begin(granule.entries), std::end(granule.entries), Entry());
    return;
  }
  if (!granule.cells && std::none_of(std::begin(granule.entries), std::end(granule.entries),
                                     [](const Entry& entry) { return entry.any(); }))
    return;
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
    std::copy(std::begin(granules_->all[k].entries), std::end(granules_->all[k].entries), more[k].entries);
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
    for (const Entry& entry : granule->entries)
      if (entry.writes && entry.from <= offset / kWord && offset / kWord < entry.end) {
        *where = entry.where;
        return entry.of(offset / kWord);
      }
    return {};
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
