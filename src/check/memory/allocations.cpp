#include "check/memory/allocations.h"

#include <link.h>

#include <atomic>
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include <cuda.h>

#include "alloc/watch.h"
#include "base/memory/own_memory.h"
#include "base/memory/safe_read.h"
#include "base/sync/mutex.h"
#include "base/sync/shared_mutex.h"
#include "base/undying.h"
#include "check/memory/global_memory.h"
#include "check/memory/host_pages.h"
#include "check/memory/initialised.h"
#include "check/races/order.h"
#include "check/reports/caller.h"
#include "check/tools.h"

namespace vg::check::allocations {
namespace {

constexpr size_t kGap = 256;                   // bytes nobody owns behind every allocation
constexpr size_t kRetired = size_t{64} << 20;  // bytes of freed memory that nobody gets again
constexpr size_t kRemembered = 4096;           // freed allocations
constexpr size_t kNear = size_t{1} << 20;      // bytes between an address and the allocation that it may have meant

struct Known {
  uintptr_t base = 0;
  size_t bytes = 0;
  alloc::Kind kind = alloc::Kind::Device;
  uint64_t id = 0;
  Caller maker, ender;
};
struct Part {
  size_t bytes;
  std::string name;
  bool lasting;
};
struct History {
  Mutex mutex;
  std::map<uintptr_t, std::unique_ptr<Known>> living VG_GUARDED_BY(mutex);
  std::list<std::unique_ptr<Known>> freed VG_GUARDED_BY(mutex);  // newest last
  SharedMutex partsMutex;
  std::map<uintptr_t, size_t> blocks VG_GUARDED_BY(partsMutex);
  std::map<uintptr_t, Part> parts VG_GUARDED_BY(partsMutex);
  std::list<std::pair<uintptr_t, Part>> endedParts VG_GUARDED_BY(partsMutex);  // newest last
  std::atomic<bool> hasBlocks{false};
  std::atomic<uint64_t> epoch{1};
};
History& history() {  // never destroyed
  return undying<History, History>();
}
constinit const alloc::MemoryTable* table = nullptr;

bool tracked(const alloc::Record& record) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  return kind == alloc::Kind::Device || kind == alloc::Kind::Pool;
}

void began(const alloc::Record& record) {
  auto known = std::make_unique<Known>();
  known->base = record.base.load(std::memory_order_relaxed);
  known->bytes = record.bytes();
  known->kind = record.kind.load(std::memory_order_relaxed);
  known->id = record.id.load(std::memory_order_relaxed);
  known->maker = Caller::here();
  if (wants(Tool::Race) && global_memory::start(*table)) {
    global_memory::forget(known->base, known->bytes);
    if (known->kind == alloc::Kind::Managed) host_pages::began(*table, known->base, known->bytes);
  }
  if (wants(Tool::Init) && initialised::start(*table)) {
    if (tracked(record))
      initialised::forget(known->base, known->bytes);
    else
      initialised::written(known->base, known->bytes);
  }
  const MutexLock lock(history().mutex);
  history().living[known->base] = std::move(known);
}

void ended(const alloc::Record& record) {
  History& h = history();
  h.epoch.fetch_add(1, std::memory_order_relaxed);
  if (wants(Tool::Race) && record.kind.load(std::memory_order_relaxed) != alloc::Kind::Pool) order::hostWaitedForAll();
  if (record.kind.load(std::memory_order_relaxed) == alloc::Kind::Managed)
    host_pages::ended(record.base.load(std::memory_order_relaxed), record.bytes());
  const MutexLock lock(h.mutex);
  const auto found = h.living.find(record.base.load(std::memory_order_relaxed));
  if (found == h.living.end()) return;
  found->second->ender = Caller::here();
  h.freed.push_back(std::move(found->second));
  h.living.erase(found);
  if (h.freed.size() > kRemembered) h.freed.pop_front();
}

constexpr alloc::Watcher kWatcher{began, ended, kGap, kRetired};

// The entry of an ordered map that holds the address, or end().
template <class Map, class Size>
auto holding(Map& map, uintptr_t address, Size size) {
  auto at = map.upper_bound(address);
  if (at == map.begin()) return map.end();
  --at;
  return address - at->first < size(at->second) ? at : map.end();
}

// Of an address in a block.
std::optional<Answer> judgeBlock(uintptr_t address, size_t bytes) {
  History& h = history();
  if (!h.hasBlocks.load(std::memory_order_acquire)) return {};
  const SharedLock lock(h.partsMutex);
  if (holding(h.blocks, address, [](size_t size) { return size; }) == h.blocks.end()) return {};
  const auto part = holding(h.parts, address, [](const Part& p) { return p.bytes; });
  if (part == h.parts.end() || bytes > part->second.bytes - (address - part->first)) return Answer{Verdict::Outside};
  return part->second.lasting ? Answer{Verdict::Fine, 0, part->first, part->second.bytes} : Answer{};
}

// An access may go on in the next mapping of cuMemMap.
bool holds(const alloc::Record& record, uintptr_t address, size_t bytes) {
  const size_t have = record.bytes() - (address - record.base.load(std::memory_order_relaxed));
  if (bytes <= have) return true;
  if (record.kind.load(std::memory_order_relaxed) != alloc::Kind::Mapped) return false;
  const alloc::Record* const next = table->find(address + have);
  return next && next->kind.load(std::memory_order_relaxed) == alloc::Kind::Mapped &&
         holds(*next, address + have, bytes - have);
}

bool readable(uintptr_t address, size_t bytes) {
  std::byte buffer[64];
  if (bytes > sizeof buffer) bytes = sizeof buffer;
  return safe_read::all(buffer, reinterpret_cast<const void*>(address), bytes);
}

Answer judgeRecord(const alloc::Record& record, uintptr_t address, size_t bytes, bool stores) {
  const uint64_t id = record.id.load(std::memory_order_relaxed);
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Array || !holds(record, address, bytes)) return {Verdict::Outside, id};
  const bool readOnly =
      kind == alloc::Kind::Registered && (record.flags.load(std::memory_order_relaxed) & CU_MEMHOSTREGISTER_READ_ONLY);
  if (readOnly) return {stores ? Verdict::ReadOnly : Verdict::Fine, id};
  return {Verdict::Fine, id, record.base.load(std::memory_order_relaxed), record.bytes()};
}

