// An object of physical memory: bytes without an address of their own, that can be mapped at several addresses and
// shared with other processes by descriptor. Of the host (alloc/host_memory.h), or of a device that has its own.
//
// Reference-counted: mappings that somebody made stay valid only as long as a reference is held, except those of
// shareable objects, which stay for themselves. All functions are thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

namespace vg::alloc {

enum class Protection : uint8_t { None, Read, ReadWrite };

enum class Sharing : uint8_t {
  Private,    // never leaves the process; has no descriptor of its own
  Shareable,  // duplicate() hands it out
};

class PhysicalMemory;
using PhysicalRef = std::shared_ptr<const PhysicalMemory>;

// The most that a label of shared memory may have.
inline constexpr size_t kMostLabel = 55;  // characters

class PhysicalMemory {
 public:
  virtual ~PhysicalMemory() = default;
  PhysicalMemory(const PhysicalMemory&) = delete;

  size_t bytes() const { return bytes_; }  // whole pages
  bool shareable() const { return sharing_ == Sharing::Shareable; }
  // A device's own: it maps itself for the devices that reach it, and the host's accesses are slow.
  virtual bool ofDevice() const { return false; }

  // Two objects of the same kind are the same memory exactly when these are equal; those of the host also across
  // processes while either is alive.
  struct Identity {
    dev_t device;
    ino_t inode;
    size_t offset;
    bool operator==(const Identity&) const = default;
  };
  virtual Identity identity() const = 0;

  // Makes [address, address + bytes) show this memory from `offset` on, in place of whatever memory of the host is
  // mapped there; a device's own wants addresses that show nothing, and with Protection::None nobody reaches it until
  // that is granted (backend::Device::grant), else the device and its peers write. CUDA_ERROR_OUT_OF_MEMORY when the
  // system refuses: then nothing has changed. Requires: whole pages inside the object.
  virtual CUresult map(std::byte* address, size_t offset, size_t bytes, Protection protection) const = 0;
  // Changes what may be done through mappings that map() made. The same error. Not of a device's own.
  virtual CUresult protect(std::byte*, size_t, Protection) const {
    return unsupported("changing the protection of a device's memory");
  }
  // Makes the addresses inaccessible again, still reserved. They may show nothing any more.
  virtual void unmap(std::byte* address, size_t bytes) const = 0;
  // What a mapping of this size begins and ends at best: a multiple of it, in the object and as an address.
  virtual size_t pageBytes() const = 0;

  // A new descriptor of the object, O_CLOEXEC, that the caller owns. CUDA_ERROR_OUT_OF_MEMORY when the process has no
  // descriptor left. Requires: shareable().
  virtual Result<int> duplicate() const = 0;

  // A part of some object's bytes.
  struct Part {
    PhysicalRef memory;
    size_t offset, bytes;
  };
  // A descriptor that the caller owns of exactly these parts in a row, as a dma-buf. CUDA_ERROR_NOT_SUPPORTED where the
  // system has none for this memory. Requires: whole pages, all of this object's kind and device.
  virtual Result<int> dmaBuf(const std::vector<Part>& parts) const = 0;

 protected:
  PhysicalMemory(size_t bytes, Sharing sharing) : bytes_(bytes), sharing_(sharing) {}

 private:
  const size_t bytes_;
  const Sharing sharing_;
};

}  // namespace vg::alloc
