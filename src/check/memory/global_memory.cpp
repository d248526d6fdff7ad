#include "check/memory/global_memory.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/memory/memory_limit.h"
#include "base/memory/own_memory.h"
#include "base/sync/mutex.h"
#include "base/sync/shared_mutex.h"
#include "base/sync/spin_lock.h"
#include "base/undying.h"
#include "check/memory/host_pages.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::check::global_memory {
namespace {

constexpr uint32_t kGranule = 128, kWord = 4, kWords = kGranule / kWord;
constexpr uint64_t kPage = 64 << 10;
constexpr size_t kSlab = 256 << 10;
constexpr size_t kEntries = 11;  // of a granule: with them it is three lines of a cache

constexpr uint32_t wordsBetween(uint32_t first, uint32_t end) {
  return static_cast<uint32_t>((uint64_t{1} << end) - (uint64_t{1} << first));
}

// Calls visit(k) for the bits of a mask.
template <class Visit>
void eachBit(uint32_t mask, Visit visit) {
  for (; mask; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}

constexpr Where kLow = kLine | kOfBlock;

// An access of some words of a granule, in two words of 64 bits: lanes touch 1, 2, 4 .. words each, of which the thread
// of the granule's first word is `thread`, if one touched it.
class Entry {
 public:
  // Shifts by which all words are of that thread, or of it and the next one, both.
  static constexpr uint64_t kOneThread = 7, kTwoThreads = 6;

  Entry() = default;
  Entry(Who who, int32_t thread, uint64_t shift, uint32_t words, Where where, bool writes)
      : who_(who.id() << 32 | uint64_t{who.clock()} << kThreadBits | static_cast<uint64_t>(thread + kBefore)),
        what_(uint64_t{words} << 32 | uint64_t{where & kLow} << 8 | (where >> 28) << 4 | shift << 1 | writes) {}

  uint64_t id() const { return who_ >> 32; }
  uint32_t clock() const { return static_cast<uint32_t>(who_) >> kThreadBits; }
  uint32_t words() const { return static_cast<uint32_t>(what_ >> 32); }  // bit k: word k
  bool writes() const { return what_ & 1; }
  Where where() const { return (static_cast<Where>(what_) >> 4 << 28) | (static_cast<Where>(what_) >> 8 & kLow); }
  bool ofTwo() const { return shift() == kTwoThreads; }
  Who of(uint32_t word) const { return Who(id(), static_cast<uint32_t>(thread() + laneOf(word)), clock()); }
  // A number of its own for each warp and each copy.
  uint64_t warp() const {
    return id() << 32 | of(static_cast<uint32_t>(std::countr_zero(words()))).thread() / ptx::kWarpSize;
  }
  void setWords(uint32_t words) { what_ = uint64_t{words} << 32 | static_cast<uint32_t>(what_); }

  // Whether a word is the same thread's in both, whichever it is.
  bool alike(const Entry& other) const {
    constexpr uint64_t kShift = 7 << 1, kThread = (1 << kThreadBits) - 1;
    return !ofTwo() && !((what_ ^ other.what_) & kShift) && !((who_ ^ other.who_) & (kThread | ~uint64_t{0xffffffff}));
  }
  bool sameStep(const Entry& other) const { return who_ == other.who_ && shift() == other.shift(); }
  // ... by one line, of one kind.
  bool sameButWords(const Entry& other) const {
    return who_ == other.who_ && static_cast<uint32_t>(what_) == static_cast<uint32_t>(other.what_);
  }

 private:
  static constexpr unsigned kThreadBits = 32 - Who::kClockBits;
  static constexpr int32_t kBefore = 32;  // lanes that may lie before the granule

  uint64_t shift() const { return what_ >> 1 & 7; }
  int32_t thread() const { return static_cast<int32_t>(who_ & ((1 << kThreadBits) - 1)) - kBefore; }
  int32_t laneOf(uint32_t word) const { return shift() >= kTwoThreads ? 0 : static_cast<int32_t>(word >> shift()); }

  uint64_t who_ = 0, what_ = 0;
};
static_assert(sizeof(Entry) == 16);

enum Slot : unsigned { kWriter, kReader, kOther, kSlots };  // kOther: a reader of another block

// The accesses of a part, a word or a byte.
struct Cell {
  Who who[kSlots];
  Where where[kSlots];
};
// Those of a granule.
struct Cells {
  static size_t bytesFor(uint32_t units) { return sizeof(Cells) + units * sizeof(Cell); }
  Cell& at(uint32_t k) { return reinterpret_cast<Cell*>(this + 1)[k]; }

  uint32_t units = 0;
  Cells* next = nullptr;  // of those that are spare
};

// A spin lock of one byte.
class VG_LOCK_CLASS ByteLock {
 public:
  void lock() VG_ACQUIRES() {
    while (byte_.exchange(1, std::memory_order_acquire)) [[unlikely]] await();
  }
  void unlock() VG_RELEASES() { byte_.store(0, std::memory_order_release); }

 private:
  void await() {
    for (int i = 0; byte_.load(std::memory_order_relaxed); ++i) i < 32 ? relax() : void(sched_yield());
  }
  std::atomic<uint8_t> byte_{0};
};

class VG_SCOPED_LOCK_CLASS ByteGuard {
 public:
  explicit ByteGuard(ByteLock& lock) VG_ACQUIRES(lock) : lock_(lock) { lock.lock(); }
  ~ByteGuard() VG_RELEASES() { lock_.unlock(); }
  ByteGuard(const ByteGuard&) = delete;

 private:
  ByteLock& lock_;
};

// Entries, or cells where these do not do.
struct alignas(64) Granule {
  static constexpr uint16_t kInBytes = 1 << 15;

  ByteLock lock;
  uint8_t used = 0;                    // entries, the first ones
  std::atomic<uint16_t> cellsHigh{0};  // fetch() reads them without the lock
  std::atomic<uint32_t> cellsLow{0};
  Entry entries[kEntries];

  Cells* cells() const {
    const uint64_t high = cellsHigh.load(std::memory_order_relaxed) & ~kInBytes;
    return reinterpret_cast<Cells*>(high << 32 | cellsLow.load(std::memory_order_relaxed));
  }
  // How many bytes a cell is for; said here, too, as the cells are elsewhere.
  uint32_t unit() const { return cellsHigh.load(std::memory_order_relaxed) & kInBytes ? 1 : kWord; }
  // Addresses of programs have 47 bits.
  void setCells(Cells* cells) {
    const auto address = reinterpret_cast<uint64_t>(cells);
    const uint16_t inBytes = cells && cells->units == kGranule ? kInBytes : 0;
    cellsHigh.store(static_cast<uint16_t>(address >> 32 | inBytes), std::memory_order_relaxed);
    cellsLow.store(static_cast<uint32_t>(address), std::memory_order_relaxed);
  }
  // One access of all words is all there is to know.
  void holdOnly(const Entry& entry) {
    entries[0] = entry;
    used = 1;
  }
  // Takes words from an entry; true: it is gone, and another one is in its place.
  bool cut(uint32_t entry, uint32_t words) {
    const uint32_t left = entries[entry].words() & ~words;
    entries[entry].setWords(left);
    if (left) return false;
    if (entry != --used) entries[entry] = entries[used];
    return true;
  }
};
static_assert(sizeof(Granule) == 192);
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
    most_ = memory_limit::ofMachine() / 4;
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
               "checked mode stops looking for races on further global memory: a quarter of the machine's memory is "
               "used for this already");
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

// Accesses that are meant to meet; but two copies are not, nor are two blocks of whom one looks at its own alone.
bool meantToMeet(Where one, Where other, bool sameBlock) {
  return (one & other & kStrong) && !(one & other & kCopy) && (sameBlock || !((one | other) & kOfBlock));
}

// A row's part in one granule, while it is looked at.
class Touch {
 public:
  Touch(const Row& row, const Party& party, uint64_t from, uint64_t end)
      : row_(row), party_(party), from_(from), end_(end), start_(from / kGranule * kGranule), words_(wordsOf()) {}

