// What runs kernels, and the textures that they read. Made at the first need, which takes some 35 ms. Thread-safe.
#pragma once

#include <atomic>
#include <memory>

#include "backend/nvidia/compute/compute_engine.h"
#include "backend/nvidia/textures/texture_pool.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class KernelEngine {
 public:
  KernelEngine(Gpu& gpu, Addresses& addresses) : gpu_(gpu), addresses_(addresses) {}
  KernelEngine(const KernelEngine&) = delete;

  Result<ComputeEngine&> compute();
  Result<TexturePool&> textures();
  // Memory of the device that kernels read and the CPU writes, zeroed.
  Result<std::unique_ptr<Block>> writtenByHost(size_t bytes);
  // Null: nothing has needed it yet.
  ComputeEngine* computeIfMade() const { return ready_.load(std::memory_order_acquire); }
  TexturePool* texturesIfMade() const { return computeIfMade() ? textures_.get() : nullptr; }
  // After native code was written to memory that may have held other code.
  void codeChanged();

 private:
  Gpu& gpu_;
  Addresses& addresses_;
  Mutex making_;
  std::unique_ptr<ComputeEngine> compute_ VG_GUARDED_BY(making_);  // until it is there
  std::unique_ptr<TexturePool> textures_;                          // made before compute_ is there
  std::atomic<ComputeEngine*> ready_{nullptr};
};

}  // namespace vg::backend::nvidia
