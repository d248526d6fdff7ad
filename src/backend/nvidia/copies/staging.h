// Pinned memory between pageable memory and a GPU: rings of slots, so that the CPU fills some while the GPU empties
// others. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "backend/nvidia/driver/block.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class Staging {
 public:
  static constexpr size_t kSlots = 32, kSlotBytes = size_t{1} << 20;

  Staging(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}

  // Slots, given back with the object.
  class Ring {
   public:
    Ring(Staging& staging, std::unique_ptr<Block> block) : staging_(&staging), block_(std::move(block)) {}
    Ring(Ring&&) = default;
    ~Ring() {
      if (block_) staging_->giveBack(std::move(block_));
    }
    // Any number: they come round again.
    std::byte* slot(size_t number) const { return block_->start() + number % kSlots * kSlotBytes; }
    // Two halves as larger buffers.
    static constexpr size_t kHalfBytes = kSlots / 2 * kSlotBytes;
    std::byte* half(size_t number) const { return block_->start() + number % 2 * kHalfBytes; }

   private:
    Staging* staging_;
    std::unique_ptr<Block> block_;
  };
  Result<Ring> take();

 private:
  void giveBack(std::unique_ptr<Block> block);

  Gpu& gpu_;
  Addresses& addresses_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Block>> resting_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::backend::nvidia
