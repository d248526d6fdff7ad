// Whoever wants to know of every allocation and its end: checked mode. Off costs a load and a branch that never goes.
#pragma once

#include <atomic>

#include "alloc/record.h"

namespace vg::alloc {

// Called under the lock of the heap or pool, on the thread of the application's call.
struct Watcher {
  void (*began)(const Record& record);  // the record is live
  void (*ended)(const Record& record);  // about to be free or released; what is returned to its heap later ends twice
  size_t gap;                           // bytes kept free behind every allocation
  size_t retired;                       // bytes of released memory that a heap keeps out of use, newest last
};
// Constant after start-up; null: nobody.
extern constinit std::atomic<const Watcher*> watcher;

inline void tellBegan(const Record& record) {
  if (const Watcher* w = watcher.load(std::memory_order_relaxed)) [[unlikely]]
    w->began(record);
}
inline void tellEnded(const Record& record) {
  if (const Watcher* w = watcher.load(std::memory_order_relaxed)) [[unlikely]]
    w->ended(record);
}
inline size_t gapBehind() {
  const Watcher* const w = watcher.load(std::memory_order_relaxed);
  return w ? w->gap : 0;
}
inline size_t retiredLimit() {
  const Watcher* const w = watcher.load(std::memory_order_relaxed);
  return w ? w->retired : 0;
}

}  // namespace vg::alloc
