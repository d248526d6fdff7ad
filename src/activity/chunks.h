// Where threads put what they tell: each into a piece of memory of its own, without a lock, and one reader takes it
// out.
//
// Invariants:
// 1. Only its thread writes a chunk, behind `filled`, and then moves `filled`.
// 2. Only the reader moves `taken`, never beyond `filled`.
// 3. Once `closed` is set, nothing is written any more; the reader then takes the chunk out of the list.
// 4. A thread has one chunk at most that is not closed, and it stands behind all others of that thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/sync/mutex.h"

namespace vg::activity {

// Before each packet. Sizes are multiples of 8 and count this.
struct PacketHead {
  uint32_t kind;
  uint32_t size;
};

struct Chunk {
  static constexpr uint32_t kBytes = (16 << 10) - 64;

  std::atomic<uint32_t> filled{0};
  std::atomic<bool> closed{false};
  uint32_t taken = 0;
  std::atomic<Chunk*> next{nullptr};
  alignas(64) std::byte bytes[kBytes];
};

class Chunks {
 public:
  Chunks() = default;
  ~Chunks();  // when no thread uses it
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  // Closed chunks that wait for the reader.
  static constexpr uint32_t kMost = 128;

  // Any thread. Room behind what is in the thread's chunk; null: too much waits for the reader, or there is no memory.
  // Then publish(). `mine` becomes another chunk where it is full.
  std::byte* claim(Chunk*& mine, uint32_t bytes) noexcept {
    if (mine) [[likely]] {
      const uint32_t at = mine->filled.load(std::memory_order_relaxed);
      if (at + bytes <= Chunk::kBytes) [[likely]]
        return mine->bytes + at;
    }
    return claimInFresh(mine, bytes);
  }
  static void publish(Chunk* mine, uint32_t bytes) noexcept {
    mine->filled.store(mine->filled.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  }
  // The thread ends.
  void close(Chunk* mine) noexcept;
  // So much that whoever reads should: soon enough that what was told is still in the processor's caches.
  bool manyWait() const { return waiting_.load(std::memory_order_relaxed) >= 8; }

  // The reader. Calls take(head, chunk's bytes) for all packets that are there; what it throws goes through, and the
  // packet is gone. What was taken stays in the chunk until all of it is.
  // Whether there was any. Goes no further than the chunk that is the last one now: those before it of the same thread
  // are closed, so that all of them comes before what is in it.
  template <class Take>
  bool read(Take take) {
    bool any = false;
    Chunk* before = nullptr;
    const Chunk* const end = last();
    Chunk* chunk = end ? first_.load(std::memory_order_acquire) : nullptr;
    for (bool isEnd = !chunk; !isEnd;) {
      isEnd = chunk == end;
      const bool closed = chunk->closed.load(std::memory_order_acquire);
      const uint32_t filled = chunk->filled.load(std::memory_order_acquire);
      while (chunk->taken < filled) {
        const auto* const head = reinterpret_cast<const PacketHead*>(chunk->bytes + chunk->taken);
        chunk->taken += head->size;
        any = true;
        take(*head, chunk->bytes);
      }
      if (closed) {
        chunk = retire(before, chunk);
      } else {
        before = chunk;
        chunk = chunk->next.load(std::memory_order_acquire);
      }
    }
    return any;
  }

 private:
  const Chunk* last() noexcept {
    const MutexLock lock(mutex_);
    return last_;
  }
  std::byte* claimInFresh(Chunk*& mine, uint32_t bytes) noexcept;
  Chunk* takeSpare() noexcept;
  Chunk* retire(Chunk* before, Chunk* chunk) noexcept;  // the one behind it

  std::atomic<uint32_t> waiting_{0};
  std::atomic<Chunk*> first_{nullptr};
  Mutex mutex_;
  Chunk* last_ VG_GUARDED_BY(mutex_) = nullptr;
  Chunk* spare_ VG_GUARDED_BY(mutex_) = nullptr;
  uint32_t spares_ VG_GUARDED_BY(mutex_) = 0;
};

}  // namespace vg::activity
