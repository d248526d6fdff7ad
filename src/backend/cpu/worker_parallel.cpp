#include "backend/cpu/worker_parallel.h"

#include <algorithm>
#include <atomic>

namespace vg::backend::cpu {
namespace {

constexpr unsigned kMostShares = 64;

// A range of chunks that its owner takes from the front and others from the back.
class alignas(64) Share {
 public:
  void set(uint32_t first, uint32_t end) { range_.store(pack(first, end), std::memory_order_relaxed); }
  bool takeFront(uint32_t* chunk) { return take(chunk, true); }
  bool takeBack(uint32_t* chunk) { return take(chunk, false); }

 private:
  static uint64_t pack(uint32_t first, uint32_t end) { return uint64_t{first} << 32 | end; }

  bool take(uint32_t* chunk, bool front) {
    uint64_t seen = range_.load(std::memory_order_relaxed);
    for (;;) {
      const uint32_t first = static_cast<uint32_t>(seen >> 32), end = static_cast<uint32_t>(seen);
      if (first == end) return false;
      const uint64_t rest = front ? pack(first + 1, end) : pack(first, end - 1);
      if (!range_.compare_exchange_weak(seen, rest, std::memory_order_relaxed)) continue;
      *chunk = front ? first : end - 1;
      return true;
    }
  }

  std::atomic<uint64_t> range_{0};
};

struct Shares {
  void (*body)(void*, size_t);
  void* state;
  unsigned count;
  Share shares[kMostShares];

  Shares(size_t chunks, unsigned threads, void (*chunkBody)(void*, size_t), void* chunkState)
      : body(chunkBody), state(chunkState), count(std::min(threads, kMostShares)) {
    for (unsigned i = 0; i < count; ++i)
      shares[i].set(static_cast<uint32_t>(chunks * i / count), static_cast<uint32_t>(chunks * (i + 1) / count));
  }

  // Returns when no chunk is left to begin.
  void work(unsigned own) {
    uint32_t chunk;
    while (shares[own].takeFront(&chunk)) body(state, chunk);
    for (unsigned i = 1; i < count; ++i)
      while (shares[(own + i) % count].takeBack(&chunk)) body(state, chunk);
  }
};

}  // namespace

void WorkerParallel::run(size_t chunks, void (*body)(void*, size_t), void* state) {
  Shares shares(chunks, workers_.count(), body, state);
  const auto work = [](void* raw, uint32_t, uint64_t, uint64_t) {
    Shares& s = *static_cast<Shares*>(raw);
    s.work(Workers::thisThread() % s.count);
  };
  workers_.runGrid(std::min<size_t>(chunks, workers_.count()), workers_.count(), work, &shares, 1);
}

}  // namespace vg::backend::cpu
