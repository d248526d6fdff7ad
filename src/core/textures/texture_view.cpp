#include "core/textures/texture_view.h"

#include <algorithm>

#include "alloc/record.h"
#include "arrays/format.h"
#include "arrays/reading/footprint.h"
#include "arrays/reading/texel.h"
#include "base/raw_enum.h"
#include "core/arrays/array.h"
#include "core/arrays/array_storage.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/process/device.h"
#include "core/textures/resource_view.h"

namespace vg::core {
namespace {

// The driver takes two bits too that nothing is named after.
constexpr unsigned kAcceptedFlags = 0x0c | CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                                    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;

size_t limit(const Context& context, CUdevice_attribute which) {
  return static_cast<size_t>(context.device().attribute(which));
}

arrays::TextureView viewOfStorage(const ArrayStorage& storage, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  arrays::TextureView view;
  view.kind = arrays::kindOf(descriptor);
  view.format = rawValue(descriptor.Format);
  view.channels = descriptor.NumChannels;
  view.unit = arrays::unitOf(view.format, view.channels);
  view.base = storage.record ? storage.record->data() : nullptr;
  view.pages = storage.pages;
  return view;
}

// Which levels of block-linear storage the view's are; a plane of a video format is a chain of its own.
void placeInChain(arrays::TextureView& view, const ArrayStorage& storage) {
  if (!view.levels[0].tiling) return;
  view.chain = storage.layout.levels;
  for (view.firstLevel = 0; view.firstLevel < view.chain.size(); ++view.firstLevel) {
    const arrays::Level& level = view.chain[view.firstLevel];
    if (level.tiling == view.levels[0].tiling && level.offset == view.levels[0].offset) return;
  }
  view.chain = view.levels;
  view.firstLevel = 0;
}

Result<arrays::TextureView> ofArray(CUarray handle) {
  if (!handle) return fail(CUDA_ERROR_INVALID_VALUE, "a resource without an array");
  VG_TRY(const Array& array, findArray(handle));
  const std::shared_ptr<ArrayStorage> storage = storageOf(array);
  if (!storage) return fail(CUDA_ERROR_INVALID_HANDLE, "the array has ended");
  arrays::TextureView view = viewOfStorage(*storage, array.descriptor);
  view.levels = {array.level};
  view.layers = arrays::layered(view.kind) ? array.level.slices : 1;
  placeInChain(view, *storage);
  return view;
}

Result<arrays::TextureView> ofMipmapped(CUmipmappedArray handle) {
  if (!handle) return fail(CUDA_ERROR_INVALID_VALUE, "a resource without a mipmapped array");
  VG_TRY(const MipmappedArray& mipmapped, findMipmappedArray(handle));
  const std::shared_ptr<ArrayStorage> storage = storageOf(mipmapped);
  if (!storage) return fail(CUDA_ERROR_INVALID_HANDLE, "the mipmapped array has ended");
  arrays::TextureView view = viewOfStorage(*storage, storage->descriptor);
  view.levels = storage->layout.levels;
  view.layers = storage->layout.layers();
  placeInChain(view, *storage);
  view.whole = true;
  return view;
}

// A level that lies in memory of the application, in rows.
arrays::Level rows(const arrays::Unit& unit, size_t width, size_t height, size_t pitch) {
  arrays::Level level;
  level.extent = {width, height, 0};
  level.rowBytes = width * unit.bytes;
  level.rows = std::max<size_t>(height, 1);
  level.slices = 1;
  level.rowPitch = pitch;
  level.slicePitch = pitch * level.rows;
  return level;
}

// Only where the memory begins is checked, as the driver does: a kernel that reads beyond an allocation faults.
Result<arrays::TextureView> ofMemory(Context& context, CUdeviceptr address, CUarray_format format, unsigned channels) {
  arrays::TextureView view;
  view.format = rawValue(format);
  view.channels = channels;
  view.unit = arrays::unitOf(view.format, channels);
  const bool plain = arrays::isPlain(view.format) || view.format == CU_AD_FORMAT_UNORM_INT_101010_2;
  if (!view.unit.bytes || !plain)
    return fail(CUDA_ERROR_INVALID_VALUE, "no linear texture has format %#x with %u channels",
                static_cast<unsigned>(view.format), channels);
  const size_t alignment = limit(context, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  if (!address || address % alignment)
    return fail(CUDA_ERROR_INVALID_VALUE, "texture memory at %#llx: the alignment is %zu",
                static_cast<unsigned long long>(address), alignment);
  VG_TRY(view.base, memory::deviceRange(address, 1));
  view.layers = 1;
  return view;
}

Result<arrays::TextureView> ofLine(Context& context, const CUDA_RESOURCE_DESC& resource) {
  const auto& linear = resource.res.linear;
  VG_TRY(arrays::TextureView view, ofMemory(context, linear.devPtr, linear.format, linear.numChannels));
  const size_t width = linear.sizeInBytes / view.unit.bytes;
  const size_t most = limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
  if (width > most) return fail(CUDA_ERROR_INVALID_VALUE, "a linear texture of %zu elements", width);
  view.kind = arrays::Kind::Line;
  view.buffer = true;
  view.levels = {rows(view.unit, width, 0, width * view.unit.bytes)};
  return view;
}

Result<arrays::TextureView> ofPitched(Context& context, const CUDA_RESOURCE_DESC& resource) {
  const auto& plane = resource.res.pitch2D;
  if (plane.width > limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
      plane.height > limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT))
    return fail(CUDA_ERROR_INVALID_VALUE, "a pitched texture of %zu x %zu elements", plane.width, plane.height);
  const size_t step = limit(context, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  if (plane.pitchInBytes % step ||
      plane.pitchInBytes > limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH))
    return fail(CUDA_ERROR_INVALID_VALUE, "a pitched texture with a pitch of %zu bytes", plane.pitchInBytes);
  VG_TRY(arrays::TextureView view, ofMemory(context, plane.devPtr, plane.format, plane.numChannels));
  view.kind = arrays::Kind::Plane;
  const size_t width = plane.height ? plane.width : 0;  // no rows have no elements
  view.levels = {rows(view.unit, width, plane.height, plane.pitchInBytes)};
  return view;
}

Result<arrays::TextureView> ofResource(Context& context, const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags) return fail(CUDA_ERROR_INVALID_VALUE, "resource flags %#x", resource.flags);
  switch (rawValue(resource.resType)) {
    case CU_RESOURCE_TYPE_ARRAY:
      return ofArray(resource.res.array.hArray);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return ofMipmapped(resource.res.mipmap.hMipmappedArray);
    case CU_RESOURCE_TYPE_LINEAR:
      return ofLine(context, resource);
    case CU_RESOURCE_TYPE_PITCH2D:
      return ofPitched(context, resource);
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "resource type %d", rawValue(resource.resType));
  }
}