  bool run(Granule& granule, Conflict* conflict) {
    conflict_ = conflict;
    if (!words_) return true;
    const bool inWords = byWords();
    if (inWords && !granule.cells())
      if (const Done done = entries(granule); done != Done::NoRoom) return done == Done::Fine;
    if (!granule.cells() && !open(granule)) return true;
    if (granule.unit() == kWord && !inWords && !split(granule)) return true;
    bool fine = parts(*granule.cells(), granule.unit());
    if (row_.byTwo && (fine || conflict_)) {
      also_ = 1;
      fine &= parts(*granule.cells(), granule.unit());
    }
    if (inWords && words_ == ~0u && row_.writes && (fine || conflict_)) close(granule);
    return fine;
  }

  // Whether it is in conflict; notes nothing.
  bool isConflict(Granule& granule, Conflict& conflict) {
    conflict_ = &conflict;
    if (Cells* const cells = granule.cells()) {
      const uint32_t unit = granule.unit();
      for (auto k = static_cast<uint32_t>((from_ - start_) / unit); start_ + k * unit < end_; ++k)
        partMeets(*cells, k, start_ + k * unit);
      return found_;
    }
    for (uint32_t k = 0; k < granule.used; ++k) entryMeets(granule.entries[k], mine());
    return found_;
  }

