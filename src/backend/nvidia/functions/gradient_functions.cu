// The functions that compiled kernels call for gradients of boxes and cubemaps (tex3DGrad, texCubemapGrad,
// texCubemapLayeredGrad), which the texture units of a GPU do not take; scripts/gpu-kernels makes
// gradient_functions_code.inc of them. Each makes a level of its gradients, with the arithmetic of
// arrays/reading/footprint.cpp, and reads that level.
#include <cstdint>

namespace {

constexpr float kLongest = 0x1p60f;
constexpr int kSteps = 256;           // of levels
constexpr int kNothing = -(1 << 20);  // the logarithm of 0

__device__ const uint8_t logarithms[256] = {
#include "arrays/reading/logarithms.inc"
};

struct Vector {
  float x, y, z;
};
__device__ Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

__device__ bool isTiny(float magnitude) { return magnitude < 0x1p-100f; }
// The 10 leading bits of a number as a whole number from 512 to 1023, and what its last bit is worth.
__device__ int leadingBits(float value) { return static_cast<int>(__float_as_uint(value) >> 14 & 511) | 512; }
__device__ int leadingExponent(float value) { return static_cast<int>(__float_as_uint(value) >> 23 & 255) - 127 - 9; }
// From 2^-126 to 2^127.
__device__ float powerOfTwo(int exponent) { return __uint_as_float(static_cast<uint32_t>(exponent + 127) << 23); }

__device__ float shortened(float value) {
  return isTiny(fabsf(value)) ? 0 : __uint_as_float(__float_as_uint(value) & ~0x3fffu);
}

__device__ int logarithmOf(float length) {
  if (isTiny(length)) return kNothing;
  const uint32_t word = __float_as_uint(length);
  return (static_cast<int>(word >> 23) - 127) * kSteps + logarithms[word >> 15 & 255];
}

// The longest side, 11/32 of the next and 1/4 of the shortest, which has only bits that the middle one has.
__device__ float lengthOf(Vector v) {
  const float x = fabsf(v.x), y = fabsf(v.y), z = fabsf(v.z);
  const float longest = fmaxf(fmaxf(x, y), z), shortest = fminf(fminf(x, y), z);
  const float middle = fmaxf(fminf(x, y), fminf(fmaxf(x, y), z));
  if (isTiny(longest)) return 0;
  float more = 0;
  if (!isTiny(middle)) {
    const int exponent = leadingExponent(middle);
    const int aligned = static_cast<int>(shortened(shortest) * powerOfTwo(-exponent));
    more = static_cast<float>(11 * leadingBits(middle) + 8 * aligned + 4) * powerOfTwo(exponent - 5);
  }
  const int exponent = leadingExponent(longest);
  return shortened(longest) + floorf(more * powerOfTwo(-exponent)) * powerOfTwo(exponent);
}

// 11/16, for 1 / sqrt(2).
__device__ Vector partOf(Vector v) {
  return {shortened(v.x) * 0.6875f, shortened(v.y) * 0.6875f, shortened(v.z) * 0.6875f};
}

// A change of a coordinate from 0 to 1 in elements. The units' product is a little larger than the exact one.
__device__ float inElements(float change, uint32_t size) {
  if (!(fabsf(change) <= kLongest)) change = change != change ? 0 : copysignf(kLongest, change);
  if (isTiny(fabsf(change))) return 0;
  const int exponent = 31 - __clz(size) - 9;
  const float product = static_cast<float>(leadingBits(change)) * (static_cast<float>(size) * powerOfTwo(-exponent));
  return copysignf(shortened((product + 448) * powerOfTwo(exponent) * powerOfTwo(leadingExponent(change))), change);
}

// `inPlane`: what lies between two faces of a cube does not count.
__device__ __noinline__ float levelOf(Vector x, Vector y, bool inPlane) {
  const Vector px = partOf(x), py = partOf(y);
  int level = max(logarithmOf(lengthOf(x)), logarithmOf(lengthOf(y)));
  if (inPlane) level = max(level, max(logarithmOf(lengthOf(px + py)), logarithmOf(lengthOf(px - py))));
  return static_cast<float>(level) / kSteps;
}

__device__ uint32_t widthOf(uint64_t texture) {
  uint32_t size;
  asm("txq.width.b32 %0, [%1];" : "=r"(size) : "l"(texture));
  return max(size, 1);
}
__device__ uint32_t heightOf(uint64_t texture) {
  uint32_t size;
  asm("txq.height.b32 %0, [%1];" : "=r"(size) : "l"(texture));
  return max(size, 1);
}
__device__ uint32_t depthOf(uint64_t texture) {
  uint32_t size;
  asm("txq.depth.b32 %0, [%1];" : "=r"(size) : "l"(texture));
  return max(size, 1);
}

// From where a coordinate is to where it would be; what is no number counts as 0. Where it is infinite the change does
// not end.
__device__ float changeInBox(uint32_t size, float position, float change) {
  if (isinf(position * static_cast<float>(size))) return inElements(kLongest, size);
  const float next = position + change;
  return inElements((next == next ? next : 0) - (position == position ? position : 0), size);
}
__device__ __noinline__ float boxLevel(uint64_t texture, float4 at, float4 dx, float4 dy) {
  const uint32_t width = widthOf(texture), height = heightOf(texture), depth = depthOf(texture);
  const Vector x{changeInBox(width, at.x, dx.x), changeInBox(height, at.y, dx.y), changeInBox(depth, at.z, dx.z)};
  const Vector y{changeInBox(width, at.x, dy.x), changeInBox(height, at.y, dy.y), changeInBox(depth, at.z, dy.z)};
  return levelOf(x, y, true);
}

__device__ float component(const Vector& v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }
__device__ void setComponent(Vector& v, int axis, float to) { (axis == 0 ? v.x : axis == 1 ? v.y : v.z) = to; }

// As PlanePoint of arrays/reading/cubemap.cpp.
struct PlanePoint {
  int axis;
  bool negative, none;
  Vector at;
  __device__ explicit PlanePoint(Vector d) {
    d = {d.x == d.x ? d.x : 0, d.y == d.y ? d.y : 0, d.z == d.z ? d.z : 0};
    const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
    axis = x > y && x > z ? 0 : y > z ? 1 : 2;
    const float along = component(d, axis), longest = fabsf(along);
    const bool endless = longest >= 0x1p126f;
    negative = !endless && along < 0, none = longest == 0;
    at = {(d.x / longest + 1) / 2, (d.y / longest + 1) / 2, (d.z / longest + 1) / 2};
    if (!endless) return;
    axis = z >= 0x1p126f ? 1 : 2;
    at = {0.5f, 0.5f, 0.5f};
  }
};

// As changeOnFaces() of arrays/reading/cubemap.cpp, in elements.
struct FaceChange {
  Vector along;
  bool onOneFace;
  __device__ FaceChange(const PlanePoint& from, const PlanePoint& to, uint32_t width, uint32_t height) {
    const bool opposite = from.axis == to.axis && from.negative != to.negative;
    onOneFace = from.axis == to.axis && !opposite;
    Vector at = to.at;
    if (from.axis != to.axis) {
      const float edge = component(to.at, from.axis), beyond = from.negative ? edge : 1 - edge;
      setComponent(at, to.axis, to.negative ? -beyond : 1 + beyond);
    }
    at = at - from.at;
    if (from.none || to.none || opposite) at = {kLongest, kLongest, kLongest};
    along = {inElements(from.axis == 0 ? at.y : at.x, width), inElements(from.axis == 2 ? at.y : at.z, height), 0};
  }
};
__device__ __noinline__ float cubeLevel(uint64_t texture, Vector at, Vector dx, Vector dy) {
  const uint32_t width = widthOf(texture), height = heightOf(texture);
  const PlanePoint from(at);
  const FaceChange x(from, PlanePoint(at + dx), width, height), y(from, PlanePoint(at + dy), width, height);
  return levelOf(x.along, y.along, x.onOneFace && y.onOneFace);
}

}  // namespace

