// Where the library keeps what belongs to nobody else: tables, records, handles, code, stacks of its threads. All of it
// lies in guarded ranges that are known as the library's own, so that copies and checked accesses of kernels can refuse
// it: to an application it is no memory at all.
//
// Pieces are multiples of pages. Thread-safe; overlaps() is lock-free and async-signal-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vg::own_memory {

// Inaccessible addresses; null when the system has no more.
std::byte* reserve(size_t bytes) noexcept;
// Pages of zeros to read and write; null when the system has no more.
std::byte* take(size_t bytes) noexcept;
// Ends a piece, or a part of one of whole pages.
void give(void* start, size_t bytes) noexcept;

// What lies elsewhere and is the library's own too: the variables of the module that holds `symbol`, for ever.
void adoptVariablesOf(const void* symbol);
// ... and the stack of the calling thread, as long as this lives.
class AdoptedStack {
 public:
  AdoptedStack();
  ~AdoptedStack();
  AdoptedStack(const AdoptedStack&) = delete;

 private:
  size_t place_;
};

// Around all that is or was the library's own: what lies outside needs no second look.
struct Bounds {
  uintptr_t lowest, highest;  // the latter behind the last
};
namespace ever {  // written by own_memory.cpp only
extern constinit std::atomic<uintptr_t> lowest, highest;
}
inline Bounds bounds() {
  return {ever::lowest.load(std::memory_order_acquire), ever::highest.load(std::memory_order_acquire)};
}

// Of the one large range that reserve() and take() give pieces of, with the guards at both ends. Variables and stacks
// lie elsewhere. Empty where the system limits addresses, so that there is no such range.
Bounds vastBounds();
// A bit of addresses that is set in almost all that a program has, and that the range lies far below where it can.
inline constexpr uintptr_t kElsewhere = uintptr_t{1} << 46;

// For overlaps(), where the bounds do not tell.
bool overlapsWithin(Bounds bounds, uintptr_t address, size_t bytes);
// Whether any of these bytes are the library's own.
inline bool overlaps(uintptr_t address, size_t bytes) {
  const Bounds all = bounds();
  // Addresses of kernels may wrap round.
  if (address >= all.highest && address + bytes >= address) [[likely]]
    return false;
  return overlapsWithin(all, address, bytes);
}
inline bool overlaps(const void* address, size_t bytes) {
  return overlaps(reinterpret_cast<uintptr_t>(address), bytes);
}

}  // namespace vg::own_memory
