#include "backend/nvidia/driver/memory_object.h"

#include <utility>

namespace vg::backend::nvidia {
namespace {

rm::MemoryParameters parametersOf(const Gpu& gpu, const MemoryRequest& request) {
  rm::MemoryParameters p{};
  p.owner = gpu.client().handle();
  p.format = rm::kFormat;
  p.bytes = (request.bytes + request.pageBytes - 1) / request.pageBytes * request.pageBytes;
  p.alignment = request.pageBytes;
  p.limit = p.bytes - 1;
  p.attributes = request.contiguous ? rm::kContiguous : rm::kAllowScattered;
  p.attributes2 = rm::kNoZbc;
  p.flags = rm::kIgnoreBankPlacement | rm::kHandleProvided | rm::kMapNotRequired;
  return p;
}

void placeInVideoMemory(rm::MemoryParameters& p, size_t pageBytes) {
  p.type = rm::kTypeImage;
  p.flags |= rm::kAlignmentForce | rm::kPersistentVideo;
  p.attributes2 |= rm::kGpuCacheable;
  if (pageBytes == kHugePage) {
    p.attributes |= rm::kPageSizeHuge;
    p.attributes2 |= rm::kHuge2M;
  } else {
    p.attributes |= pageBytes == kBigPage ? rm::kPageSizeBig : rm::kPageSize4K;
  }
}

// Cached by the CPU, whose caches the GPU looks into.
void placeInSystemMemory(rm::MemoryParameters& p) {
  p.type = rm::kTypeNotifier;
  p.attributes |= rm::kLocationSystem | rm::kCoherencyCached;
  p.attributes2 |= rm::kGpuUncacheable;
}

}  // namespace

Result<std::unique_ptr<MemoryObject>> MemoryObject::allocate(Gpu& gpu, const MemoryRequest& request) {
  rm::MemoryParameters p = parametersOf(gpu, request);
  const bool video = request.where == Where::Video;
  if (video)
    placeInVideoMemory(p, request.pageBytes);
  else
    placeInSystemMemory(p);
  const auto make = [&] {
    return gpu.client().make(gpu.device(), video ? rm::kMemoryLocalUser : rm::kMemorySystem, &p, sizeof p);
  };
  Client::Made made = make();
  if (made.status && video && gpu.spare().trim()) made = make();
  if (made.status) return refused(made.status, "%zu bytes of %s memory", request.bytes, video ? "video" : "system");
  return std::unique_ptr<MemoryObject>(new MemoryObject(gpu, made.handle, p.bytes, request.where));
}

Result<std::shared_ptr<const MemoryObject>> MemoryObject::allocateReusable(Gpu& gpu, size_t bytes) {
  const size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  std::unique_ptr<MemoryObject> object = adopt(gpu, 0, size);
  object->handle_ = gpu.spare().take(size);
  if (!object->handle_) {
    VG_TRY(object, allocate(gpu, {Where::Video, size, kHugePage}));
  }
  return std::shared_ptr<const MemoryObject>(object.release(), [](MemoryObject* last) {
    last->reuse();
    delete last;
  });
}

void MemoryObject::reuse() noexcept {
  if (!shared_.load(std::memory_order_relaxed)) gpu_.spare().put(std::exchange(handle_, 0), bytes_);
}

Result<std::unique_ptr<MemoryObject>> MemoryObject::pin(Gpu& gpu, void* start, size_t bytes, bool readOnly) {
  const uint32_t flags = rm::kScattered | rm::kCached | rm::kNoKernelMap | (readOnly ? rm::kUserReadOnly : 0);
  const Client::Made made = gpu.client().makeFromUser(gpu.file(), gpu.device(), start, bytes, flags);
  if (made.status) return refused(made.status, "to pin %zu bytes at %p", bytes, start);
  return std::unique_ptr<MemoryObject>(new MemoryObject(gpu, made.handle, bytes, Where::System));
}

}  // namespace vg::backend::nvidia
