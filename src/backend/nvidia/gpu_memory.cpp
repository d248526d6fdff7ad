#include "backend/nvidia/gpu_memory.h"

#include <algorithm>
#include <iterator>

namespace vg::backend::nvidia {

template <class Visit, class Missing>
CUresult GpuMemory::each(std::byte* start, size_t bytes, Visit visit, Missing missing) {
  std::byte* const end = start + bytes;
  while (start < end) {
    auto next = pieces_.upper_bound(start);
    std::byte* behind = next == pieces_.end() ? end : std::min(end, next->first);
    if (next != pieces_.begin()) {
      const auto piece = std::prev(next);
      std::byte* const pieceEnd = piece->first + piece->second.block->bytes();
      if (start < pieceEnd) {
        behind = std::min(end, pieceEnd);
        const auto page = [&](std::byte* at) { return static_cast<size_t>(at - piece->first) / kHugePage; };
        visit(piece, page(start), page(behind));
        start = behind;
        continue;
      }
    }
    VG_CHECK(missing(start, static_cast<size_t>(behind - start)));
    start = behind;
  }
  return CUDA_SUCCESS;
}

CUresult GpuMemory::make(std::byte* start, size_t bytes) {
  VG_TRY(std::unique_ptr<Block> block,
         Block::createAt(gpu_, start, {Where::Video, bytes, kHugePage}, SeenBy::GpuAndCpu));
  Piece& piece = pieces_[start];
  piece.block = std::move(block);
  piece.live.assign(bytes / kHugePage, false);
  known_.add(start, bytes, Place::Video);
  return CUDA_SUCCESS;
}

void GpuMemory::markLive(Piece& piece, size_t first, size_t end) {
  for (size_t page = first; page < end; ++page) {
    piece.liveCount += !piece.live[page];
    piece.live[page] = true;
  }
}

// Memory is made first and marked afterwards, so that a failure leaves pieces that nobody lives in; they go at once.
CUresult GpuMemory::commit(std::byte* start, size_t bytes) {
  const std::lock_guard guard(mutex_);
  const CUresult made = each(
      start, bytes, [](auto, size_t, size_t) {}, [this](std::byte* at, size_t size) { return make(at, size); });
  if (made == CUDA_SUCCESS) {
    const auto nothing = [](std::byte*, size_t) { return CUDA_SUCCESS; };
    return each(
        start, bytes, [this](auto piece, size_t first, size_t end) { markLive(piece->second, first, end); }, nothing);
  }
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    if (piece->second.liveCount) {
      ++piece;
      continue;
    }
    known_.remove(piece->first);
    piece = pieces_.erase(piece);
  }
  return made;
}

void GpuMemory::decommit(std::byte* start, size_t bytes) {
  const std::lock_guard guard(mutex_);
  std::vector<std::byte*> empty;
  const auto release = [&](auto piece, size_t first, size_t end) {
    for (size_t page = first; page < end; ++page) {
      piece->second.liveCount -= piece->second.live[page];
      piece->second.live[page] = false;
    }
    if (!piece->second.liveCount) empty.push_back(piece->first);
  };
  (void)each(start, bytes, release, [](std::byte*, size_t) { return CUDA_SUCCESS; });
  for (std::byte* const piece : empty) {
    known_.remove(piece);
    pieces_.erase(piece);
  }
}

}  // namespace vg::backend::nvidia
