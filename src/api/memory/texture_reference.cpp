// Texture and surface references: the older way to let kernels read through the texture units.
#include "core/textures/texture_reference.h"

#include <algorithm>

#include "api/entry/call.h"
#include "api/memory/era.h"
#include "base/raw_enum.h"
#include "core/arrays/array.h"
#include "core/contexts/context.h"
#include "core/modules/kernel.h"
#include "core/modules/module.h"
#include "core/process/device.h"

namespace vg::handlers {
namespace {

using core::references::TextureState;

constexpr int kDimensions = 3;

// Changes a reference by a function object.
template <class Apply>
CUresult change(CUtexref reference, Apply apply) {
  return core::references::change(
      reference, [](TextureState& state, void* arguments) { return (*static_cast<Apply*>(arguments))(state); }, &apply);
}

// Writes what `read` takes from the state.
template <class Value, class Read>
CUresult tell(Value* to, const char* name, CUtexref reference, Read read) {
  if (!to) return missing(name);
  VG_TRY(const TextureState state, core::references::state(reference));
  return read(state, *to);
}

// Of other filters the driver takes modes that are none; here they change nothing.
bool isFilter(CUfilter_mode mode) {
  const int raw = rawValue(mode);
  return raw == CU_TR_FILTER_MODE_POINT || raw == CU_TR_FILTER_MODE_LINEAR;
}
bool isAddressing(CUaddress_mode mode) {
  const int raw = rawValue(mode);
  return raw >= CU_TR_ADDRESS_MODE_WRAP && raw <= CU_TR_ADDRESS_MODE_BORDER;
}

CUresult unbound(const char* what) { return fail(CUDA_ERROR_INVALID_VALUE, "the texture reference has no %s", what); }

// The texture unit reads from aligned addresses; what is left over is the offset that the kernel must add.
Result<size_t> offsetOf(const Call& call, const void* byteOffset, CUdeviceptr address) {
  const auto alignment = static_cast<size_t>(call.context->device().attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT));
  const size_t offset = address % alignment;
  if (offset && !byteOffset)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not aligned to %zu bytes, and ByteOffset is null",
                static_cast<unsigned long long>(address), alignment);
  return offset;
}

CUresult bindLine(CUtexref reference, CUdeviceptr address, size_t bytes) {
  return change(reference, [&](TextureState& state) {
    state.resource = {};
    state.resource.resType = CU_RESOURCE_TYPE_LINEAR;
    state.resource.res.linear.devPtr = address;
    state.resource.res.linear.format = state.format;
    state.resource.res.linear.numChannels = static_cast<unsigned>(state.channels);
    state.resource.res.linear.sizeInBytes = bytes;
    state.bound = address != 0;
    return CUDA_SUCCESS;
  });
}

// As recorded, no memory is bound with a pitch that fits, too.
CUresult checkPlane(const core::Device& device, CUdeviceptr address, size_t pitch) {
  const auto unit = [&](CUdevice_attribute which) { return static_cast<size_t>(device.attribute(which)); };
  if (address % unit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) ||
      pitch % unit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT))
    return fail(CUDA_ERROR_INVALID_VALUE, "a texture at %#llx with a pitch of %zu", address, pitch);
  return CUDA_SUCCESS;
}

CUresult bindPlane(const Call& call, CUtexref reference, const CUDA_ARRAY_DESCRIPTOR& described, CUdeviceptr address,
                   size_t pitch) {
  VG_CHECK(checkPlane(call.context ? call.context->device() : core::deviceAt(0), address, pitch));
  return change(reference, [&](TextureState& state) {
    state.format = described.Format;
    state.channels = static_cast<int>(described.NumChannels);
    state.resource = {};
    state.resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    state.resource.res.pitch2D.devPtr = address;
    state.resource.res.pitch2D.format = described.Format;
    state.resource.res.pitch2D.numChannels = described.NumChannels;
    state.resource.res.pitch2D.width = described.Width;
    state.resource.res.pitch2D.height = described.Height;
    state.resource.res.pitch2D.pitchInBytes = pitch;
    state.bound = true;
    return CUDA_SUCCESS;
  });
}

void takeFormat(TextureState& state, const core::Array& array) {
  state.format = array.descriptor.Format;
  state.channels = static_cast<int>(array.descriptor.NumChannels);
}

