// Whoever wants to know which bytes copies and fills have written: checked mode. Off costs a load and a branch that
// never goes.
#pragma once

#include <atomic>

#include "copy/shape.h"

namespace vg::copy {

// Called on the thread that did the work, before it is done.
struct Watcher {
  void (*copied)(const Shape& shape);
  void (*filled)(const Fill& fill);
  void (*written)(const void* address, size_t bytes);
};
// Constant after start-up; null: nobody.
extern constinit std::atomic<const Watcher*> watcher;

// Something other than a copy, a fill or a kernel wrote device memory.
inline void tellWritten(const void* address, size_t bytes) {
  if (const Watcher* w = watcher.load(std::memory_order_relaxed)) [[unlikely]]
    w->written(address, bytes);
}

}  // namespace vg::copy
