// Video memory that was released and that nobody but this process has ever had: the next request of its size takes it,
// which spares two calls of the driver. Bounded; what was released first goes first. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>

#include "base/mutex.h"

namespace vg::backend::nvidia {

class MemoryObject;

class SpareMemory {
 public:
  // Keeps so many bytes at most.
  explicit SpareMemory(size_t most);
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;

  // Of exactly this size, with whatever it held; null: there is none.
  std::unique_ptr<MemoryObject> take(size_t bytes);
  // Requires: nothing is mapped of it, and no descriptor of it was ever made.
  void put(std::unique_ptr<MemoryObject> object) noexcept;
  // Gives everything back to the driver; false when there was nothing.
  bool trim();

 private:
  using Objects = std::list<std::unique_ptr<MemoryObject>>;

  const size_t most_;
  Mutex mutex_;
  Objects byAge_ VG_GUARDED_BY(mutex_);  // the oldest first
  std::multimap<size_t, Objects::iterator> bySize_ VG_GUARDED_BY(mutex_);
  size_t bytes_ VG_GUARDED_BY(mutex_) = 0;
};

}  // namespace vg::backend::nvidia
