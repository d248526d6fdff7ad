// Physical memory of the host.
//
// Backed by a memfd, O_CLOEXEC and sealed against shrinking, so that no peer can make a mapping fault. Objects that
// are never shared are pieces of one file of the process: they cost no descriptor each, and a piece of a size that was
// released shortly before is handed out again without a system call (its content is what the process left in it).
// In huge pages where the system has them for shared memory.
#pragma once

#include <string>

#include "alloc/physical_memory.h"

namespace vg::alloc {

class HostMemory final : public PhysicalMemory {
 public:
  // Zero bytes of a new object; pages are taken when they are touched. CUDA_ERROR_OUT_OF_MEMORY when the system has no
  // descriptor or no memory left. Requires: bytes > 0.
  // A shareable object carries `label` (at most kMostLabel characters) wherever its descriptor goes: labelOf().
  static Result<PhysicalRef> create(size_t bytes, Sharing sharing, const char* label = "verdigris");
  // The object behind a descriptor that another process (or another library) made; the caller keeps `descriptor`.
  // `bytes` of it from the start, 0 for all. CUDA_ERROR_INVALID_VALUE when it is no memory, is smaller than that or
  // could be made smaller by its owner.
  static Result<PhysicalRef> fromDescriptor(int descriptor, size_t bytes = 0);

  // The label that the maker of a descriptor's memory gave it; empty when it is no memory.
  static std::string labelOf(int descriptor);
  // Gives back what is kept for reuse.
  static void trim();

  ~HostMemory() override;

  Identity identity() const override { return {device_, inode_, offset_}; }
  CUresult map(std::byte* address, size_t offset, size_t bytes, Protection protection) const override;
  CUresult protect(std::byte* address, size_t bytes, Protection protection) const override;
  void unmap(std::byte* address, size_t bytes) const override;
  size_t pageBytes() const override;
  Result<int> duplicate() const override;
  // Where there is no /dev/udmabuf for this process: of one part of a shareable object a descriptor of that object,
  // which is no dma-buf, whose position is the part's first byte; the log says so.
  Result<int> dmaBuf(const std::vector<Part>& parts) const override;

  // Writes bytes without mapping them. CUDA_ERROR_OUT_OF_MEMORY when the system has no pages. Requires: inside the
  // object.
  CUresult write(size_t offset, const std::byte* source, size_t bytes) const;

 private:
  HostMemory(int file, size_t offset, size_t bytes, Sharing sharing, dev_t device, ino_t inode)
      : PhysicalMemory(bytes, sharing), file_(file), offset_(offset), device_(device), inode_(inode) {}
  static Result<PhysicalRef> createPrivate(size_t bytes);
  static Result<PhysicalRef> createShareable(size_t bytes, const char* label);

  const int file_;
  const size_t offset_;  // in the file
  const dev_t device_;
  const ino_t inode_;
};

}  // namespace vg::alloc
