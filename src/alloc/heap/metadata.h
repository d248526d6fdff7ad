// Memory for what a heap knows of its pieces. It is never given back while the heap exists: lookups that lost a race
// may still read it.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace vg::alloc::heap {

class Metadata {
 public:
  Metadata() = default;
  Metadata(const Metadata&) = delete;
  ~Metadata();

  // Throws std::bad_alloc.
  std::byte* take(size_t bytes, size_t alignment);
  template <class T>
  T* make() {
    return new (take(sizeof(T), alignof(T))) T;
  }

 private:
  std::byte *at_ = nullptr, *end_ = nullptr;
  std::vector<std::pair<void*, size_t>> chunks_;
};

}  // namespace vg::alloc::heap
