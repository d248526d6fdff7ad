// Memory that a GPU can use, as the resource manager knows it: video memory, system memory, or pages of the process.
// It has no address until it is mapped (block.h).
#pragma once

#include <atomic>
#include <memory>

#include "backend/nvidia/driver/gpu.h"

namespace vg::backend::nvidia {

inline constexpr size_t kSmallPage = 4096, kBigPage = 65536, kHugePage = size_t{2} << 20;

enum class Where { Video, System };

struct MemoryRequest {
  Where where = Where::Video;
  size_t bytes = 0;              // rounded up to the page
  size_t pageBytes = kHugePage;  // kSmallPage, kBigPage or kHugePage; system memory: kSmallPage
  bool contiguous = false;
};

class MemoryObject {
 public:
  static Result<std::unique_ptr<MemoryObject>> allocate(Gpu& gpu, const MemoryRequest& request);
  // Video memory in huge pages. When nobody has it any more the GPU keeps it for the next call, unless others were
  // given a descriptor of it.
  static Result<std::shared_ptr<const MemoryObject>> allocateReusable(Gpu& gpu, size_t bytes);
  // Pins pages that the process has. Requires: whole pages. `readOnly`: the process may only read them, and so may the
  // GPU.
  static Result<std::unique_ptr<MemoryObject>> pin(Gpu& gpu, void* start, size_t bytes, bool readOnly);
  // Video memory that is there already, under this handle.
  static std::unique_ptr<MemoryObject> adopt(Gpu& gpu, rm::Handle handle, size_t bytes) {
    return std::unique_ptr<MemoryObject>(new MemoryObject(gpu, handle, bytes, Where::Video));
  }
  ~MemoryObject() {
    if (handle_) gpu_.client().free(gpu_.device(), handle_);
  }
  MemoryObject(const MemoryObject&) = delete;

  Gpu& gpu() const { return gpu_; }
  rm::Handle handle() const { return handle_; }
  size_t bytes() const { return bytes_; }
  Where where() const { return where_; }
  // Somebody else may have it from now on, so that it is used for nothing else.
  void noteShared() const { shared_.store(true, std::memory_order_relaxed); }

 private:
  MemoryObject(Gpu& gpu, rm::Handle handle, size_t bytes, Where where)
      : gpu_(gpu), handle_(handle), bytes_(bytes), where_(where) {}

  // Nobody has it any more.
  void reuse() noexcept;

  Gpu& gpu_;
  rm::Handle handle_;  // 0: the GPU has it again
  const size_t bytes_;
  const Where where_;
  mutable std::atomic<bool> shared_{false};
};

}  // namespace vg::backend::nvidia
