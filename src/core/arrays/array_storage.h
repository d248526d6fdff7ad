// The memory behind an array with all its levels.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <unordered_map>

#include "alloc/sparse_range.h"
#include "arrays/layout.h"
#include "arrays/pages.h"
#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::alloc {
struct Record;
}

namespace vg::core {

class Context;

class ArrayStorage {
 public:
  // Requires: the descriptor was checked. CUDA_ERROR_OUT_OF_MEMORY.
  static Result<std::shared_ptr<ArrayStorage>> create(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                                      unsigned levels);
  ArrayStorage(Context& owner, const CUDA_ARRAY3D_DESCRIPTOR& described) : context(owner), descriptor(described) {}
  ~ArrayStorage();
  ArrayStorage(const ArrayStorage&) = delete;

  bool sparse() const { return descriptor.Flags & CUDA_ARRAY3D_SPARSE; }
  bool deferred() const { return descriptor.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING; }

  // All constant after create().
  Context& context;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor;
  arrays::Layout layout;
  const alloc::Record* record = nullptr;  // of the device's heap or of `range`; null: paged
  std::shared_ptr<arrays::Pages> pages;   // null: memory of the device

  // Of a sparse or deferred array on a device with arrays of its own: its addresses, and what each page shows.
  std::unique_ptr<alloc::SparseRange> range;
  Mutex rangeMutex;                                                                  // held to change the range
  std::unordered_map<size_t, alloc::PhysicalRef> inRange VG_GUARDED_BY(rangeMutex);  // by number

  // The memory that pages lie in, each object mapped once as a whole.
  struct View {
    std::shared_ptr<const alloc::PhysicalMemory> memory;
    std::byte* start;
    size_t pages;  // of this array that lie in it
  };
  std::map<const alloc::PhysicalMemory*, View> views VG_GUARDED_BY(pages->mutex());

 private:
  CUresult allocate();
  CUresult makeRange();
  uint64_t recordId_ = 0;
};

}  // namespace vg::core
