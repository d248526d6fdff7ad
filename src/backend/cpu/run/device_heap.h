// The heap of device-side malloc: one a context, of the size that cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE) names when
// the first kernel allocates. Pieces lie beside each other, rounded up to 16 bytes; freed ones join their neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/pieces.h"
#include "base/memory/guarded_range.h"
#include "base/sync/mutex.h"

namespace vg::backend::cpu {

class KernelHeap {
 public:
  KernelHeap() = default;
  KernelHeap(const KernelHeap&) = delete;
  ~KernelHeap();

  // 16-byte aligned; null when `bytes` is 0 or the heap is full. `limit`: bytes of the heap, taken at the first call.
  void* allocate(uint64_t bytes, size_t limit);
  // False for an address that is no living piece of this heap. Null is accepted.
  bool release(void* piece);

 private:
  bool reserve(size_t bytes) VG_REQUIRES(mutex_);

  Mutex mutex_;
  GuardedRange range_ VG_GUARDED_BY(mutex_);
  alloc::Pieces pieces_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::backend::cpu