CUresult checkOverride(unsigned flags) {
  if (!(flags & ~unsigned{CU_TRSA_OVERRIDE_FORMAT})) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x: CU_TRSA_OVERRIDE_FORMAT is the only one", flags);
}

}  // namespace

CUresult cuModuleGetTexRef(const Call&, CUtexref* pTexRef, CUmodule hmod, const char* name) {
  if (!pTexRef || !name) return missing("pTexRef or name");
  VG_TRY(core::Module & module, core::modules::find(hmod));
  VG_TRY(*pTexRef, core::references::texture(module, name));
  return CUDA_SUCCESS;
}

CUresult cuModuleGetSurfRef(const Call&, CUsurfref* pSurfRef, CUmodule hmod, const char* name) {
  if (!pSurfRef || !name) return missing("pSurfRef or name");
  VG_TRY(core::Module & module, core::modules::find(hmod));
  VG_TRY(*pSurfRef, core::references::surface(module, name));
  return CUDA_SUCCESS;
}

CUresult cuTexRefCreate(const Call& call, CUtexref* pTexRef) {
  if (!pTexRef) return missing("pTexRef");
  VG_TRY(*pTexRef, core::references::create(*call.context));
  return CUDA_SUCCESS;
}

CUresult cuTexRefDestroy(const Call&, CUtexref hTexRef) { return core::references::destroy(hTexRef); }

