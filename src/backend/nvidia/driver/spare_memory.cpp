#include "backend/nvidia/driver/spare_memory.h"

#include <algorithm>
#include <new>

#include "backend/nvidia/driver/memory_object.h"
#include "base/mutex.h"

namespace vg::backend::nvidia {

SpareMemory::SpareMemory(size_t most) : most_(most) {}
SpareMemory::~SpareMemory() = default;

// The newest of them: its lines may still be in the GPU's caches.
std::unique_ptr<MemoryObject> SpareMemory::take(size_t bytes) {
  const MutexLock guard(mutex_);
  auto found = bySize_.upper_bound(bytes);
  if (found == bySize_.begin() || (--found)->first != bytes) return nullptr;
  std::unique_ptr<MemoryObject> object = std::move(*found->second);
  byAge_.erase(found->second);
  bySize_.erase(found);
  bytes_ -= bytes;
  return object;
}

void SpareMemory::put(std::unique_ptr<MemoryObject> object) noexcept try {
  const size_t bytes = object->bytes();
  if (bytes > most_) return;
  Objects ended, one;  // without the lock
  one.push_back(std::move(object));
  const MutexLock guard(mutex_);
  while (bytes_ + bytes > most_) {
    const auto oldest = byAge_.begin();
    const auto [first, last] = bySize_.equal_range((*oldest)->bytes());
    bySize_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == oldest; }));
    bytes_ -= (*oldest)->bytes();
    ended.splice(ended.end(), byAge_, oldest);
  }
  bySize_.emplace(bytes, one.begin());
  byAge_.splice(byAge_.end(), one);
  bytes_ += bytes;
} catch (const std::bad_alloc&) {
  // It goes back to the kernel driver.
}

bool SpareMemory::trim() {
  Objects ended;
  const MutexLock guard(mutex_);
  ended.swap(byAge_);
  bySize_.clear();
  bytes_ = 0;
  return !ended.empty();
}

}  // namespace vg::backend::nvidia
