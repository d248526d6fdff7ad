#include "arrays/pages.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <shared_mutex>

#include "copy/copy.h"
#include "copy/guard.h"

namespace vg::arrays {

Result<std::shared_ptr<Pages>> Pages::create(size_t bytes) {
  const size_t count = (bytes + kPage - 1) / kPage;
  auto* table = static_cast<std::byte**>(std::calloc(count, sizeof(std::byte*)));  // null is nothing
  if (!table) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no memory for a table of %zu pages", count);
  return std::make_shared<Pages>(table, count);
}

Pages::~Pages() { std::free(table_); }

namespace {

using Run = Pages::Run;

// Requires: the lock of the pages, shared.
Run runAt(const PagedSide& side, size_t x, size_t row,
          size_t slice) VG_UNCHECKED_LOCKS {  // there may be no pages, and so no lock
  if (!side.pages) {
    const copy::Side at = side.plain.moved(x, row, slice);
    if (!at.tiling) return {at.base, SIZE_MAX};
    return {at.base + at.tiling->offset(at.x(), at.row(), at.slice()),
            copy::Tiling::kTogether - at.x() % copy::Tiling::kTogether};
  }
  const Level::Span span = side.level.span(side.x + x, side.row + row, side.slice + slice);
  const Run run = side.pages->at(span.offset);
  return {run.memory, std::min(run.bytes, span.bytes)};
}

bool zero(std::byte* memory, size_t bytes) {
  return copy::guarded([=] { std::memset(memory, 0, bytes); });
}

void copyRow(const PagedSide& destination, const PagedSide& source, size_t width, size_t row, size_t slice,
             Paging& paging) {
  for (size_t x = 0; x < width;) {
    const Run to = runAt(destination, x, row, slice), from = runAt(source, x, row, slice);
    const size_t bytes = std::min({to.bytes, from.bytes, width - x});
    if (to.memory && from.memory)
      paging.faulted |= !copy::copyBytes(to.memory, from.memory, bytes);
    else if (to.memory)
      paging.faulted |= !zero(to.memory, bytes);
    paging.complete &= to.memory && from.memory;
    x += bytes;
  }
}

std::shared_lock<SharedMutex> lockShared(const Pages* pages) {
  return pages ? std::shared_lock(pages->mutex()) : std::shared_lock<SharedMutex>();
}

}  // namespace

Paging copyPaged(const PagedCopy& copy) {
  // In the order of addresses, and one lock once: a writer may wait between two.
  const Pages *first = copy.destination.pages.get(), *second = copy.source.pages.get();
  if (first == second) second = nullptr;
  if (second && second < first) std::swap(first, second);
  const auto firstLock = lockShared(first), secondLock = lockShared(second);
  Paging paging;
  for (size_t slice = 0; slice < copy.depth; ++slice)
    for (size_t row = 0; row < copy.height; ++row)
      copyRow(copy.destination, copy.source, copy.width, row, slice, paging);
  return paging;
}

}  // namespace vg::arrays