Result<arrays::Addressing> addressing(int mode) {
  switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:
      return arrays::Addressing::Wrap;
    case CU_TR_ADDRESS_MODE_CLAMP:
      return arrays::Addressing::Clamp;
    case CU_TR_ADDRESS_MODE_MIRROR:
      return arrays::Addressing::Mirror;
    case CU_TR_ADDRESS_MODE_BORDER:
      return arrays::Addressing::Border;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "address mode %d", mode);
  }
}

Result<bool> isLinear(int mode) {
  if (mode == CU_TR_FILTER_MODE_POINT) return false;
  if (mode == CU_TR_FILTER_MODE_LINEAR) return true;
  return fail(CUDA_ERROR_INVALID_VALUE, "filter mode %d", mode);
}

// Modes of axes that the resource does not have may be anything.
Result<arrays::SamplerState> sampler(const CUDA_TEXTURE_DESC& texture, int axes) {
  arrays::SamplerState state;
  state.normalized = texture.flags & CU_TRSF_NORMALIZED_COORDINATES;
  for (int i = 0; i < 3; ++i) {
    const int given = rawValue(texture.addressMode[i]);
    const bool known = given >= CU_TR_ADDRESS_MODE_WRAP && given <= CU_TR_ADDRESS_MODE_BORDER;
    VG_TRY(arrays::Addressing mode, addressing(known || i < axes ? given : CU_TR_ADDRESS_MODE_CLAMP));
    // Wrapping and mirroring are for normalised coordinates: without them they clamp.
    if (!state.normalized && mode != arrays::Addressing::Border) mode = arrays::Addressing::Clamp;
    state.addressing[i] = mode;
  }
  VG_TRY(state.linear, isLinear(rawValue(texture.filterMode)));
  VG_TRY(state.linearLevels, isLinear(rawValue(texture.mipmapFilterMode)));
  state.bias = texture.mipmapLevelBias;
  state.minLevel = texture.minMipmapLevelClamp;
  state.maxLevel = texture.maxMipmapLevelClamp;
  state.anisotropy = arrays::anisotropyOf(texture.maxAnisotropy);
  state.blendsWidely = state.anisotropy == 1 || texture.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  std::copy_n(texture.borderColor, 4, state.border);
  return state;
}

}  // namespace

