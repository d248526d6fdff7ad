#include "backend/nvidia/kernels/pinned_pieces.h"

#include "backend/nvidia/memory/host_pages.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;

}  // namespace

PinnedPieces::~PinnedPieces() {
  for (std::byte* const block : blocks_) memory_.release(block, kBlockBytes);
}

// Sizes of a class double.
size_t PinnedPieces::classOf(size_t bytes) {
  size_t number = 0;
  while (kSmallest << number < bytes) ++number;
  return number;
}

CUresult PinnedPieces::begin() {
  const MutexLock guard(mutex_);
  return blocks_.empty() ? addBlock() : CUDA_SUCCESS;
}

CUresult PinnedPieces::addBlock() {
  if (blocks_.size() == kMostBlocks)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "parameters of launches from kernels fill %zu MiB", kMostBlocks);
  blocks_.reserve(blocks_.size() + 1);  // what is allocated is noted without memory
  VG_TRY(std::byte* const block, memory_.allocate(kBlockBytes));
  blocks_.push_back(block);
  used_ = 0;
  return CUDA_SUCCESS;
}

std::byte* PinnedPieces::allocate(size_t bytes) {
  if (bytes > kMostBytes) return nullptr;
  const size_t number = classOf(bytes), rounded = kSmallest << number;
  const MutexLock guard(mutex_);
  std::vector<std::byte*>& free = free_[number];
  if (!free.empty()) {
    std::byte* const piece = free.back();
    free.pop_back();
    return piece;
  }
  free.reserve(pieces_[number] + 1);  // release() needs no memory
  if ((blocks_.empty() || used_ + rounded > kBlockBytes) && addBlock() != CUDA_SUCCESS) return nullptr;
  std::byte* const piece = blocks_.back() + used_;
  used_ += rounded;
  ++pieces_[number];
  return piece;
}

void PinnedPieces::release(std::byte* piece, size_t bytes) noexcept {
  const MutexLock guard(mutex_);
  free_[classOf(bytes)].push_back(piece);
}

}  // namespace vg::backend::nvidia
