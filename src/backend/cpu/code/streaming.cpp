#include "backend/cpu/code/streaming.h"

#include <algorithm>
#include <bit>

namespace vg::backend::cpu {

TwoWays& KernelStreaming::of(uint64_t results) {
  return sizes_[std::min<size_t>(std::bit_width(results) - 1 - kOwnBits, sizes_.size() - 1)];
}

bool KernelStreaming::choose(uint64_t results, size_t cache) {
  return unsure(results, cache) ? of(results).choose() == TwoWays::Way::Second : results && results >= cache;
}

void KernelStreaming::learn(uint64_t results, size_t cache, bool streamed, uint64_t warps, uint64_t nanoseconds) {
  if (unsure(results, cache))
    of(results).learn(streamed ? TwoWays::Way::Second : TwoWays::Way::First, warps, nanoseconds);
}

}  // namespace vg::backend::cpu
