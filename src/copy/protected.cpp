#include "copy/protected.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace vg::copy {
namespace {

// The memory of this process as a file.
class OwnMemory {
 public:
  OwnMemory() : file_(open("/proc/self/mem", O_RDWR | O_CLOEXEC)) {}
  ~OwnMemory() {
    if (file_ >= 0) close(file_);
  }
  OwnMemory(const OwnMemory&) = delete;

  bool read(void* to, const std::byte* from, size_t bytes) const {
    return pread(file_, to, bytes, reinterpret_cast<off_t>(from)) == static_cast<ssize_t>(bytes);
  }
  bool write(std::byte* to, const void* from, size_t bytes) const {
    return pwrite(file_, from, bytes, reinterpret_cast<off_t>(to)) == static_cast<ssize_t>(bytes);
  }

 private:
  const int file_;
};

constexpr size_t kPiece = size_t{16} << 10;

bool copyRow(const OwnMemory& memory, std::byte* to, const std::byte* from, size_t bytes) {
  std::byte piece[kPiece];
  const bool backwards = to > from;  // as memmove does it
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kPiece);
    const size_t at = backwards ? bytes - done - part : done;
    if (!memory.read(piece, from + at, part) || !memory.write(to + at, piece, part)) return false;
    done += part;
  }
  return true;
}

}  // namespace

bool copyProtected(const Shape& shape) {
  const OwnMemory memory;
  const size_t rows = shape.height * shape.depth;
  const bool backwards = shape.destination.base > shape.source.base;
  const auto rowOf = [&](const Side& side, size_t row) {
    return side.base + row / shape.height * side.slicePitch + row % shape.height * side.rowPitch;
  };
  for (size_t i = 0; i < rows; ++i) {
    const size_t row = backwards ? rows - 1 - i : i;
    if (!copyRow(memory, rowOf(shape.destination, row), rowOf(shape.source, row), shape.width)) return false;
  }
  return true;
}

bool fillProtected(const Fill& fill, uint32_t repeated) {
  const OwnMemory memory;
  uint32_t piece[kPiece / sizeof(uint32_t)];
  std::fill_n(piece, kPiece / sizeof(uint32_t), repeated);
  for (size_t row = 0; row < fill.height; ++row)
    for (size_t at = 0; at < fill.width; at += kPiece)
      if (!memory.write(fill.base + row * fill.pitch + at, piece, std::min(fill.width - at, kPiece))) return false;
  return true;
}

}  // namespace vg::copy
