#include "base/memory/own_memory.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>
#include <utility>

#include "base/memory/guarded_range.h"
#include "base/round.h"
#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::own_memory {

constinit std::atomic<uintptr_t> ever::lowest{UINTPTR_MAX}, ever::highest{0};

namespace {

using ever::highest, ever::lowest;

constexpr size_t kPage = 4096;
// One range serves for everything; where the system limits addresses, small ones as they are needed.
constexpr size_t kVast = size_t{4} << 40, kSmall = size_t{16} << 20;

// What is known to overlaps(): an entry counts while it has bytes, those below `knownCount` are looked at. A reader
// that meets a change sees the old entry, the new one or none.
struct Known {
  std::atomic<uintptr_t> start;
  std::atomic<size_t> bytes;
};
constexpr size_t kMost = 2048;
constinit Known known[kMost];
constinit std::atomic<size_t> knownCount{0};
constinit std::atomic<uintptr_t> vastStart{0}, vastEnd{0};  // guards included

struct Space {
  Mutex mutex;                                            // guards what follows, and changes of `known`
  std::map<uintptr_t, size_t> free VG_GUARDED_BY(mutex);  // coalesced
};
Space& space() { return undying<Space, Space>(); }

// Returns the place of the entry; kMost where there is no room, on a system with few addresses: then the range is as
// unknown as what malloc gives. Requires: the space's lock.
size_t add(uintptr_t start, size_t bytes) {
  const size_t count = knownCount.load(std::memory_order_relaxed);
  size_t place = 0;
  while (place < count && known[place].bytes.load(std::memory_order_relaxed)) ++place;
  if (place == kMost) return kMost;
  if (start < lowest.load(std::memory_order_relaxed)) lowest.store(start, std::memory_order_release);
  if (start + bytes > highest.load(std::memory_order_relaxed)) highest.store(start + bytes, std::memory_order_release);
  known[place].start.store(start, std::memory_order_relaxed);
  known[place].bytes.store(bytes, std::memory_order_release);
  if (place == count) knownCount.store(count + 1, std::memory_order_release);
  return place;
}

// Puts an entry somewhere else, which takes no memory.
void move(Space& space, std::map<uintptr_t, size_t>::node_type entry, uintptr_t start, size_t bytes)
    VG_REQUIRES(space.mutex) {
  entry.key() = start;
  entry.mapped() = bytes;
  space.free.insert(std::move(entry));
}

// A range without the bit that systems set in the addresses they choose (kElsewhere), as unpredictable as those: it
// lies where it would lie below the C library, but for the bit. Null where there is no such place.
GuardedRange reserveLow(size_t bytes, size_t guard) {
  constexpr uintptr_t kDistance = uintptr_t{1} << 40;  // from the first address with that bit
  constexpr uintptr_t kLowest = uintptr_t{1} << 45;    // what programs and sanitizers choose themselves is below
  const size_t whole = guard + bytes + guard;
  const uintptr_t below = (reinterpret_cast<uintptr_t>(&mmap) - whole) / kPage * kPage;
  const uintptr_t place = (below & ~kElsewhere) - kDistance;
  if (!(below & kElsewhere) || place < kLowest) return {};
  constexpr int kThere = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* const mapped = mmap(reinterpret_cast<void*>(place), whole, PROT_NONE, kThere, -1, 0);
  if (mapped == MAP_FAILED) return {};
  GuardedRange range{static_cast<std::byte*>(mapped) + guard, bytes, guard};
  if (reinterpret_cast<uintptr_t>(mapped) != place) range.release();  // an old system may have chosen another place
  return range;
}

bool grow(Space& space, size_t bytes) VG_REQUIRES(space.mutex) {
  std::map<uintptr_t, size_t> fresh{{0, 0}};
  GuardedRange range = reserveLow(std::max(bytes, kVast), GuardedRange::kWide);
  if (!range) range = GuardedRange::reserveExactly(std::max(bytes, kVast), GuardedRange::kWide);
  if (range && !vastEnd.load(std::memory_order_relaxed)) {
    vastStart.store(reinterpret_cast<uintptr_t>(range.start) - range.guard, std::memory_order_relaxed);
    vastEnd.store(reinterpret_cast<uintptr_t>(range.start) + range.bytes + range.guard, std::memory_order_release);
  }
  if (!range) range = GuardedRange::reserve(std::max(bytes, kSmall));
  if (!range && bytes < kSmall) range = GuardedRange::reserve(bytes);
  if (!range) return false;
  add(reinterpret_cast<uintptr_t>(range.start), range.bytes);
  move(space, fresh.extract(fresh.begin()), reinterpret_cast<uintptr_t>(range.start), range.bytes);
  return true;
}

std::byte* takeFrom(Space& space, size_t bytes) VG_REQUIRES(space.mutex) {
  const auto piece = std::find_if(space.free.begin(), space.free.end(), [&](auto& p) { return p.second >= bytes; });
  if (piece == space.free.end()) return nullptr;
  const auto [start, length] = *piece;
  auto entry = space.free.extract(piece);
  if (length > bytes) move(space, std::move(entry), start + bytes, length - bytes);
  return reinterpret_cast<std::byte*>(start);
}

void giveTo(Space& space, uintptr_t start, size_t bytes) VG_REQUIRES(space.mutex) {
  const auto next = space.free.lower_bound(start);
  const auto previous = next == space.free.begin() ? space.free.end() : std::prev(next);
  const bool before = previous != space.free.end() && previous->first + previous->second == start;
  const bool after = next != space.free.end() && next->first == start + bytes;
  if (after) bytes += next->second;
  if (before) {
    previous->second += bytes;
    if (after) space.free.erase(next);
  } else if (after) {
    move(space, space.free.extract(next), start, bytes);
  } else {
    space.free[start] = bytes;
  }
}

struct Sought {
  uintptr_t symbol;
  bool found;
};

int adoptSegments(dl_phdr_info* info, size_t, void* data) {
  auto& sought = *static_cast<Sought*>(data);
  const auto each = [&](auto visit) {
    for (int i = 0; i < info->dlpi_phnum; ++i)
      if (const ElfW(Phdr)& segment = info->dlpi_phdr[i]; segment.p_type == PT_LOAD)
        visit(static_cast<uintptr_t>(info->dlpi_addr + segment.p_vaddr), segment);
  };
  each([&](uintptr_t start, const ElfW(Phdr) & segment) { sought.found |= sought.symbol - start < segment.p_memsz; });
  if (!sought.found) return 0;
  if (!*info->dlpi_name) return 1;  // linked into a program, whose variables are its own
  each([&](uintptr_t start, const ElfW(Phdr) & segment) {
    if ((segment.p_flags & PF_W) && !overlaps(start, segment.p_memsz)) add(start, segment.p_memsz);
  });
  return 1;
}

}  // namespace

