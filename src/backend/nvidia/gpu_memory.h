// The memory of a GPU behind a window of addresses: video memory that the GPU and, through BAR1, the CPU see at the
// same addresses.
//
// One commit is one object of the driver and goes back to it when all of it is decommitted: until then the parts that
// were decommitted stay as they are, and a commit of them takes them up again. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "alloc/memory_source.h"
#include "backend/nvidia/driver/block.h"
#include "backend/nvidia/known_ranges.h"

namespace vg::backend::nvidia {

class GpuMemory final : public alloc::MemorySource {
 public:
  GpuMemory(Gpu& gpu, KnownRanges& known) : gpu_(gpu), known_(known) {}

  CUresult commit(std::byte* start, size_t bytes) override;
  void decommit(std::byte* start, size_t bytes) override;

 private:
  struct Piece {
    std::unique_ptr<Block> block;
    std::vector<bool> live;  // by huge page
    size_t liveCount = 0;
  };
  // Calls visit(piece, first page, end page, address behind) for what is there, and missing(start, bytes) for gaps.
  template <class Visit, class Missing>
  CUresult each(std::byte* start, size_t bytes, Visit visit, Missing missing);
  CUresult make(std::byte* start, size_t bytes);
  void markLive(Piece& piece, size_t first, size_t end);

  Gpu& gpu_;
  KnownRanges& known_;
  std::mutex mutex_;
  std::map<std::byte*, Piece> pieces_;  // by start; guarded by mutex_
};

}  // namespace vg::backend::nvidia
