#include "backend/nvidia/textures/kernel_engine.h"

#include <cstring>

namespace vg::backend::nvidia {

Result<ComputeEngine&> KernelEngine::compute() {
  if (ComputeEngine* const ready = computeIfMade()) return *ready;
  const MutexLock guard(making_);
  if (!compute_) {
    VG_TRY(std::unique_ptr<ComputeEngine> engine, ComputeEngine::create(gpu_, addresses_));
    VG_TRY(textures_, TexturePool::create(gpu_, addresses_));
    VG_CHECK(engine->setTexturePools(textures_->places()));
    compute_ = std::move(engine);
    ready_.store(compute_.get(), std::memory_order_release);
  }
  return *compute_;
}

Result<TexturePool&> KernelEngine::textures() {
  VG_CHECK(compute());
  return *textures_;
}

Result<std::unique_ptr<Block>> KernelEngine::writtenByHost(size_t bytes) {
  VG_TRY(std::unique_ptr<Block> block,
         Block::create(gpu_, addresses_, {Where::Video, bytes, kHugePage}, SeenBy::GpuAndCpu));
  std::memset(block->start(), 0, bytes);
  return block;
}

// One that is made later begins with empty caches.
void KernelEngine::codeChanged() {
  if (ComputeEngine* const ready = computeIfMade()) ready->forgetCode();
}

}  // namespace vg::backend::nvidia
