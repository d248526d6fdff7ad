// Something that is made once, by whoever needs it first. In place of std::call_once, which runs it inside the C
// library's pthread_once: an exception that leaves it there, as std::bad_alloc does, is handed to a libgcc_s.so.1 that
// the C library has to load first, and that ends the process where it cannot, or where there is none.
#pragma once

#include <atomic>

#include "base/sync/mutex.h"

namespace vg {

class Once {
 public:
  constexpr Once() = default;
  Once(const Once&) = delete;

  // Returns when `make()` has returned, here or elsewhere. What it throws comes out here, and the next caller tries
  // again.
  template <class Make>
  void call(Make make) {
    if (done_.load(std::memory_order_acquire)) [[likely]]
      return;
    const MutexLock lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    make();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_{false};
  Mutex mutex_;
};

}  // namespace vg
