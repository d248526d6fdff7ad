// Type-stable slots for the objects behind handles. A handle is the address of an object in a slab; `find` says whether
// an arbitrary pointer is the handle of a living object without ever touching memory that is not ours.
//
// Invariants:
// 1. The address range is reserved once and never given back; slots below `limit_` are readable for ever.
// 2. A slot's state word is Alive exactly from the end of create() to retire(); only the one retire() that turns Alive
//    into Retired may recycle() the slot.
// 3. Slots are used again oldest first and only when kQuarantine of them are free, so that a stale handle is seen as
//    such for as long as possible.
//
// find() is lock-free; everything else takes the slab's own lock for a few instructions. Meant for constinit globals;
// never destroyed.
#pragma once

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/memory/own_memory.h"
#include "base/sync/mutex.h"

namespace vg {

template <class T, size_t kCapacity = size_t{1} << 20>
class Slab {
 public:
  // A new living object. Throws std::bad_alloc when the slab is full, and whatever T's constructor throws.
  template <class... Args>
  T* create(Args&&... args) {
    Slot* slot = take();
    T* object;
    try {
      object = new (slot->storage) T(std::forward<Args>(args)...);
    } catch (...) {
      giveBack(slot);
      throw;
    }
    slot->state.store(kAlive, std::memory_order_release);
    return object;
  }

  // The living object with this address, or null.
  T* find(const void* handle) const {
    Slot* slot = slotAt(handle);
    if (!slot || slot->state.load(std::memory_order_acquire) != kAlive) return nullptr;
    return reinterpret_cast<T*>(slot->storage);
  }

  // The same, or one that was retired and is not recycled yet. Requires: nobody recycles it while it is looked at.
  T* findRetiredToo(const void* handle) const {
    Slot* slot = slotAt(handle);
    if (!slot || slot->state.load(std::memory_order_acquire) == kFree) return nullptr;
    return reinterpret_cast<T*>(slot->storage);
  }

  // Calls visit(T&) for every object that lives. Requires: none of them can be recycled meanwhile.
  template <class Visit>
  void forEach(Visit visit) const {
    const size_t count = limit_.load(std::memory_order_acquire) / sizeof(Slot);
    for (Slot* slot = slots(); slot != slots() + count; ++slot)
      if (slot->state.load(std::memory_order_acquire) == kAlive) visit(*reinterpret_cast<T*>(slot->storage));
  }

  // Ends the handle's life: find() no longer knows it. True for exactly one caller, who must recycle() later.
  bool retire(T* object) {
    uint32_t expected = kAlive;
    return slotOf(object)->state.compare_exchange_strong(expected, kRetired, std::memory_order_acq_rel);
  }
  // Destroys a retired object and makes its slot available.
  void recycle(T* object) {
    object->~T();
    giveBack(slotOf(object));
  }
  // Both at once; false when somebody else has retired it.
  bool destroy(T* object) {
    if (!retire(object)) return false;
    recycle(object);
    return true;
  }

 private:
  static constexpr uint32_t kFree = 0, kAlive = 1, kRetired = 2;
  static constexpr uint32_t kQuarantine = 64;  // slots
  static constexpr size_t kCommit = size_t{64} << 10;

  struct Slot {
    std::atomic<uint32_t> state;
    Slot* nextFree;
    alignas(alignof(T) > 16 ? alignof(T) : 16) std::byte storage[sizeof(T)];
  };
  static constexpr size_t kReserved = (kCapacity * sizeof(Slot) + kCommit - 1) / kCommit * kCommit;

  Slot* slots() const { return reinterpret_cast<Slot*>(base_.load(std::memory_order_relaxed)); }
  // The slot whose object would have this address, or null.
  Slot* slotAt(const void* handle) const {
    const size_t offset = reinterpret_cast<uintptr_t>(handle) - base_.load(std::memory_order_acquire);
    if (offset >= limit_.load(std::memory_order_acquire)) return nullptr;
    const size_t index = offset / sizeof(Slot);
    return offset - index * sizeof(Slot) == offsetof(Slot, storage) ? slots() + index : nullptr;
  }
  static Slot* slotOf(T* object) {
    return reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(object) - offsetof(Slot, storage));
  }

  Slot* take() {
    const MutexLock lock(mutex_);
    if (free_ > kQuarantine || (free_ && used_ == kCapacity)) {
      Slot* slot = oldest_;
      oldest_ = slot->nextFree;
      if (!oldest_) newest_ = nullptr;
      --free_;
      return slot;
    }
    if (used_ == kCapacity) throw std::bad_alloc();
    commit((used_ + 1) * sizeof(Slot));
    Slot* slot = slots() + used_++;
    limit_.store(used_ * sizeof(Slot), std::memory_order_release);
    return slot;
  }

  void giveBack(Slot* slot) {
    const MutexLock lock(mutex_);
    slot->state.store(kFree, std::memory_order_relaxed);
    slot->nextFree = nullptr;
    (newest_ ? newest_->nextFree : oldest_) = slot;
    newest_ = slot;
    ++free_;
  }

  // Fresh pages are zero, which is a free slot.
  void commit(size_t bytes) VG_REQUIRES(mutex_) {
    if (!base_.load(std::memory_order_relaxed)) {
      std::byte* const range = own_memory::reserve(kReserved);
      if (!range) throw std::bad_alloc();
      base_.store(reinterpret_cast<uintptr_t>(range), std::memory_order_release);
    }
    if (bytes <= committed_) return;
    const size_t wanted = (bytes + kCommit - 1) / kCommit * kCommit;
    std::byte* start = reinterpret_cast<std::byte*>(slots()) + committed_;
    if (mprotect(start, wanted - committed_, PROT_READ | PROT_WRITE)) throw std::bad_alloc();
#ifdef __SANITIZE_ADDRESS__
    __lsan_register_root_region(start, wanted - committed_);  // what lives here leaks nothing
#endif
    committed_ = wanted;
  }

  std::atomic<uintptr_t> base_{0};
  std::atomic<size_t> limit_{0};  // bytes of slots that have been used at least once
  Mutex mutex_;
  size_t used_ VG_GUARDED_BY(mutex_) = 0;
  size_t committed_ VG_GUARDED_BY(mutex_) = 0;
  size_t free_ VG_GUARDED_BY(mutex_) = 0;
  Slot* oldest_ VG_GUARDED_BY(mutex_) = nullptr;
  Slot* newest_ VG_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace vg
