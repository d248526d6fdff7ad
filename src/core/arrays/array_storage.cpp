#include "core/arrays/array_storage.h"

#include <sys/mman.h>

#include "alloc/physical_memory.h"
#include "alloc/record.h"
#include "arrays/place_levels.h"
#include "base/round.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"

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
    if (context.device().traits().blockLinearArrays) return makeRange();
    VG_TRY(pages, arrays::Pages::create(layout.bytes));
    return CUDA_SUCCESS;
  }
  VG_TRY(record, memory::allocateForArray(context, layout.bytes));
  recordId_ = record->id.load(std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

// A device faults where nothing of a deferred array is mapped.
CUresult ArrayStorage::makeRange() {
  VG_TRY(alloc::AddressSpace & space, memory::addressSpace());
  const size_t bytes = roundUp(layout.bytes, alloc::kGranule);
  VG_TRY(const uintptr_t start, space.reserve(bytes));
  Result<std::unique_ptr<alloc::SparseRange>> made = context.device().backend().memory().createSparse(
      reinterpret_cast<std::byte*>(start), layout.bytes, sparse() ? alloc::Holes::ReadZero : alloc::Holes::Fault);
  if (!made) {
    space.free(start, bytes);
    return made.error();
  }
  range = std::move(made).value();
  alloc::Record prototype;
  prototype.base = start;
  prototype.size = layout.bytes;
  prototype.owner = &context;
  prototype.kind = alloc::Kind::Array;
  prototype.window = static_cast<uint16_t>(context.device().ordinal());
  record = space.publish(prototype);
  return CUDA_SUCCESS;
}

namespace {

void endRange(const alloc::Record& record, std::unique_ptr<alloc::SparseRange> range) {
  const uintptr_t start = record.base.load(std::memory_order_relaxed);
  const size_t bytes = roundUp(record.bytes(), alloc::kGranule);
  Result<alloc::AddressSpace&> space = memory::addressSpace();
  space->withdraw(const_cast<alloc::Record*>(&record));
  range.reset();
  space->free(start, bytes);
}

}  // namespace

ArrayStorage::~ArrayStorage() {
  if (range)
    endRange(*record, std::move(range));
  else if (record)
    memory::releaseOfArray(*record, recordId_);
  for (const auto& [memory, view] : views) {
    memory->unmap(view.start, memory->bytes());
    munmap(view.start, memory->bytes());
  }
}

}  // namespace vg::core