// Whether bytes are constants of this library, as names of errors are that kernels ask for.
bool isOwnConstant(uintptr_t address, size_t bytes) {
  struct Wanted {
    uintptr_t own, address, end;
    bool found = false;
  } wanted{reinterpret_cast<uintptr_t>(&isOwnConstant), address, address + bytes};
  const auto look = [](dl_phdr_info* object, size_t, void* state) {
    auto& w = *static_cast<Wanted*>(state);
    bool isOwn = false, isConstant = false;
    for (size_t k = 0; k < object->dlpi_phnum; ++k) {
      const ElfW(Phdr)& part = object->dlpi_phdr[k];
      const uintptr_t start = object->dlpi_addr + part.p_vaddr, end = start + part.p_memsz;
      if (part.p_type != PT_LOAD) continue;
      isOwn |= w.own >= start && w.own < end;
      isConstant |= !(part.p_flags & PF_W) && w.address >= start && w.end <= end;
    }
    w.found |= isOwn && isConstant;
    return isOwn ? 1 : 0;
  };
  dl_iterate_phdr(look, &wanted);
  return wanted.found;
}

const char* makerOf(alloc::Kind kind) {
  switch (kind) {
    case alloc::Kind::Device:
      return "cuMemAlloc";
    case alloc::Kind::Array:
      return "cuArrayCreate";
    case alloc::Kind::Pool:
      return "cuMemAllocAsync";
    case alloc::Kind::Managed:
      return "cuMemAllocManaged";
    case alloc::Kind::Pinned:
      return "cuMemHostAlloc";
    case alloc::Kind::Registered:
      return "cuMemHostRegister";
    case alloc::Kind::Mapped:
      return "cuMemMap";
    case alloc::Kind::Graph:
      return "a node of a graph";
    case alloc::Kind::Imported:
      return "an import";
  }
  return "";
}

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// "12 bytes behind", "inside", "4 bytes before": an address, seen from a range.
std::string seenFrom(uintptr_t address, uintptr_t base, size_t bytes) {
  if (address < base) return formatted("%zu bytes before", size_t{base - address});
  if (address - base >= bytes) {
    const size_t behind = address - base - bytes;
    return behind ? formatted("%zu bytes behind", behind) : std::string("directly behind");
  }
  return formatted("at byte %zu of", size_t{address - base});
}

void tell(const Known& known, uintptr_t address, bool freed, std::vector<std::string>& lines) {
  lines.push_back(seenFrom(address, known.base, known.bytes) +
                  formatted(" %s of %zu bytes at %#zx, made by %s",
                            freed ? "memory that was freed: an allocation" : "an allocation", known.bytes,
                            size_t{known.base}, makerOf(known.kind)));
  if (const std::string maker = known.maker.text(); !maker.empty()) lines.push_back("allocated from " + maker);
  if (!freed) return;
  if (const std::string ender = known.ender.text(); !ender.empty()) lines.push_back("freed from " + ender);
}

size_t distance(const Known& known, uintptr_t address) {
  if (address < known.base) return known.base - address;
  return address - known.base < known.bytes ? 0 : address - known.base - known.bytes + 1;
}

// The living allocation that is nearest, if one is near.
const Known* nearest(const History& h, uintptr_t address) VG_REQUIRES(h.mutex) {
  const Known* best = nullptr;
  const auto consider = [&](const Known& known) {
    if (distance(known, address) < kNear && (!best || distance(known, address) < distance(*best, address)))
      best = &known;
  };
  const auto after = h.living.upper_bound(address);
  if (after != h.living.end()) consider(*after->second);
  if (after != h.living.begin()) consider(*std::prev(after)->second);
  return best;
}