  // Makes what is known by entries that of words. Of more than two readers of a word two stay, of different warps where
  // there are such.
  static bool open(Granule& granule) {
    Cells* const cells = shadow().take(kWords);
    if (!cells) return false;
    std::fill_n(&cells->at(0), kWords, Cell());
    for (uint32_t number = 0; number < granule.used; ++number) {
      const Entry& entry = granule.entries[number];
      eachBit(entry.words(), [&](uint32_t k) {
        const Who reader = cells->at(k).who[kReader], other = cells->at(k).who[kOther];
        const bool isSecond = reader.anybody();
        if (!entry.writes() && isSecond && other.anybody() && place(other) != place(reader)) return;
        const Slot slot = entry.writes() ? kWriter : isSecond ? kOther : kReader;
        cells->at(k).who[slot] = entry.of(k);
        cells->at(k).where[slot] = entry.where();
        if (!entry.ofTwo() || isSecond) return;
        cells->at(k).who[kOther] = entry.of(k).plus(1);
        cells->at(k).where[kOther] = entry.where();
      });
    }
    granule.setCells(cells);
    granule.used = 0;
    return true;
  }
  // From words to bytes.
  static bool split(Granule& granule) {
    Cells* const bytes = shadow().take(kGranule);
    if (!bytes) return false;
    for (uint32_t k = 0; k < kGranule; ++k) bytes->at(k) = granule.cells()->at(k / kWord);
    shadow().give(granule.cells());
    granule.setCells(bytes);
    return true;
  }

 private:
  enum class Done : uint8_t { Fine, Conflict, NoRoom };

  bool byWords() const {
    return from_ % kWord == 0 && end_ % kWord == 0 && (!row_.laneBytes || row_.laneBytes % kWord == 0);
  }
  // Bit k: word k of the granule is touched, in part at least.
  uint32_t wordsOf() const {
    const uint32_t all = wordsBetween(static_cast<uint32_t>((from_ - start_) / kWord),
                                      static_cast<uint32_t>((end_ - start_ + kWord - 1) / kWord));
    if (row_.lanes == kAllLanes || !row_.laneBytes) return all;
    uint32_t words = 0;
    eachBit(all, [&](uint32_t k) {
      const uint64_t lane = (std::max(start_ + k * kWord, from_) - row_.address) >> std::countr_zero(row_.laneBytes);
      words |= (row_.lanes >> lane & 1) << k;
    });
    return words;
  }
  uint32_t laneAt(uint64_t address) const {
    return static_cast<uint32_t>((address - row_.address) >> std::countr_zero(row_.laneBytes));
  }
  Who at(uint64_t address) const {
    return row_.first.plus(row_.laneBytes ? static_cast<int32_t>(laneAt(address)) : also_);
  }
  Entry mine() const {
    const auto thread = static_cast<int32_t>(row_.first.thread());
    const uint64_t ofAll = row_.byTwo ? Entry::kTwoThreads : Entry::kOneThread;
    if (!row_.laneBytes) return Entry(row_.first, thread, ofAll, words_, row_.where, row_.writes);
    const int shift = std::countr_zero(row_.laneBytes);
    const auto before = static_cast<int32_t>(static_cast<int64_t>(row_.address - start_) >> shift);  // lanes of others
    return Entry(row_.first, thread - before, static_cast<uint64_t>(shift - std::countr_zero(kWord)), words_,
                 row_.where, row_.writes);
  }