std::byte* reserve(size_t bytes) noexcept {
  bytes = roundUp(bytes, kPage);
  Space& all = space();
  const MutexLock lock(all.mutex);
  if (std::byte* const taken = takeFrom(all, bytes)) return taken;
  try {
    return grow(all, bytes) ? takeFrom(all, bytes) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::byte* take(size_t bytes) noexcept {
  std::byte* const start = reserve(bytes);
  if (!start || !mprotect(start, roundUp(bytes, kPage), PROT_READ | PROT_WRITE)) return start;
  give(start, bytes);
  return nullptr;
}

// What cannot be given for want of memory is lost: some of the addresses.
void give(void* start, size_t bytes) noexcept {
  bytes = roundUp(bytes, kPage);
  // A fresh mapping drops the pages.
  constexpr int kFresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(start, bytes, PROT_NONE, kFresh, -1, 0) == MAP_FAILED) return;
  Space& all = space();
  const MutexLock lock(all.mutex);
  try {
    giveTo(all, reinterpret_cast<uintptr_t>(start), bytes);
  } catch (const std::bad_alloc&) {
  }
}

void adoptVariablesOf(const void* symbol) {
  Sought sought{reinterpret_cast<uintptr_t>(symbol), false};
  const MutexLock lock(space().mutex);
  dl_iterate_phdr(adoptSegments, &sought);
}

AdoptedStack::AdoptedStack() : place_(kMost) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes)) return;
  void* start = nullptr;
  size_t bytes = 0;
  if (!pthread_attr_getstack(&attributes, &start, &bytes)) {
    const MutexLock lock(space().mutex);
    place_ = add(reinterpret_cast<uintptr_t>(start), bytes);
  }
  pthread_attr_destroy(&attributes);
}

AdoptedStack::~AdoptedStack() {
  if (place_ < kMost) known[place_].bytes.store(0, std::memory_order_release);
}

Bounds vastBounds() {
  const uintptr_t end = vastEnd.load(std::memory_order_acquire);
  return {vastStart.load(std::memory_order_relaxed), end};
}

bool overlapsWithin(Bounds bounds, uintptr_t address, size_t bytes) {
  if (address < bounds.lowest && bounds.lowest - address >= bytes) return false;
  for (size_t i = 0, count = knownCount.load(std::memory_order_acquire); i < count; ++i) {
    const size_t length = known[i].bytes.load(std::memory_order_acquire);
    const uintptr_t start = known[i].start.load(std::memory_order_relaxed);
    if (address - start < length || (length && start - address < bytes)) return true;
  }
  return false;
}

}  // namespace vg::own_memory
