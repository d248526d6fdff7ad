// Virtual memory that tests own: a reservation, an allocation behind a handle, and a mapping of both.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "device_fixture.h"
#include "results.h"

namespace suite {

inline constexpr size_t kVirtualGranule = size_t{2} << 20;

inline CUmemAllocationProp deviceAllocation(CUmemAllocationHandleType handles = CU_MEM_HANDLE_TYPE_NONE) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, Device::device};
  properties.requestedHandleTypes = handles;
  return properties;
}

// Reserved addresses, unmapped and freed at the end of the scope.
class Reservation {
 public:
  explicit Reservation(size_t bytes) : bytes_(bytes) { EXPECT_OK(cuMemAddressReserve(&start_, bytes, 0, 0, 0)); }
  Reservation(const Reservation&) = delete;
  ~Reservation() {
    EXPECT_OK(cuMemUnmap(start_, bytes_));
    EXPECT_OK(cuMemAddressFree(start_, bytes_));
  }
  operator CUdeviceptr() const { return start_; }
  CUdeviceptr at(size_t granule) const { return start_ + granule * kVirtualGranule; }
  size_t bytes() const { return bytes_; }

 private:
  CUdeviceptr start_ = 0;
  size_t bytes_;
};

// A handle, released at the end of the scope.
class PhysicalHandle {
 public:
  explicit PhysicalHandle(size_t bytes = kVirtualGranule, const CUmemAllocationProp& properties = deviceAllocation()) {
    EXPECT_OK(cuMemCreate(&handle_, bytes, &properties, 0));
  }
  explicit PhysicalHandle(CUmemGenericAllocationHandle adopted) : handle_(adopted) {}
  PhysicalHandle(const PhysicalHandle&) = delete;
  ~PhysicalHandle() {
    if (handle_) {
      EXPECT_OK(cuMemRelease(handle_));
    }
  }
  operator CUmemGenericAllocationHandle() const { return handle_; }
  CUmemGenericAllocationHandle release() {
    const CUmemGenericAllocationHandle handle = handle_;
    handle_ = 0;
    return handle;
  }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
};

inline CUresult allow(CUdeviceptr start, size_t bytes, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, Device::device}, flags};
  return cuMemSetAccess(start, bytes, &access, 1);
}

inline unsigned long long accessAt(CUdeviceptr address) {
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, Device::device};
  unsigned long long flags = ~0ull;
  EXPECT_OK(cuMemGetAccess(&flags, &here, address));
  return flags;
}

}  // namespace suite