  bool conflicts(Who earlier, Where where, Who now) const {
    if (!earlier.anybody() || party_.surely(earlier, now)) return false;
    if (meantToMeet(where, row_.where, earlier.id() == now.id())) return false;
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
    const uint32_t common = earlier.words() & now.words();
    if (!common || !(earlier.writes() | now.writes()) || over(earlier) || earlier.alike(now)) return false;
    if (party_.orderedWhole(earlier.id())) return false;
    for (uint32_t left = common; left; left &= left - 1) {
      const auto k = static_cast<uint32_t>(std::countr_zero(left));
      for (int32_t more = 0; more < 1 + earlier.ofTwo(); ++more)
        for (int32_t also = 0; also < 1 + now.ofTwo(); ++also)
          if (meets(earlier.of(k).plus(more), earlier.where(), now.of(k).plus(also), start_ + k * kWord,
                    earlier.writes()))
            return true;
    }
    return false;
  }
  // Before what any thread of the party does now.
  bool over(const Entry& earlier) const {
    return earlier.id() <= party_.horizon() || (earlier.id() == party_.id() && earlier.clock() < party_.floor());
  }
  bool over(Who earlier) const { return party_.surely(earlier, Who()); }

  // What entries can tell; NoRoom where they cannot.
  Done entries(Granule& granule) {
    const Entry now = mine();
    for (uint32_t k = 0; k < granule.used; ++k)
      if (entryMeets(granule.entries[k], now)) return Done::Conflict;
    if (!(row_.writes ? write(granule, now) : read(granule, now))) return Done::NoRoom;
    return found_ ? Done::Conflict : Done::Fine;
  }

  // What is written over is forgotten. False: there is no room.
  static bool write(Granule& granule, const Entry& now) {
    uint32_t beside = 0;
    for (uint32_t k = 0; k < granule.used; ++k) beside |= granule.entries[k].words() & ~now.words();
    if (!beside) {
      granule.holdOnly(now);
      return true;
    }
    for (uint32_t k = 0; k < granule.used;) k += !granule.cut(k, now.words());
    for (uint32_t k = 0; k < granule.used; ++k) {
      Entry& entry = granule.entries[k];
      if (!entry.sameButWords(now)) continue;
      entry.setWords(entry.words() | now.words());
      return true;
    }
    return put(granule, now);
  }
  static bool put(Granule& granule, const Entry& now) {
    if (granule.used == kEntries) return false;
    granule.entries[granule.used++] = now;
    return true;
  }

  // False: there is no room; what was taken out then is among what is read now.
  bool read(Granule& granule, Entry now) const {
    const uint64_t here = now.warp();
    uint64_t there = 0;                                    // another warp that read
    uint32_t own = 0, ownAgain = 0, one = 0, another = 0;  // words that have such a reader
    for (uint32_t k = 0; k < granule.used; ++k) {
      Entry& entry = granule.entries[k];
      if (entry.writes()) continue;
      if (over(entry)) {
        if (granule.cut(k, now.words())) --k;
        continue;
      }
      if (entry.sameStep(now)) {
        entry.setWords(entry.words() | now.words());
        return true;
      }
      const uint64_t its = entry.warp();
      if (its == here) {
        ownAgain |= entry.ofTwo() ? entry.words() : own & entry.words();
        own |= entry.words();
      } else if (!there || its == there) {
        there = its;
        one |= entry.words();
      } else {
        another |= entry.words();
      }
    }
    // Two readers are enough, of different warps where they can be.
    now.setWords(now.words() & ~(ownAgain | (own & (one | another)) | (one & another)));
    if (!now.words() || put(granule, now)) return true;
    Entry* const old = superfluous(granule.entries);
    if (old) *old = now;
    return old;
  }
  // Of a full granule, a reader that is over and whose words others have read, too.
  Entry* superfluous(Entry (&all)[kEntries]) const {
    for (Entry& old : all) {
      if (old.writes() || !over(old)) continue;
      uint32_t others = 0;
      for (const Entry& other : all)
        if (&other != &old && !other.writes()) others |= other.words();
      if (!(old.words() & ~others)) return &old;
    }
    return nullptr;
  }
  static uint64_t place(Who who) { return who.id() << Who::kThreadBits | who.thread() / ptx::kWarpSize; }
  // Whether the other reader says more than the latest one will.
  bool keeps(Who latest, Who other, Who now) const {
    if (latest.id() != party_.id() || over(other)) return false;
    const auto warp = [](Who who) { return who.thread() / ptx::kWarpSize; };
    return other.id() != party_.id() || (warp(latest) == warp(now) && warp(other) != warp(now));
  }

