// Physical memory behind a handle: cuMemCreate and its relatives.
//
// An allocation lives as long as a handle or a mapping of it does. It belongs to no context. All functions are
// thread-safe; no lock is held while memory is asked of the system.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <utility>

#include "alloc/heap.h"
#include "alloc/physical_memory.h"
#include "base/result.h"

namespace vg::core::memory {

class Allocation {
 public:
  static constexpr int kHost = -1;

  // `charged`: the heap whose capacity it takes, null for memory of another process.
  Allocation(const CUmemAllocationProp& properties, alloc::PhysicalRef memory, alloc::Heap* charged)
      : properties_(properties), memory_(std::move(memory)), charged_(charged) {}
  ~Allocation() {
    if (charged_) charged_->uncharge(memory_->bytes());
  }
  Allocation(const Allocation&) = delete;

  CUmemGenericAllocationHandle handle() const { return reinterpret_cast<CUmemGenericAllocationHandle>(this); }
  const CUmemAllocationProp& properties() const { return properties_; }
  const alloc::PhysicalRef& memory() const { return memory_; }
  size_t bytes() const { return memory_->bytes(); }
  // The ordinal of the device whose memory it is, or kHost.
  int place() const {
    return properties_.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? properties_.location.id : kHost;
  }

 private:
  friend struct AllocationCounts;

  const CUmemAllocationProp properties_;
  const alloc::PhysicalRef memory_;
  alloc::Heap* const charged_;
  unsigned handles_ = 1;  // how often cuMemRelease may be called
  unsigned uses_ = 0;     // AllocationRefs
};

// Keeps an allocation alive whatever happens to its handle.
class AllocationRef {
 public:
  AllocationRef() = default;
  AllocationRef(AllocationRef&& other) noexcept : allocation_(std::exchange(other.allocation_, nullptr)) {}
  AllocationRef& operator=(AllocationRef&& other) noexcept {
    std::swap(allocation_, other.allocation_);
    return *this;
  }
  ~AllocationRef();
  const Allocation* operator->() const { return allocation_; }
  const Allocation& operator*() const { return *allocation_; }
  AllocationRef another() const;
  // Another right to call cuMemRelease.
  CUmemGenericAllocationHandle retainHandle();

 private:
  friend struct AllocationCounts;
  explicit AllocationRef(Allocation* allocation) : allocation_(allocation) {}
  Allocation* allocation_ = nullptr;
};

// The granule of every kind of memory.
inline constexpr size_t kGranularity = alloc::kGranule;

Result<size_t> granularity(const CUmemAllocationProp& properties, int option);
Result<CUmemGenericAllocationHandle> createAllocation(size_t bytes, const CUmemAllocationProp& properties);
CUresult releaseAllocation(CUmemGenericAllocationHandle handle);
// A handle is good as long as its allocation lives, released or not. CUDA_ERROR_INVALID_VALUE for what is none.
Result<AllocationRef> useAllocation(CUmemGenericAllocationHandle handle);

// A new descriptor for another process, and memory behind such a descriptor, which stays the caller's.
Result<int> exportAllocation(CUmemGenericAllocationHandle handle);
Result<CUmemGenericAllocationHandle> importAllocation(int descriptor);

}  // namespace vg::core::memory
