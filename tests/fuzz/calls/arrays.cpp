// CUDA arrays and mipmapped arrays, and what is asked about them.
#include <algorithm>
#include <vector>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

size_t anyExtent() {
  return chance(80) ? 1 + below(70) : oneOf<size_t>({0, 1, 128, 1024, 16384, 32768, 65536, 131072, 131073});
}

// Of block and video formats, which have no others.
unsigned channelsOf(int format, unsigned drawn) {
  if (format >= 0x91 && format <= 0x96) return 4;
  if (format == 0x97 || format == 0x98) return 1;
  if (format == 0x99 || format == 0x9a) return 2;
  if (format == 0x9b || format == 0x9c) return 3;
  if (format == 0x9d || format == 0x9e || format == 0x50) return 4;
  if (format >= 0xc0 && format <= 0xcb) return 1u << ((format - 0xc0) % 3);
  if (format >= 0x9f && format <= 0xb5) return 3;
  return drawn;
}

double texels(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const auto atLeastOne = [](size_t extent) { return static_cast<double>(std::max<size_t>(extent, 1)); };
  return atLeastOne(shape.Width) * atLeastOne(shape.Height) * atLeastOne(shape.Depth);
}

CUDA_ARRAY3D_DESCRIPTOR anyShape() {
  constexpr double kMostTexels = 4e6;
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Format = static_cast<CUarray_format>(anyArrayFormat());
  shape.NumChannels = mostly(90, {1u, 1u, 2u, 4u}, {0u, 3u, 5u});
  shape.Width = anyExtent();
  shape.Height = chance(25) ? 0 : anyExtent();
  shape.Depth = chance(60) ? 0 : chance(90) ? 1 + below(12) : anyExtent();
  shape.Flags = chance(40) ? 0
                           : mostly(90, {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 2u, 1u, 0x10u, 0x20u, 0x40u, 0x41u, 0x80u},
                                    {0x22u, 0x81u, 0x100u, 0x1ffu});
  if ((shape.Flags & CUDA_ARRAY3D_CUBEMAP) && chance(85)) {
    shape.Height = shape.Width;
    shape.Depth = shape.Flags & CUDA_ARRAY3D_LAYERED ? 6 * (1 + below(2)) : 6;
  }
  if (chance(75)) shape.NumChannels = channelsOf(shape.Format, shape.NumChannels);
  if (texels(shape) > kMostTexels) shape.Depth = shape.Depth ? 1 : 0;
  if (texels(shape) > kMostTexels) shape.Height = shape.Height ? 1 : 0;
  return shape;
}

CUDA_ARRAY3D_DESCRIPTOR simpleShape() {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Format = static_cast<CUarray_format>(oneOf({1, 2, 3, 0x20}));
  shape.NumChannels = oneOf({1u, 2u, 4u});
  shape.Width = 4 * (1 + below(16));
  shape.Height = chance(25) ? 0 : 1 + below(12);
  shape.Depth = chance(60) ? 0 : 1 + below(4);
  shape.Flags = chance(80) ? 0 : CUDA_ARRAY3D_LAYERED;
  return shape;
}

std::string shapeText(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  return list(shape.Width, shape.Height, shape.Depth) + "/" + list(shape.Format, shape.NumChannels, shape.Flags);
}

// So that copies of arrays copy the same everywhere. For formats of simple arrays.
void clear(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const size_t texel = shape.NumChannels * (shape.Format == CU_AD_FORMAT_UNSIGNED_INT8    ? 1
                                            : shape.Format == CU_AD_FORMAT_UNSIGNED_INT16 ? 2
                                                                                          : 4);
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = shape.Width * texel;
  copy.Height = std::max<size_t>(shape.Height, 1);
  copy.Depth = std::max<size_t>(shape.Depth, 1);
  const std::vector<char> zeroes(copy.WidthInBytes * copy.Height * copy.Depth);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = zeroes.data();
  copy.srcPitch = copy.WidthInBytes;
  copy.srcHeight = copy.Height;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  CALL(cuMemcpy3D, &copy);
}

CUarray makeArray(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const int slot = arrays.unused();
  if (slot < 0) return nullptr;
  CUarray array = nullptr;
  CUresult result;
  if (chance(70)) {
    describe("shape", shapeText(shape));
    result = RECORD(cuArray3DCreate, out("array", &array, 1), out("shape", &shape, 1));
  } else {
    const CUDA_ARRAY_DESCRIPTOR flat{shape.Width, shape.Height, shape.Format, shape.NumChannels};
    describe("shape", list(flat.Width, flat.Height, flat.Format, flat.NumChannels));
    result = RECORD(cuArrayCreate, out("array", &array, 1), out("shape", &flat, 1));
  }
  if (result == CUDA_SUCCESS) arrays.put(slot, array);
  return array;
}

void createArray() { makeArray(anyShape()); }

bool viewed() { return !textures.none() || !surfaces.none(); }

void destroyArray() {
  const Named<CUarray> array = arrays.any();
  if (!array || viewed() || chance(60)) return;
  if (RECORD(cuArrayDestroy, given("array", array)) == CUDA_SUCCESS) arrays.remove(array);
}

