#include "backend/nvidia/memory/sparse_video.h"

#include "backend/nvidia/driver/memory_object.h"
#include "backend/nvidia/memory/video_memory.h"

namespace vg::backend::nvidia {

Result<std::unique_ptr<alloc::SparseRange>> SparseVideo::create(Gpu& gpu, KnownRanges& known, std::byte* start,
                                                                size_t bytes, alloc::Holes holes) {
  std::unique_ptr<SparseVideo> range(new SparseVideo(gpu, known, start, bytes, holes));
  VG_CHECK(gpu.uvm().createRange(range->at(0), bytes));
  range->ranged_ = true;
  VG_CHECK(known.add(start, bytes, Place::Video));
  if (holes == alloc::Holes::ReadZero) VG_CHECK(range->hide(0, bytes));
  return std::unique_ptr<alloc::SparseRange>(std::move(range));
}

SparseVideo::~SparseVideo() {
  if (!ranged_) return;
  known_.remove(start_);
  (void)gpu_.uvm().freeRange(at(0), bytes_);
}

// The driver cuts mappings at the pages that it made them of: the largest that fit, which are never to be of 2 MiB
// where single tiles come and go. So runs of whole such pages are mapped as two.
CUresult SparseVideo::show(size_t offset, const alloc::PhysicalMemory& memory, size_t memoryOffset, size_t bytes) {
  const VideoMemory::Part& part = static_cast<const VideoMemory&>(memory).part();
  const auto map = [&](size_t from, size_t length) {
    return gpu_.uvm().mapMemory(gpu_.facts().uuid, at(offset + from), length, part.object->handle(),
                                part.offset + memoryOffset + from, false);
  };
  const bool huge = (at(offset) | (part.offset + memoryOffset) | bytes) % kHugePage == 0;
  const size_t last = huge && holes_ == alloc::Holes::ReadZero ? kBigPage : 0;
  VG_CHECK(map(0, bytes - last));
  return last ? map(bytes - last, last) : CUDA_SUCCESS;
}

CUresult SparseVideo::hide(size_t offset, size_t bytes) {
  Uvm& uvm = gpu_.uvm();
  if (holes_ == alloc::Holes::Fault) return uvm.unmapMemory(gpu_.facts().uuid, at(offset), bytes);
  return uvm.mapSparse(gpu_.facts().uuid, at(offset), bytes);
}

}  // namespace vg::backend::nvidia
