// Addresses of a GPU for arrays whose memory the application brings: a range of the unified-memory driver, whose holes
// are its sparse mappings.
#pragma once

#include <memory>

#include "alloc/sparse_range.h"
#include "backend/nvidia/driver/gpu.h"
#include "backend/nvidia/memory/known_ranges.h"

namespace vg::backend::nvidia {

class SparseVideo final : public alloc::SparseRange {
 public:
  // Requires: reserved addresses that show nothing, multiples of 64 KiB.
  static Result<std::unique_ptr<alloc::SparseRange>> create(Gpu& gpu, KnownRanges& known, std::byte* start,
                                                            size_t bytes, alloc::Holes holes);
  ~SparseVideo() override;

  CUresult show(size_t offset, const alloc::PhysicalMemory& memory, size_t memoryOffset, size_t bytes) override;
  CUresult hide(size_t offset, size_t bytes) override;

 private:
  SparseVideo(Gpu& gpu, KnownRanges& known, std::byte* start, size_t bytes, alloc::Holes holes)
      : gpu_(gpu), known_(known), start_(start), bytes_(bytes), holes_(holes) {}
  uint64_t at(size_t offset) const { return reinterpret_cast<uint64_t>(start_) + offset; }

  Gpu& gpu_;
  KnownRanges& known_;
  std::byte* const start_;
  const size_t bytes_;
  const alloc::Holes holes_;
  bool ranged_ = false;  // the driver has the range
};

}  // namespace vg::backend::nvidia
