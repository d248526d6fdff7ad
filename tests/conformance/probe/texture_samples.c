// What texture and surface instructions return, word for word.
#include "texture_probe.h"

#define FLOAT_ CU_AD_FORMAT_FLOAT
#define RGBA "{%r5, %r6, %r7, %r8}"
static const char kPlane[] = "tex.2d.v4.f32.f32 " RGBA ", [%rd1, {%f1, %f2}];";
static const char kLine[] = "tex.1d.v4.f32.f32 " RGBA ", [%rd1, {%f1}];";

static float bitsAsFloat(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
#define WHOLE(n) bitsAsFloat((uint32_t)(n))

static void filtering(void) {
  start();
  float ramp[64], image[64];
  for (int i = 0; i < 64; ++i) ramp[i] = (float)i, image[i] = (float)(i * i % 61);
  CUarray line = filledArray(64, 0, 0, FLOAT_, 1, 0, ramp, 4);
  CUtexObject t = textureOf(line, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
  Point steps[24];
  for (int i = 0; i < 24; ++i) steps[i] = (Point){10.5f + (float)i / 2048, 0, 0, 0};
  sampled("linear by 1/2048", kLine, t, steps, 24);
  const Point edges[] = {{0, 0, 0, 0},  {0.25f, 0, 0, 0}, {63.75f, 0, 0, 0},
                         {64, 0, 0, 0}, {-5, 0, 0, 0},    {99, 0, 0, 0}};
  sampled("linear at the edges", kLine, t, edges, 6);
  t = textureOf(line, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  const Point points[] = {{0.999f, 0, 0, 0},      {1, 0, 0, 0},          {1.001f, 0, 0, 0}, {0.9990234f, 0, 0, 0},
                          {0.99951171f, 0, 0, 0}, {0.9999999f, 0, 0, 0}, {-0.001f, 0, 0, 0}};
  sampled("point", kLine, t, points, 7);
  CUarray plane = filledArray(8, 8, 0, FLOAT_, 1, 0, image, 4);
  const CUaddress_mode modes[] = {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_MIRROR,
                                  CU_TR_ADDRESS_MODE_BORDER};
  const Point around[] = {
      {-0.3f, 0.2f, 0, 0}, {1.3f, -1.6f, 0, 0}, {0.01f, 0.99f, 0, 0}, {2.51f, 3.1f, 0, 0}, {-7.03f, 0.5f, 0, 0}};
  char name[64];
  for (int m = 0; m < 4; ++m)
    for (int f = 0; f < 2; ++f)
      for (unsigned n = 0; n < 2; ++n) {
        snprintf(name, sizeof name, "mode %d filter %d %s", m, f, n ? "normalised" : "in elements");
        t = textureOf(plane, modes[m], f ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
                      n ? CU_TRSF_NORMALIZED_COORDINATES : 0);
        sampled(name, kPlane, t, around, 5);
      }
  CUDA_RESOURCE_DESC r = arrayResource(plane);
  CUDA_TEXTURE_DESC d = sampling(CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
  for (int c = 0; c < 4; ++c) d.borderColor[c] = 3.25f;
  D(cuTexObjectCreate)(&t, &r, &d, NULL);
  sampled("border 3.25", kPlane, t, around, 5);
  t = textureOf(plane, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  const Point gathered[] = {{3, 3, 0, 0}, {3.2f, 5.9f, 0, 0}, {0, 0, 0, 0}};
  sampled("gather", "tld4.r.2d.v4.f32.f32 " RGBA ", [%rd1, {%f1, %f2}];", t, gathered, 3);
  const Point whole[] = {{WHOLE(3), WHOLE(2), 0, 0}, {WHOLE(-1), WHOLE(2), 0, 0}, {WHOLE(8), WHOLE(9), 0, 0}};
  sampled("by whole coordinates", "tex.2d.v4.f32.s32 " RGBA ", [%rd1, {%r1, %r2}];", t, whole, 3);
  sampled("offset -2, 1", "tex.2d.v4.f32.f32 " RGBA ", [%rd1, {%f1, %f2}], {-2, 1};", t, gathered, 2);
}

static void formats(void) {
  start();
  const struct {
    const char* name;
    CUarray_format format;
    unsigned channels, bytes;
  } kinds[] = {{"u8 x 1", CU_AD_FORMAT_UNSIGNED_INT8, 1, 1},      {"u8 x 4", CU_AD_FORMAT_UNSIGNED_INT8, 4, 4},
               {"s8 x 2", CU_AD_FORMAT_SIGNED_INT8, 2, 2},        {"u16 x 1", CU_AD_FORMAT_UNSIGNED_INT16, 1, 2},
               {"s16 x 4", CU_AD_FORMAT_SIGNED_INT16, 4, 8},      {"u32 x 2", CU_AD_FORMAT_UNSIGNED_INT32, 2, 8},
               {"s32 x 1", CU_AD_FORMAT_SIGNED_INT32, 1, 4},      {"half x 2", CU_AD_FORMAT_HALF, 2, 4},
               {"float x 1", CU_AD_FORMAT_FLOAT, 1, 4},           {"unorm8 x 4", CU_AD_FORMAT_UNORM_INT8X4, 4, 4},
               {"snorm16 x 2", CU_AD_FORMAT_SNORM_INT16X2, 2, 4}, {"1010102", CU_AD_FORMAT_UNORM_INT_101010_2, 4, 4}};
  unsigned char bytes[64];
  for (int i = 0; i < 64; ++i) bytes[i] = (unsigned char)(i * 37 + 5);
  const Point points[] = {{0.5f, 0, 0, 0}, {1.5f, 0, 0, 0}, {2.5f, 0, 0, 0}, {9, 0, 0, 0}};
  char name[96];
  for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    CUarray a = filledArray(4, 0, 0, kinds[k].format, kinds[k].channels, 0, bytes, kinds[k].bytes);
    for (unsigned raw = 0; raw < 2; ++raw) {
      CUtexObject t =
          textureOf(a, CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT, raw ? CU_TRSF_READ_AS_INTEGER : 0);
      snprintf(name, sizeof name, "%s %s as f32", kinds[k].name, raw ? "whole" : "mapped");
      sampled(name, kLine, t, points, 4);
      snprintf(name, sizeof name, "%s %s as u32", kinds[k].name, raw ? "whole" : "mapped");
      sampled(name, "tex.1d.v4.u32.f32 " RGBA ", [%rd1, {%f1}];", t, points, 1);
    }
  }
  CUarray a = filledArray(4, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0, bytes, 4);
  CUtexObject t = textureOf(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_SRGB);
  sampled("sRGB", kLine, t, points, 3);
  t = textureOf(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
  const Point between[] = {{1, 0, 0, 0}, {1.1f, 0, 0, 0}, {1.7f, 0, 0, 0}};
  sampled("u8 mixed", kLine, t, between, 3);
  a = filledArray(4, 0, 0, CU_AD_FORMAT_HALF, 1, 0, bytes, 2);
  t = textureOf(a, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
  sampled("half mixed", kLine, t, between, 3);
}

static void shapes(void) {
  start();
  float numbers[6 * 64];
  for (int i = 0; i < 6 * 64; ++i) numbers[i] = (float)i;
  CUarray layers = filledArray(8, 8, 6, FLOAT_, 1, CUDA_ARRAY3D_LAYERED, numbers, 4);
  CUtexObject t = textureOf(layers, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  const Point layered[] = {{WHOLE(2), 1.5f, 3.5f, 0}, {WHOLE(6), 1.5f, 3.5f, 0}, {WHOLE(-1), 1.5f, 3.5f, 0}};
  sampled("layers", "tex.a2d.v4.f32.f32 " RGBA ", [%rd1, {%r1, %f2, %f3, %f4}];", t, layered, 3);
  CUarray box = filledArray(8, 8, 6, FLOAT_, 1, 0, numbers, 4);
  t = textureOf(box, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
  const Point inside[] = {{2.3f, 4.1f, 3.7f, 0}, {0, 0, 0, 0}, {7.9f, 7.9f, 5.9f, 0}};
  sampled("box", "tex.3d.v4.f32.f32 " RGBA ", [%rd1, {%f1, %f2, %f3, %f4}];", t, inside, 3);
  CUarray cube = filledArray(8, 8, 6, FLOAT_, 1, CUDA_ARRAY3D_CUBEMAP, numbers, 4);
  const Point directions[] = {{1, .3f, .4f, 0}, {-1, .3f, .4f, 0}, {.3f, 1, .4f, 0},    {.3f, -1, .4f, 0},
                              {.3f, .4f, 1, 0}, {.3f, .4f, -1, 0}, {1, 1, 1, 0},        {-1, 1, 1, 0},
                              {1, -1, .5f, 0},  {0, 0, 0, 0},      {1, .99f, .3f, 0},   {1, .99f, .99f, 0},
                              {.5f, 1, -1, 0},  {.5f, -1, -1, 0},  {-.98f, -.97f, 1, 0}};
  for (int filter = 0; filter < 2; ++filter)
    for (int seamless = 0; seamless < 2; ++seamless) {
      char name[64];
      snprintf(name, sizeof name, "cube, filter %d%s", filter, seamless ? ", seamless" : "");
      t = textureOf(cube, CU_TR_ADDRESS_MODE_CLAMP, filter ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
                    CU_TRSF_NORMALIZED_COORDINATES | (seamless ? CU_TRSF_SEAMLESS_CUBEMAP : 0));
      sampled(name, "tex.cube.v4.f32.f32 " RGBA ", [%rd1, {%f1, %f2, %f3, %f4}];", t, directions, 15);
    }
  CUdeviceptr p = deviceBytes(4096);
  D(cuMemcpyHtoD_v2)(p, numbers, 400);
  CUDA_RESOURCE_DESC r;
  memset(&r, 0, sizeof r);
  r.resType = CU_RESOURCE_TYPE_LINEAR;
  r.res.linear.devPtr = p, r.res.linear.format = FLOAT_, r.res.linear.numChannels = 1, r.res.linear.sizeInBytes = 400;
  CUDA_TEXTURE_DESC d = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  D(cuTexObjectCreate)(&t, &r, &d, NULL);
  const Point line[] = {{WHOLE(99), 0, 0, 0}, {WHOLE(100), 0, 0, 0}, {WHOLE(-1), 0, 0, 0}};
  sampled("linear memory", "tex.1d.v4.f32.s32 " RGBA ", [%rd1, {%r1}];", t, line, 3);
}

static void levels(void) {
  start();
  CUmipmappedArray m;
  CUDA_ARRAY3D_DESCRIPTOR_v2 whole = {16, 16, 0, FLOAT_, 1, 0};
  D(cuMipmappedArrayCreate)(&m, &whole, 5);
  for (unsigned l = 0; l < 5; ++l) {
    CUarray level;
    float constant[256];
    D(cuMipmappedArrayGetLevel)(&level, m, l);
    const size_t edge = 16 >> l;
    for (size_t i = 0; i < edge * edge; ++i) constant[i] = 16.0f * (float)l;
    CUDA_MEMCPY2D_v2 copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = constant, copy.srcPitch = edge * 4;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = level, copy.WidthInBytes = edge * 4, copy.Height = edge;
    D(cuMemcpy2D_v2)(&copy);
  }
  CUDA_RESOURCE_DESC r;
  memset(&r, 0, sizeof r);
  r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  r.res.mipmap.hMipmappedArray = m;
  const Point lods[] = {{.5f, .5f, 0, 0},     {.5f, .5f, .3f, 0}, {.5f, .5f, .5f, 0}, {.5f, .5f, .51f, 0},
                        {.5f, .5f, 1.77f, 0}, {.5f, .5f, 9, 0},   {.5f, .5f, -2, 0},  {.5f, .5f, 2.001f, 0}};
  const Point slopes[] = {
      {.5f, .5f, .0625f, 0}, {.5f, .5f, .125f, 0}, {.5f, .5f, .25f, .125f}, {.5f, .5f, .1f, .03f}, {.5f, .5f, 0, 0}};
  for (int filter = 0; filter < 2; ++filter)
    for (int setting = 0; setting < 3; ++setting) {
      CUDA_TEXTURE_DESC d =
          sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
      d.mipmapFilterMode = filter ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
      d.maxMipmapLevelClamp = setting == 2 ? 2.5f : 10;
      d.minMipmapLevelClamp = setting == 2 ? 0.75f : 0;
      d.mipmapLevelBias = setting == 1 ? 0.75f : 0;
      CUtexObject t = 0;
      D(cuTexObjectCreate)(&t, &r, &d, NULL);
      char name[64];
      snprintf(name, sizeof name, "filter %d setting %d, level", filter, setting);
      sampled(name, "tex.level.2d.v4.f32.f32 " RGBA ", [%rd1, {%f1, %f2}], %f3;", t, lods, 8);
      snprintf(name, sizeof name, "filter %d setting %d, base", filter, setting);
      sampled(name, kPlane, t, lods, 1);
      snprintf(name, sizeof name, "filter %d setting %d, slopes", filter, setting);
      sampled(name, "tex.grad.2d.v4.f32.f32 " RGBA ", [%rd1, {%f1, %f2}], {%f3, %f4}, {%f4, %f3};", t, slopes, 5);
    }
}

static void surfaces(void) {
  start();
  uint32_t numbers[64];
  for (uint32_t i = 0; i < 64; ++i) numbers[i] = i + 100;
  CUarray a = filledArray(8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST, numbers, 4);
  CUDA_RESOURCE_DESC r = arrayResource(a);
  CUsurfObject s = 0;
  D(cuSurfObjectCreate)(&s, &r);
  const Point outside[] = {{WHOLE(28), WHOLE(3), 0, 0},
                           {WHOLE(32), WHOLE(0), 0, 0},
                           {WHOLE(-4), WHOLE(2), 0, 0},
                           {WHOLE(8), WHOLE(4), 0, 0},
                           {WHOLE(8), WHOLE(-1), 0, 0}};
  sampled("load, zero", "suld.b.2d.b32.zero %r5, [%rd1, {%r1, %r2}];", s, outside, 5);
  sampled("load, clamp", "suld.b.2d.b32.clamp %r5, [%rd1, {%r1, %r2}];", s, outside, 5);
  const Point store[] = {{WHOLE(4), WHOLE(1), WHOLE(7), 0}};
  sampled("store and load", "sust.b.2d.b32.zero [%rd1, {%r1, %r2}], %r3;\nsuld.b.2d.b32.zero %r5, [%rd1, {%r1, %r2}];",
          s, store, 1);
  sampled("queries", "suq.width.b32 %r5, [%rd1];\nsuq.height.b32 %r6, [%rd1];\nsuq.depth.b32 %r7, [%rd1];", s, store,
          1);
}

static void faultOf(const char* name, const char* instruction, int x) {
  start();
  uint32_t numbers[64] = {0}, words[4];
  CUarray a = filledArray(8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST, numbers, 4);
  CUDA_RESOURCE_DESC r = arrayResource(a);
  CUsurfObject s = 0;
  D(cuSurfObjectCreate)(&s, &r);
  const Point point = {WHOLE(x), 0, 0, 0};
  RESULT(name, accessed(instruction, s, point, words));
}
static void outside(void) { faultOf("load outside, trap", "suld.b.2d.b32.trap %r5, [%rd1, {%r1, %r2}];", 32); }
static void outsideStore(void) { faultOf("store outside, trap", "sust.b.2d.b32.trap [%rd1, {%r1, %r2}], %r3;", 32); }
static void misaligned(void) { faultOf("misaligned load", "suld.b.2d.b32.zero %r5, [%rd1, {%r1, %r2}];", 2); }

static void misaligned16(void) {
  faultOf("load of 16 bytes at 4", "suld.b.2d.v4.b32.clamp " RGBA ", [%rd1, {%r1, %r2}];", 4);
}

static void madeUp(void) {
  start();
  uint32_t words[4] = {9, 9, 9, 9};
  const Point point = {0, 0, 0, 0};
  CUresult result = accessed(kPlane, 0, point, words);
  fact("texture 0", "%s %08x", resultName(result), result ? 0 : words[0]);
}

const Group kTextureSampleGroups[] = {{"textures.filtering", filtering},
                                      {"textures.formats", formats},
                                      {"textures.shapes", shapes},
                                      {"textures.levels", levels},
                                      {"textures.surfaces", surfaces},
                                      {"textures.fault-outside", outside},
                                      {"textures.fault-outside-store", outsideStore},
                                      {"textures.fault-misaligned", misaligned},
                                      {"textures.fault-misaligned-16", misaligned16},
                                      {"textures.fault-made-up", madeUp},
                                      {NULL, NULL}};
