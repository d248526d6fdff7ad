#include "backend/nvidia/textures/texture_pool.h"

#include <cstring>

#include "backend/nvidia/channel/store_fence.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {
namespace {

constexpr size_t kWordsBytes = sizeof(TextureWords), kSamplersAt = TexturePool::kCount * kWordsBytes;
constexpr size_t kDescriptionsAt = 2 * kSamplersAt;
constexpr size_t kBytes = kDescriptionsAt + TexturePool::kCount * sizeof(TextureDescription);
static_assert(kBytes % kHugePage == 0);

// What a handle is.
constexpr uint64_t kTexture = uint64_t{1} << 61, kSampler = uint64_t{1} << 62, kSurface = uint64_t{1} << 63;

uint64_t numberOf(uint64_t handle) { return handle & UINT32_MAX; }

}  // namespace

Result<std::unique_ptr<TexturePool>> TexturePool::create(Gpu& gpu, Addresses& addresses) {
  std::unique_ptr<TexturePool> pool(new TexturePool);
  VG_TRY(pool->block_, Block::create(gpu, addresses, {Where::Video, kBytes, kHugePage}, SeenBy::GpuAndCpu));
  const TextureWords nothing = headerOfNothing(pool->block_->address()), plain = samplerOf({});
  std::memcpy(pool->block_->start(), nothing.data(), kWordsBytes);
  std::memcpy(pool->block_->start() + kSamplersAt, plain.data(), kWordsBytes);
  std::memset(pool->block_->start() + kDescriptionsAt, 0, sizeof(TextureDescription));
  return pool;
}

TexturePools TexturePool::places() const {
  return {block_->address(), block_->address(kSamplersAt), kCount, kCount, block_->address(kDescriptionsAt)};
}

Result<uint64_t> TexturePool::add(const arrays::TextureView& view, void* owner) {
  VG_TRY(const TextureWords header, headerOf(view));
  return put(view.surface ? kSurface : kTexture, header, samplerOf(view), descriptionOf(view), owner);
}

Result<uint64_t> TexturePool::addSampler(const arrays::SamplerState& state) {
  arrays::TextureView view;
  view.kind = arrays::Kind::Box;  // all axes count
  view.format = CU_AD_FORMAT_FLOAT;
  view.sampler = state;
  return put(kSampler, headerOfNothing(block_->address()), samplerOf(view), {}, nullptr);
}

Result<uint32_t> TexturePool::freeNumber() {
  if (entries_.size() < kCount) {
    entries_.emplace_back();
    return static_cast<uint32_t>(entries_.size() - 1);
  }
  if (free_.empty()) return fail(CUDA_ERROR_OUT_OF_MEMORY, "%u textures and surfaces at once", kCount - 1);
  const uint32_t number = free_.front();
  free_.pop_front();
  return number;
}

// Written through BAR1: it must have left the processor before anybody launches.
Result<uint64_t> TexturePool::put(uint64_t kind, const TextureWords& header, const TextureWords& sampler,
                                  const TextureDescription& description, void* owner) {
  const MutexLock guard(mutex_);
  VG_TRY(const uint32_t number, freeNumber());
  entries_[number] = {kind | number, owner};
  std::byte* const start = block_->start();
  std::memcpy(start + number * kWordsBytes, header.data(), kWordsBytes);
  std::memcpy(start + kSamplersAt + number * kWordsBytes, sampler.data(), kWordsBytes);
  std::memcpy(start + kDescriptionsAt + number * sizeof description, description.data(), sizeof description);
  storeFence();
  return kind | number;
}

bool TexturePool::lives(uint64_t handle) const {
  const uint64_t number = numberOf(handle);
  return handle && number < entries_.size() && entries_[number].handle == handle;
}

void* TexturePool::owner(uint64_t handle) const {
  const MutexLock guard(mutex_);
  return lives(handle) ? entries_[numberOf(handle)].owner : nullptr;
}

void TexturePool::remove(uint64_t handle) {
  const MutexLock guard(mutex_);
  if (!lives(handle)) return;
  entries_[numberOf(handle)] = {};
  free_.push_back(static_cast<uint32_t>(numberOf(handle)));
}

}  // namespace vg::backend::nvidia
