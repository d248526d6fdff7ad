#include "check/memory/initialised.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/memory/own_memory.h"
#include "base/sync/mutex.h"

namespace vg::check::initialised {
namespace {

struct Bits {
  uintptr_t base = 0;
  size_t span = 0;  // bytes of memory
  uint8_t* bits = nullptr;
};
constinit Bits map;
constinit std::atomic<bool> ready{false};
constinit Mutex starting;

// Calls onWord(word) for the whole words of these bytes and onByte(byte) for the others. Blocks that run at the same
// time may meet in a byte, so that both are to be used by atomics only.
template <class OnWord, class OnByte>
void eachWord(uint8_t* first, size_t count, OnWord onWord, OnByte onByte) {
  uint8_t* const end = first + count;
  for (; first < end && reinterpret_cast<uintptr_t>(first) % 8; ++first) onByte(*first);
  for (; end - first >= 8; first += 8) onWord(*reinterpret_cast<uint64_t*>(first));
  for (; first < end; ++first) onByte(*first);
}

void store(uint8_t* first, size_t count, uint8_t value) {
  const uint64_t repeated = value * 0x0101010101010101u;
  eachWord(
      first, count, [&](uint64_t& word) { __atomic_store_n(&word, repeated, __ATOMIC_RELAXED); },
      [&](uint8_t& byte) { __atomic_store_n(&byte, value, __ATOMIC_RELAXED); });
}

bool anySet(uint8_t* first, size_t count) {
  uint64_t seen = 0;
  eachWord(
      first, count, [&](uint64_t& word) { seen |= __atomic_load_n(&word, __ATOMIC_RELAXED); },
      [&](uint8_t& byte) { seen |= __atomic_load_n(&byte, __ATOMIC_RELAXED); });
  return seen;
}

// Calls onBits(byte, mask) and onBytes(first, count) for the bits of a range; what lies outside of the map is left out.
template <class OnBits, class OnBytes>
void each(uintptr_t address, size_t bytes, OnBits onBits, OnBytes onBytes) {
  if (!ready.load(std::memory_order_acquire) || address - map.base >= map.span) return;
  size_t at = address - map.base;
  const size_t end = at + std::min(bytes, map.span - at);
  while (at < end) {
    if (at % 8 == 0 && end - at >= 8) {
      const size_t whole = (end - at) / 8;
      onBytes(map.bits + at / 8, whole);
      at += whole * 8;
      continue;
    }
    const size_t count = std::min(end - at, 8 - at % 8);
    onBits(map.bits[at / 8], static_cast<uint8_t>(((1u << count) - 1) << at % 8));
    at += count;
  }
}

constexpr size_t kReadAhead = 8;  // bytes behind the map that may be read

// Whether all bytes are written, by few loads of the map: most memory is. False also where that is not known.
bool surelyWritten(uintptr_t address, size_t bytes) {
  constexpr size_t kMost = 56, kFew = 512;  // kMost: bytes whose bits one load of any byte holds
  if (bytes > kFew || !ready.load(std::memory_order_acquire)) return false;
  size_t at = address - map.base;
  if (at >= map.span || bytes > map.span - at) return false;
  for (const size_t end = at + bytes; at < end;) {
    const size_t count = std::min(end - at, kMost);
    uint64_t word;
    std::memcpy(&word, map.bits + at / 8, sizeof word);
    if (word >> at % 8 & ((uint64_t{1} << count) - 1)) return false;
    at += count;
  }
  return true;
}

void set(uintptr_t address, size_t bytes, bool empty) {
  each(
      address, bytes,
      [&](uint8_t& byte, uint8_t mask) {
        if (empty)
          __atomic_fetch_or(&byte, mask, __ATOMIC_RELAXED);
        else
          __atomic_fetch_and(&byte, static_cast<uint8_t>(~mask), __ATOMIC_RELAXED);
      },
      [&](uint8_t* first, size_t count) { store(first, count, empty ? 0xff : 0); });
}

bool empty(uintptr_t address) {
  const size_t at = address - map.base;
  return at < map.span && (__atomic_load_n(&map.bits[at / 8], __ATOMIC_RELAXED) >> at % 8 & 1);
}

}  // namespace

bool start(const alloc::MemoryTable& table) {
  const MutexLock lock(starting);
  if (ready.load(std::memory_order_relaxed)) return true;
  const size_t span = table.windows() * table.windowBytes();
  std::byte* const bits = span ? own_memory::take(span / 8 + kReadAhead) : nullptr;
  if (!bits) return false;
  map = {reinterpret_cast<uintptr_t>(table.windowStart(0)), span, reinterpret_cast<uint8_t*>(bits)};
  ready.store(true, std::memory_order_release);
  return true;
}

void forget(uintptr_t address, size_t bytes) { set(address, bytes, true); }
void written(uintptr_t address, size_t bytes) {
  if (!surelyWritten(address, bytes)) set(address, bytes, false);
}

void copied(uintptr_t to, uintptr_t from, size_t bytes) {
  if (!ready.load(std::memory_order_acquire) || to - map.base >= map.span) return;
  if (writtenBytes(from, bytes) == bytes) return written(to, bytes);
  const bool backwards = to > from;
  for (size_t k = 0; k < bytes; ++k) {
    const size_t at = backwards ? bytes - 1 - k : k;
    set(to + at, 1, empty(from + at));
  }
}

size_t writtenBytes(uintptr_t address, size_t bytes) {
  if (surelyWritten(address, bytes)) return bytes;
  bool all = true;
  each(
      address, bytes, [&](uint8_t& byte, uint8_t mask) { all &= !(__atomic_load_n(&byte, __ATOMIC_RELAXED) & mask); },
      [&](uint8_t* first, size_t count) { all &= !anySet(first, count); });
  if (all) return bytes;
  size_t count = 0;
  while (count < bytes && !empty(address + count)) ++count;
  return count;
}

}  // namespace vg::check::initialised
