#include "alloc/physical_pieces.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "alloc/geometry.h"
#include "base/round.h"
#include "base/system/file_size_guard.h"

namespace vg::alloc {

Result<size_t> PhysicalPieces::take(size_t bytes) {
  bytes = roundUp(bytes, kGranule);
  const MutexLock lock(mutex_);
  size_t offset;
  if (fromKept(bytes, &offset) || fromFree(bytes, &offset)) return offset;
  return grow(bytes);
}

// Without memory for the books, the piece's place in the file is lost, but not its pages.
void PhysicalPieces::give(size_t offset, size_t bytes) {
  bytes = roundUp(bytes, kGranule);
  const MutexLock lock(mutex_);
  try {
    enter(offset, bytes);
  } catch (const std::bad_alloc&) {
    dropPages({offset, bytes});
  }
}

void PhysicalPieces::enter(size_t offset, size_t bytes) {
  if (bytes > kKeptBytes) return forget({offset, bytes});
  kept_.push_back({offset, bytes});
  keptBytes_ += bytes;
  while (keptBytes_ > kKeptBytes || kept_.size() > kKeptPieces) {
    keptBytes_ -= kept_.front().bytes;
    forget(kept_.front());
    kept_.erase(kept_.begin());
  }
}

void PhysicalPieces::trim() {
  const MutexLock lock(mutex_);
  for (const Piece& piece : kept_) forget(piece);
  kept_.clear();
  keptBytes_ = 0;
}

// The newest of exactly this size: its pages are the likeliest to be in a cache.
bool PhysicalPieces::fromKept(size_t bytes, size_t* offset) {
  for (size_t i = kept_.size(); i--;) {
    if (kept_[i].bytes != bytes) continue;
    *offset = kept_[i].offset;
    keptBytes_ -= bytes;
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

bool PhysicalPieces::fromFree(size_t bytes, size_t* offset) {
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [start, length] = *piece;
    if (length < bytes) continue;
    free_.erase(piece);
    if (length > bytes) free_[start + bytes] = length - bytes;
    *offset = start;
    return true;
  }
  return false;
}

void PhysicalPieces::dropPages(const Piece& piece) const {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(piece.offset),
            static_cast<off_t>(piece.bytes));
}

// Drops the pages and joins the piece with the free ones beside it.
void PhysicalPieces::forget(const Piece& piece) {
  dropPages(piece);
  size_t start = piece.offset, bytes = piece.bytes;
  auto next = free_.lower_bound(start);
  if (next != free_.begin()) {
    if (auto previous = std::prev(next); previous->first + previous->second == start) {
      start = previous->first;
      bytes += previous->second;
      free_.erase(previous);
    }
  }
  if (next != free_.end() && next->first == piece.offset + piece.bytes) {
    bytes += next->second;
    free_.erase(next);
  }
  free_[start] = bytes;
}

Result<size_t> PhysicalPieces::grow(size_t bytes) {
  VG_CHECK(open());
  const FileSizeGuard guard;
  const size_t offset = size_;
  if (offset + bytes < offset || ftruncate(file_, static_cast<off_t>(offset + bytes)))
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes of memory: %s", bytes, strerror(errno));
  size_ = offset + bytes;
  return offset;
}

CUresult PhysicalPieces::open() {
  if (file_ >= 0) return CUDA_SUCCESS;
  const int file = memfd_create("verdigris", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  struct stat status {};
  if (file < 0 || fstat(file, &status) || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK)) {
    const int error = errno;
    if (file >= 0) close(file);
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no file for memory: %s", strerror(error));
  }
  file_ = file;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return CUDA_SUCCESS;
}

}  // namespace vg::alloc
