// Managed memory of devices with memory of their own: the host and all devices reach it at the same addresses, and its
// pages move to whoever touches them, unless somebody has said where they are wanted.
//
// A place is a device; null, and every device that works in the host's memory, mean the host. Ranges are widened to
// whole pages. Requires of all ranges: inside committed memory.
#pragma once

#include "alloc/memory_source.h"

namespace vg::backend {

class Device;

class MovableMemory : public alloc::MemorySource {
 public:
  // Returns when the pages are there.
  virtual CUresult moveTo(const Device* place, std::byte* start, size_t bytes) = 0;
  // Where the pages are to stay when others touch them.
  virtual CUresult prefer(const Device* place, std::byte* start, size_t bytes) = 0;
  virtual CUresult preferNone(std::byte* start, size_t bytes) = 0;
  // Whether the place reaches the pages where they are.
  virtual CUresult setAccessedBy(const Device* place, std::byte* start, size_t bytes, bool on) = 0;
  // Whether those who only read may each have a copy.
  virtual CUresult setReadMostly(std::byte* start, size_t bytes, bool on) = 0;
  // The range is a new allocation's: nothing that was said of it holds any more.
  virtual void forget(std::byte* start, size_t bytes) = 0;

 protected:
  ~MovableMemory() = default;
};

}  // namespace vg::backend
