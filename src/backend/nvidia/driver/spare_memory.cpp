#include "backend/nvidia/driver/spare_memory.h"

#include <algorithm>
#include <new>

namespace vg::backend::nvidia {

SpareMemory::SpareMemory(Client& client, rm::Handle device, size_t most)
    : client_(client), device_(device), most_(most) {}

// The newest of them: its lines may still be in the GPU's caches.
rm::Handle SpareMemory::take(size_t bytes) {
  const MutexLock guard(mutex_);
  auto found = bySize_.upper_bound(bytes);
  if (found == bySize_.begin() || (--found)->first != bytes) return 0;
  const rm::Handle memory = found->second->memory;
  byAge_.erase(found->second);
  bySize_.erase(found);
  bytes_ -= bytes;
  return memory;
}

void SpareMemory::put(rm::Handle memory, size_t bytes) noexcept {
  Pieces ended;
  bool kept = false;
  try {
    kept = bytes <= most_ && keep({memory, bytes}, ended);
  } catch (const std::bad_alloc&) {  // it goes back to the kernel driver
  }
  free(ended);  // without the lock
  if (!kept) client_.free(device_, memory);
}

// What has to make room for it goes to `ended`.
bool SpareMemory::keep(Piece piece, Pieces& ended) {
  Pieces one{piece};
  const MutexLock guard(mutex_);
  while (bytes_ + piece.bytes > most_) {
    const auto oldest = byAge_.begin();
    const auto [first, last] = bySize_.equal_range(oldest->bytes);
    bySize_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == oldest; }));
    bytes_ -= oldest->bytes;
    ended.splice(ended.end(), byAge_, oldest);
  }
  bySize_.emplace(piece.bytes, one.begin());
  byAge_.splice(byAge_.end(), one);
  bytes_ += piece.bytes;
  return true;
}

size_t SpareMemory::bytes() {
  const MutexLock guard(mutex_);
  return bytes_;
}

bool SpareMemory::trim() {
  Pieces ended;
  {
    const MutexLock guard(mutex_);
    ended.swap(byAge_);
    bySize_.clear();
    bytes_ = 0;
  }
  free(ended);
  return !ended.empty();
}

void SpareMemory::free(const Pieces& pieces) const {
  for (const Piece& piece : pieces) client_.free(device_, piece.memory);
}

}  // namespace vg::backend::nvidia
