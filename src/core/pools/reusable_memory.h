// Memory that was freed in a stream and has not gone back to its heap: what a pool hands out again without asking the
// heap. Not thread-safe: the pool's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "alloc/record.h"
#include "base/sync/timeline.h"

namespace vg::core::memory {

struct HeldBlock {
  alloc::Record* record = nullptr;
  size_t bytes = 0;     // rounded to kUnit: what it may be handed out for
  uint64_t stream = 0;  // Stream::id() of the stream that freed it
  Point point;          // when that stream is done with it
  uint64_t waits = 0;   // of the host, before it was freed
  bool known = false;   // the host has waited for something since, and the point was done: anybody may have it
  HeldBlock *binNext = nullptr, *binPrevious = nullptr;  // same bin of sizes, newest first
  HeldBlock *ageNext = nullptr, *agePrevious = nullptr;  // oldest first

  bool free() const { return known || point.done(); }
};

// Bins grow with what is held, so that taking and finding cost the same for ten blocks as for a hundred thousand.
class HeldMemory {
 public:
  HeldMemory() { bins_.resize(kFirstBins); }
  HeldMemory(const HeldMemory&) = delete;

  // Throws std::bad_alloc when there is no room for the entry: then nothing has changed.
  void add(const HeldBlock& freed);
  // Takes out the newest block of this size that this stream has freed; looks at so many only. Null when there is none.
  alloc::Record* take(size_t bytes, uint64_t stream) {
    int looks = 0;
    for (HeldBlock* block = bins_[binOf(bytes)].newest; block && ++looks < kLooks; block = block->binNext)
      if (block->stream == stream && block->bytes == bytes) [[likely]]
        return remove(*block);
    return nullptr;
  }
  alloc::Record* remove(HeldBlock& block);
  // The oldest block of this size that fits; looks at so many only. Null when there is none.
  template <class Fits>
  HeldBlock* find(size_t bytes, Fits fits) {
    int looks = 0;
    for (HeldBlock* block = bins_[binOf(bytes)].oldest; block && ++looks < kLooks; block = block->binPrevious)
      if (block->bytes == bytes && fits(*block)) return block;
    return nullptr;
  }

  HeldBlock* oldest() const { return oldest_; }
  size_t bytes() const { return bytes_; }
  bool empty() const { return !oldest_; }

 private:
  static constexpr size_t kFirstBins = 64;
  static constexpr size_t kChunk = 64;  // entries
  static constexpr int kLooks = 512;    // at most, where many blocks of a size belong to others

  struct Bin {
    HeldBlock *newest = nullptr, *oldest = nullptr;
  };

  size_t binOf(size_t bytes) const { return (((bytes >> 9) * 0x9E3779B97F4A7C15u) >> 32) & (bins_.size() - 1); }
  void file(HeldBlock& block);
  void growBins();
  HeldBlock* newBlock();

  std::vector<Bin> bins_;  // a power of two
  HeldBlock *oldest_ = nullptr, *newest_ = nullptr;
  size_t bytes_ = 0, count_ = 0;
  HeldBlock* unused_ = nullptr;  // linked through binNext
  std::vector<std::unique_ptr<HeldBlock[]>> chunks_;
};

}  // namespace vg::core::memory
