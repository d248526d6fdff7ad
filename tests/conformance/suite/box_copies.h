// The seven functions that copy boxes, seen as one: a test says which box goes from which kind of memory to which, runs
// for each function, and compares every byte of the destination with a model.
#pragma once

#include <cuda.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "memory_objects.h"

namespace suite {

// One side's memory: how CUmemorytype and the address say where it is.
enum class Where { Host, HostPinned, Device, Array, UnifiedPageable, UnifiedPinned, UnifiedDevice, UnifiedManaged };

extern const std::vector<Where> kLinearPlaces;  // all but Array
const char* nameOf(Where where);

struct Size {
  size_t width, height, depth;  // bytes, rows, slices
  size_t bytes() const { return width * height * depth; }
};

struct Offset {
  size_t x, y, z;  // bytes, rows, slices
};

// A box of memory without padding, filled with `content`: pitch is the width, slice height the height.
class BoxMemory {
 public:
  // An array has elements of one byte; Depth 1 makes it two-dimensional.
  BoxMemory(Where where, Size size, const Bytes& content);
  BoxMemory(const BoxMemory&) = delete;
  ~BoxMemory();

  // The members of one side, and garbage in those that the manual says are ignored.
  void describeSource(CUDA_MEMCPY3D& box) const;
  void describeDestination(CUDA_MEMCPY3D& box) const;
  Bytes read() const;  // after the device is done with it
  CUarray array() const { return array_; }
  uint8_t* host() const { return reinterpret_cast<uint8_t*>(address_); }
  CUdeviceptr address() const { return address_; }
  Size size() const { return size_; }

 private:
  void transfer(CUDA_MEMCPY3D box) const;

  Where where_;
  Size size_;
  Bytes pageable_;
  std::unique_ptr<PinnedBuffer> pinned_;
  std::unique_ptr<DeviceBuffer> device_;
  std::unique_ptr<ManagedBuffer> managed_;
  CUarray array_ = nullptr;
  CUdeviceptr address_ = 0;  // of linear memory
};

struct BoxCopy {
  const char* name;    // cuMemcpy2DAsync
  const char* prefix;  // MEMCPY2DASYNC
  int dimensions;      // 2 or 3
  bool async;
  CUresult (*call)(const CUDA_MEMCPY3D&, CUstream);  // two-dimensional ones leave out z and the heights

  std::string rule(int number) const;
};

// cuMemcpy2D, 2DUnaligned, 2DAsync, 3D, 3DAsync; and the two peer forms, between places of the current context.
extern const std::vector<BoxCopy> kBoxCopies, kPeerBoxCopies;

CUDA_MEMCPY2D flat(const CUDA_MEMCPY3D& box);
CUDA_MEMCPY3D boxOf(const BoxMemory& to, Offset at, const BoxMemory& from, Offset start, Size size);

// What `to` holds after the copy; both as tight as BoxMemory is.
Bytes copied(Bytes to, Size toSize, Offset at, const Bytes& from, Size fromSize, Offset start, Size size);

void PrintTo(const BoxCopy& copy, std::ostream* out);

}  // namespace suite
