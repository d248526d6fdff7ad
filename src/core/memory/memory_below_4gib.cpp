#include "core/memory/memory_below_4gib.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "alloc/heap.h"
#include "base/round.h"
#include "base/sync/mutex.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"

#ifndef MAP_FIXED_NOREPLACE  // headers older than the system
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace vg::core::memory {
namespace {

constexpr uintptr_t kFirst = uintptr_t{16} << 20;  // below it the system refuses, and null pointers with offsets fall
constexpr uintptr_t kEnd = uintptr_t{1} << 32;

constinit Mutex mutex;  // guards the ends of allocations, and what follows
constinit uintptr_t nextPlace VG_GUARDED_BY(mutex) = kFirst;

size_t lengthOf(size_t bytes) { return roundUp(bytes, alloc::kPage); }

void* mapAt(uintptr_t address, size_t length) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got = mmap(wanted, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED || got == wanted) return got;
  munmap(got, length);  // a system that takes the address for a hint
  return MAP_FAILED;
}

// The first free place in [from, end), or null.
void* mapBetween(uintptr_t from, uintptr_t end, size_t length) {
  const size_t step = length < alloc::kGranule ? alloc::kPage : alloc::kGranule;
  for (uintptr_t address = roundUp(from, step); address + length <= end; address += step)
    if (void* got = mapAt(address, length); got != MAP_FAILED) return got;
  return nullptr;
}

// Goes on where the last one was found and begins again when there is nothing behind it.
void* mapLow(size_t length) {
  const MutexLock lock(mutex);
  void* found = mapBetween(nextPlace, kEnd, length);
  if (!found) found = mapBetween(kFirst, std::min(nextPlace + length, kEnd), length);
  if (found) nextPlace = reinterpret_cast<uintptr_t>(found) + length;
  return found;
}

bool publish(Context& context, void* start, size_t bytes) {
  alloc::Record record;
  record.base = reinterpret_cast<uintptr_t>(start);
  record.size = bytes;
  record.id = table().nextId();
  record.owner = &context;
  record.kind = alloc::Kind::Device;
  record.window = static_cast<uint16_t>(context.device().ordinal());
  return table().ranges().insert(record);
}

void end(const alloc::Record& record) VG_REQUIRES(mutex) {
  void* const start = record.data();
  const size_t length = lengthOf(record.bytes());
  heapOf(record.window.load(std::memory_order_relaxed))->uncharge(length);
  table().ranges().remove(record.base.load(std::memory_order_relaxed));
  munmap(start, length);
}

}  // namespace

Result<CUdeviceptr> allocateLow(Context& context, size_t bytes) {
  VG_TRY(alloc::Heap & heap, deviceHeap(context.device()));
  const size_t length = lengthOf(bytes);
  if (!heap.charge(length)) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes of device memory are free", length);
  void* const start = mapLow(length);
  if (start && publish(context, start, bytes)) return reinterpret_cast<CUdeviceptr>(start);
  heap.uncharge(length);
  if (start) munmap(start, length);
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes of addresses below 4 GiB are free", length);
}

bool isLow(const alloc::Record& record) {
  return record.kind.load(std::memory_order_relaxed) == alloc::Kind::Device &&
         record.base.load(std::memory_order_relaxed) < kEnd;
}

bool freeLow(CUdeviceptr address, uint64_t id) {
  const MutexLock lock(mutex);
  const alloc::Record* record = lookup(address);
  if (!record || record->id.load(std::memory_order_relaxed) != id) return false;
  end(*record);
  return true;
}

void releaseLow(Context& context) {
  const MutexLock lock(mutex);
  std::vector<const alloc::Record*> owned;
  table().ranges().forEach([&](const alloc::Record& record) {
    if (isLow(record) && ownerOf(record) == &context) owned.push_back(&record);
  });
  for (const alloc::Record* record : owned) end(*record);
}

}  // namespace vg::core::memory
