// Where a channel's push buffer lies: pieces of video memory, so that the GPU fetches them without the bus. Words are
// put together in the host's memory and leave in whole lines. One thread at a time.
#pragma once

#include <array>
#include <memory>

#include "backend/nvidia/channel/push.h"
#include "backend/nvidia/driver/block.h"

namespace vg::backend::nvidia {

class PushPieces {
 public:
  static constexpr size_t kWords = 1024;  // of a piece
  static constexpr uint64_t kCount = 64;

  static Result<std::unique_ptr<PushPieces>> create(Gpu& gpu, Addresses& addresses);
  // A piece of so many words at most.
  Push begin(size_t words) { return Push(words_.data(), words); }
  // Makes what was written last the piece of this number, after kCount of them once more the first. Its address.
  uint64_t place(uint64_t number, size_t words);

 private:
  std::unique_ptr<Block> memory_;
  alignas(64) std::array<uint32_t, kWords> words_{};
};

}  // namespace vg::backend::nvidia