bool hasViews(const CUDA_RESOURCE_DESC& resource) {
  const int type = rawValue(resource.resType);
  return type == CU_RESOURCE_TYPE_ARRAY || type == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
}

Result<arrays::TextureView> textureView(Context& context, const CUDA_RESOURCE_DESC& resource,
                                        const CUDA_TEXTURE_DESC& texture, const CUDA_RESOURCE_VIEW_DESC* seen) {
  if (texture.flags & ~kAcceptedFlags) return fail(CUDA_ERROR_INVALID_VALUE, "texture flags %#x", texture.flags);
  if (std::any_of(std::begin(texture.reserved), std::end(texture.reserved), [](int word) { return word != 0; }))
    return fail(CUDA_ERROR_INVALID_VALUE, "reserved words of a texture's description are not zero");
  VG_TRY(arrays::TextureView view, ofResource(context, resource));
  VG_TRY(view.sampler, sampler(texture, arrays::axesOf(view.kind)));
  if (seen && hasViews(resource)) VG_CHECK(seeAs(view, *seen));
  view.asIntegers = texture.flags & CU_TRSF_READ_AS_INTEGER;
  view.srgb = texture.flags & CU_TRSF_SRGB;
  view.seamless = texture.flags & CU_TRSF_SEAMLESS_CUBEMAP;
  if (view.seamless && !arrays::isCube(view.kind))
    return fail(CUDA_ERROR_INVALID_VALUE, "seamless cubemap filtering of a texture that is no cubemap");
  if (!arrays::readable(view.format))
    return fail(CUDA_ERROR_INVALID_VALUE, "video format %#x: textures are of its planes",
                static_cast<unsigned>(view.format));
  return view;
}

Result<arrays::TextureView> surfaceView(const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags) return fail(CUDA_ERROR_INVALID_VALUE, "resource flags %#x", resource.flags);
  if (rawValue(resource.resType) != CU_RESOURCE_TYPE_ARRAY)
    return fail(CUDA_ERROR_INVALID_VALUE, "a surface of resource type %d", rawValue(resource.resType));
  VG_TRY(arrays::TextureView view, ofArray(resource.res.array.hArray));
  if (view.unit.edge > 1) return fail(CUDA_ERROR_INVALID_VALUE, "a surface of compressed blocks");
  if (!arrays::planesOf(view.format).empty())
    return fail(CUDA_ERROR_INVALID_VALUE, "video format %#x: surfaces are of its planes",
                static_cast<unsigned>(view.format));
  view.surface = true;
  return view;
}

}  // namespace vg::core
