#include "backend/nvidia/texture_pool.h"

#include <cstring>

namespace vg::backend::nvidia {
namespace {

constexpr size_t kWordsBytes = sizeof(TextureWords), kSamplersAt = TexturePool::kCount * kWordsBytes;
static_assert(2 * kSamplersAt % kHugePage == 0);

}  // namespace

Result<std::unique_ptr<TexturePool>> TexturePool::create(Gpu& gpu, Addresses& addresses) {
  std::unique_ptr<TexturePool> pool(new TexturePool);
  VG_TRY(pool->block_, Block::create(gpu, addresses, {Where::Video, 2 * kSamplersAt, kHugePage}, SeenBy::GpuAndCpu));
  const TextureWords nothing = headerOfNothing(pool->block_->address()), plain = samplerOf({});
  std::memcpy(pool->block_->start(), nothing.data(), kWordsBytes);
  std::memcpy(pool->block_->start() + kSamplersAt, plain.data(), kWordsBytes);
  return pool;
}

TexturePools TexturePool::places() const { return {block_->address(), block_->address(kSamplersAt), kCount, kCount}; }

// Written through BAR1: it must have left the processor before anybody launches.
Result<uint64_t> TexturePool::add(const arrays::TextureView& view, void* owner) {
  VG_TRY(const TextureWords header, headerOf(view));
  const TextureWords sampler = samplerOf(view);
  const std::lock_guard guard(mutex_);
  auto number = static_cast<uint32_t>(entries_.size());
  if (number < kCount) {
    entries_.emplace_back();
  } else if (!free_.empty()) {
    number = free_.front();
    free_.pop_front();
  } else {
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%u textures and surfaces at once", kCount - 1);
  }
  entries_[number] = {true, owner};
  std::memcpy(block_->start() + number * kWordsBytes, header.data(), kWordsBytes);
  std::memcpy(block_->start() + kSamplersAt + number * kWordsBytes, sampler.data(), kWordsBytes);
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
  return uint64_t{number};
}

void* TexturePool::owner(uint64_t number) const {
  const std::lock_guard guard(mutex_);
  return lives(number) ? entries_[number].owner : nullptr;
}

void TexturePool::remove(uint64_t number) {
  const std::lock_guard guard(mutex_);
  if (!lives(number)) return;
  entries_[number] = {};
  free_.push_back(static_cast<uint32_t>(number));
}

}  // namespace vg::backend::nvidia
