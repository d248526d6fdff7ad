#include "core/pools/delayed_release.h"

#include <new>

namespace vg::core::memory {

DelayedRelease::DelayedRelease(alloc::Heap& heap, uintptr_t base, uint64_t id, Point point)
    : heap(&heap), base(base), id(id) {
  value = point.value;
  run = [](Continuation* self) { static_cast<DelayedRelease*>(self)->finish(); };
}

void DelayedRelease::finish() {
  heap->release(base, id);
  delete this;
}

void DelayedRelease::finishAt(Point point) {
  if (point.done() || !point.timeline->whenReached(this)) finish();
}

void releaseAt(alloc::Heap& heap, uintptr_t base, uint64_t id, Point point) {
  if (point.done()) {
    heap.release(base, id);
  } else if (auto* ending = new (std::nothrow) DelayedRelease(heap, base, id, point)) {
    ending->finishAt(point);
  }
}

}  // namespace vg::core::memory
