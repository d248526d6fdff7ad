// What other rooms answer about memory that they have handed out, set once by cuInit (core/process/process.cpp), so
// that core/memory need not know them.
#pragma once

#include <cuda.h>

#include <span>

#include "alloc/record.h"
#include "base/result.h"
#include "base/sync/timeline.h"

namespace vg::core::memory {

enum class Access : uint8_t { Read, Write };

// Who hands out some of the memory that cuMemFree ends, where that is no heap.
struct Provider {
  bool (*owns)(const alloc::Record& record);
  bool (*free)(CUdeviceptr address, uint64_t id);  // false: somebody else was first
};

struct Roles {
  std::span<const Provider> providers;
  // Pools give back what streams have finished with; with `wait`, they wait for them first.
  void (*collectReleased)(bool wait);
  // Memory of a graph, which work may use until `inUse`, and of a pool.
  CUresult (*releaseOfGraph)(CUdeviceptr address, Point inUse);
  CUresult (*releaseOfPool)(const alloc::Record& record);
  // Whether a device reaches memory of the host that a pool handed out, and whether any may use a mapping.
  bool (*deviceReaches)(const alloc::Record& record, int ordinal);
  bool (*mappedForAny)(const alloc::Record& record, Access access);
};
inline constinit const Roles* roles = nullptr;

}  // namespace vg::core::memory
