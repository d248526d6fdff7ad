// Pieces of one file that only this process knows: where they lie, and which released ones keep their pages for reuse.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <vector>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::alloc {

class PhysicalPieces {
 public:
  // The offset of a piece; multiples of kGranule. CUDA_ERROR_OUT_OF_MEMORY when the file cannot grow.
  Result<size_t> take(size_t bytes);
  void give(size_t offset, size_t bytes);
  // Gives the pages of released pieces back to the system.
  void trim();

  // Constant once take() has succeeded.
  int file() const { return file_; }
  dev_t device() const { return device_; }
  ino_t inode() const { return inode_; }

 private:
  struct Piece {
    size_t offset, bytes;
  };
  static constexpr size_t kKeptBytes = size_t{256} << 20;
  static constexpr size_t kKeptPieces = 64;

  CUresult open() VG_REQUIRES(mutex_);
  Result<size_t> grow(size_t bytes) VG_REQUIRES(mutex_);
  bool fromKept(size_t bytes, size_t* offset) VG_REQUIRES(mutex_);
  bool fromFree(size_t bytes, size_t* offset) VG_REQUIRES(mutex_);
  void enter(size_t offset, size_t bytes) VG_REQUIRES(mutex_);
  void forget(const Piece& piece) VG_REQUIRES(mutex_);
  void dropPages(const Piece& piece) const VG_REQUIRES(mutex_);

  Mutex mutex_;
  // Set once, under mutex_, before the first take() succeeds; only who has a piece asks for them.
  int file_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  size_t size_ VG_GUARDED_BY(mutex_) = 0;
  std::vector<Piece> kept_ VG_GUARDED_BY(mutex_);  // released, with their pages; newest last
  size_t keptBytes_ VG_GUARDED_BY(mutex_) = 0;
  std::map<size_t, size_t> free_ VG_GUARDED_BY(mutex_);  // without pages: offset -> bytes
};

}  // namespace vg::alloc