CUresult cuTexRefSetArray(const Call&, CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
  VG_CHECK(checkOverride(Flags));
  VG_TRY(const core::Array& array, core::findArray(hArray));
  return change(hTexRef, [&](TextureState& state) {
    if (Flags & CU_TRSA_OVERRIDE_FORMAT) takeFormat(state, array);
    state.resource = {};
    state.resource.resType = CU_RESOURCE_TYPE_ARRAY;
    state.resource.res.array.hArray = hArray;
    state.bound = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetMipmappedArray(const Call&, CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                   unsigned int Flags) {
  VG_CHECK(checkOverride(Flags));
  VG_TRY(core::MipmappedArray & mipmapped, core::findMipmappedArray(hMipmappedArray));
  VG_TRY(const CUarray first, core::arrayOfLevel(mipmapped, 0));
  VG_TRY(const core::Array& array, core::findArray(first));
  return change(hTexRef, [&](TextureState& state) {
    if (Flags & CU_TRSA_OVERRIDE_FORMAT) takeFormat(state, array);
    state.resource = {};
    state.resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    state.resource.res.mipmap.hMipmappedArray = hMipmappedArray;
    state.bound = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetAddress_v2(const Call& call, size_t* ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes) {
  VG_TRY(const size_t offset, offsetOf(call, ByteOffset, dptr));
  VG_CHECK(bindLine(hTexRef, dptr - offset, bytes + offset));
  if (ByteOffset) *ByteOffset = offset;
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress(const Call& call, unsigned int* ByteOffset, CUtexref hTexRef, CUdeviceptr_v1 dptr,
                            unsigned int bytes) {
  VG_CHECK(checkEra(call));
  size_t offset = 0;
  VG_CHECK(cuTexRefSetAddress_v2(call, ByteOffset ? &offset : nullptr, hTexRef, dptr, bytes));
  if (ByteOffset) *ByteOffset = static_cast<unsigned>(offset);
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress2D_v3(const Call& call, CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR* desc,
                                 CUdeviceptr dptr, size_t Pitch) {
  if (!desc) return missing("desc");
  return bindPlane(call, hTexRef, *desc, dptr, Pitch);
}

// Differs from the third version in what it asked of old devices.
CUresult cuTexRefSetAddress2D_v2(const Call& call, CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR* desc,
                                 CUdeviceptr dptr, size_t Pitch) {
  return cuTexRefSetAddress2D_v3(call, hTexRef, desc, dptr, Pitch);
}

CUresult cuTexRefSetAddress2D(const Call& call, CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR_v1* desc,
                              CUdeviceptr_v1 dptr, unsigned int Pitch) {
  VG_CHECK(checkEra(call));
  if (!desc) return missing("desc");
  return bindPlane(call, hTexRef, {desc->Width, desc->Height, desc->Format, desc->NumChannels}, dptr, Pitch);
}

CUresult cuTexRefSetFormat(const Call&, CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents) {
  // Codes that stand for no plain elements are looked at when something is bound.
  const bool plain = arrays::unitOf(rawValue(fmt), 1).bytes && arrays::unitOf(rawValue(fmt), 2).bytes;
  if (NumPackedComponents < 0 ||
      (plain && !arrays::unitOf(rawValue(fmt), static_cast<unsigned>(NumPackedComponents)).bytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "format %#x with %d components", static_cast<unsigned>(rawValue(fmt)),
                NumPackedComponents);
  return change(hTexRef, [&](TextureState& state) {
    state.format = fmt;
    state.channels = NumPackedComponents;
    if (state.bound && state.resource.resType == CU_RESOURCE_TYPE_LINEAR) {
      state.resource.res.linear.format = fmt;
      state.resource.res.linear.numChannels = static_cast<unsigned>(NumPackedComponents);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetAddressMode(const Call&, CUtexref hTexRef, int dim, CUaddress_mode am) {
  if (dim < 0 || dim >= kDimensions) return fail(CUDA_ERROR_INVALID_VALUE, "dimension %d", dim);
  return change(hTexRef, [&](TextureState& state) {
    if (isAddressing(am)) state.sampling.addressMode[dim] = am;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetFilterMode(const Call&, CUtexref hTexRef, CUfilter_mode fm) {
  return change(hTexRef, [&](TextureState& state) {
    if (isFilter(fm)) state.sampling.filterMode = fm;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetMipmapFilterMode(const Call&, CUtexref hTexRef, CUfilter_mode fm) {
  if (!isFilter(fm)) return fail(CUDA_ERROR_INVALID_VALUE, "filter mode %d between levels", rawValue(fm));
  return change(hTexRef, [&](TextureState& state) {
    state.sampling.mipmapFilterMode = fm;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetMipmapLevelBias(const Call&, CUtexref hTexRef, float bias) {
  return change(hTexRef, [&](TextureState& state) {
    state.sampling.mipmapLevelBias = bias;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetMipmapLevelClamp(const Call&, CUtexref hTexRef, float minMipmapLevelClamp,
                                     float maxMipmapLevelClamp) {
  return change(hTexRef, [&](TextureState& state) {
    state.sampling.minMipmapLevelClamp = minMipmapLevelClamp;
    state.sampling.maxMipmapLevelClamp = maxMipmapLevelClamp;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetMaxAnisotropy(const Call&, CUtexref hTexRef, unsigned int maxAniso) {
  return change(hTexRef, [&](TextureState& state) {
    state.sampling.maxAnisotropy = maxAniso;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetBorderColor(const Call&, CUtexref hTexRef, float* pBorderColor) {
  if (!pBorderColor) return missing("pBorderColor");
  return change(hTexRef, [&](TextureState& state) {
    std::copy_n(pBorderColor, 4, state.sampling.borderColor);
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetFlags(const Call&, CUtexref hTexRef, unsigned int Flags) {
  constexpr unsigned kKnown = 0x3f;  // two of which mean nothing; of references, none makes cubemaps seamless
  if (Flags & ~kKnown) return fail(CUDA_ERROR_INVALID_VALUE, "texture flags %#x", Flags);
  return change(hTexRef, [&](TextureState& state) {
    state.sampling.flags = Flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetAddress_v2(const Call&, CUdeviceptr* pdptr, CUtexref hTexRef) {
  return tell(pdptr, "pdptr", hTexRef, [](const TextureState& state, CUdeviceptr& to) {
    const bool isLine = state.resource.resType == CU_RESOURCE_TYPE_LINEAR;
    const bool isPlane = state.bound && state.resource.resType == CU_RESOURCE_TYPE_PITCH2D;
    if (!isLine && !isPlane) return unbound("memory");
    // Of a reference that was bound to the null address, that.
    to = isLine ? state.resource.res.linear.devPtr : state.resource.res.pitch2D.devPtr;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetAddress(const Call& call, CUdeviceptr_v1* pdptr, CUtexref hTexRef) {
  if (!pdptr) return missing("pdptr");
  CUdeviceptr address = 0;
  VG_CHECK(cuTexRefGetAddress_v2(call, &address, hTexRef));
  if (address >> 32) return unsupported("address %#llx in 32 bits", static_cast<unsigned long long>(address));
  *pdptr = static_cast<CUdeviceptr_v1>(address);
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetArray(const Call&, CUarray* phArray, CUtexref hTexRef) {
  return tell(phArray, "phArray", hTexRef, [](const TextureState& state, CUarray& to) {
    if (!state.bound || state.resource.resType != CU_RESOURCE_TYPE_ARRAY) return unbound("array");
    to = state.resource.res.array.hArray;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetMipmappedArray(const Call&, CUmipmappedArray* phMipmappedArray, CUtexref hTexRef) {
  return tell(phMipmappedArray, "phMipmappedArray", hTexRef, [](const TextureState& state, CUmipmappedArray& to) {
    if (!state.bound || state.resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) return unbound("mipmapped array");
    to = state.resource.res.mipmap.hMipmappedArray;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetAddressMode(const Call&, CUaddress_mode* pam, CUtexref hTexRef, int dim) {
  if (dim < 0 || dim >= kDimensions) return fail(CUDA_ERROR_INVALID_VALUE, "dimension %d", dim);
  return tell(pam, "pam", hTexRef, [dim](const TextureState& state, CUaddress_mode& to) {
    to = state.sampling.addressMode[dim];
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetFilterMode(const Call&, CUfilter_mode* pfm, CUtexref hTexRef) {
  return tell(pfm, "pfm", hTexRef, [](const TextureState& state, CUfilter_mode& to) {
    to = state.sampling.filterMode;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetFormat(const Call&, CUarray_format* pFormat, int* pNumChannels, CUtexref hTexRef) {
  VG_TRY(const TextureState state, core::references::state(hTexRef));
  if (pFormat) *pFormat = state.format;
  if (pNumChannels) *pNumChannels = state.channels;
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetMipmapFilterMode(const Call&, CUfilter_mode* pfm, CUtexref hTexRef) {
  return tell(pfm, "pfm", hTexRef, [](const TextureState& state, CUfilter_mode& to) {
    to = state.sampling.mipmapFilterMode;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetMipmapLevelBias(const Call&, float* pbias, CUtexref hTexRef) {
  return tell(pbias, "pbias", hTexRef, [](const TextureState& state, float& to) {
    to = state.sampling.mipmapLevelBias;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetMipmapLevelClamp(const Call&, float* pminMipmapLevelClamp, float* pmaxMipmapLevelClamp,
                                     CUtexref hTexRef) {
  VG_TRY(const TextureState state, core::references::state(hTexRef));
  if (pminMipmapLevelClamp) *pminMipmapLevelClamp = state.sampling.minMipmapLevelClamp;
  if (pmaxMipmapLevelClamp) *pmaxMipmapLevelClamp = state.sampling.maxMipmapLevelClamp;
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetMaxAnisotropy(const Call&, int* pmaxAniso, CUtexref hTexRef) {
  return tell(pmaxAniso, "pmaxAniso", hTexRef, [](const TextureState& state, int& to) {
    to = static_cast<int>(state.sampling.maxAnisotropy);
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetBorderColor(const Call&, float* pBorderColor, CUtexref hTexRef) {
  return tell(pBorderColor, "pBorderColor", hTexRef, [pBorderColor](const TextureState& state, float&) {
    std::copy_n(state.sampling.borderColor, 4, pBorderColor);
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetFlags(const Call&, unsigned int* pFlags, CUtexref hTexRef) {
  return tell(pFlags, "pFlags", hTexRef, [](const TextureState& state, unsigned& to) {
    to = state.sampling.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuSurfRefSetArray(const Call&, CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
  if (Flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", Flags);
  return core::references::setSurface(hSurfRef, hArray);
}

CUresult cuSurfRefGetArray(const Call&, CUarray* phArray, CUsurfref hSurfRef) {
  if (!phArray) return missing("phArray");
  VG_TRY(*phArray, core::references::surfaceArray(hSurfRef));
  return CUDA_SUCCESS;
}

// References are bound for the whole module; this call of the first interface says so for one kernel.
CUresult cuParamSetTexRef(const Call& call, CUfunction hfunc, int texunit, CUtexref hTexRef) {
  if (texunit != CU_PARAM_TR_DEFAULT) return fail(CUDA_ERROR_INVALID_VALUE, "texture unit %d", texunit);
  VG_CHECK(core::resolveKernel(hfunc, *call.context));
  return core::references::state(hTexRef).error();
}

}  // namespace vg::handlers
