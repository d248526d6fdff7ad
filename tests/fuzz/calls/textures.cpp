// Texture and surface objects.
#include "families.h"
#include "objects.h"

namespace calls {
namespace {

std::string shapeOf(CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  CALL(cuArray3DGetDescriptor, &shape, array);
  return list(shape.Width, shape.Height, shape.Depth, shape.Format, shape.NumChannels, shape.Flags);
}

// --- what is looked at

// Memory and what it holds.
template <class Texels>
Pointer drawTexels(Texels& texels) {
  Pointer pointer = devicePointer();
  if (chance(85)) pointer.alignTo(512);
  texels.devPtr = pointer.address;
  texels.format = static_cast<CUarray_format>(anyArrayFormat());
  texels.numChannels = mostly(90, {1u, 2u, 4u}, {0u, 3u, 5u});
  return pointer;
}

std::string drawLinear(CUDA_RESOURCE_DESC& resource) {
  auto& linear = resource.res.linear;
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  const Pointer pointer = drawTexels(linear);
  linear.sizeInBytes = chance(60) ? pointer.room : below(pointer.room + 2);
  if (wrong("past the end", 4)) linear.sizeInBytes = pointer.room + 10000;
  if (wrong("huge", 2)) linear.sizeInBytes = size_t{1} << 34;
  return "linear " + pointer.name + " " + list(linear.format, linear.numChannels, linear.sizeInBytes);
}

std::string drawPitched(CUDA_RESOURCE_DESC& resource) {
  auto& rows = resource.res.pitch2D;
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  const Pointer pointer = drawTexels(rows);
  rows.width = chance(90) ? 1 + below(60) : oneOf<size_t>({0, 131072, 131073});
  rows.height = chance(90) ? 1 + below(8) : oneOf<size_t>({0, 65000, 65001});
  rows.pitchInBytes = chance(70) ? (rows.width * 16 + 31) & ~size_t{31} : chance(50) ? 32 * below(40) : below(2000);
  return "rows " + pointer.name + " " + list(rows.format, rows.numChannels, rows.width, rows.height, rows.pitchInBytes);
}

std::string drawArray(CUDA_RESOURCE_DESC& resource, const Named<CUarray>& array) {
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  if (wrong("no array", 1)) return "array";
  resource.res.array.hArray = array.object;
  return "array " + shapeOf(array.object);
}

std::string drawMipmapped(CUDA_RESOURCE_DESC& resource, const Named<CUmipmappedArray>& mipmapped) {
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmapped.object;
  CUarray level = nullptr;
  CALL(cuMipmappedArrayGetLevel, &level, mipmapped.object, 0);
  return "mipmapped " + (level ? shapeOf(level) : "");
}

CUDA_RESOURCE_DESC drawResource(bool forSurface) {
  CUDA_RESOURCE_DESC resource{};
  const Named<CUarray> array = arrays.any();
  const Named<CUmipmappedArray> mipmapped = mipmappedArrays.any();
  const uint64_t kind = forSurface && chance(85) ? 0 : below(4);
  std::string drawn;
  if (kind == 0 && array)
    drawn = drawArray(resource, array);
  else if (kind == 1 && mipmapped)
    drawn = drawMipmapped(resource, mipmapped);
  else if (kind == 2)
    drawn = drawLinear(resource);
  else
    drawn = drawPitched(resource);
  if (wrong("type of resource", 2)) resource.resType = static_cast<CUresourcetype>(oneOf({4, -1, 100}));
  if (wrong("flags of resource", 3)) resource.flags = 1;
  describe("resource", drawn);
  return resource;
}

void outputResource(const CUDA_RESOURCE_DESC& resource) {
  const auto& linear = resource.res.linear;
  const auto& rows = resource.res.pitch2D;
  output("type", list(resource.resType, resource.flags));
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY) output("of", arrays.nameOf(resource.res.array.hArray));
  if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
    output("of", mipmappedArrays.nameOf(resource.res.mipmap.hMipmappedArray));
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR)
    output("of", where(linear.devPtr) + " " + list(linear.format, linear.numChannels, linear.sizeInBytes));
  if (resource.resType == CU_RESOURCE_TYPE_PITCH2D)
    output("of",
           where(rows.devPtr) + " " + list(rows.format, rows.numChannels, rows.width, rows.height, rows.pitchInBytes));
}

// --- how it is looked at

CUDA_TEXTURE_DESC drawSampling() {
  CUDA_TEXTURE_DESC sampling{};
  for (CUaddress_mode& mode : sampling.addressMode)
    mode = static_cast<CUaddress_mode>(mostly(97, {0, 1, 2, 3}, {4, 100}));
  sampling.filterMode = static_cast<CUfilter_mode>(mostly(97, {0, 1}, {2}));
  sampling.flags = chance(60) ? oneOf({0u, 1u, 2u, 3u}) : static_cast<unsigned>(below(chance(90) ? 0x80 : 0x400));
  sampling.maxAnisotropy = mostly(70, {0u}, {1u, 2u, 16u, 17u, 100u});
  sampling.mipmapFilterMode = static_cast<CUfilter_mode>(mostly(97, {0, 1}, {2}));
  sampling.mipmapLevelBias = mostly(80, {0.f}, {1.5f, -3.f, 100.f, -100.f, 15.99f});
  sampling.minMipmapLevelClamp = mostly(80, {0.f}, {1.f, -1.f, 20.f, 0.3f});
  sampling.maxMipmapLevelClamp = mostly(60, {0.f}, {1.f, 10.f, -1.f, 99.f});
  if (chance(20))
    for (float& channel : sampling.borderColor) channel = oneOf({0.f, 1.f, 0.5f, -1.f, 300.f});
  if (wrong("reserved", 1)) sampling.reserved[3] = 1;
  return sampling;
}

