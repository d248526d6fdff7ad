// The memory of a block in which warps keep what they hold while they wait (BlockState::frames). It only grows.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace vg::backend::cpu {

class Frames {
 public:
  // False when the system refuses memory: there is none then.
  bool reserve(size_t bytes) {
    if (bytes <= bytes_) return true;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) & ~size_t{63})));
    bytes_ = memory_ ? bytes : 0;
    return memory_ != nullptr;
  }
  std::byte* memory() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  size_t bytes_ = 0;
};

}  // namespace vg::backend::cpu