// By its shape, so that differences of one kind look alike.
CUarray givenByShape(const char* name, CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  CALL(cuArray3DGetDescriptor, &shape, array);
  describe(name, shapeText(shape));
  return array;
}

CUmipmappedArray givenByShape(const char* name, CUmipmappedArray mipmapped) {
  CUarray level = nullptr;
  if (CALL(cuMipmappedArrayGetLevel, &level, mipmapped, 0) == CUDA_SUCCESS) givenByShape(name, level);
  return mipmapped;
}

void outputShape(CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  output("described", CALL(cuArray3DGetDescriptor, &shape, array));
  output("shape", shapeText(shape));
}

void outputProperties(const CUDA_ARRAY_SPARSE_PROPERTIES& properties) {
  output("tile", list(properties.tileExtent.width, properties.tileExtent.height, properties.tileExtent.depth));
  output("tail", list(properties.miptailFirstLevel, properties.miptailSize, properties.flags));
}

void askArray() {
  const Named<CUarray> drawn = arrays.any();
  if (!drawn) return;
  const CUarray array = givenByShape("array", drawn.object);
  switch (below(6)) {
    case 0: {
      CUDA_ARRAY3D_DESCRIPTOR shape{};
      RECORD(cuArray3DGetDescriptor, &shape, array);
      return output("shape", shapeText(shape));
    }
    case 1: {
      CUDA_ARRAY_DESCRIPTOR shape{};
      RECORD(cuArrayGetDescriptor, &shape, array);
      return output("shape", list(shape.Width, shape.Height, shape.Format, shape.NumChannels));
    }
    case 2: {
      CUDA_ARRAY_SPARSE_PROPERTIES properties{};
      RECORD(cuArrayGetSparseProperties, &properties, array);
      return outputProperties(properties);
    }
    case 3: {
      CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
      RECORD(cuArrayGetMemoryRequirements, &needs, array, given("device", mostly(95, {0}, {5})));
      return output("needs", list(needs.size, needs.alignment));
    }
    default: {
      CUarray plane = nullptr;
      if (RECORD(cuArrayGetPlane, &plane, array, given("plane", static_cast<unsigned>(below(4)))) == CUDA_SUCCESS)
        outputShape(plane);
    }
  }
}

void createMipmapped() {
  const int slot = mipmappedArrays.unused();
  if (slot < 0) return;
  const CUDA_ARRAY3D_DESCRIPTOR shape = chance(40) ? simpleShape() : anyShape();
  describe("shape", shapeText(shape));
  CUmipmappedArray mipmapped = nullptr;
  if (RECORD(cuMipmappedArrayCreate, out("array", &mipmapped, 1), &shape,
             given("levels", mostly(90, {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}, {0u, 17u, 18u, 100u}))) == CUDA_SUCCESS)
    mipmappedArrays.put(slot, mipmapped);
}

void destroyMipmapped() {
  const Named<CUmipmappedArray> mipmapped = mipmappedArrays.any();
  if (!mipmapped || viewed() || chance(60)) return;
  if (RECORD(cuMipmappedArrayDestroy, given("array", mipmapped)) == CUDA_SUCCESS) mipmappedArrays.remove(mipmapped);
}

void askMipmapped() {
  const Named<CUmipmappedArray> drawn = mipmappedArrays.any();
  if (!drawn) return;
  const CUmipmappedArray mipmapped = givenByShape("array", drawn.object);
  switch (below(4)) {
    case 0: {
      CUDA_ARRAY_SPARSE_PROPERTIES properties{};
      RECORD(cuMipmappedArrayGetSparseProperties, &properties, mipmapped);
      return outputProperties(properties);
    }
    case 1: {
      CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
      RECORD(cuMipmappedArrayGetMemoryRequirements, &needs, mipmapped, 0);
      return output("needs", list(needs.size, needs.alignment));
    }
    default: {
      CUarray level = nullptr;
      const unsigned which = chance(90) ? static_cast<unsigned>(below(9)) : oneOf({20u, 100u});
      if (RECORD(cuMipmappedArrayGetLevel, &level, mipmapped, given("level", which))) return;
      outputShape(level);
      output("destroyed", CALL(cuArrayDestroy, level));
    }
  }
}

}  // namespace

int anyArrayFormat() {
  if (chance(55)) return oneOf({1, 2, 3, 8, 9, 10, 0x10, 0x20});
  return mostly(95, {0xb0, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0x91, 0x92,
                     0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa1, 0xa2,
                     0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0x50},
                {0, 4, 7, 0x11, 0xff});
}

void createSimpleArray() {
  const CUDA_ARRAY3D_DESCRIPTOR shape = simpleShape();
  if (const CUarray array = makeArray(shape)) clear(array, shape);
}

void callArrays() {
  pickOf({{30, createArray},
          {10, destroyArray},
          {35, askArray},
          {14, createMipmapped},
          {5, destroyMipmapped},
          {20, askMipmapped}});
}

void releaseArrays() {
  arrays.releaseAll([](CUarray array) { CALL(cuArrayDestroy, array); });
  mipmappedArrays.releaseAll([](CUmipmappedArray array) { CALL(cuMipmappedArrayDestroy, array); });
}

}  // namespace calls
