// Video memory without an address, or a part of such: what virtual memory management maps, and what processes share.
//
// A descriptor of it carries a note, by which importers know what it is.
#pragma once

#include <string>

#include "alloc/physical_memory.h"
#include "backend/nvidia/driver/shared_object.h"
#include "backend/nvidia/memory/video_mappings.h"

namespace vg::backend::nvidia {

class VideoMemory final : public alloc::PhysicalMemory {
 public:
  // A part of an object.
  struct Part {
    std::shared_ptr<const MemoryObject> object;
    size_t offset = 0, bytes = 0;  // multiples of 64 KiB
  };
  // `mappings` are those of the object's GPU.
  VideoMemory(VideoMappings& mappings, Part part, alloc::Sharing sharing, std::string label)
      : PhysicalMemory(part.bytes, sharing), mappings_(mappings), part_(std::move(part)), label_(std::move(label)) {}

  // The memory behind a descriptor of this GPU's; the caller keeps it. CUDA_ERROR_INVALID_VALUE when it is none.
  static Result<alloc::PhysicalRef> import(Gpu& gpu, VideoMappings& mappings, int descriptor);
  // What its maker called it; empty when it is none.
  static std::string labelOf(Gpu& gpu, int descriptor);

  const Part& part() const { return part_; }
  bool ofDevice() const override { return true; }
  Identity identity() const override { return {0, part_.object->handle(), part_.offset}; }
  CUresult map(std::byte* address, size_t offset, size_t bytes, alloc::Protection protection) const override;
  void unmap(std::byte* address, size_t bytes) const override { mappings_.unmap(address, bytes); }
  size_t pageBytes() const override;
  Result<int> duplicate() const override;
  Result<int> dmaBuf(const std::vector<PhysicalMemory::Part>& parts) const override;

 private:
  VideoMappings& mappings_;
  const Part part_;
  const std::string label_;
};

}  // namespace vg::backend::nvidia
