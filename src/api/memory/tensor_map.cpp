// Tensor maps.
#include "core/textures/tensor_map.h"

#include "api/entry/call.h"
#include "base/raw_enum.h"

namespace vg::handlers {

CUresult cuTensorMapEncodeTiled(const Call&, CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                const cuuint64_t* globalStrides, const cuuint32_t* boxDim,
                                const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                CUtensorMapFloatOOBfill oobFill) {
  return core::tensor_maps::encodeTiled(tensorMap,
                                        {tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                         elementStrides, interleave, swizzle, l2Promotion, oobFill},
                                        boxDim);
}

CUresult cuTensorMapEncodeIm2col(const Call&, CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                 cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                 const cuuint64_t* globalStrides, const int* pixelBoxLowerCorner,
                                 const int* pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
                                 cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  return core::tensor_maps::encodeIm2col(tensorMap,
                                         {tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                          elementStrides, interleave, swizzle, l2Promotion, oobFill},
                                         pixelBoxLowerCorner, pixelBoxUpperCorner, channelsPerPixel, pixelsPerColumn);
}

CUresult cuTensorMapEncodeIm2colWide(const Call&, CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                     cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                     const cuuint64_t* globalStrides, int pixelBoxLowerCornerWidth,
                                     int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
                                     cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides,
                                     CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                     CUtensorMapFloatOOBfill oobFill) {
  return core::tensor_maps::encodeIm2colWide(tensorMap,
                                             {tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                              elementStrides, interleave, swizzle, l2Promotion, oobFill},
                                             pixelBoxLowerCornerWidth, pixelBoxUpperCornerWidth, channelsPerPixel,
                                             pixelsPerColumn, mode);
}

CUresult cuTensorMapReplaceAddress(const Call&, CUtensorMap* tensorMap, void* globalAddress) {
  return core::tensor_maps::replaceAddress(tensorMap, globalAddress);
}

// Where rows of addresses end matters to no device that there is, so every request comes out as the small class.
CUresult cuTensorMapSetAllocationClass(const Call&, CUtensorMap* tensorMap, CUtensorMapAllocClass allocClass,
                                       CUtensorMapAllocClass* outAllocClass) {
  if (outAllocClass) *outAllocClass = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
  if (!tensorMap) return missing("tensorMap");
  if (const int wanted = rawValue(allocClass); wanted < 0 || wanted > CU_TENSOR_MAP_ALLOC_CLASS_LARGE)
    return fail(CUDA_ERROR_INVALID_VALUE, "allocation class %d", wanted);
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
