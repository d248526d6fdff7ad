// Texture and surface objects and references: what the driver accepts, and what they start as.
#include "texture_probe.h"

#define FLOAT_ CU_AD_FORMAT_FLOAT

static void tried(const char* name, const CUDA_RESOURCE_DESC* r, const CUDA_TEXTURE_DESC* t,
                  const CUDA_RESOURCE_VIEW_DESC* v) {
  CUtexObject object = 0;
  RESULT(name, D(cuTexObjectCreate)(&object, r, t, v));
}

static void objects(void) {
  start();
  CUarray a, block;
  CUtexObject object = 0;
  CUsurfObject surface = 0;
  makeArray(&a, 64, 64, 0, FLOAT_, 1, 0);
  CUDA_RESOURCE_DESC r = arrayResource(a), wrong = r;
  CUDA_TEXTURE_DESC t = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0), odd;
  tried("NULL resource", NULL, &t, NULL);
  tried("NULL texture", &r, NULL, NULL);
  RESULT("NULL object", D(cuTexObjectCreate)(NULL, &r, &t, NULL));
  wrong.flags = 1;
  tried("resource flags 1", &wrong, &t, NULL);
  wrong = r, *(int*)& wrong.resType = 9;
  tried("resource type 9", &wrong, &t, NULL);
  wrong = r, wrong.res.array.hArray = NULL;
  tried("array NULL", &wrong, &t, NULL);
  wrong.res.array.hArray = (CUarray)0x1230;
  tried("array made up", &wrong, &t, NULL);
  odd = t, *(int*)&odd.addressMode[0] = 4;
  tried("address mode 4", &r, &odd, NULL);
  odd = t, *(int*)&odd.addressMode[2] = 4;
  tried("address mode 4 of an unused dimension", &r, &odd, NULL);
  odd = t, *(int*)& odd.filterMode = 2;
  tried("filter mode 2", &r, &odd, NULL);
  odd = t, *(int*)& odd.mipmapFilterMode = 2;
  tried("mipmap filter mode 2", &r, &odd, NULL);
  odd = t, odd.flags = 0x80;
  tried("texture flags 0x80", &r, &odd, NULL);
  odd = t, odd.flags = 4;
  tried("texture flags 4", &r, &odd, NULL);
  odd = t, odd.maxAnisotropy = 100;
  tried("anisotropy 100", &r, &odd, NULL);
  odd = t, odd.minMipmapLevelClamp = 3, odd.maxMipmapLevelClamp = 1;
  tried("level clamp 3 to 1", &r, &odd, NULL);
  odd = t, odd.reserved[3] = 7;
  tried("reserved not zero", &r, &odd, NULL);
  odd = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_READ_AS_INTEGER);
  makeArray(&block, 64, 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0);
  wrong = arrayResource(block);
  tried("linear filter of integers", &wrong, &odd, NULL);
  odd = sampling(CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT, 0);
  tried("wrap without normalised coordinates", &r, &odd, NULL);
  RESULT("destroy 0", D(cuTexObjectDestroy)(0));
  RESULT("destroy made up", D(cuTexObjectDestroy)(0x123456));
  RESULT("destroy surface 0", D(cuSurfObjectDestroy)(0));
  D(cuTexObjectCreate)(&object, &r, &t, NULL);
  D(cuSurfObjectCreate)(&surface, &r);
  CUDA_RESOURCE_DESC got;
  CUDA_TEXTURE_DESC gotTexture;
  CUDA_RESOURCE_VIEW_DESC gotView;
  RESULT("resource of a texture", D(cuTexObjectGetResourceDesc)(&got, object));
  fact("the same array", "%s", YES(got.res.array.hArray == a));
  RESULT("settings of a texture", D(cuTexObjectGetTextureDesc)(&gotTexture, object));
  RESULT("view of a texture without", D(cuTexObjectGetResourceViewDesc)(&gotView, object));
  RESULT("resource of a surface", D(cuSurfObjectGetResourceDesc)(&got, surface));
  RESULT("resource of texture 0", D(cuTexObjectGetResourceDesc)(&got, 0));
  RESULT("array destroyed first", D(cuArrayDestroy)(a));
  RESULT("resource of its texture", D(cuTexObjectGetResourceDesc)(&got, object));
  RESULT("destroy its texture", D(cuTexObjectDestroy)(object));
  RESULT("destroy it again", D(cuTexObjectDestroy)(object));
  wrong = r, wrong.resType = CU_RESOURCE_TYPE_LINEAR;
  RESULT("surface of linear memory", D(cuSurfObjectCreate)(&surface, &wrong));
}

