#include "record/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/memory/safe_read.h"
#include "record/bytes.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vg::record {

namespace {

constexpr size_t kLine = 64;
constexpr size_t kWindow = 64 << 10;

bool seenByHost(RangeKind kind) {
  return kind == RangeKind::Pinned || kind == RangeKind::Managed || kind == RangeKind::Pageable ||
         kind == RangeKind::BoundManaged;
}

char* zeroes(size_t size) {
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace

void HostMemory::add(uint32_t thread, uint64_t address, uint64_t size, RangeKind kind, int device) {
  remove(address);
  MemoryRange range{address, size, kind, nullptr, {}};
  if (seenByHost(kind)) range.known = zeroes(size);
  ranges_[address] = range;
  restTold_ = false;
  Encoder record;
  record.put(Tag::Range).put(thread).put(address).put(size).put(kind).put(static_cast<int32_t>(device));
  writer_.append(record.bytes());
}

void HostMemory::remove(uint64_t address) {
  const auto found = ranges_.find(address);
  if (found == ranges_.end()) return;
  if (found->second.known) ::munmap(found->second.known, found->second.size);
  ranges_.erase(found);
}

MemoryRange* HostMemory::find(uint64_t address) {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  MemoryRange& range = (--after)->second;
  return range.contains(address) ? &range : nullptr;
}

void HostMemory::tellRest() {
  if (restTold_) return;
  restTold_ = true;
  for (auto& [address, range] : ranges_) tell(range, address, range.size);
}

void HostMemory::tellResults() {
  restTold_ = false;
  for (auto& [address, range] : ranges_) {
    compare(range, address, range.size, Change::ByDevice);
    range.writers.clear();
  }
}

void HostMemory::forget(uint64_t address, uint64_t size) {
  restTold_ = false;
  MemoryRange* const range = find(address);
  if (!range || !range->known) return;
  size = std::min(size, range->address + range->size - address);
  // The program may have unmapped it.
  safe_read::all(range->known + (address - range->address), reinterpret_cast<const void*>(address), size);
}

void HostMemory::compare(MemoryRange& range, uint64_t address, uint64_t size, Change change) {
  if (!range.known || address - range.address >= range.size) return;
  const uint64_t end = std::min(address + size, range.address + range.size);
  static thread_local std::vector<char> now(kWindow);
  for (uint64_t at = address; at < end; at += kWindow) {
    const size_t part = std::min<uint64_t>(kWindow, end - at);
    if (!safe_read::all(now.data(), reinterpret_cast<const void*>(at), part)) continue;
    if (std::memcmp(now.data(), range.known + (at - range.address), part) != 0)
      compareLines(range, at, now.data(), part, change);
  }
}

// Neighbouring lines that differ are one record.
void HostMemory::compareLines(MemoryRange& range, uint64_t address, const char* now, size_t size, Change change) {
  char* const known = range.known + (address - range.address);
  const auto differs = [&](size_t at) { return std::memcmp(now + at, known + at, std::min(kLine, size - at)) != 0; };
  for (size_t at = 0; at < size; at += kLine) {
    if (!differs(at)) continue;
    size_t end = at;
    while (end < size && differs(end)) end += kLine;
    end = std::min(end, size);
    write(address + at, now + at, known + at, end - at, change);
    at = end;
  }
}

void HostMemory::write(uint64_t address, const char* now, char* known, size_t size, Change change) {
  Encoder record;
  record.put(Tag::HostMemory).put(address).put(static_cast<uint64_t>(XXH3_64bits(known, size))).text(now, size);
  writer_.append(record.put(change).bytes());
  std::memcpy(known, now, size);
}

}  // namespace vg::record