// Whether all of it lay in memory that is there, and what was read.
struct Texel {
  uint32_t resident, words[4];
};

#define VG_READ(geometry, type, coordinates, ...)                                                                    \
  Texel texel;                                                                                                       \
  asm volatile(                                                                                                      \
      "{ .reg .pred %%there;\n"                                                                                      \
      "tex.level." geometry ".v4." type ".f32 {%1, %2, %3, %4}|%%there, [%5, " coordinates                           \
      ";\n"                                                                                                          \
      "selp.u32 %0, 1, 0, %%there; }"                                                                                \
      : "=r"(texel.resident), "=r"(texel.words[0]), "=r"(texel.words[1]), "=r"(texel.words[2]), "=r"(texel.words[3]) \
      : "l"(texture), __VA_ARGS__);                                                                                  \
  return texel

// Layers come before directions.
#define VG_GRADIENT_FUNCTIONS(suffix, type)                                                                            \
  extern "C" __device__ __noinline__ Texel vgGradientBox##suffix(uint64_t texture, float4 at, float4 dx, float4 dy) {  \
    const float level = boxLevel(texture, at, dx, dy);                                                                 \
    VG_READ("3d", type, "{%6, %7, %8, %8}], %9", "f"(at.x), "f"(at.y), "f"(at.z), "f"(level));                         \
  }                                                                                                                    \
  extern "C" __device__ __noinline__ Texel vgGradientCube##suffix(uint64_t texture, float4 at, float4 dx, float4 dy) { \
    const float level = cubeLevel(texture, {at.x, at.y, at.z}, {dx.x, dx.y, dx.z}, {dy.x, dy.y, dy.z});                \
    VG_READ("cube", type, "{%6, %7, %8, %8}], %9", "f"(at.x), "f"(at.y), "f"(at.z), "f"(level));                       \
  }                                                                                                                    \
  extern "C" __device__ __noinline__ Texel vgGradientCubes##suffix(uint64_t texture, float4 at, float4 dx,             \
                                                                   float4 dy) {                                        \
    const float level = cubeLevel(texture, {at.y, at.z, at.w}, {dx.x, dx.y, dx.z}, {dy.x, dy.y, dy.z});                \
    VG_READ("acube", type, "{%6, %7, %8, %9}], %10", "r"(__float_as_uint(at.x)), "f"(at.y), "f"(at.z), "f"(at.w),      \
            "f"(level));                                                                                               \
  }
VG_GRADIENT_FUNCTIONS(F32, "f32")
VG_GRADIENT_FUNCTIONS(S32, "s32")
VG_GRADIENT_FUNCTIONS(U32, "u32")

// Nobody launches it; it calls them all, so that it needs what they need.
extern "C" __global__ void vgKeepGradients(Texel* to, uint64_t texture, float4 at, float4 dx, float4 dy) {
  to[0] = vgGradientBoxF32(texture, at, dx, dy), to[1] = vgGradientCubeF32(texture, at, dx, dy);
  to[2] = vgGradientCubesF32(texture, at, dx, dy), to[3] = vgGradientBoxS32(texture, at, dx, dy);
  to[4] = vgGradientCubeS32(texture, at, dx, dy), to[5] = vgGradientCubesS32(texture, at, dx, dy);
  to[6] = vgGradientBoxU32(texture, at, dx, dy), to[7] = vgGradientCubeU32(texture, at, dx, dy);
  to[8] = vgGradientCubesU32(texture, at, dx, dy);
}
