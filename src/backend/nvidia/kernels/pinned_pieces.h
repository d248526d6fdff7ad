// Small pieces of page-locked memory of the host, which the GPU and the host both read and write: parameters of
// launches from kernels. A piece that was given back serves the next of its size. Thread-safe.
#pragma once

#include <array>
#include <vector>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class GpuHostPages;

class PinnedPieces {
 public:
  explicit PinnedPieces(GpuHostPages& memory) : memory_(memory) {}
  PinnedPieces(const PinnedPieces&) = delete;
  ~PinnedPieces();

  // Takes memory for the first ones, so that they need no call of the driver.
  CUresult begin();
  // 256-byte aligned. Null when there is no more, or for more than kMostBytes. Throws std::bad_alloc.
  std::byte* allocate(size_t bytes);
  // Of an allocation of so many bytes.
  void release(std::byte* piece, size_t bytes) noexcept;

  static constexpr size_t kMostBytes = 65536;

 private:
  static constexpr size_t kSmallest = 256, kClasses = 9, kMostBlocks = 256;
  static size_t classOf(size_t bytes);
  CUresult addBlock() VG_REQUIRES(mutex_);

  GpuHostPages& memory_;
  Mutex mutex_;
  std::array<std::vector<std::byte*>, kClasses> free_ VG_GUARDED_BY(mutex_);  // by class
  std::array<size_t, kClasses> pieces_ VG_GUARDED_BY(mutex_){};               // that there are of a class
  std::vector<std::byte*> blocks_ VG_GUARDED_BY(mutex_);                      // each kBlockBytes
  size_t used_ VG_GUARDED_BY(mutex_) = 0;                                     // bytes of the last block
};

}  // namespace vg::backend::nvidia
