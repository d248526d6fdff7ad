// Texture and surface objects.
#include "core/textures/texture.h"

#include <algorithm>
#include <iterator>

#include "api/entry/call.h"
#include "base/raw_enum.h"

namespace vg::handlers {
CUresult cuTexObjectCreate(const Call& call, CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
                           const CUDA_TEXTURE_DESC* pTexDesc, const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
  if (!pTexObject || !pResDesc || !pTexDesc) return missing("pTexObject, pResDesc or pTexDesc");
  VG_TRY(*pTexObject, core::textures::create(*call.context, *pResDesc, *pTexDesc, pResViewDesc));
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(const Call&, CUtexObject texObject) { return core::textures::destroy(texObject); }

CUresult cuTexObjectGetResourceDesc(const Call&, CUDA_RESOURCE_DESC* pResDesc, CUtexObject texObject) {
  if (!pResDesc) return missing("pResDesc");
  VG_TRY(const core::TextureObject& object, core::textures::find(texObject));
  *pResDesc = object.resource;
  // As the vendor's driver has it: a single row has no pitch.
  if (object.resource.resType == CU_RESOURCE_TYPE_PITCH2D && object.resource.res.pitch2D.height == 1)
    pResDesc->res.pitch2D.pitchInBytes = 0;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(const Call&, CUDA_TEXTURE_DESC* pTexDesc, CUtexObject texObject) {
  if (!pTexDesc) return missing("pTexDesc");
  VG_TRY(const core::TextureObject& object, core::textures::find(texObject));
  *pTexDesc = object.texture;
  // The vendor's driver keeps no colour, and takes what is no mode for clamping.
  std::fill(std::begin(pTexDesc->borderColor), std::end(pTexDesc->borderColor), 0.0F);
  for (CUaddress_mode& mode : pTexDesc->addressMode)
    if (rawValue(mode) > CU_TR_ADDRESS_MODE_BORDER) mode = CU_TR_ADDRESS_MODE_CLAMP;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(const Call&, CUDA_RESOURCE_VIEW_DESC* pResViewDesc, CUtexObject texObject) {
  if (!pResViewDesc) return missing("pResViewDesc");
  VG_TRY(const core::TextureObject& object, core::textures::find(texObject));
  if (object.view) *pResViewDesc = *object.view;  // left alone without one, as recorded
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(const Call& call, CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
  if (!pSurfObject || !pResDesc) return missing("pSurfObject or pResDesc");
  VG_TRY(*pSurfObject, core::textures::createSurface(*call.context, *pResDesc));
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(const Call&, CUsurfObject surfObject) {
  return core::textures::destroySurface(surfObject);
}

CUresult cuSurfObjectGetResourceDesc(const Call&, CUDA_RESOURCE_DESC* pResDesc, CUsurfObject surfObject) {
  if (!pResDesc) return missing("pResDesc");
  VG_TRY(const core::TextureObject& object, core::textures::findSurface(surfObject));
  *pResDesc = object.resource;
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
