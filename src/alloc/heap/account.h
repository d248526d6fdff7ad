// How much of its capacity a heap has in use. Read without a lock, changed under the heap's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/memory_table.h"

namespace vg::alloc::heap {

class Account {
 public:
  explicit Account(size_t capacity)
      : capacity_(capacity), capacityGranules_(static_cast<uint32_t>(capacity >> kGranuleShift)) {}

  size_t capacity() const { return capacity_; }
  // Bytes of granules with something live in them, and of those kept committed although nothing lives there.
  size_t used() const { return used_.load(std::memory_order_relaxed) << kGranuleShift; }
  size_t cached() const { return size_t{cachedGranules()} << kGranuleShift; }
  uint32_t cachedGranules() const { return cached_.load(std::memory_order_relaxed); }
  // What the capacity leaves, in bytes and in granules.
  size_t unused() const { return capacity_ - std::min(capacity_, used()); }
  uint32_t room() const { return capacityGranules_ - static_cast<uint32_t>(used_.load(std::memory_order_relaxed)); }
  bool roomFor(uint32_t granules) const {
    return used_.load(std::memory_order_relaxed) + granules <= capacityGranules_;
  }

  // By how many granules used() and cached() change.
  void countUsed(ptrdiff_t change) {
    const size_t now = used_.load(std::memory_order_relaxed) + static_cast<size_t>(change);
    used_.store(now, std::memory_order_relaxed);
    published_->store(now << kGranuleShift, std::memory_order_relaxed);
  }
  void countCached(int32_t change) { cached_.fetch_add(static_cast<uint32_t>(change), std::memory_order_relaxed); }
  // Where other processes read used() from now on. Requires: the word outlives this.
  void publish(std::atomic<size_t>& used) {
    published_ = &used;
    countUsed(0);
  }

 private:
  const size_t capacity_;
  const uint32_t capacityGranules_;
  std::atomic<size_t> used_{0};  // granules
  std::atomic<uint32_t> cached_{0};
  std::atomic<size_t> unpublished_{0}, *published_ = &unpublished_;  // bytes
};

}  // namespace vg::alloc::heap
