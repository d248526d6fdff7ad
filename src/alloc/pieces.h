// Which parts of a heap are whose, in granules: what is given out lies beside each other without anything in between,
// and what is given back joins the free parts around it. All that is known lies apart from the heap, so that nothing
// that is written to it can do harm. Not thread-safe.
//
// Free pieces are kept in bins by their size, eight steps a doubling; to find one takes a few instructions however many
// there are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::alloc {

class Pieces {
 public:
  Pieces() = default;
  Pieces(const Pieces&) = delete;
  ~Pieces();

  static constexpr uint32_t kNone = ~0u;
  // All granules are free. False: no memory for what is known of them. Requires: granules < kNone.
  bool begin(uint32_t granules);
  // The first granule of so many (more than none); kNone when there are not so many beside each other.
  uint32_t take(uint32_t granules);
  // False: no piece that is out begins there.
  bool give(uint32_t first);

 private:
  enum class State : uint32_t { Inside, Taken, Free, FreeEnd };  // of a granule: in a piece, or the piece it begins
  struct Entry {
    uint32_t granules;  // of the piece; Inside: unused
    State state;
    uint32_t next, previous;  // Free: in the bin
  };
  static constexpr uint32_t kSteps = 8, kBins = 30 * kSteps, kWords = (kBins + 63) / 64;

  static uint32_t binOf(uint32_t granules);
  uint32_t find(uint32_t granules) const;
  uint32_t firstBinFrom(uint32_t bin) const;
  void addFree(uint32_t first, uint32_t granules);
  void removeFree(uint32_t first);

  Entry* entries_ = nullptr;  // by granule; those of untouched granules take no memory
  uint32_t count_ = 0;
  uint32_t bins_[kBins];
  uint64_t filled_[kWords] = {};  // the bins that are not empty
};

}  // namespace vg::alloc