std::string samplingText(const CUDA_TEXTURE_DESC& t) {
  return list(t.addressMode[0], t.addressMode[1], t.addressMode[2], t.filterMode, t.flags, t.maxAnisotropy,
              t.mipmapFilterMode) +
         "/" + list(t.mipmapLevelBias, t.minMipmapLevelClamp, t.maxMipmapLevelClamp) + "/" +
         list(t.borderColor[0], t.borderColor[1], t.borderColor[2], t.borderColor[3]);
}

CUDA_RESOURCE_VIEW_DESC drawView(const CUDA_RESOURCE_DESC& resource) {
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = static_cast<CUresourceViewFormat>(chance(97) ? belowInt(0x23) : 0x23);
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY && resource.res.array.hArray && chance(70)) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    CALL(cuArray3DGetDescriptor, &shape, resource.res.array.hArray);
    view.width = shape.Width;
    view.height = shape.Height;
    view.depth = shape.Depth;
  } else {
    view.width = 1 + below(70);
    view.height = below(70);
    view.depth = chance(70) ? 0 : below(6);
  }
  view.firstMipmapLevel = chance(80) ? 0 : static_cast<unsigned>(below(5));
  view.lastMipmapLevel = chance(70) ? 0 : static_cast<unsigned>(below(6));
  view.firstLayer = chance(80) ? 0 : static_cast<unsigned>(below(5));
  view.lastLayer = chance(70) ? 0 : static_cast<unsigned>(below(7));
  if (wrong("reserved of view", 1)) view.reserved[2] = 1;
  return view;
}

std::string viewText(const CUDA_RESOURCE_VIEW_DESC& view) {
  return text(view.format) + " " + list(view.width, view.height, view.depth) + " levels " +
         list(view.firstMipmapLevel, view.lastMipmapLevel) + " layers " + list(view.firstLayer, view.lastLayer);
}

void createTexture() {
  const int slot = textures.unused();
  if (slot < 0) return;
  const CUDA_RESOURCE_DESC resource = drawResource(false);
  const CUDA_TEXTURE_DESC sampling = drawSampling();
  CUDA_RESOURCE_VIEW_DESC view{};
  const bool viewed = chance(25);
  describe("sampling", samplingText(sampling));
  if (viewed) {
    view = drawView(resource);
    describe("view", viewText(view));
  }
  CUtexObject texture = 0;
  if (RECORD(cuTexObjectCreate, out("texture", &texture, 1), out("resource", &resource, 1), out("sampling", &sampling),
             static_cast<const CUDA_RESOURCE_VIEW_DESC*>(viewed ? &view : nullptr)) == CUDA_SUCCESS)
    textures.put(slot, texture);
}

void askTexture() {
  const Named<CUtexObject> texture = textures.any();
  if (!texture) return;
  switch (below(4)) {
    case 0: {
      CUDA_RESOURCE_DESC resource{};
      RECORD(cuTexObjectGetResourceDesc, &resource, given("texture", texture));
      return outputResource(resource);
    }
    case 1: {
      CUDA_TEXTURE_DESC sampling{};
      RECORD(cuTexObjectGetTextureDesc, &sampling, given("texture", texture));
      return output("sampling", samplingText(sampling));
    }
    case 2: {
      CUDA_RESOURCE_VIEW_DESC view{};
      RECORD(cuTexObjectGetResourceViewDesc, &view, given("texture", texture));
      return output("view", viewText(view));
    }
    default:
      if (RECORD(cuTexObjectDestroy, given("texture", texture)) == CUDA_SUCCESS) textures.remove(texture);
  }
}

void createSurface() {  // a surface that goes nowhere ends the vendor's library
  const int slot = surfaces.unused();
  if (slot < 0) return;
  const CUDA_RESOURCE_DESC resource = drawResource(true);
  CUsurfObject surface = 0;
  if (RECORD(cuSurfObjectCreate, &surface, out("resource", &resource, 1)) == CUDA_SUCCESS) surfaces.put(slot, surface);
}

void askSurface() {
  const Named<CUsurfObject> surface = surfaces.any();
  if (!surface) return;
  if (chance(40)) {
    if (RECORD(cuSurfObjectDestroy, given("surface", surface)) == CUDA_SUCCESS) surfaces.remove(surface);
    return;
  }
  CUDA_RESOURCE_DESC resource{};
  RECORD(cuSurfObjectGetResourceDesc, &resource, given("surface", surface));
  outputResource(resource);
}

}  // namespace

void callTextures() { pickOf({{45, createTexture}, {25, askTexture}, {13, createSurface}, {9, askSurface}}); }

void releaseTextures() {
  textures.releaseAll([](CUtexObject texture) { CALL(cuTexObjectDestroy, texture); });
  surfaces.releaseAll([](CUsurfObject surface) { CALL(cuSurfObjectDestroy, surface); });
}

}  // namespace calls
