#include "backend/nvidia/copies/staging.h"

namespace vg::backend::nvidia {
namespace {

constexpr size_t kKept = 4;  // rings

}  // namespace

Result<Staging::Ring> Staging::take() {
  {
    const MutexLock guard(mutex_);
    if (!resting_.empty()) {
      Ring ring(*this, std::move(resting_.back()));
      resting_.pop_back();
      return ring;
    }
  }
  VG_TRY(std::unique_ptr<Block> block, Block::createPinned(gpu_, addresses_, kSlots * kSlotBytes));
  return Ring(*this, std::move(block));
}

void Staging::giveBack(std::unique_ptr<Block> block) {
  const MutexLock guard(mutex_);
  try {  // destructors call it
    if (resting_.size() < kKept) resting_.push_back(std::move(block));
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace vg::backend::nvidia
