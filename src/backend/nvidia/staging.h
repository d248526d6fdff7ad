// Pinned buffers between pageable memory and a GPU: pairs, so that the CPU fills one while the GPU empties the other.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/nvidia/driver/block.h"

namespace vg::backend::nvidia {

class Staging {
 public:
  static constexpr size_t kBytes = size_t{16} << 20;  // a buffer: several threads are worth their start

  Staging(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}

  // Two buffers, given back with the object.
  class Pair {
   public:
    Pair(Staging& staging, std::unique_ptr<Block> block) : staging_(&staging), block_(std::move(block)) {}
    Pair(Pair&&) = default;
    ~Pair() {
      if (block_) staging_->giveBack(std::move(block_));
    }
    std::byte* buffer(size_t index) const { return block_->start() + index % 2 * kBytes; }

   private:
    Staging* staging_;
    std::unique_ptr<Block> block_;
  };
  Result<Pair> take();

 private:
  void giveBack(std::unique_ptr<Block> block);

  Gpu& gpu_;
  Addresses& addresses_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> resting_;  // guarded by mutex_
};

}  // namespace vg::backend::nvidia
