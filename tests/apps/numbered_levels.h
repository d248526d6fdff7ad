// Boxes and cubemaps each level of which holds its own number, so that what is read between levels is the level of
// detail, and reads of them with gradients.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"

namespace numbered_levels {

constexpr unsigned kEdge = 50, kLevels = 6, kReads = 4096;

enum Form { kBox, kCube, kCubes };

struct Read {
  float4 at, dx, dy;  // layers come behind directions here
};
struct Texture {
  cudaMipmappedArray_t array;
  cudaTextureObject_t object;
};
inline Texture makeTexture(Form form) {
  const unsigned flags = form == kBox ? 0 : form == kCube ? cudaArrayCubemap : cudaArrayCubemap | cudaArrayLayered;
  const unsigned faces = form == kCubes ? 12 : 6;
  Texture texture;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
  CHECK(cudaMallocMipmappedArray(&texture.array, &format, make_cudaExtent(kEdge, kEdge, form == kBox ? kEdge : faces),
                                 kLevels, flags));
  for (unsigned level = 0; level < kLevels; ++level) {
    const unsigned edge = kEdge >> level, depth = form == kBox ? edge : faces;
    std::vector<float4> texels(size_t{edge} * edge * depth);
    for (size_t i = 0; i < texels.size(); ++i) {
      const float layer = form == kCubes ? static_cast<float>(i / (size_t{edge} * edge * 6)) : 0;
      texels[i] = make_float4(static_cast<float>(level), layer, 1, 0);
    }
    cudaArray_t array;
    CHECK(cudaGetMipmappedArrayLevel(&array, texture.array, level));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels.data(), edge * sizeof(float4), edge, edge);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(edge, edge, depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = texture.array;
  cudaTextureDesc description = {};
  for (auto& mode : description.addressMode) mode = cudaAddressModeClamp;
  description.filterMode = cudaFilterModeLinear;
  description.mipmapFilterMode = cudaFilterModeLinear;
  description.maxMipmapLevelClamp = kLevels - 1;
  description.normalizedCoords = 1;
  CHECK(cudaCreateTextureObject(&texture.object, &resource, &description, nullptr));
  return texture;
}

inline float uniform(uint32_t& state) {  // from -1 to 1
  state = state * 1664525 + 1013904223;
  return static_cast<float>(static_cast<int>(state >> 8) - (1 << 23)) / (1 << 23);
}
inline float4 gradient(uint32_t& state) {
  const float scale = exp2f(uniform(state) * 5 - 4);
  return make_float4(uniform(state) * scale, uniform(state) * scale, uniform(state) * scale, 0);
}

// The first half has a change along one axis each, at the middle of a face of cubes: these levels are known.
inline std::vector<Read> makeReads(Form form) {
  std::vector<Read> reads(kReads);
  uint32_t state = 7 + form;
  for (unsigned i = 0; i < kReads; ++i) {
    Read& r = reads[i];
    r.at = make_float4(uniform(state), uniform(state), uniform(state), 0);
    r.dx = gradient(state), r.dy = gradient(state);
    if (i < kReads / 2) {
      r.at = form == kBox ? make_float4(0.3f, 0.5f, 0.7f, 0) : make_float4(0, 0, i & 1 ? -1 : 1, 0);
      r.dx = make_float4(r.dx.x, 0, 0, 0), r.dy = make_float4(0, r.dy.y, 0, 0);
    } else if (form == kBox) {
      r.at = make_float4(r.at.x / 2 + 0.5f, r.at.y / 2 + 0.5f, r.at.z / 2 + 0.5f, 0);
    }
    if (form == kCubes) r.at.w = static_cast<float>(i / 2 & 1);
  }
  return reads;
}

inline void destroy(const Texture& texture) {
  CHECK(cudaDestroyTextureObject(texture.object));
  CHECK(cudaFreeMipmappedArray(texture.array));
}

}  // namespace numbered_levels
