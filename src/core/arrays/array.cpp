#include "core/arrays/array.h"

#include <algorithm>
#include <utility>

#include "alloc/record.h"
#include "base/memory/slab.h"
#include "base/raw_enum.h"
#include "base/sync/mutex.h"
#include "core/arrays/array_storage.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"

namespace vg::core {

struct MipmappedArray {
  explicit MipmappedArray(const std::shared_ptr<ArrayStorage>& whole) : context(whole->context), storage(whole) {}

  static constexpr unsigned kMostLevels = 20;
  Context& context;
  std::shared_ptr<ArrayStorage> storage;
  Array* levels[kMostLevels] = {};  // made at the first need, guarded by the lock
  MipmappedArray *next = nullptr, *previous = nullptr;
};

Array::Array(const std::shared_ptr<ArrayStorage>& whole, const CUDA_ARRAY3D_DESCRIPTOR& described,
             const arrays::Level& place, bool isPart)
    : context(whole->context),
      descriptor(described),
      unit(arrays::unitOf(rawValue(described.Format), described.NumChannels)),
      level(place),
      base(whole->record ? whole->record->data() : nullptr),
      record(whole->record),
      storage(whole),
      part(isPart) {}

namespace {

constinit Slab<Array> arraySlab;
constinit Slab<MipmappedArray> mipmappedSlab;

// Guards the lists of what applications own, the levels of mipmapped arrays and the ends of objects.
constinit Mutex objectsMutex;
constinit Array* firstArray VG_GUARDED_BY(objectsMutex) = nullptr;
constinit MipmappedArray* firstMipmapped VG_GUARDED_BY(objectsMutex) = nullptr;
// Handles of arrays that ended with their context are known as such for a while, the oldest first forgotten.
constexpr unsigned kMostOrphans = 1024;
constinit Array* oldestOrphan VG_GUARDED_BY(objectsMutex) = nullptr;
constinit Array* newestOrphan VG_GUARDED_BY(objectsMutex) = nullptr;
constinit unsigned orphans VG_GUARDED_BY(objectsMutex) = 0;

template <class Object>
void link(Object*& first, Object& object) {
  object.next = first;
  if (first) first->previous = &object;
  first = &object;
}

template <class Object>
void unlink(Object*& first, Object& object) {
  (object.previous ? object.previous->next : first) = object.next;
  if (object.next) object.next->previous = object.previous;
}

CUarray handleOf(Array* array) { return reinterpret_cast<CUarray>(array); }

int attributeOf(const void* device, CUdevice_attribute which) {
  return static_cast<const Device*>(device)->attribute(which);
}

CUresult check(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, bool mipmapped) {
  const int format = rawValue(descriptor.Format);
  if (format >= CU_AD_FORMAT_UINT8_PACKED_422 && format <= CU_AD_FORMAT_UINT16_PLANAR_444 && !offers(13010))
    return fail(CUDA_ERROR_INVALID_VALUE, "array format %#x came after this version of the driver API", format);
  return checkDescriptor(descriptor, arrays::limitsFrom(attributeOf, &context.device()), mipmapped);
}

// A level is described as the whole, with extents of its own.
Array* makeLevel(const std::shared_ptr<ArrayStorage>& storage, unsigned number) {
  const arrays::Level& level = storage->layout.levels[number];
  CUDA_ARRAY3D_DESCRIPTOR descriptor = storage->descriptor;
  descriptor.Width = level.extent.width;
  descriptor.Height = level.extent.height;
  descriptor.Depth = level.extent.depth;
  return arraySlab.create(storage, descriptor, level, true);
}

// What an object leaves behind when it is gone from the handles: freed outside the lock.
using Leftover = std::shared_ptr<ArrayStorage>;

Leftover end(Array& array) {
  for (Array* plane : array.planes)
    if (plane) end(*plane);
  arraySlab.retire(&array);
  Leftover storage = std::move(array.storage);
  arraySlab.recycle(&array);
  return storage;
}

Leftover endOwned(Array& array) VG_REQUIRES(objectsMutex) {
  unlink(firstArray, array);
  return end(array);
}

void orphan(Array& array) VG_REQUIRES(objectsMutex) {
  unlink(firstArray, array);
  array.orphaned.store(true, std::memory_order_release);
  for (Array*& plane : array.planes)
    if (plane) end(*std::exchange(plane, nullptr));
  array.storage.reset();
  array.next = nullptr;
  (newestOrphan ? newestOrphan->next : oldestOrphan) = &array;
  newestOrphan = &array;
  if (orphans++ < kMostOrphans) return;
  Array& forgotten = *std::exchange(oldestOrphan, oldestOrphan->next);
  --orphans;
  end(forgotten);
}

Leftover end(MipmappedArray& mipmapped) VG_REQUIRES(objectsMutex) {
  for (Array* level : mipmapped.levels)
    if (level) end(*level);
  unlink(firstMipmapped, mipmapped);
  mipmappedSlab.retire(&mipmapped);
  Leftover storage = std::move(mipmapped.storage);
  mipmappedSlab.recycle(&mipmapped);
  return storage;
}

}  // namespace

Result<CUarray> createArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  VG_CHECK(check(context, descriptor, false));
  VG_TRY(const std::shared_ptr<ArrayStorage> storage, ArrayStorage::create(context, descriptor, 1));
  Array* array = arraySlab.create(storage, descriptor, storage->layout.levels[0], false);
  const MutexLock lock(objectsMutex);
  link(firstArray, *array);
  return handleOf(array);
}

