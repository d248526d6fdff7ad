#include "core/held_memory.h"

namespace vg::core::memory {

HeldBlock* HeldMemory::newBlock() {
  if (!unused_) {
    chunks_.push_back(std::make_unique<HeldBlock[]>(kChunk));
    for (size_t i = 0; i < kChunk; ++i) {
      chunks_.back()[i].binNext = unused_;
      unused_ = &chunks_.back()[i];
    }
  }
  HeldBlock* block = unused_;
  unused_ = block->binNext;
  return block;
}

void HeldMemory::add(const HeldBlock& freed) {
  HeldBlock* block = newBlock();
  HeldBlock*& bin = bins_[binOf(freed.bytes, freed.stream)];
  *block = freed;
  block->binNext = bin;
  block->binPrevious = nullptr;
  if (bin) bin->binPrevious = block;
  bin = block;
  block->ageNext = nullptr;
  block->agePrevious = newest_;
  (newest_ ? newest_->ageNext : oldest_) = block;
  newest_ = block;
  bytes_ += freed.bytes;
}

alloc::Record* HeldMemory::remove(HeldBlock& block) {
  (block.binPrevious ? block.binPrevious->binNext : bins_[binOf(block.bytes, block.stream)]) = block.binNext;
  if (block.binNext) block.binNext->binPrevious = block.binPrevious;
  (block.agePrevious ? block.agePrevious->ageNext : oldest_) = block.ageNext;
  (block.ageNext ? block.ageNext->agePrevious : newest_) = block.agePrevious;
  bytes_ -= block.bytes;
  block.binNext = unused_;
  unused_ = &block;
  return block.record;
}

}  // namespace vg::core::memory
