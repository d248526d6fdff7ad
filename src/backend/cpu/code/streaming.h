// Whether the results of a kernel go past the caches (ptx/llvm/analysis/streaming.h). What the last cache holds is left
// there for the next kernel; what it cannot hold would only push other data out. Between the two it cannot be told: a
// large cache belongs to many cores, and a virtual machine's share of it is not known, so there a kernel is measured
// both ways.
#pragma once

#include <array>
#include <cstddef>

#include "backend/cpu/run/two_ways.h"

namespace vg::backend::cpu {

class KernelStreaming {
 public:
  // Whether a grid with so many bytes of results should stream on a processor with a last cache of `cache` bytes.
  // Threads may ask at once.
  bool choose(uint64_t results, size_t cache);
  // Tells that a grid of so many warps kept its threads busy for so long, all together.
  void learn(uint64_t results, size_t cache, bool streamed, uint64_t warps, uint64_t nanoseconds);

 private:
  static constexpr uint32_t kOwnBits = 25;
  static constexpr uint64_t kOwn = uint64_t{1} << kOwnBits;  // a cache up to here is the process's own

  TwoWays& of(uint64_t results);
  static bool unsure(uint64_t results, size_t cache) { return results >= kOwn && results < cache; }

  std::array<TwoWays, 6> sizes_;  // by powers of two from kOwn on
};

}  // namespace vg::backend::cpu
