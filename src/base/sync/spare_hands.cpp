#include "base/sync/spare_hands.h"

namespace vg::spare_hands {

constinit std::atomic<Orphan*> first{nullptr};

void adopt(Orphan& orphan) noexcept {
  if (orphan.adopted_.exchange(true, std::memory_order_relaxed)) return;
  orphan.next_ = first.load(std::memory_order_relaxed);
  while (!first.compare_exchange_weak(orphan.next_, &orphan, std::memory_order_release)) {
  }
}

bool lend() noexcept {
  for (Orphan* orphan = first.load(std::memory_order_acquire); orphan; orphan = orphan->next_)
    if (orphan->help()) return true;
  return false;
}

}  // namespace vg::spare_hands
