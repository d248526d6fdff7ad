// The windows of the process's addresses and the heap of each.
#include "core/memory/memory_heaps.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "backend/device_use.h"
#include "base/memory/memory_limit.h"
#include "base/round.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/memory/pinned_memory.h"
#include "core/process/device.h"

namespace vg::core::memory {

namespace {

constexpr unsigned kMaxWindows = 256;
constinit Mutex heapMutex;  // guards the making of heaps
constinit std::atomic<alloc::Heap*> heaps[kMaxWindows];

unsigned poolWindow(unsigned device) { return pinnedWindow() + 1 + device; }
unsigned spareWindow() { return poolWindow(managedWindow()); }  // the first of those for vast managed memory
// Managed memory is promised, not had: programs allocate more than there is, and use a part. A quarter of the spare
// addresses is for that; its own window serves where the system has no addresses to spare.
unsigned spareOfManaged() { return (theTable.windows() - spareWindow()) / 4; }
unsigned mappedWindow() { return spareWindow() + spareOfManaged(); }  // the first of those for mappings and imports

// Programs reserve far more addresses than there is memory, as allocators with growing segments do.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
constexpr size_t kSpareAddresses = size_t{128} << 30;  // the sanitizer leaves little more
#else
constexpr size_t kSpareAddresses = size_t{16} << 40;
#endif

// Room for twice the largest memory, so that addresses never run out before the memory does.
CUresult reserveAddresses() {
  if (theTable.windowBytes()) return CUDA_SUCCESS;
  size_t largest = hostMemory();
  for (int i = 0; i < deviceCount(); ++i) largest = std::max<size_t>(largest, deviceAt(i).traits().totalMemory);
  const size_t window = std::bit_ceil(largest + largest / 2);
  deviceWindows.store(managedWindow(), std::memory_order_relaxed);
  return theTable.reserve(spareWindow() + 1, window, static_cast<unsigned>(kSpareAddresses / window));
}

// How much released memory a heap may keep.
size_t cacheFor(unsigned window) {
  const size_t share = window == pinnedWindow() ? 32 : window == managedWindow() ? 16 : 8;
  constexpr size_t kLeast = size_t{1} << 30, kMost = size_t{16} << 30;
  return std::clamp(hostMemory() / share, window < managedWindow() ? kLeast : kLeast / 16, kMost);
}

// `recordedAs`: the window that records name; the addresses may be those of others.
alloc::HeapRange windowsFrom(unsigned first, size_t count, unsigned recordedAs) {
  return {reinterpret_cast<uintptr_t>(theTable.windowStart(first)), count * theTable.windowBytes(), recordedAs};
}

alloc::HeapRange managedRange() {
  const unsigned spare = spareOfManaged();
  return spare ? windowsFrom(spareWindow(), spare, managedWindow()) : windowsFrom(managedWindow(), 1, managedWindow());
}

// The heap of a device's memory, or of its pools.
alloc::Heap* newDeviceHeap(unsigned window, unsigned device, size_t cacheBytes) {
  backend::Device& owner = deviceAt(static_cast<int>(device)).backend();
  auto* const heap =
      new alloc::Heap(theTable, windowsFrom(window, 1, device), owner.memory(), owner.traits().totalMemory, cacheBytes);
  if (window == device) heap->publish(backend::useOf(owner).usedMemory);
  return heap;
}

// The first that moves managed memory, which the others' host then reaches too; else any.
backend::Device& managedOwner() {
  for (int i = 0; i < deviceCount(); ++i)
    if (deviceAt(i).backend().managedMemory()) return deviceAt(i).backend();
  return deviceAt(0).backend();
}

// Managed memory is every device's.
alloc::Heap* newManagedHeap() {
  backend::Device& owner = managedOwner();
  for (int i = 0; i < deviceCount(); ++i)
    if (&deviceAt(i).backend() != &owner) deviceAt(i).backend().reachManaged(owner);
  backend::MovableMemory* const movable = owner.managedMemory();
  alloc::MemorySource& source = movable ? *movable : owner.memory();
  const alloc::HeapRange range = managedRange();
  return new alloc::Heap(theTable, range, source, range.bytes, cacheFor(managedWindow()));
}

alloc::Heap* newHeap(unsigned window) {
  if (window == pinnedWindow())
    return new alloc::Heap(theTable, window, pinnedSource(), hostMemory(), cacheFor(window));
  if (window == managedWindow()) return newManagedHeap();
  if (window < managedWindow()) return newDeviceHeap(window, window, cacheFor(window));
  return newDeviceHeap(window, window - poolWindow(0), cacheFor(managedWindow()));
}

Result<alloc::Heap&> makeHeap(unsigned window) {
  const MutexLock lock(heapMutex);
  if (window >= kMaxWindows) return fail(CUDA_ERROR_OUT_OF_MEMORY, "more than %u memory windows", kMaxWindows);
  if (alloc::Heap* made = heaps[window].load(std::memory_order_relaxed)) return *made;
  VG_CHECK(reserveAddresses());
  alloc::Heap* heap = newHeap(window);
  heaps[window].store(heap, std::memory_order_release);
  return *heap;
}

}  // namespace

void trimHeaps() {
  for (unsigned window = 0; window < kMaxWindows; ++window)
    if (alloc::Heap* const heap = heapMadeOf(window)) heap->trim();
}

namespace {

constinit std::atomic<alloc::AddressSpace*> theSpace{nullptr};

// Addresses that share the last page directory of a GPU with large pages.
constexpr size_t kNeighbourhood = size_t{512} << 20;

// Devices with memory of their own take long over the first mapping of a neighbourhood and over the end of the last:
// one stays for ever where reservations begin. What lies before that neighbourhood is not given out.
void keepNeighbourhood(alloc::AddressSpace& space) {
  auto* const kept = &undying<std::vector<alloc::PhysicalRef>, struct KeptNeighbours>();
  bool begun = false;
  for (int i = 0; i < deviceCount(); ++i) {
    backend::Device& device = deviceAt(i).backend();
    if (device.hostAddressable()) continue;
    const size_t before = roundUp(space.start(), kNeighbourhood) - space.start();
    if (before && !std::exchange(begun, true)) (void)space.reserve(before);
    const Result<uintptr_t> start = space.reserve(alloc::kGranule);
    Result<alloc::PhysicalRef> memory = device.memory().create(alloc::kGranule, alloc::Sharing::Private, "");
    if (!start.ok() || !memory) continue;
    auto* const address = reinterpret_cast<std::byte*>(start.value());
    if ((*memory)->map(address, 0, alloc::kGranule, alloc::Protection::ReadWrite) == CUDA_SUCCESS)
      kept->push_back(std::move(*memory));
  }
}

Result<alloc::AddressSpace&> makeAddressSpace() {
  const MutexLock lock(heapMutex);
  if (alloc::AddressSpace* made = theSpace.load(std::memory_order_relaxed)) return *made;
  VG_CHECK(reserveAddresses());
  const unsigned first = mappedWindow();
  auto* space = new alloc::AddressSpace(theTable, first, theTable.windows() - first);
  keepNeighbourhood(*space);
  theSpace.store(space, std::memory_order_release);
  return *space;
}

}  // namespace

unsigned managedWindow() { return static_cast<unsigned>(deviceCount()); }
unsigned pinnedWindow() { return managedWindow() + 1; }

Result<alloc::Heap&> heapOf(unsigned window) {
  if (alloc::Heap* heap = heapMadeOf(window)) [[likely]]
    return *heap;
  return makeHeap(window);
}

alloc::Heap* heapMadeOf(unsigned window) {
  return window < kMaxWindows ? heaps[window].load(std::memory_order_acquire) : nullptr;
}

Result<alloc::AddressSpace&> addressSpace() {
  if (alloc::AddressSpace* space = theSpace.load(std::memory_order_acquire)) [[likely]]
    return *space;
  return makeAddressSpace();
}

void showToHost(const void* start, size_t bytes) {
  for (int i = 0; i < deviceCount(); ++i) deviceAt(i).backend().showToHost(start, bytes);
}

size_t hostMemory() {
  static const size_t bytes = memory_limit::ofMachine();
  return bytes;
}

Result<alloc::Heap&> deviceHeap(Device& device) { return heapOf(static_cast<unsigned>(device.ordinal())); }
backend::MovableMemory* movableMemory() { return managedOwner().managedMemory(); }
void forgetAdvice(CUdeviceptr start, size_t bytes) {
  if (backend::MovableMemory* const movable = movableMemory())
    movable->forget(reinterpret_cast<std::byte*>(start), bytes);
}
Result<alloc::Heap&> managedHeap() { return heapOf(managedWindow()); }
Result<alloc::Heap&> pinnedHeap() { return heapOf(pinnedWindow()); }
std::span<std::byte> poolAddresses(const Device& device) {
  return {theTable.windowStart(poolWindow(static_cast<unsigned>(device.ordinal()))), theTable.windowBytes()};
}
Result<alloc::Heap&> poolHeap(Device& device) { return heapOf(poolWindow(static_cast<unsigned>(device.ordinal()))); }

}  // namespace vg::core::memory
