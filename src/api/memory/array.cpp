// CUDA arrays and mipmapped arrays.
#include "core/arrays/array.h"

#include "api/entry/call.h"
#include "api/memory/era.h"
#include "core/arrays/array_mapping.h"

namespace vg::handlers {
namespace {

CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY3D_DESCRIPTOR_v1& d) {
  return {d.Width, d.Height, d.Depth, d.Format, d.NumChannels, d.Flags};
}

CUresult create(const Call& call, CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  if (!handle) return missing("pHandle");
  VG_TRY(*handle, core::createArray(*call.context, descriptor));
  return CUDA_SUCCESS;
}

template <class Object>
Result<Object&> asValue(Result<Object&> found) {
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  return found.value();
}

Result<const CUDA_ARRAY3D_DESCRIPTOR&> describe(const void* result, CUarray handle) {
  VG_TRY(const core::Array& array, core::findArray(handle));
  if (!result) return missing("pArrayDescriptor");
  VG_CHECK(array.context.state());
  return array.descriptor;
}

}  // namespace

CUresult cuArrayCreate_v2(const Call& call, CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (!pAllocateArray) return missing("pAllocateArray");
  const CUDA_ARRAY_DESCRIPTOR& d = *pAllocateArray;
  return create(call, pHandle, {d.Width, d.Height, 0, d.Format, d.NumChannels, 0});
}

CUresult cuArrayCreate(const Call& call, CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR_v1* pAllocateArray) {
  VG_CHECK(checkEra(call));
  if (!pAllocateArray) return missing("pAllocateArray");
  const CUDA_ARRAY_DESCRIPTOR_v1& d = *pAllocateArray;
  return create(call, pHandle, {d.Width, d.Height, 0, d.Format, d.NumChannels, 0});
}

CUresult cuArray3DCreate_v2(const Call& call, CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  if (!pAllocateArray) return missing("pAllocateArray");
  return create(call, pHandle, *pAllocateArray);
}

CUresult cuArray3DCreate(const Call& call, CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1* pAllocateArray) {
  VG_CHECK(checkEra(call));
  if (!pAllocateArray) return missing("pAllocateArray");
  return create(call, pHandle, widened(*pAllocateArray));
}

CUresult cuArrayDestroy(const Call&, CUarray hArray) { return core::destroyArray(hArray); }

CUresult cuArrayGetDescriptor_v2(const Call&, CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  VG_TRY(const CUDA_ARRAY3D_DESCRIPTOR& d, describe(pArrayDescriptor, hArray));
  *pArrayDescriptor = {d.Width, d.Height, d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor(const Call&, CUDA_ARRAY_DESCRIPTOR_v1* pArrayDescriptor, CUarray hArray) {
  VG_TRY(const CUDA_ARRAY3D_DESCRIPTOR& d, describe(pArrayDescriptor, hArray));
  *pArrayDescriptor = {static_cast<unsigned>(d.Width), static_cast<unsigned>(d.Height), d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(const Call&, CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  VG_TRY(*pArrayDescriptor, describe(pArrayDescriptor, hArray));
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor(const Call&, CUDA_ARRAY3D_DESCRIPTOR_v1* pArrayDescriptor, CUarray hArray) {
  VG_TRY(const CUDA_ARRAY3D_DESCRIPTOR& d, describe(pArrayDescriptor, hArray));
  *pArrayDescriptor = {static_cast<unsigned>(d.Width),
                       static_cast<unsigned>(d.Height),
                       static_cast<unsigned>(d.Depth),
                       d.Format,
                       d.NumChannels,
                       d.Flags};
  return CUDA_SUCCESS;
}

CUresult cuArrayGetPlane(const Call&, CUarray* pPlaneArray, CUarray hArray, unsigned int planeIdx) {
  if (!pPlaneArray) return missing("pPlaneArray");
  VG_TRY(core::Array & array, core::findArray(hArray));
  VG_TRY(*pPlaneArray, core::arrayOfPlane(array, planeIdx));
  return CUDA_SUCCESS;
}

// The vendor's driver looks at no device here, and calls a bad handle a bad value in the four functions that follow.
CUresult cuArrayGetMemoryRequirements(const Call&, CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements, CUarray array,
                                      CUdevice) {
  if (!memoryRequirements) return missing("memoryRequirements");
  VG_TRY(const core::Array& found, asValue(core::findArray(array)));
  VG_TRY(*memoryRequirements, core::memoryRequirements(found));
  return CUDA_SUCCESS;
}

CUresult cuArrayGetSparseProperties(const Call&, CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties, CUarray array) {
  if (!sparseProperties) return missing("sparseProperties");
  VG_TRY(const core::Array& found, asValue(core::findArray(array)));
  VG_TRY(*sparseProperties, core::sparseProperties(found));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(const Call& call, CUmipmappedArray* pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc, unsigned int numMipmapLevels) {
  if (!pHandle || !pMipmappedArrayDesc) return missing("pHandle or pMipmappedArrayDesc");
  VG_TRY(*pHandle, core::createMipmappedArray(*call.context, *pMipmappedArrayDesc, numMipmapLevels));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(const Call&, CUmipmappedArray hMipmappedArray) {
  return core::destroyMipmappedArray(hMipmappedArray);
}

CUresult cuMipmappedArrayGetLevel(const Call&, CUarray* pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level) {
  if (!pLevelArray) return missing("pLevelArray");
  VG_TRY(core::MipmappedArray & mipmapped, core::findMipmappedArray(hMipmappedArray));
  VG_TRY(*pLevelArray, core::arrayOfLevel(mipmapped, level));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetMemoryRequirements(const Call&, CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements,
                                               CUmipmappedArray mipmap, CUdevice) {
  if (!memoryRequirements) return missing("memoryRequirements");
  VG_TRY(const core::MipmappedArray& found, asValue(core::findMipmappedArray(mipmap)));
  VG_TRY(*memoryRequirements, core::memoryRequirements(found));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetSparseProperties(const Call&, CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties,
                                             CUmipmappedArray mipmap) {
  if (!sparseProperties) return missing("sparseProperties");
  VG_TRY(const core::MipmappedArray& found, asValue(core::findMipmappedArray(mipmap)));
  VG_TRY(*sparseProperties, core::sparseProperties(found));
  return CUDA_SUCCESS;
}

CUresult cuMemMapArrayAsync(const Call& call, CUarrayMapInfo* mapInfoList, unsigned int count, CUstream hStream) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::mapArrays(stream, mapInfoList, count);
}

}  // namespace vg::handlers
