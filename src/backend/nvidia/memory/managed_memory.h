// Managed memory on real GPUs: ranges of the unified-memory driver, which moves pages on faults of the host and of
// every GPU of the process. Thread-safe.
#pragma once

#include <atomic>
#include <vector>

#include "backend/movable_memory.h"
#include "backend/nvidia/driver/gpu.h"
#include "backend/nvidia/memory/address_set.h"
#include "backend/nvidia/memory/known_ranges.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class ManagedMemory final : public MovableMemory {
 public:
  explicit ManagedMemory(Uvm& uvm) : uvm_(uvm) {}

  // What there is, for GPUs that are to know it.
  const KnownRanges& ranges() const { return ranges_; }

  // Whether the host would find any of it without a fault.
  bool anyOnHost(const std::byte* start, size_t bytes);
  // Moves it to the GPU, as far as that is possible.
  void fetch(const Gpu& gpu, std::byte* start, size_t bytes);

  CUresult commit(std::byte* start, size_t bytes) override;
  void decommit(std::byte* start, size_t bytes) override;
  CUresult moveTo(const Device* place, std::byte* start, size_t bytes) override;
  CUresult prefer(const Device* place, std::byte* start, size_t bytes) override;
  CUresult preferNone(std::byte* start, size_t bytes) override;
  CUresult setAccessedBy(const Device* place, std::byte* start, size_t bytes, bool on) override;
  CUresult setReadMostly(std::byte* start, size_t bytes, bool on) override;
  void forget(std::byte* start, size_t bytes) override;

 private:
  struct Pages {
    uint64_t base, length;
  };
  static Pages pagesOf(const std::byte* start, size_t bytes);
  Pages advised(const std::byte* start, size_t bytes);

  Uvm& uvm_;
  KnownRanges ranges_;
  std::atomic<bool> anyAdvised_{false};
  Mutex mutex_;
  AddressSet advised_ VG_GUARDED_BY(mutex_);             // of what something was said
  std::vector<CUuuid> accessors_ VG_GUARDED_BY(mutex_);  // of any page
};

}  // namespace vg::backend::nvidia
