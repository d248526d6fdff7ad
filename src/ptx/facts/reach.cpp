#include "ptx/facts/reach.h"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/undying.h"

namespace vg::ptx {
namespace {

constexpr uint64_t kMostParameterBytes = 32764;  // of a kernel
constinit std::atomic<KnownMemory> known{nullptr};

struct KernelMemory {
  std::shared_mutex mutex;  // guards ranges
  std::map<uint64_t, size_t> ranges;
};
KernelMemory& kernelMemory() { return undying<KernelMemory, KernelMemory>(); }

bool isKernelMemory(uint64_t address) {
  KernelMemory& all = kernelMemory();
  const std::shared_lock lock(all.mutex);
  auto range = all.ranges.upper_bound(address);
  if (range == all.ranges.begin()) return false;
  --range;
  return address - range->first < range->second;
}

bool isWindow(const BlockState& block, uint64_t address) {
  const uint32_t* const size = block.launch->clusterSize;
  const uint64_t blocks = uint64_t{size[0]} * size[1] * size[2];
  const auto shared = reinterpret_cast<uint64_t>(blocks > 1 ? block.clusterShared : block.shared);
  return address - shared < kSharedStride * (blocks ? blocks : 1) ||
         address - reinterpret_cast<uint64_t>(block.launch->parameters) < kMostParameterBytes;
}

}  // namespace

void tellKnownMemory(KnownMemory who) { known.store(who, std::memory_order_release); }

bool isKnownMemory(uint64_t address, uint64_t bytes) {
  const KnownMemory ask = known.load(std::memory_order_acquire);
  return !ask || ask(address, bytes) || isKernelMemory(address);
}

void addKernelMemory(const void* start, size_t bytes) {
  const std::lock_guard lock(kernelMemory().mutex);
  kernelMemory().ranges[reinterpret_cast<uint64_t>(start)] = bytes;
}

void removeKernelMemory(const void* start) {
  const std::lock_guard lock(kernelMemory().mutex);
  kernelMemory().ranges.erase(reinterpret_cast<uint64_t>(start));
}

bool mayReach(const BlockState& block, uint64_t address, uint64_t bytes) {
  const KernelLaunch& launch = *block.launch;
  const uint64_t workspace = launch.cooperativeWorkspace;  // may lie on a stack of the library's
  if (workspace && address - workspace < kCooperativeWorkspace) return true;
  if (own_memory::overlaps(address, bytes)) return false;
  if (launch.flags & kReachesPageable) return true;
  return isWindow(block, address) || isKnownMemory(address, bytes);
}

}  // namespace vg::ptx
