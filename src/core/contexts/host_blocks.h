// Of what cuMemHostGetFlags says, whether memory is portable: all of it is, but the vendor's driver tells of small
// allocations what the first in their block was asked for. Blocks are a context's, and write-combined memory has its
// own. Thread-safe, without locks.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vg::core {

class HostBlocks {
 public:
  // What to remember of an allocation: the flags with the portable bit of its block.
  unsigned join(size_t bytes, unsigned flags) {
    if (bytes >= kOfItsOwn) return flags;
    const uint64_t portable = flags & CU_MEMHOSTALLOC_PORTABLE ? kPortable : 0;
    const uint64_t now = change(flags, [&](uint64_t block) { return block + kOne + (block < kOne ? portable : 0); });
    return (flags & ~unsigned{CU_MEMHOSTALLOC_PORTABLE}) | (now & kPortable ? CU_MEMHOSTALLOC_PORTABLE : 0);
  }
  // Of an allocation of so many bytes, with what join() said.
  void leave(size_t bytes, unsigned flags) {
    if (bytes >= kOfItsOwn) return;
    change(flags, [](uint64_t block) { return block < 2 * kOne ? 0 : block - kOne; });
  }
  // The context's allocations end.
  void forget() {
    for (std::atomic<uint64_t>& block : blocks_) block.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kOfItsOwn = size_t{1} << 20;  // bytes
  static constexpr uint64_t kPortable = 1, kOne = 2;

  template <class To>
  uint64_t change(unsigned flags, const To& to) {
    std::atomic<uint64_t>& block = blocks_[flags & CU_MEMHOSTALLOC_WRITECOMBINED ? 1 : 0];
    uint64_t before = block.load(std::memory_order_relaxed), now;
    do {
      now = to(before);
    } while (!block.compare_exchange_weak(before, now, std::memory_order_relaxed));
    return now;
  }

  // The allocations of a block that live, times kOne, and kPortable.
  std::array<std::atomic<uint64_t>, 2> blocks_{};
};

}  // namespace vg::core
