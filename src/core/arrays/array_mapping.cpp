#include "core/arrays/array_mapping.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/raw_enum.h"
#include "base/sync/mutex.h"
#include "base/undo.h"
#include "core/arrays/array.h"
#include "core/arrays/array_storage.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/virtual/physical_allocation.h"

namespace vg::core {
namespace {

using arrays::kTileBytes;
using arrays::Level;

// What an entry means: pages of a storage and where their memory is.
struct Change {
  std::shared_ptr<ArrayStorage> storage;
  std::vector<size_t> pages;         // of the storage, in the order of memory
  memory::AllocationRef allocation;  // none: unmap
  size_t offset = 0;                 // of the first page's memory
};

CUresult refuse(const char* what) { return fail(CUDA_ERROR_INVALID_VALUE, "cuMemMapArrayAsync: %s", what); }

Result<std::shared_ptr<ArrayStorage>> storageOf(const CUarrayMapInfo& entry) {
  std::shared_ptr<ArrayStorage> storage;
  switch (rawValue(entry.resourceType)) {
    case CU_RESOURCE_TYPE_ARRAY: {
      Result<Array&> array = findArray(entry.resource.array);
      if (!array || array->part) return refuse("no array, or a part of one");
      storage = core::storageOf(array.value());
      break;
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      Result<MipmappedArray&> mipmapped = findMipmappedArray(entry.resource.mipmap);
      if (!mipmapped) return refuse("no mipmapped array");
      storage = core::storageOf(mipmapped.value());
      break;
    }
    default:
      return refuse("the resource is no kind of array");
  }
  if (!storage || !(storage->sparse() || storage->deferred()))
    return refuse("the array is neither sparse nor of deferred mapping");
  return storage;
}

// An interval of tiles along one axis: whole tiles, the last one perhaps cut off by the edge of the level.
struct Tiles {
  size_t first, count;
};
Result<Tiles> tilesOf(size_t offset, size_t extent, size_t tile, size_t end) {
  if (!extent || offset % tile || offset >= end || extent > end - offset || (extent % tile && offset + extent != end))
    return refuse("the extent is not one of whole tiles inside the level");
  return Tiles{offset / tile, (extent + tile - 1) / tile};
}

CUresult addTiles(const ArrayStorage& storage, const CUarrayMapInfo& entry, std::vector<size_t>& pages) {
  const auto& at = entry.subresource.sparseLevel;
  const arrays::Layout& layout = storage.layout;
  if (layout.singleTail || at.level >= layout.firstTailLevel) return refuse("no such level, or one in the tail");
  const Level& level = layout.levels[at.level];
  const bool box = layout.kind == arrays::Kind::Box;
  if (at.layer >= layout.layers() || (!box && (at.offsetZ || at.extentDepth != 1))) return refuse("no such layer");
  VG_TRY(const Tiles x, tilesOf(at.offsetX, at.extentWidth, layout.tile.width, level.extent.width));
  VG_TRY(const Tiles y, tilesOf(at.offsetY, at.extentHeight, layout.tile.height, level.extent.height));
  VG_TRY(const Tiles z, box ? tilesOf(at.offsetZ, at.extentDepth, layout.tile.depth, level.extent.depth)
                            : Result<Tiles>(Tiles{at.layer, 1}));
  for (size_t slice = z.first; slice < z.first + z.count; ++slice)
    for (size_t row = y.first; row < y.first + y.count; ++row)
      for (size_t column = x.first; column < x.first + x.count; ++column)
        pages.push_back(level.pageOf(column, row, slice));
  return CUDA_SUCCESS;
}

void addRange(std::vector<size_t>& pages, size_t offset, size_t bytes) {
  for (size_t page = offset / kTileBytes; page < (offset + bytes) / kTileBytes; ++page) pages.push_back(page);
}

CUresult addTail(const ArrayStorage& storage, const CUarrayMapInfo& entry, std::vector<size_t>& pages) {
  const auto& at = entry.subresource.miptail;
  const arrays::Layout& layout = storage.layout;
  const size_t tails = layout.singleTail ? 1 : layout.layers();
  if (!layout.tailBytes || at.layer >= tails) return refuse("no such mip tail");
  if (!at.size || at.offset % kTileBytes || at.size % kTileBytes || at.offset > layout.tailBytes ||
      at.size > layout.tailBytes - at.offset)
    return refuse("no such part of the mip tail");
  addRange(pages, layout.tailOffset + at.layer * layout.tailPitch + at.offset, at.size);
  return CUDA_SUCCESS;
}

CUresult addPages(const ArrayStorage& storage, const CUarrayMapInfo& entry, std::vector<size_t>& pages) {
  if (storage.deferred()) {  // mapped whole: its subresource says nothing
    addRange(pages, 0, storage.layout.bytes);
    return CUDA_SUCCESS;
  }
  switch (rawValue(entry.subresourceType)) {
    case CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL:
      return addTiles(storage, entry, pages);
    case CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL:
      return addTail(storage, entry, pages);
  }
  return refuse("unknown type of subresource");
}

CUresult findMemory(const CUarrayMapInfo& entry, Change& change) {
  if (rawValue(entry.memHandleType) != CU_MEM_HANDLE_TYPE_GENERIC) return refuse("unknown type of memory handle");
  VG_TRY(change.allocation, memory::useAllocation(entry.memHandle.memHandle));
  const memory::Allocation& allocation = *change.allocation;
  if (!(allocation.properties().allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL))
    return refuse("the memory was not made with CU_MEM_CREATE_USAGE_TILE_POOL");
  if (allocation.place() != change.storage->context.device().ordinal()) return refuse("memory of another place");
  const size_t bytes = change.pages.size() * kTileBytes;
  if (entry.offset % kTileBytes || entry.offset > allocation.bytes() || bytes > allocation.bytes() - entry.offset)
    return refuse("the memory is too small, or the offset no multiple of 64 KiB");
  change.offset = entry.offset;
  return CUDA_SUCCESS;
}

Result<Change> understand(const CUarrayMapInfo& entry) {
  Change change;
  VG_TRY(change.storage, storageOf(entry));
  const int operation = rawValue(entry.memOperationType);
  if (operation != CU_MEM_OPERATION_TYPE_MAP && operation != CU_MEM_OPERATION_TYPE_UNMAP)
    return refuse("unknown operation");
  const unsigned own = 1u << change.storage->context.device().ordinal();
  if (entry.flags || entry.reserved[0] || entry.reserved[1] || entry.deviceBitMask != own)
    return refuse("flags, reserved words, or a mask that names other devices");
  VG_CHECK(addPages(*change.storage, entry, change.pages));
  if (operation == CU_MEM_OPERATION_TYPE_MAP) VG_CHECK(findMemory(entry, change));
  return change;
}

// The view of an allocation in this storage, made at the first need.
Result<ArrayStorage::View*> viewOf(ArrayStorage& storage, const alloc::PhysicalRef& memory)
    VG_REQUIRES(storage.pages->mutex()) {
  if (const auto found = storage.views.find(memory.get()); found != storage.views.end()) return &found->second;
  void* start = mmap(nullptr, memory->bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no addresses for %zu bytes", memory->bytes());
  Undo unreserve([&] { munmap(start, memory->bytes()); });
  ArrayStorage::View view{memory, static_cast<std::byte*>(start), 0};
  auto& views = storage.views;
  const auto made = views.emplace(memory.get(), std::move(view)).first;  // first what may lack memory
  Undo forget([&]() VG_REQUIRES(storage.pages->mutex()) { views.erase(made); });
  VG_CHECK(memory->map(static_cast<std::byte*>(start), 0, memory->bytes(), alloc::Protection::ReadWrite));
  forget.done();
  unreserve.done();
  return &made->second;
}

// Takes a page away from the view it lies in; a view of no pages goes.
void forgetPage(ArrayStorage& storage, size_t page) VG_REQUIRES(storage.pages->mutex()) {
  std::byte* const memory = storage.pages->get(page);
  if (!memory) return;
  storage.pages->set(page, nullptr);
  const auto view = std::find_if(storage.views.begin(), storage.views.end(), [&](const auto& candidate) {
    return static_cast<size_t>(memory - candidate.second.start) < candidate.second.memory->bytes();
  });
  if (--view->second.pages) return;
  const alloc::PhysicalMemory& memoryOfView = *view->second.memory;
  memoryOfView.unmap(view->second.start, memoryOfView.bytes());
  munmap(view->second.start, memoryOfView.bytes());
  storage.views.erase(view);
}

// Pages in a row are one call of the device.
CUresult applyToRange(ArrayStorage& storage, const Change& change) {
  const alloc::PhysicalRef memory = change.allocation.operator->() ? change.allocation->memory() : nullptr;
  const MutexLock lock(storage.rangeMutex);
  for (size_t i = 0, count; i < change.pages.size(); i += count) {
    const size_t first = change.pages[i];
    for (count = 1; i + count < change.pages.size() && change.pages[i + count] == first + count;) ++count;
    const size_t offset = first * kTileBytes, bytes = count * kTileBytes;
    VG_CHECK(memory ? storage.range->show(offset, *memory, change.offset + i * kTileBytes, bytes)
                    : storage.range->hide(offset, bytes));
    for (size_t page = first; page < first + count; ++page) {
      if (memory)
        storage.inRange[page] = memory;
      else
        storage.inRange.erase(page);
    }
  }
  return CUDA_SUCCESS;
}

CUresult apply(const Change& change) {
  ArrayStorage& storage = *change.storage;
  if (storage.range) return applyToRange(storage, change);
  const ExclusiveLock lock(storage.pages->mutex());
  ArrayStorage::View* view = nullptr;
  if (change.allocation.operator->()) {
    VG_TRY(view, viewOf(storage, change.allocation->memory()));
    view->pages += change.pages.size();  // first, so that it outlives what it replaces
  }
  size_t offset = change.offset;
  for (const size_t page : change.pages) {
    forgetPage(storage, page);
    if (view) storage.pages->set(page, view->start + offset);
    offset += kTileBytes;
  }
  return CUDA_SUCCESS;
}

struct Mapping {
  Context* context;
  std::vector<Change> changes;
};

void perform(void* data) {
  const std::unique_ptr<Mapping> work(static_cast<Mapping*>(data));
  for (const Change& change : work->changes)
    if (const CUresult failed = apply(change)) work->context->report(failed, "memory could not be mapped in an array");
}

}  // namespace

CUresult mapArrays(Stream& stream, const CUarrayMapInfo* entries, size_t count) {
  if (!entries || !count) return refuse("no entries");
  auto work = std::make_unique<Mapping>();
  work->context = &stream.context();
  for (size_t i = 0; i < count; ++i) {
    VG_TRY(Change change, understand(entries[i]));
    work->changes.push_back(std::move(change));
  }
  const CUresult submitted = stream.submit(backend::HostCall{perform, work.get()});
  if (submitted == CUDA_SUCCESS) (void)work.release();
  return submitted;
}

}  // namespace vg::core