  bool parts(Cells& cells, uint32_t unit) {
    const auto first = static_cast<uint32_t>((from_ - start_) / unit);
    const auto end = static_cast<uint32_t>((end_ - start_ + unit - 1) / unit);
    if (!quick(cells, first, end, unit))
      for (uint32_t k = first; k < end; ++k)
        if (touches(k, unit) && partMeets(cells, k, start_ + k * unit)) return false;
    for (uint32_t k = first; k < end; ++k)
      if (touches(k, unit)) notePart(cells, k, at(std::max(start_ + k * unit, from_)));
    return !found_;
  }
  bool touches(uint32_t k, uint32_t unit) const { return words_ >> (k * unit / kWord) & 1; }
  // Whether no part can be in conflict.
  bool quick(Cells& cells, uint32_t first, uint32_t end, uint32_t unit) {
    bool fine = true;
    for (uint32_t k = first; k < end; ++k) {
      const Who(&who)[kSlots] = cells.at(k).who, now = at(std::max(start_ + k * unit, from_));
      fine &= party_.surely(who[kWriter], now);
      if (row_.writes) fine &= party_.surely(who[kReader], now) & party_.surely(who[kOther], now);
    }
    return fine;
  }
  bool partMeets(Cells& cells, uint32_t k, uint64_t address) {
    const Who now = at(std::max(address, from_));
    if (meets(cells.at(k).who[kWriter], cells.at(k).where[kWriter], now, address, true)) return true;
    if (!row_.writes) return false;
    for (const Slot slot : {kReader, kOther})
      if (meets(cells.at(k).who[slot], cells.at(k).where[slot], now, address, false)) return true;
    return false;
  }
  void notePart(Cells& cells, uint32_t k, Who now) {
    if (row_.writes) {
      cells.at(k).who[kWriter] = now;
      cells.at(k).where[kWriter] = row_.where;
      cells.at(k).who[kReader] = cells.at(k).who[kOther] = Who();
      return;
    }
    Who &latest = cells.at(k).who[kReader], &other = cells.at(k).who[kOther];
    if (!party_.surely(latest, now) && !keeps(latest, other, now)) {
      other = latest;
      cells.at(k).where[kOther] = cells.at(k).where[kReader];
    }
    latest = now;
    cells.at(k).where[kReader] = row_.where;
  }

  // All words have been written by the row: one place says so.
  void close(Granule& granule) {
    shadow().give(granule.cells());
    granule.setCells(nullptr);
    granule.holdOnly(mine());
  }

