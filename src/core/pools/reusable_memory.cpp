#include "core/pools/reusable_memory.h"

#include <new>

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

void HeldMemory::file(HeldBlock& block) {
  Bin& bin = bins_[binOf(block.bytes)];
  block.binNext = bin.newest;
  block.binPrevious = nullptr;
  (bin.newest ? bin.newest->binPrevious : bin.oldest) = &block;
  bin.newest = &block;
}

// Without memory for more bins the old ones serve on, slower.
void HeldMemory::growBins() {
  std::vector<Bin> more;
  try {
    more.resize(bins_.size() * 4);
  } catch (const std::bad_alloc&) {
    return;
  }
  bins_.swap(more);
  for (HeldBlock* block = oldest_; block; block = block->ageNext) file(*block);
}

void HeldMemory::add(const HeldBlock& freed) {
  if (count_ >= bins_.size()) [[unlikely]]
    growBins();
  HeldBlock* block = newBlock();
  *block = freed;
  file(*block);
  block->ageNext = nullptr;
  block->agePrevious = newest_;
  (newest_ ? newest_->ageNext : oldest_) = block;
  newest_ = block;
  bytes_ += freed.bytes;
  ++count_;
}

alloc::Record* HeldMemory::remove(HeldBlock& block) {
  Bin& bin = bins_[binOf(block.bytes)];
  (block.binPrevious ? block.binPrevious->binNext : bin.newest) = block.binNext;
  (block.binNext ? block.binNext->binPrevious : bin.oldest) = block.binPrevious;
  (block.agePrevious ? block.agePrevious->ageNext : oldest_) = block.ageNext;
  (block.ageNext ? block.ageNext->agePrevious : newest_) = block.agePrevious;
  bytes_ -= block.bytes;
  --count_;
  block.binNext = unused_;
  unused_ = &block;
  return block.record;
}

}  // namespace vg::core::memory
