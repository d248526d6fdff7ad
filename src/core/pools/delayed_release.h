// Memory that goes back to its heap when a stream has got there.
#pragma once

#include "alloc/heap.h"
#include "base/sync/timeline.h"

namespace vg::core::memory {

// An allocation of a heap that is noted down to go back. Made with `new`; finishAt() deletes it when it is done.
struct DelayedRelease : Continuation {
  alloc::Heap* heap;
  uintptr_t base;
  uint64_t id;

  DelayedRelease(alloc::Heap& heap, uintptr_t base, uint64_t id, Point point);
  void finishAt(Point point);

 private:
  void finish();
};

// Gives an allocation back to its heap when the point is reached; without memory to note that down it stays.
void releaseAt(alloc::Heap& heap, uintptr_t base, uint64_t id, Point point);

}  // namespace vg::core::memory
