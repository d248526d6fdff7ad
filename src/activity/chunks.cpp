#include "activity/chunks.h"

#include <initializer_list>
#include <new>

namespace vg::activity {

Chunks::~Chunks() {
  for (Chunk* list : {first_.load(std::memory_order_relaxed), spare_})
    while (Chunk* const chunk = list) {
      list = chunk->next.load(std::memory_order_relaxed);
      delete chunk;
    }
}

Chunk* Chunks::takeSpare() noexcept {
  {
    const MutexLock lock(mutex_);
    if (Chunk* const chunk = spare_) {
      spare_ = chunk->next.load(std::memory_order_relaxed);
      --spares_;
      chunk->next.store(nullptr, std::memory_order_relaxed);
      return chunk;
    }
  }
  return new (std::nothrow) Chunk;
}

std::byte* Chunks::claimInFresh(Chunk*& mine, uint32_t bytes) noexcept {
  if (mine) close(mine);
  mine = nullptr;
  if (bytes > Chunk::kBytes || waiting_.load(std::memory_order_relaxed) >= kMost) return nullptr;
  Chunk* const chunk = takeSpare();
  if (!chunk) return nullptr;
  const MutexLock lock(mutex_);
  if (last_)
    last_->next.store(chunk, std::memory_order_release);
  else
    first_.store(chunk, std::memory_order_release);
  last_ = mine = chunk;
  return chunk->bytes;
}

void Chunks::close(Chunk* mine) noexcept {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  mine->closed.store(true, std::memory_order_release);
}

Chunk* Chunks::retire(Chunk* before, Chunk* chunk) noexcept {
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  Chunk* behind;
  bool kept;
  {
    const MutexLock lock(mutex_);
    behind = chunk->next.load(std::memory_order_relaxed);
    (before ? before->next : first_).store(behind, std::memory_order_release);
    if (last_ == chunk) last_ = before;
    kept = spares_ < kMost;
    if (kept) {
      chunk->filled.store(0, std::memory_order_relaxed);
      chunk->closed.store(false, std::memory_order_relaxed);
      chunk->taken = 0;
      chunk->next.store(spare_, std::memory_order_relaxed);
      spare_ = chunk;
      ++spares_;
    }
  }
  if (!kept) delete chunk;
  return behind;
}

}  // namespace vg::activity