Result<CUmipmappedArray> createMipmappedArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                              unsigned levels) {
  VG_CHECK(check(context, descriptor, true));
  levels = std::clamp(levels, 1u, arrays::mostLevels(descriptor));
  VG_TRY(const std::shared_ptr<ArrayStorage> storage, ArrayStorage::create(context, descriptor, levels));
  MipmappedArray* mipmapped = mipmappedSlab.create(storage);
  const MutexLock lock(objectsMutex);
  link(firstMipmapped, *mipmapped);
  return reinterpret_cast<CUmipmappedArray>(mipmapped);
}

Result<Array&> findArray(CUarray handle) {
  if (Array* array = arraySlab.find(handle)) {
    if (!array->orphaned.load(std::memory_order_acquire)) [[likely]]
      return *array;
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "array %p ended with its context", static_cast<void*>(handle));
  }
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no array", static_cast<void*>(handle));
}

Result<MipmappedArray&> findMipmappedArray(CUmipmappedArray handle) {
  if (MipmappedArray* mipmapped = mipmappedSlab.find(handle)) return *mipmapped;
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no mipmapped array", static_cast<void*>(handle));
}

std::shared_ptr<ArrayStorage> storageOf(const Array& array) {
  const MutexLock lock(objectsMutex);
  return arraySlab.find(&array) ? array.storage : nullptr;  // null for an orphan
}

std::shared_ptr<ArrayStorage> storageOf(const MipmappedArray& mipmapped) {
  const MutexLock lock(objectsMutex);
  return mipmappedSlab.find(&mipmapped) ? mipmapped.storage : nullptr;
}

CUresult destroyArray(CUarray handle) {
  VG_TRY(Array & array, findArray(handle));
  if (array.part) return CUDA_SUCCESS;
  const CUresult waited = memory::drain(&array.context);
  if (waited == CUDA_ERROR_NOT_PERMITTED) return waited;  // from a host function: nothing was waited for
  Leftover storage;
  const MutexLock lock(objectsMutex);
  if (arraySlab.find(handle) != &array || array.orphaned.load(std::memory_order_relaxed))
    return fail(CUDA_ERROR_INVALID_HANDLE, "another thread destroys array %p", static_cast<void*>(handle));
  const CUresult fault = array.context.state();
  storage = endOwned(array);
  return waited == CUDA_SUCCESS ? fault : waited;
}

CUresult destroyMipmappedArray(CUmipmappedArray handle) {
  VG_TRY(MipmappedArray & mipmapped, findMipmappedArray(handle));
  const CUresult waited = memory::drain(&mipmapped.context);
  if (waited == CUDA_ERROR_NOT_PERMITTED) return waited;
  Leftover storage;
  const MutexLock lock(objectsMutex);
  if (mipmappedSlab.find(handle) != &mipmapped)
    return fail(CUDA_ERROR_INVALID_HANDLE, "another thread destroys mipmapped array %p", static_cast<void*>(handle));
  const CUresult fault = mipmapped.context.state();
  storage = end(mipmapped);
  return waited == CUDA_SUCCESS ? fault : waited;
}

