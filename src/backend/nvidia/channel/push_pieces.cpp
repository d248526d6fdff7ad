#include "backend/nvidia/channel/push_pieces.h"

#include "backend/nvidia/channel/write_lines.h"
#include "base/round.h"

namespace vg::backend::nvidia {

constexpr size_t kPieceBytes = PushPieces::kWords * sizeof(uint32_t);

Result<std::unique_ptr<PushPieces>> PushPieces::create(Gpu& gpu, Addresses& addresses) {
  auto pieces = std::make_unique<PushPieces>();
  const MemoryRequest request{Where::Video, kCount * kPieceBytes, kBigPage};
  VG_TRY(pieces->memory_, Block::create(gpu, addresses, request, SeenBy::GpuAndCpu));
  return pieces;
}

uint64_t PushPieces::place(uint64_t number, size_t words) {
  const size_t at = number % kCount * kPieceBytes;
  writeLines(memory_->start() + at, reinterpret_cast<const std::byte*>(words_.data()),
             roundUp(words * sizeof words_[0], kLineBytes));
  return memory_->address(at);
}

}  // namespace vg::backend::nvidia
