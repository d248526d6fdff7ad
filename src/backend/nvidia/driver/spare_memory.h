// Video memory that was released and that nobody but this process has ever had: the next request of its size takes it,
// which spares two calls of the driver. Bounded; what was released first goes first. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <map>

#include "backend/nvidia/driver/client.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class SpareMemory {
 public:
  // Of this device of the client; keeps so many bytes at most.
  SpareMemory(Client& client, rm::Handle device, size_t most);
  ~SpareMemory() { (void)trim(); }
  SpareMemory(const SpareMemory&) = delete;

  // Of exactly this size, with whatever it held; it is the caller's. 0: there is none.
  rm::Handle take(size_t bytes);
  // Takes it over. Requires: nothing is mapped of it, and no descriptor of it was ever made.
  void put(rm::Handle memory, size_t bytes) noexcept;
  size_t bytes();
  // Gives everything back to the driver; false when there was nothing.
  bool trim();

 private:
  struct Piece {
    rm::Handle memory;
    size_t bytes;
  };
  using Pieces = std::list<Piece>;
  bool keep(Piece piece, Pieces& ended);
  void free(const Pieces& pieces) const;

  Client& client_;
  const rm::Handle device_;
  const size_t most_;
  Mutex mutex_;
  Pieces byAge_ VG_GUARDED_BY(mutex_);  // the oldest first
  std::multimap<size_t, Pieces::iterator> bySize_ VG_GUARDED_BY(mutex_);
  size_t bytes_ VG_GUARDED_BY(mutex_) = 0;
};

}  // namespace vg::backend::nvidia
