// An object of physical memory: bytes without an address of their own, that can be mapped at several addresses and
// shared with other processes by descriptor.
//
// Backed by a memfd, O_CLOEXEC and sealed against shrinking, so that no peer can make a mapping fault. Objects that
// are never shared are pieces of one file of the process: they cost no descriptor each, and a piece of a size that was
// released shortly before is handed out again without a system call (its content is what the process left in it).
// In huge pages where the system has them for shared memory.
//
// Reference-counted: mappings that somebody made stay valid only as long as a reference is held, except those of
// shareable objects, which stay for themselves. All functions are thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace vg::alloc {

enum class Protection : uint8_t { None, Read, ReadWrite };

enum class Sharing : uint8_t {
  Private,    // never leaves the process; has no descriptor of its own
  Shareable,  // a file of its own that duplicate() hands out
};

class PhysicalMemory;
using PhysicalRef = std::shared_ptr<const PhysicalMemory>;

class PhysicalMemory {
 public:
  // Zero bytes of a new object; pages are taken when they are touched. CUDA_ERROR_OUT_OF_MEMORY when the system has no
  // descriptor or no memory left. Requires: bytes > 0.
  // A shareable object carries `label` (at most 240 characters) wherever its descriptor goes: labelOf().
  static Result<PhysicalRef> create(size_t bytes, Sharing sharing, const char* label = "verdigris");
  // The object behind a descriptor that another process (or another library) made; the caller keeps `descriptor`.
  // `bytes` of it from the start, 0 for all. CUDA_ERROR_INVALID_VALUE when it is no memory, is smaller than that or
  // could be made smaller by its owner.
  static Result<PhysicalRef> fromDescriptor(int descriptor, size_t bytes = 0);

  // The label that the maker of a descriptor's memory gave it; empty when it is no memory.
  static std::string labelOf(int descriptor);

  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;

  size_t bytes() const { return bytes_; }  // whole pages
  bool shareable() const { return sharing_ == Sharing::Shareable; }

  // Two objects are the same memory exactly when these are equal, across processes while either is alive.
  struct Identity {
    dev_t device;
    ino_t inode;
    size_t offset;
    bool operator==(const Identity&) const = default;
  };
  Identity identity() const { return {device_, inode_, offset_}; }

  // Makes [address, address + bytes) show this memory from `offset` on, in place of whatever is mapped there.
  // CUDA_ERROR_OUT_OF_MEMORY when the system refuses: then nothing has changed. Requires: whole pages inside the
  // object.
  CUresult map(std::byte* address, size_t offset, size_t bytes, Protection protection) const;
  // Changes what may be done through mappings. The same error.
  static CUresult protect(std::byte* address, size_t bytes, Protection protection);
  // Makes the addresses inaccessible again, still reserved.
  static void unmap(std::byte* address, size_t bytes);

  // Writes bytes without mapping them. CUDA_ERROR_OUT_OF_MEMORY when the system has no pages. Requires: inside the
  // object.
  CUresult write(size_t offset, const std::byte* source, size_t bytes) const;

  // A new descriptor of the object, O_CLOEXEC, that the caller owns. CUDA_ERROR_OUT_OF_MEMORY when the process has no
  // descriptor left. Requires: shareable().
  Result<int> duplicate() const;

  // A part of some object's bytes.
  struct Part {
    PhysicalRef memory;
    size_t offset, bytes;
  };
  // A descriptor that the caller owns of exactly these parts in a row, as a dma-buf. CUDA_ERROR_NOT_SUPPORTED where the
  // system has no /dev/udmabuf for this process, unless it is one part of a shareable object: then a descriptor of that
  // object, which is no dma-buf, whose position is the part's first byte; the log says so. Requires: whole pages.
  static Result<int> dmaBuf(const std::vector<Part>& parts);

  // Gives back what is kept for reuse.
  static void trim();

 private:
  PhysicalMemory(int file, size_t offset, size_t bytes, Sharing sharing, dev_t device, ino_t inode)
      : file_(file), sharing_(sharing), offset_(offset), bytes_(bytes), device_(device), inode_(inode) {}
  static Result<PhysicalRef> createPrivate(size_t bytes);
  static Result<PhysicalRef> createShareable(size_t bytes, const char* label);

  const int file_;
  const Sharing sharing_;
  const size_t offset_;  // in the file
  const size_t bytes_;
  const dev_t device_;
  const ino_t inode_;
};

}  // namespace vg::alloc
