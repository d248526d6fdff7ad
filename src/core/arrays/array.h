// CUDA arrays and mipmapped arrays as objects: what is behind CUarray and CUmipmappedArray.
//
// A plain array owns memory of its device's heap, which pointers never name. A sparse array or one of deferred mapping
// owns pages that the application fills (core/arrays/array_mapping.h). Levels and planes are arrays of their own that
// live and end with the array they are part of. Handles are slots: stale and made-up ones are refused. All functions
// are thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>

#include "arrays/descriptor.h"
#include "arrays/layout.h"
#include "arrays/pages.h"
#include "base/result.h"

namespace vg::alloc {
struct Record;
}

namespace vg::core {

class ArrayStorage;
class Context;
struct MipmappedArray;

// Constant from its creation on, but for what is behind `storage`.
struct Array {
  Array(const std::shared_ptr<ArrayStorage>& storage, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
        const arrays::Level& level, bool part);

  Context& context;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;  // as cuArray3DGetDescriptor says it
  arrays::Unit unit;
  arrays::Level level;
  std::byte* base;                        // of the storage; null: it is paged
  const alloc::Record* record;            // of the memory; null: it is paged
  std::shared_ptr<ArrayStorage> storage;  // of the whole array that this one is part of
  const bool part;                        // a level or a plane
  std::atomic<bool> orphaned{false};      // its context has ended: only the handle is left
  static constexpr unsigned kMostPlanes = 3;
  Array* planes[kMostPlanes] = {};             // made at the first need, guarded by the lock of array.cpp
  Array *next = nullptr, *previous = nullptr;  // owned arrays, guarded by the lock of array.cpp
};

// The parameters of cuArray3DCreate and cuMipmappedArrayCreate. `levels` is clamped to what there can be.
// CUDA_ERROR_INVALID_VALUE for what is no array, CUDA_ERROR_OUT_OF_MEMORY beyond the device's memory.
Result<CUarray> createArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
Result<CUmipmappedArray> createMipmappedArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                              unsigned levels);

// CUDA_ERROR_INVALID_HANDLE for what is no living array, CUDA_ERROR_CONTEXT_IS_DESTROYED for one that ended with its
// context.
Result<Array&> findArray(CUarray handle);
Result<MipmappedArray&> findMipmappedArray(CUmipmappedArray handle);

// Waits for the work of the context. A level or a plane stays until the whole goes.
CUresult destroyArray(CUarray handle);
CUresult destroyMipmappedArray(CUmipmappedArray handle);
// Ends the arrays of a context that ends, after its streams.
void releaseArrays(Context& context);

// The same handle each time. CUDA_ERROR_INVALID_VALUE beyond the last level.
Result<CUarray> arrayOfLevel(MipmappedArray& mipmapped, unsigned level);
// The same; CUDA_ERROR_INVALID_VALUE beyond the last plane and for what has no planes.
Result<CUarray> arrayOfPlane(Array& array, unsigned plane);
// CUDA_ERROR_INVALID_VALUE unless the array was made for that: deferred mapping, or sparse.
Result<CUDA_ARRAY_MEMORY_REQUIREMENTS> memoryRequirements(const Array& array);
Result<CUDA_ARRAY_MEMORY_REQUIREMENTS> memoryRequirements(const MipmappedArray& mipmapped);
Result<CUDA_ARRAY_SPARSE_PROPERTIES> sparseProperties(const Array& array);
Result<CUDA_ARRAY_SPARSE_PROPERTIES> sparseProperties(const MipmappedArray& mipmapped);

// The storage of a living array, or null when the handle's life ended meanwhile.
std::shared_ptr<ArrayStorage> storageOf(const Array& array);
std::shared_ptr<ArrayStorage> storageOf(const MipmappedArray& mipmapped);

}  // namespace vg::core