static void linear(void) {
  start();
  CUdeviceptr p = deviceBytes(1 << 20);
  CUDA_TEXTURE_DESC t = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  const struct {
    const char* name;
    size_t offset, bytes;
    unsigned channels;
  } lines[] = {{"line", 0, 4096, 1},
               {"line at 16", 16, 4096, 1},
               {"line at 256", 256, 4096, 1},
               {"line at 512", 512, 4096, 1},
               {"line of 0 bytes", 0, 0, 1},
               {"line of 3 bytes", 0, 3, 1},
               {"line of 4098 bytes", 0, 4098, 1},
               {"line of 3 channels", 0, 4096, 3},
               {"line past the end", 0, 1 << 24, 1}};
  CUDA_RESOURCE_DESC r;
  memset(&r, 0, sizeof r);
  r.resType = CU_RESOURCE_TYPE_LINEAR;
  for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
    r.res.linear.devPtr = p + lines[i].offset;
    r.res.linear.format = FLOAT_;
    r.res.linear.numChannels = lines[i].channels;
    r.res.linear.sizeInBytes = lines[i].bytes;
    tried(lines[i].name, &r, &t, NULL);
  }
  r.res.linear.numChannels = 1, r.res.linear.sizeInBytes = 4096, r.res.linear.devPtr = 0;
  tried("line at 0", &r, &t, NULL);
  const struct {
    const char* name;
    size_t offset, width, height, pitch;
  } planes[] = {{"plane", 0, 100, 10, 512},
                {"plane at 32", 32, 100, 10, 512},
                {"plane of pitch 416", 0, 100, 10, 416},
                {"plane of pitch 400", 0, 100, 10, 400},
                {"plane of pitch 384", 0, 100, 10, 384},
                {"plane of width 0", 0, 0, 10, 512},
                {"plane of height 0", 0, 100, 0, 512}};
  memset(&r, 0, sizeof r);
  r.resType = CU_RESOURCE_TYPE_PITCH2D;
  for (unsigned i = 0; i < sizeof planes / sizeof planes[0]; ++i) {
    r.res.pitch2D.devPtr = p + planes[i].offset;
    r.res.pitch2D.format = FLOAT_;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = planes[i].width;
    r.res.pitch2D.height = planes[i].height;
    r.res.pitch2D.pitchInBytes = planes[i].pitch;
    tried(planes[i].name, &r, &t, NULL);
  }
}

static void views(void) {
  start();
  CUarray a;
  CUmipmappedArray m;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, FLOAT_, 1, 0};
  makeArray(&a, 64, 64, 0, FLOAT_, 1, 0);
  D(cuMipmappedArrayCreate)(&m, &d, 4);
  CUDA_RESOURCE_DESC r = arrayResource(a), mips;
  memset(&mips, 0, sizeof mips);
  mips.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  mips.res.mipmap.hMipmappedArray = m;
  CUDA_TEXTURE_DESC t = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES);
  CUDA_TEXTURE_DESC plain = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  tried("levels with normalised coordinates", &mips, &t, NULL);
  tried("levels without", &mips, &plain, NULL);
  CUDA_RESOURCE_VIEW_DESC v, other;
  memset(&v, 0, sizeof v);
  v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, v.width = v.height = 64;
  tried("the same format", &r, &t, &v);
  other = v, other.format = CU_RES_VIEW_FORMAT_UINT_4X8;
  tried("another format of that size", &r, &t, &other);
  other = v, other.format = CU_RES_VIEW_FORMAT_UINT_1X8;
  tried("a smaller format", &r, &t, &other);
  other = v, other.format = CU_RES_VIEW_FORMAT_NONE;
  tried("no format", &r, &t, &other);
  other = v, other.width = 32;
  tried("half the width", &r, &t, &other);
  other = v, other.width = other.height = 0;
  tried("no extents", &r, &t, &other);
  other = v, other.depth = 1;
  tried("depth 1", &r, &t, &other);
  other = v, other.lastMipmapLevel = 1;
  tried("level 1 of an array", &r, &t, &other);
  other = v, other.lastLayer = 1;
  tried("layer 1 of a plane", &r, &t, &other);
  other = v, other.lastMipmapLevel = 3;
  tried("levels 0 to 3", &mips, &t, &other);
  other.lastMipmapLevel = 4;
  tried("levels 0 to 4", &mips, &t, &other);
  other.firstMipmapLevel = 2, other.lastMipmapLevel = 1;
  tried("levels 2 to 1", &mips, &t, &other);
  other = v, other.reserved[2] = 1;
  tried("reserved not zero", &r, &t, &other);
}

