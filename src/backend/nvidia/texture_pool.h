// The textures and surfaces of a GPU: headers and samplers in video memory, where the texture units look them up by the
// number that kernels are given. A header's sampler has the same number. Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/nvidia/compute/compute_channel.h"
#include "backend/nvidia/texture_words.h"

namespace vg::backend::nvidia {

class TexturePool {
 public:
  static constexpr uint32_t kCount = 1 << 16;

  static Result<std::unique_ptr<TexturePool>> create(Gpu& gpu, Addresses& addresses);

  TexturePools places() const;
  // The number: never 0, and not used again soon. CUDA_ERROR_OUT_OF_MEMORY when all are in use.
  Result<uint64_t> add(const arrays::TextureView& view, void* owner);
  // Null: no living texture.
  void* owner(uint64_t number) const;
  // Requires: nobody else removes it, and no kernel reads it. Others are ignored.
  void remove(uint64_t number);

 private:
  TexturePool() = default;
  bool lives(uint64_t number) const { return number && number < entries_.size() && entries_[number].alive; }

  struct Entry {
    bool alive = false;
    void* owner = nullptr;
  };
  std::unique_ptr<Block> block_;   // headers, then samplers
  mutable std::mutex mutex_;       // guards all below
  std::vector<Entry> entries_{1};  // the first is nobody's
  std::deque<uint32_t> free_;      // the oldest first
};

}  // namespace vg::backend::nvidia
