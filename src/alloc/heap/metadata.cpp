#include "alloc/heap/metadata.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "alloc/memory_table.h"
#include "base/memory/own_memory.h"

namespace vg::alloc::heap {
namespace {

// Where there is much metadata, huge pages spare lookups of many allocations a miss of the address translation each.
std::pair<void*, size_t> makeChunk(size_t made) {
  constexpr size_t kFirst = size_t{1} << 20, kFew = 4;
  const size_t bytes = made < kFew ? kFirst : 2 * kGranule;
  std::byte* const chunk = own_memory::take(bytes);
  if (!chunk) throw std::bad_alloc();
  if (made >= kFew) madvise(chunk, bytes, MADV_HUGEPAGE);
  return {chunk, bytes};
}

}  // namespace

Metadata::~Metadata() {
  for (auto [chunk, bytes] : chunks_) own_memory::give(chunk, bytes);
}

std::byte* Metadata::take(size_t bytes, size_t alignment) {
  at_ += -reinterpret_cast<uintptr_t>(at_) % alignment;
  if (end_ < at_ || static_cast<size_t>(end_ - at_) < bytes) {
    chunks_.reserve(chunks_.size() + 1);  // first what may fail
    const auto [chunk, size] = chunks_.emplace_back(makeChunk(chunks_.size()));
    at_ = static_cast<std::byte*>(chunk);
    end_ = at_ + size;
  }
  std::byte* taken = at_;
  at_ += bytes;
  return taken;
}

}  // namespace vg::alloc::heap
