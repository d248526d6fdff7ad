// The storage of arrays whose memory the application maps: sparse ones and those of deferred mapping.
//
// Storage is a row of pages of 64 KiB, each some memory of somebody else's or nothing. What is read from nothing is
// zero, what is written to it vanishes. Whoever copies holds the lock shared, whoever maps holds it alone.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "arrays/layout.h"
#include "base/result.h"
#include "base/sync/shared_mutex.h"
#include "copy/shape.h"

namespace vg::arrays {

class Pages {
 public:
  static constexpr size_t kPage = kTileBytes;

  // CUDA_ERROR_OUT_OF_MEMORY when there is no room for the table.
  static Result<std::shared_ptr<Pages>> create(size_t bytes);
  Pages(std::byte** table, size_t count) : table_(table), count_(count) {}
  ~Pages();
  Pages(const Pages&) = delete;

  size_t count() const { return count_; }
  SharedMutex& mutex() const VG_RETURNS_LOCK(mutex_) { return mutex_; }

  // Null: nothing.
  void set(size_t page, std::byte* memory) VG_REQUIRES(mutex_) { table_[page] = memory; }
  std::byte* get(size_t page) const VG_REQUIRES_SHARED(mutex_) { return table_[page]; }
  // The memory at an offset, and how much of its page follows.
  struct Run {
    std::byte* memory;
    size_t bytes;
  };
  Run at(size_t offset) const VG_REQUIRES_SHARED(mutex_) {
    std::byte* page = table_[offset / kPage];
    const size_t within = offset % kPage;
    return {page ? page + within : nullptr, kPage - within};
  }
  // The same for kernels, which read some pages while others are mapped; to map those that they read is the
  // application's race.
  Run atForKernels(size_t offset) const VG_UNCHECKED_LOCKS { return at(offset); }  // each entry is one word

 private:
  mutable SharedMutex mutex_;
  std::byte** const table_ VG_POINTEE_GUARDED_BY(mutex_);
  const size_t count_;
};

// One side of a copy that has such storage on a side: pages and a position in a level, or plain memory.
struct PagedSide {
  std::shared_ptr<Pages> pages;  // null: `plain`
  Level level;
  size_t x = 0, row = 0, slice = 0;  // x in bytes
  copy::Side plain;
};

struct PagedCopy {
  PagedCopy(PagedSide to, PagedSide from, size_t bytes, size_t rows, size_t slices)
      : destination(std::move(to)), source(std::move(from)), width(bytes), height(rows), depth(slices) {}
  PagedSide destination, source;
  size_t width, height, depth;  // bytes, rows, slices
};

// What a copy met.
struct Paging {
  bool complete = true;  // both sides had memory everywhere
  bool faulted = false;  // plain memory was not there or could not be written
};

// Requires: the box lies inside both sides. Takes the locks. Rows that overlap are copied in no special order.
[[nodiscard]] Paging copyPaged(const PagedCopy& copy);

}  // namespace vg::arrays
