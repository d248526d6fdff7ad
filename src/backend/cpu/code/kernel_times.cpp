#include "backend/cpu/code/kernel_times.h"

#include <algorithm>
#include <bit>

namespace vg::backend::cpu {

unsigned KernelTimes::sizeOf(uint64_t warps) {
  return std::min<unsigned>(static_cast<unsigned>(std::bit_width(warps)), kSizes) - 1;
}

// Of the size that is nearest, of two the larger one.
uint64_t KernelTimes::ofWarp(uint64_t warps) const {
  const unsigned size = sizeOf(warps);
  if (const uint64_t own = sizes_[size].best()) [[likely]]
    return own;
  for (unsigned distance = 1; distance < kSizes; ++distance) {
    const uint64_t larger = size + distance < kSizes ? sizes_[size + distance].best() : 0;
    if (larger) return larger;
    if (const uint64_t smaller = distance <= size ? sizes_[size - distance].best() : 0) return smaller;
  }
  return 0;
}

// Running means, so that one launch that was interrupted does not decide; nothing makes one thread faster than it is.
void KernelTimes::learn(uint64_t warps, uint64_t nanoseconds, Ran how) {
  Known& known = sizes_[sizeOf(warps)];
  const uint64_t now = nanoseconds * 1000 / warps + 1, alone = known.alone.load(std::memory_order_relaxed);
  if (how == Ran::Alone) {
    known.alone.store(alone ? std::min((alone + now) / 2, now) : now, std::memory_order_relaxed);
    return;
  }
  const uint64_t together = known.together.load(std::memory_order_relaxed);
  known.together.store(together ? (together * 7 + now) / 8 : now, std::memory_order_relaxed);
  if (alone > now) {  // one thread would have taken no longer
    known.alone.store(now, std::memory_order_relaxed);
  } else if (how == Ran::Surprised && alone) {
    known.alone.store((alone * 3 + now) / 4, std::memory_order_relaxed);
  }
}

bool KernelTimes::triesAlone(uint64_t warps) {
  constexpr uint32_t kSeldom = 64;
  const uint32_t number = sizes_[sizeOf(warps)].grids.fetch_add(1, std::memory_order_relaxed) + 1;
  return number < kSeldom ? std::has_single_bit(number) : number % kSeldom == 0;
}

}  // namespace vg::backend::cpu
