// The textures and surfaces of a GPU: headers and samplers in video memory, where the texture units look them up by the
// number that kernels are given, and descriptions, which kernels look up. A header's sampler has the same number.
//
// A handle is the number and, above it, a bit that says what it is, which kernels may ask (istypep). Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "backend/nvidia/compute/compute_channel.h"
#include "backend/nvidia/textures/texture_description.h"
#include "backend/nvidia/textures/texture_words.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class TexturePool {
 public:
  static constexpr uint32_t kCount = 1 << 16;

  static Result<std::unique_ptr<TexturePool>> create(Gpu& gpu, Addresses& addresses);

  TexturePools places() const;
  // The handle: never 0, and not used again soon. CUDA_ERROR_OUT_OF_MEMORY when all are in use.
  Result<uint64_t> add(const arrays::TextureView& view, void* owner);
  // Of a sampler that textures are read with, whatever their own.
  Result<uint64_t> addSampler(const arrays::SamplerState& state);
  // Null: no living texture.
  void* owner(uint64_t handle) const;
  // Requires: nobody else removes it, and no kernel reads it. Others are ignored.
  void remove(uint64_t handle);

 private:
  TexturePool() = default;
  Result<uint64_t> put(uint64_t kind, const TextureWords& header, const TextureWords& sampler,
                       const TextureDescription& description, void* owner);
  Result<uint32_t> freeNumber() VG_REQUIRES(mutex_);

  struct Entry {
    uint64_t handle = 0;  // 0: free
    void* owner = nullptr;
  };
  bool lives(uint64_t handle) const VG_REQUIRES(mutex_);
  std::unique_ptr<Block> block_;  // headers, then samplers, then descriptions
  mutable Mutex mutex_;
  std::vector<Entry> entries_ VG_GUARDED_BY(mutex_){1};  // the first is nobody's
  std::deque<uint32_t> free_ VG_GUARDED_BY(mutex_);      // the oldest first
};

}  // namespace vg::backend::nvidia