void releaseArrays(Context& context) {
  const MutexLock lock(objectsMutex);
  for (Array *array = firstArray, *next; array; array = next) {
    next = array->next;
    if (&array->context == &context) orphan(*array);
  }
  for (MipmappedArray *mipmapped = firstMipmapped, *next; mipmapped; mipmapped = next) {
    next = mipmapped->next;
    if (&mipmapped->context == &context) end(*mipmapped);
  }
}

Result<CUarray> arrayOfLevel(MipmappedArray& mipmapped, unsigned level) {
  const MutexLock lock(objectsMutex);
  if (!mipmappedSlab.find(&mipmapped)) return CUDA_ERROR_INVALID_HANDLE;
  VG_CHECK(mipmapped.context.state());
  const size_t levels = mipmapped.storage->layout.levels.size();
  if (level >= levels) return fail(CUDA_ERROR_INVALID_VALUE, "level %u of %zu", level, levels);
  Array*& made = mipmapped.levels[level];
  if (!made) made = makeLevel(mipmapped.storage, level);
  return handleOf(made);
}

Result<CUarray> arrayOfPlane(Array& array, unsigned plane) {
  const MutexLock lock(objectsMutex);
  if (!arraySlab.find(&array) || !array.storage) return CUDA_ERROR_INVALID_HANDLE;
  VG_CHECK(array.context.state());
  const auto& planes = array.storage->layout.planes;
  if (array.part || plane >= planes.size())
    return fail(CUDA_ERROR_INVALID_VALUE, "plane %u of an array that has %zu", plane, array.part ? 0 : planes.size());
  Array*& made = array.planes[plane];
  if (!made) made = arraySlab.create(array.storage, planes[plane].descriptor, planes[plane].level, true);
  return handleOf(made);
}

namespace {

Result<CUDA_ARRAY_MEMORY_REQUIREMENTS> requirementsOf(const ArrayStorage& storage) {
  if (!storage.deferred()) return fail(CUDA_ERROR_INVALID_VALUE, "the array has no deferred mapping");
  if (storage.context.state() != CUDA_SUCCESS)  // not the fault itself, as in other queries
    return fail(CUDA_ERROR_INVALID_VALUE, "earlier work of the context has failed");
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements{};
  requirements.size = storage.layout.bytes;
  requirements.alignment = arrays::kTileBytes;
  return requirements;
}

Result<CUDA_ARRAY_SPARSE_PROPERTIES> propertiesOf(const ArrayStorage& storage) {
  if (!storage.sparse()) return fail(CUDA_ERROR_INVALID_VALUE, "the array is not sparse");
  const arrays::Layout& layout = storage.layout;
  CUDA_ARRAY_SPARSE_PROPERTIES properties{};
  properties.tileExtent = {layout.tile.width, layout.tile.height, layout.tile.depth};
  properties.miptailFirstLevel = layout.firstTailLevel;
  properties.miptailSize = layout.tailBytes;
  if (layout.singleTail) properties.flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
  return properties;
}

}  // namespace

Result<CUDA_ARRAY_MEMORY_REQUIREMENTS> memoryRequirements(const Array& array) {
  if (array.part)
    return fail(CUDA_ERROR_INVALID_VALUE, "a level or plane has no memory requirements: ask for those of the array");
  return requirementsOf(*array.storage);
}
Result<CUDA_ARRAY_MEMORY_REQUIREMENTS> memoryRequirements(const MipmappedArray& mipmapped) {
  return requirementsOf(*mipmapped.storage);
}
Result<CUDA_ARRAY_SPARSE_PROPERTIES> sparseProperties(const Array& array) {
  if (array.part)
    return fail(CUDA_ERROR_INVALID_VALUE, "a level or plane has no sparse properties: ask for those of the array");
  VG_TRY(CUDA_ARRAY_SPARSE_PROPERTIES properties, propertiesOf(*array.storage));
  properties.miptailFirstLevel = 0;  // no level but one, in tiles or in the tail
  return properties;
}
Result<CUDA_ARRAY_SPARSE_PROPERTIES> sparseProperties(const MipmappedArray& mipmapped) {
  return propertiesOf(*mipmapped.storage);
}

}  // namespace vg::core
