#include "backend/condition_table.h"

#include <atomic>

namespace vg::backend::conditions {
namespace {

constexpr uint64_t kPieceSize = 1024, kPieces = 4096;  // handles; pieces are made when they are needed

struct Piece {
  std::atomic<uint32_t> values[kPieceSize] = {};
};
constinit std::atomic<Piece*> pieces[kPieces] = {};

std::atomic<uint32_t>* find(uint64_t handle) {
  if (handle >= kPieces * kPieceSize) return nullptr;
  Piece* const piece = pieces[handle / kPieceSize].load(std::memory_order_acquire);
  return piece ? &piece->values[handle % kPieceSize] : nullptr;
}

}  // namespace

CUresult add(uint64_t handle) {
  if (handle >= kPieces * kPieceSize)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%llu conditional handles", static_cast<unsigned long long>(handle));
  std::atomic<Piece*>& piece = pieces[handle / kPieceSize];
  if (!piece.load(std::memory_order_relaxed)) piece.store(new Piece, std::memory_order_release);
  return CUDA_SUCCESS;
}

void set(uint64_t handle, uint32_t value) {
  if (auto* const place = find(handle)) place->store(value, std::memory_order_release);
}

uint32_t value(uint64_t handle) {
  const auto* const place = find(handle);
  return place ? place->load(std::memory_order_acquire) : 0;
}

}  // namespace vg::backend::conditions
