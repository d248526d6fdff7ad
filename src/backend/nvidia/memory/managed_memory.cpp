#include "backend/nvidia/memory/managed_memory.h"

#include <algorithm>
#include <cstring>

#include "backend/device.h"
#include "backend/nvidia/driver/addresses.h"
#include "backend/nvidia/driver/memory_object.h"

namespace vg::backend::nvidia {
namespace {

uint64_t pageAt(const std::byte* address) { return reinterpret_cast<uint64_t>(address) & ~uint64_t{kSmallPage - 1}; }
uint64_t pageBehind(const std::byte* address) { return pageAt(address + kSmallPage - 1); }

CUuuid uuidOf(const Device* place) { return !place || place->hostAddressable() ? uvm::kHost : place->traits().uuid; }

bool same(const CUuuid& one, const CUuuid& other) { return !std::memcmp(&one, &other, sizeof one); }

}  // namespace

CUresult ManagedMemory::commit(std::byte* start, size_t bytes) {
  VG_CHECK(uvm_.mapManaged(start, bytes));
  const CUresult known = ranges_.add(start, bytes, Place::Managed);
  if (known != CUDA_SUCCESS) makeInaccessible(start, bytes);  // the driver frees what is mapped over
  return known;
}

// The driver frees what is mapped over.
void ManagedMemory::decommit(std::byte* start, size_t bytes) {
  ranges_.cut(start, bytes);
  makeInaccessible(start, bytes);
  const MutexLock guard(mutex_);
  advised_.cut(pageAt(start), pageBehind(start + bytes));
}

ManagedMemory::Pages ManagedMemory::pagesOf(const std::byte* start, size_t bytes) {
  const uint64_t base = pageAt(start);
  return {base, pageBehind(start + bytes) - base};
}

bool ManagedMemory::anyOnHost(const std::byte* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  return uvm_.anyOnHost(pages.base, pages.length);
}

void ManagedMemory::fetch(const Gpu& gpu, std::byte* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  (void)uvm_.migrate(pages.base, pages.length, gpu.facts().uuid);
}

// Noted before it is said, so that nothing is left that nobody knows of.
ManagedMemory::Pages ManagedMemory::advised(const std::byte* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  const MutexLock guard(mutex_);
  advised_.add(pages.base, pages.base + pages.length);
  anyAdvised_.store(true, std::memory_order_release);
  return pages;
}

CUresult ManagedMemory::moveTo(const Device* place, std::byte* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  return uvm_.migrate(pages.base, pages.length, uuidOf(place));
}

CUresult ManagedMemory::prefer(const Device* place, std::byte* start, size_t bytes) {
  const Pages pages = advised(start, bytes);
  return uvm_.setPreferred(pages.base, pages.length, uuidOf(place));
}

CUresult ManagedMemory::preferNone(std::byte* start, size_t bytes) {
  const Pages pages = pagesOf(start, bytes);
  return uvm_.unsetPreferred(pages.base, pages.length);
}

CUresult ManagedMemory::setAccessedBy(const Device* place, std::byte* start, size_t bytes, bool on) {
  const CUuuid uuid = uuidOf(place);
  if (on) {
    const MutexLock guard(mutex_);
    const auto known = [&](const CUuuid& other) { return same(other, uuid); };
    if (std::none_of(accessors_.begin(), accessors_.end(), known)) accessors_.push_back(uuid);
  }
  const Pages pages = on ? advised(start, bytes) : pagesOf(start, bytes);
  return uvm_.setAccessedBy(pages.base, pages.length, uuid, on);
}

CUresult ManagedMemory::setReadMostly(std::byte* start, size_t bytes, bool on) {
  const Pages pages = on ? advised(start, bytes) : pagesOf(start, bytes);
  return uvm_.setReadDuplication(pages.base, pages.length, on);
}

// Pages that the range has to itself: what it shares with a neighbour may be the neighbour's.
void ManagedMemory::forget(std::byte* start, size_t bytes) {
  if (!anyAdvised_.load(std::memory_order_acquire)) return;
  const uint64_t first = pageBehind(start), end = pageAt(start + bytes);
  if (first >= end) return;
  const MutexLock guard(mutex_);
  for (const auto& [base, behind] : advised_.within(first, end)) {
    (void)uvm_.unsetPreferred(base, behind - base);
    (void)uvm_.setReadDuplication(base, behind - base, false);
    for (const CUuuid& accessor : accessors_) (void)uvm_.setAccessedBy(base, behind - base, accessor, false);
  }
  advised_.cut(first, end);
}

}  // namespace vg::backend::nvidia
