// The heap of device-side malloc: one a context, of the size that cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE) names when
// the first kernel allocates. Sizes are powers of two; freed pieces are used again for the same size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/guarded_range.h"
#include "base/mutex.h"

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
  struct Header;
  bool reserve(size_t bytes) VG_REQUIRES(mutex_);
  static constexpr uint32_t kClasses = 40;  // log2 of the piece with its header

  Mutex mutex_;
  GuardedRange range_ VG_GUARDED_BY(mutex_);
  size_t used_ VG_GUARDED_BY(mutex_) = 0;
  Header* free_[kClasses] VG_GUARDED_BY(mutex_) = {};
};

}  // namespace vg::backend::cpu
