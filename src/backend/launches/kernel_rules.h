// What CUDA lets an application know and set of a kernel, and which launches it allows: the same on every kind of
// device.
//
// A kernel of a backend has one KernelRules, which keeps what was set, and says what it is with KernelFacts.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>

#include "backend/command.h"
#include "backend/traits.h"
#include "base/result.h"

namespace vg::backend {

struct KernelFacts {
  const char* name = "";
  uint32_t registers = 0;                      // a thread
  uint64_t staticShared = 0;                   // bytes a block
  uint64_t constantBytes = 0, localBytes = 0;  // localBytes: a thread
  uint32_t maxThreads = 0;                     // a block, within the device's limit
  std::array<uint32_t, 3> requiredThreads{};   // zeroes: any
  bool fixedCluster = false;                   // by the code, not to be set
  int ptxVersion = 0, binaryVersion = 0;       // 90 for 9.0
};

class KernelRules {
 public:
  // `cluster`: what the code demands; zeroes: nothing.
  KernelRules(const Traits& traits, const std::array<uint32_t, 3>& cluster);

  Result<int> attribute(const KernelFacts& facts, CUfunction_attribute attribute) const;
  CUresult setAttribute(const KernelFacts& facts, CUfunction_attribute attribute, int value);
  // The largest number of resident blocks a multiprocessor for the occupancy calls.
  Result<int> occupancy(const KernelFacts& facts, int blockSize, size_t dynamicShared) const;
  // 0 when no block fits.
  uint32_t resident(const KernelFacts& facts, uint32_t threads, uint64_t dynamicShared) const;
  // Whether the launch is allowed. At most `mostCooperative` blocks may be resident, whatever the occupancy.
  CUresult check(const KernelFacts& facts, const LaunchShape& shape, uint64_t mostCooperative = UINT64_MAX) const;
  // Blocks along an axis: what the kernel demands, or else the launch asks for; at least 1.
  uint32_t clusterSize(const LaunchShape& shape, int axis) const;
  void setCacheConfig(CUfunc_cache config);
  // Percent of its memory that a multiprocessor had better use for shared memory, as CU_FUNC_ATTRIBUTE_PREFERRED_-
  // SHARED_MEMORY_CARVEOUT or the cache configuration said last; -1: the driver's choice.
  int preferredShared() const { return preferredShared_.load(std::memory_order_relaxed); }

 private:
  int64_t maxDynamicShared(const KernelFacts& facts) const;
  CUresult checkSizes(const KernelFacts& facts, const LaunchShape& shape) const;
  CUresult checkResources(const KernelFacts& facts, const LaunchShape& shape) const;
  CUresult checkCluster(const KernelFacts& facts, const LaunchShape& shape) const;
  CUresult checkCooperative(const KernelFacts& facts, const LaunchShape& shape, uint64_t most) const;

  const Traits& traits_;
  std::atomic<int> maxDynamicShared_{-1};  // -1: the default
  std::atomic<int> carveout_{-1}, preferredShared_{-1}, nonPortableCluster_{0}, clusterPolicy_{0};
  std::array<std::atomic<int>, 3> requiredCluster_{};
};

}  // namespace vg::backend