const Known* freedAt(const History& h, uintptr_t address) VG_REQUIRES(h.mutex) {
  for (auto known = h.freed.rbegin(); known != h.freed.rend(); ++known)
    if (address - (*known)->base < (*known)->bytes) return known->get();
  return nullptr;
}

void tellPart(uintptr_t address, std::vector<std::string>& lines) {
  History& h = history();
  const SharedLock lock(h.partsMutex);
  if (holding(h.blocks, address, [](size_t size) { return size; }) == h.blocks.end()) return;
  const auto add = [&](uintptr_t base, const Part& part, const char* state) {
    lines.push_back(seenFrom(address, base, part.bytes) + " " + part.name +
                    formatted(" of %zu bytes at %#zx%s", part.bytes, size_t{base}, state));
  };
  for (auto ended = h.endedParts.rbegin(); ended != h.endedParts.rend(); ++ended)
    if (address - ended->first < ended->second.bytes) return add(ended->first, ended->second, ", which was freed");
  auto at = h.parts.upper_bound(address);
  if (at != h.parts.begin()) add(std::prev(at)->first, std::prev(at)->second, "");
}

}  // namespace

void start(const alloc::MemoryTable& known) {
  table = &known;
  alloc::watcher.store(&kWatcher, std::memory_order_release);
}

void beginBlock(uintptr_t address, size_t bytes) {
  History& h = history();
  const ExclusiveLock lock(h.partsMutex);
  h.blocks[address] = bytes;
  h.hasBlocks.store(true, std::memory_order_release);
}

void addPart(uintptr_t address, size_t bytes, std::string name, bool lasting) {
  if (wants(Tool::Race)) global_memory::forget(address, bytes);
  const ExclusiveLock lock(history().partsMutex);
  history().parts[address] = {bytes, std::move(name), lasting};
}

uint64_t epoch() { return history().epoch.load(std::memory_order_relaxed); }

void removePart(uintptr_t address) {
  History& h = history();
  const ExclusiveLock lock(h.partsMutex);
  const auto found = h.parts.find(address);
  if (found == h.parts.end()) return;
  h.endedParts.emplace_back(address, std::move(found->second));
  h.parts.erase(found);
  if (h.endedParts.size() > kRemembered) h.endedParts.pop_front();
}

void endBlock(uintptr_t address, size_t bytes) {
  History& h = history();
  h.epoch.fetch_add(1, std::memory_order_relaxed);
  const ExclusiveLock lock(h.partsMutex);
  h.blocks.erase(address);
  h.parts.erase(h.parts.lower_bound(address), h.parts.lower_bound(address + bytes));
}

Answer judge(uintptr_t address, size_t bytes, bool stores, bool reachesPageable) {
  if (const std::optional<Answer> answer = judgeBlock(address, bytes)) return *answer;
  if (const alloc::Record* record = table->find(address)) return judgeRecord(*record, address, bytes, stores);
  // Freed in the order of a stream, which may not have come to that point.
  if (const alloc::Record* record = table->findReleased(address)) {
    Answer answer = judgeRecord(*record, address, bytes, stores);
    answer.goodBytes = 0;
    return answer;
  }
  if (table->ours(address) || own_memory::overlaps(address, bytes)) return {Verdict::Outside};
  if (!stores && isOwnConstant(address, bytes)) return {Verdict::Fine};
  if (!readable(address, bytes)) return {Verdict::Outside};
  return {reachesPageable ? Verdict::Fine : Verdict::Pageable};
}

bool reachesHost(uintptr_t address) {
  const alloc::Record* const record = table->find(address);
  return record && !alloc::alwaysOfDevice(record->kind.load(std::memory_order_relaxed)) &&
         record->kind.load(std::memory_order_relaxed) != alloc::Kind::Mapped;
}

std::vector<std::string> whereabouts(uintptr_t address, size_t bytes) {
  std::vector<std::string> lines;
  History& h = history();
  if (h.hasBlocks.load(std::memory_order_acquire)) tellPart(address, lines);
  if (!lines.empty()) return lines;
  const MutexLock lock(h.mutex);
  const Known *near = nearest(h, address), *freed = freedAt(h, address);
  Known registered;  // host memory is not in the history
  if (const alloc::Record* record = table->find(address); record && (!near || distance(*near, address))) {
    registered.base = record->base.load(std::memory_order_relaxed);
    registered.bytes = record->bytes();
    registered.kind = record->kind.load(std::memory_order_relaxed);
    near = &registered;
  }
  if (near && !distance(*near, address)) freed = nullptr;
  if (freed) tell(*freed, address, true, lines);
  if (near && !freed) tell(*near, address, false, lines);
  if (lines.empty() && own_memory::overlaps(address, bytes)) lines.push_back("it is memory of the library's own");
  if (lines.empty()) lines.push_back("no allocation is near");
  return lines;
}

}  // namespace vg::check::allocations