static void references(void) {
  start();
  CUmodule m;
  CUtexref x = NULL, y = NULL;
  CUsurfref s = NULL;
  CUdeviceptr p = deviceBytes(1 << 16), got = 1;
  CUarray a, found = NULL;
  makeArray(&a, 64, 64, 0, FLOAT_, 2, 0);
  RESULT("module", D(cuModuleLoadData)(&m,
                                       ".version 6.5\n.target sm_50\n.address_size 64\n.visible .global .texref x;\n"
                                       ".visible .global .surfref s;\n.visible .global .u32 v;\n"
                                       ".visible .entry nothing() { ret; }\n"));
  RESULT("texture reference", D(cuModuleGetTexRef)(&x, m, "x"));
  D(cuModuleGetTexRef)(&y, m, "x");
  fact("one handle", "%s", YES(x == y));
  RESULT("a variable", D(cuModuleGetTexRef)(&y, m, "v"));
  RESULT("a surface as a texture", D(cuModuleGetTexRef)(&y, m, "s"));
  RESULT("a texture as a surface", D(cuModuleGetSurfRef)(&s, m, "x"));
  RESULT("as a variable", D(cuModuleGetGlobal_v2)(&got, NULL, m, "x"));
  CUaddress_mode mode = 7;
  CUfilter_mode filter = 7;
  CUarray_format format = 7;
  unsigned flags = 77;
  int channels = 7, anisotropy = 77;
  float low = -7, high = -7, bias = -7, border[4] = {7, 7, 7, 7};
  for (int i = 0; i < 4; ++i) {
    char name[64];
    snprintf(name, sizeof name, "address mode of dimension %d", i);
    CUresult result = D(cuTexRefGetAddressMode)(&mode, x, i);
    fact(name, "%s %d", resultName(result), result ? -1 : (int)mode);
  }
  RESULT("filter", D(cuTexRefGetFilterMode)(&filter, x));
  RESULT("flags", D(cuTexRefGetFlags)(&flags, x));
  RESULT("format", D(cuTexRefGetFormat)(&format, &channels, x));
  RESULT("anisotropy", D(cuTexRefGetMaxAnisotropy)(&anisotropy, x));
  RESULT("levels", D(cuTexRefGetMipmapLevelClamp)(&low, &high, x));
  RESULT("bias", D(cuTexRefGetMipmapLevelBias)(&bias, x));
  RESULT("border", D(cuTexRefGetBorderColor)(border, x));
  fact("defaults", "filter %d flags %u format %d x %d anisotropy %d levels %g to %g bias %g border %g", (int)filter,
       flags, (int)format, channels, anisotropy, low, high, bias, border[0]);
  RESULT("array of none", D(cuTexRefGetArray)(&found, x));
  RESULT("address of none", D(cuTexRefGetAddress_v2)(&got, x));
  RESULT("set array, flags 0", D(cuTexRefSetArray)(x, a, 0));
  RESULT("set array, flags 2", D(cuTexRefSetArray)(x, a, 2));
  RESULT("set array", D(cuTexRefSetArray)(x, a, CU_TRSA_OVERRIDE_FORMAT));
  D(cuTexRefGetFormat)(&format, &channels, x);
  fact("its format", "%d x %d", (int)format, channels);
  RESULT("array", D(cuTexRefGetArray)(&found, x));
  size_t offset = 99;
  D(cuTexRefSetFormat)(x, FLOAT_, 1);
  RESULT("set address", D(cuTexRefSetAddress_v2)(&offset, x, p, 4096));
  fact("offset", "%zu", offset);
  RESULT("set address + 16", D(cuTexRefSetAddress_v2)(&offset, x, p + 16, 4096));
  fact("offset of + 16", "%zu", offset);
  RESULT("set address + 16, no offset", D(cuTexRefSetAddress_v2)(NULL, x, p + 16, 4096));
  RESULT("set address 0", D(cuTexRefSetAddress_v2)(&offset, x, 0, 0));
  RESULT("array after an address", D(cuTexRefGetArray)(&found, x));
  RESULT("3 components", D(cuTexRefSetFormat)(x, FLOAT_, 3));
  RESULT("address mode 9", D(cuTexRefSetAddressMode)(x, 0, (CUaddress_mode)9));
  RESULT("dimension 3", D(cuTexRefSetAddressMode)(x, 3, CU_TR_ADDRESS_MODE_CLAMP));
  RESULT("filter 5", D(cuTexRefSetFilterMode)(x, (CUfilter_mode)5));
  RESULT("flags 0x80", D(cuTexRefSetFlags)(x, 0x80));
  RESULT("destroy", D(cuTexRefDestroy)(x));
  RESULT("create", D(cuTexRefCreate)(&y));
  RESULT("destroy the created", D(cuTexRefDestroy)(y));
  RESULT("surface reference", D(cuModuleGetSurfRef)(&s, m, "s"));
  RESULT("array of no surface", D(cuSurfRefGetArray)(&found, s));
}

const Group kTextureGroups[] = {{"textures.objects", objects},
                                {"textures.linear", linear},
                                {"textures.views", views},
                                {"textures.references", references},
                                {NULL, NULL}};
