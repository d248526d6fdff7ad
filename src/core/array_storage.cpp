#include "core/array_storage.h"

#include <sys/mman.h>

#include "alloc/physical_memory.h"
#include "alloc/record.h"
#include "core/context.h"
#include "core/device.h"
#include "core/memory_heaps.h"

namespace vg::core {

Result<std::shared_ptr<ArrayStorage>> ArrayStorage::create(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                                           unsigned levels) {
  auto storage = std::make_shared<ArrayStorage>(context, descriptor);
  const bool tiled = context.device().backend().traits().blockLinearArrays;
  storage->layout =
      arrays::layoutOf(descriptor, levels, tiled ? arrays::Storage::BlockLinear : arrays::Storage::Linear);
  VG_CHECK(storage->allocate());
  return storage;
}

CUresult ArrayStorage::allocate() {
  if (sparse() || deferred()) {
    VG_TRY(pages, arrays::Pages::create(layout.bytes));
    return CUDA_SUCCESS;
  }
  VG_TRY(record, memory::allocateForArray(context, layout.bytes));
  recordId_ = record->id.load(std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

ArrayStorage::~ArrayStorage() {
  if (record) memory::releaseOfArray(*record, recordId_);
  for (const auto& [memory, view] : views) {
    memory->unmap(view.start, memory->bytes());
    munmap(view.start, memory->bytes());
  }
}

}  // namespace vg::core
