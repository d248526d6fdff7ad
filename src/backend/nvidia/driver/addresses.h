// Addresses that mean the same to the CPU and to every GPU: one reservation below 2^40, where rings, semaphores and
// code must lie, handed out in pieces. Nobody else can get them, so GPU and process never collide. Thread-safe.
#pragma once

#include <cstddef>
#include <map>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class Addresses {
 public:
  // The reservation of this process, made by the first call.
  static Result<Addresses&> shared();

  // Inaccessible addresses. Requires: `alignment` is a power of two and at least 4096.
  Result<std::byte*> take(size_t bytes, size_t alignment);
  // How many there are in all.
  size_t bytes() const { return bytes_; }
  // Makes them inaccessible again. Requires: exactly what take() gave.
  void giveBack(std::byte* start, size_t bytes);

 private:
  Addresses(std::byte* start, size_t bytes) : bytes_(bytes) { free_.emplace(start, bytes); }

  const size_t bytes_;
  Mutex mutex_;
  std::map<std::byte*, size_t> free_ VG_GUARDED_BY(mutex_);  // start -> bytes, never adjacent
};

// Inaccessible addresses for what GPUs never reach as memory, wherever the process has room: below 2^40 there is little
// where a tool has taken it. Given back by munmap(). Requires: as take().
Result<std::byte*> reserveAnywhere(size_t bytes, size_t alignment);

// Inaccessible memory at these addresses, whatever was there.
bool makeInaccessible(void* start, size_t bytes);

}  // namespace vg::backend::nvidia
