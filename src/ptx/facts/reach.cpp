#include "ptx/facts/reach.h"

#include <atomic>
#include <iterator>

#include "base/sync/mutex.h"

namespace vg::ptx {
namespace {

constexpr uint64_t kMostParameterBytes = 32764;  // of a kernel
constinit std::atomic<KnownMemory> known{nullptr};
constinit std::atomic<KnownWindow (*)()> window{nullptr};

// Kernels may be thrown out of whatever they do, so nobody holds a lock here. A range counts while it has bytes. Those
// beyond the last place are not known, and then all memory is taken for somebody's heap.
struct Range {
  std::atomic<uint64_t> start, bytes;
};
constinit Range kernelMemory[4096];
constinit std::atomic<size_t> placesUsed{0};
constinit std::atomic<bool> tooMany{false};
constinit Mutex changing;  // guards changes of the above

bool isKernelMemory(uint64_t address) {
  if (tooMany.load(std::memory_order_relaxed)) return true;
  for (size_t i = 0, count = placesUsed.load(std::memory_order_acquire); i < count; ++i) {
    const uint64_t bytes = kernelMemory[i].bytes.load(std::memory_order_acquire);
    if (address - kernelMemory[i].start.load(std::memory_order_relaxed) < bytes) return true;
  }
  return false;
}

Range* placeOf(uint64_t start) {
  for (size_t i = 0; i < placesUsed.load(std::memory_order_relaxed); ++i)
    if (start ? kernelMemory[i].bytes && kernelMemory[i].start == start : !kernelMemory[i].bytes)
      return &kernelMemory[i];
  if (start || placesUsed == std::size(kernelMemory)) return nullptr;
  return &kernelMemory[placesUsed++];
}

bool isWindow(const BlockState& block, uint64_t address) {
  const uint32_t* const size = block.launch->clusterSize;
  const uint64_t blocks = uint64_t{size[0]} * size[1] * size[2];
  const auto shared = reinterpret_cast<uint64_t>(blocks > 1 ? block.clusterShared : block.shared);
  return address - shared < kSharedStride * (blocks ? blocks : 1) ||
         address - reinterpret_cast<uint64_t>(block.launch->parameters) < kMostParameterBytes;
}

}  // namespace

void tellKnownMemory(KnownMemory who, KnownWindow (*where)()) {
  known.store(who, std::memory_order_release);
  window.store(where, std::memory_order_release);
}

KnownWindow knownWindow() {
  const auto ask = window.load(std::memory_order_acquire);
  return ask ? ask() : KnownWindow{};
}

bool isKnownMemory(uint64_t address, uint64_t bytes) {
  const KnownMemory ask = known.load(std::memory_order_acquire);
  return !ask || ask(address, bytes) || isKernelMemory(address);
}

void addKernelMemory(const void* start, size_t bytes) {
  const MutexLock lock(changing);
  Range* const place = placeOf(0);
  if (!place) return tooMany.store(true, std::memory_order_relaxed);
  place->start.store(reinterpret_cast<uint64_t>(start), std::memory_order_relaxed);
  place->bytes.store(bytes, std::memory_order_release);
}

void removeKernelMemory(const void* start) {
  const MutexLock lock(changing);
  if (Range* const place = placeOf(reinterpret_cast<uint64_t>(start))) place->bytes.store(0, std::memory_order_release);
}

bool mayReach(const BlockState& block, uint64_t address, uint64_t bytes) {
  const KernelLaunch& launch = *block.launch;
  const uint64_t workspace = launch.cooperativeWorkspace;  // may lie on a stack of the library's
  if (workspace && address - workspace < kCooperativeWorkspace) return true;
  if (isWindow(block, address)) return true;
  if (own_memory::overlaps(address, bytes)) return false;
  return (launch.flags & kReachesPageable) || isKnownMemory(address, bytes);
}

}  // namespace vg::ptx