  const Row& row_;
  const Party& party_;
  const uint64_t from_, end_, start_;
  const uint32_t words_;
  int32_t also_ = 0;  // of a row of two threads: which it is
  Conflict* conflict_ = nullptr;
  bool found_ = false;
};

// Of whole words.
void clear(Granule& granule, uint32_t from, uint32_t end) {
  const ByteGuard guard(granule.lock);
  if (from == 0 && end == kGranule) {
    shadow().give(granule.cells());
    granule.setCells(nullptr);
    granule.used = 0;
    return;
  }
  for (uint32_t k = 0; k < granule.used;) k += !granule.cut(k, wordsBetween(from / kWord, (end + kWord - 1) / kWord));
  Cells* const cells = granule.cells();
  if (!cells) return;
  const uint32_t unit = granule.unit();
  std::fill(&cells->at(from / unit), &cells->at(0) + (end + unit - 1) / unit, Cell());
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
  for (const Granule& granule : granules_->all) shadow().give(granule.cells());
}

void Region::reserve(uint64_t bytes) {
  const size_t count = (bytes + kGranule - 1) / kGranule;
  if (granules_->all.size() >= count) return;
  std::vector<Granule> more(count);  // granules are not moved, as their locks are not
  for (size_t k = 0; k < granules_->all.size(); ++k) {
    Granule& old = granules_->all[k];
    more[k].setCells(old.cells());
    old.setCells(nullptr);
    more[k].used = old.used;
    std::copy_n(old.entries, old.used, more[k].entries);
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

// What whoever runs next to this warp, or it itself, will want.
static void fetchAhead(const Granule* next) {
  __builtin_prefetch(next, 1);
  __builtin_prefetch(reinterpret_cast<const std::byte*>(next) + 64, 1);
}

bool start(const alloc::MemoryTable& table) { return shadow().start(table); }

bool conflicts(const Row& row, const Party& party, Conflict& conflict) {
  return !each(row.address, row.bytes, row.outside, false, [&](Granule& granule, uint64_t from, uint64_t end) {
    const ByteGuard guard(granule.lock);
    return !Touch(row, party, from, end).isConflict(granule, conflict);
  });
}

bool touch(const Row& row, const Party& party, Conflict* conflict) {
  if (!row.outside) host_pages::touched(row.address, row.bytes, row.writes, party.work());
  bool fine = true;
  Conflict further;
  each(row.address, row.bytes, row.outside, true, [&](Granule& granule, uint64_t from, uint64_t end) {
    fetchAhead(&granule + 1);
    const ByteGuard guard(granule.lock);
    fine &= Touch(row, party, from, end).run(granule, fine || !conflict ? conflict : &further);
    return fine || conflict;
  });
  return fine;
}

void fetch(const uint64_t* addresses, uint32_t lanes) {
  Granule* granules[ptx::kWarpSize];
  eachBit(lanes, [&](uint32_t lane) {
    granules[lane] = shadow().granule(addresses[lane], false, false);
    if (granules[lane]) __builtin_prefetch(granules[lane], 1);
  });
  // Where they have cells, these lie elsewhere; words are usual.
  eachBit(lanes, [&](uint32_t lane) {
    Cells* const cells = granules[lane] ? granules[lane]->cells() : nullptr;
    if (!cells) return;
    const Cell* const cell = &cells->at(addresses[lane] % kGranule / kWord);
    __builtin_prefetch(cell, 1);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(cell + 1) - 1, 1);  // it may lie in two lines
  });
}

Who writerOf(uint64_t address, Where* where) {
  Granule* const granule = shadow().granule(address, false, false);
  if (!granule) return {};
  const ByteGuard guard(granule->lock);
  const auto offset = static_cast<uint32_t>(address % kGranule);
  Cells* const cells = granule->cells();
  if (!cells) {
    for (uint32_t k = 0; k < granule->used; ++k) {
      const Entry& entry = granule->entries[k];
      if (!entry.writes() || !(entry.words() >> (offset / kWord) & 1)) continue;
      *where = entry.where();
      return entry.of(offset / kWord);
    }
    return {};
  }
  const uint32_t k = offset / granule->unit();
  *where = cells->at(k).where[kWriter];
  return cells->at(k).who[kWriter];
}

void forget(uint64_t address, uint64_t bytes, bool outside) {
  each(address, bytes, outside, false, [&](Granule& granule, uint64_t from, uint64_t end) {
    const uint64_t start = from / kGranule * kGranule;
    clear(granule, static_cast<uint32_t>(from - start), static_cast<uint32_t>(end - start));
    return true;
  });
}

}  // namespace vg::check::global_memory
