// CUDA arrays: what is left of questions 144 to 174, which flags and limits arrays take, and what arrays hold.
#include "questions.h"

#define FLOAT_ CU_AD_FORMAT_FLOAT
#define BYTE_ CU_AD_FORMAT_UNSIGNED_INT8

static int attribute(int which) {
  int value = 0;
  D(cuDeviceGetAttribute)(&value, (CUdevice_attribute)which, device);
  return value;
}

typedef struct {
  const char* name;
  unsigned flags;
  int width, height, depth;  // attributes; 0: that extent is zero, -1: 1, -6: six layers, -7: like the width
  unsigned step;             // of the depth
} Limit;

static const Limit kLimits[] = {
    {"1D", 0, 21, 0, 0, 1},
    {"1D surface", 2, 55, 0, 0, 1},
    {"2D", 0, 22, 23, 0, 1},
    {"2D surface", 2, 56, 57, 0, 1},
    {"2D gather", 8, 45, 46, 0, 1},
    {"3D", 0, 24, 25, 26, 1},
    {"3D alternate", 0, 47, 48, 49, 1},
    {"3D surface", 2, 58, 59, 60, 1},
    {"1D layered", 1, 42, 0, 43, 1},
    {"1D layered surface", 3, 61, 0, 62, 1},
    {"2D layered", 1, 27, 28, 29, 1},
    {"2D layered surface", 3, 63, 64, 65, 1},
    {"cubemap", 4, 52, -7, -6, 6},
    {"cubemap surface", 6, 66, -7, -6, 6},
    {"cubemap layered", 5, 53, -7, 54, 6},
    {"cubemap layered surface", 7, 67, -7, 68, 6},
};

static size_t least(int code, size_t width) { return code == 0 ? 0 : code == -7 ? width : code == -6 ? 6 : 1; }

static CUresult tryExtents(size_t w, size_t h, size_t d, unsigned flags, bool mipmapped) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 description = {w, h, d, BYTE_, 1, flags};
  CUarray a;
  CUmipmappedArray m;
  CUresult r = mipmapped ? D(cuMipmappedArrayCreate)(&m, &description, 1) : D(cuArray3DCreate_v2)(&a, &description);
  if (!r && mipmapped) D(cuMipmappedArrayDestroy)(m);
  if (!r && !mipmapped) D(cuArrayDestroy)(a);
  return r;
}

// One extent at its limit and one step beyond, the others as small as they go.
static void limitsOf(const Limit* l, bool mipmapped) {
  char name[96];
  const char* kind = mipmapped ? "mipmapped " : "";
  const int codes[] = {l->width, l->height, l->depth};
  const char* const extents[] = {"width", "height", "depth"};
  const unsigned steps[] = {1, 1, l->step};
  for (int e = 0; e < 3; ++e) {
    if (codes[e] <= 0) continue;
    const size_t limit = (size_t)attribute(codes[e]);
    size_t of[2][3];
    for (int beyond = 0; beyond < 2; ++beyond) {
      const size_t value = limit + (beyond ? steps[e] : 0);
      const size_t w = e == 0 ? value : 1;
      of[beyond][0] = w;
      of[beyond][1] = e == 1 ? value : least(l->height, w);
      of[beyond][2] = e == 2 ? value : l->depth > 0 && l->step == 6 ? 6 : least(l->depth, w);
    }
    CUresult at_ = tryExtents(of[0][0], of[0][1], of[0][2], l->flags, mipmapped);
    CUresult beyond = tryExtents(of[1][0], of[1][1], of[1][2], l->flags, mipmapped);
    snprintf(name, sizeof name, "Q151: %s%s %s at attribute %d and beyond", kind, l->name, extents[e], codes[e]);
    fact(name, "%s, %s", resultName(at_), resultName(beyond));
  }
}

static void limits(void) {
  start();
  for (size_t i = 0; i < sizeof kLimits / sizeof *kLimits; ++i) limitsOf(&kLimits[i], false);
  const int w = attribute(47), h = attribute(48), d = attribute(49), wide = attribute(24);
  RESULT("Q152: alternate width, 1, alternate depth", tryExtents(w, 1, d, 0, false));
  RESULT("Q152: 1, alternate height, alternate depth", tryExtents(1, h, d, 0, false));
  RESULT("Q152: alternate width + 1, 1, alternate depth", tryExtents((size_t)w + 1, 1, d, 0, false));
  RESULT("Q152: 1, alternate height + 1, alternate depth", tryExtents(1, (size_t)h + 1, d, 0, false));
  RESULT("Q152: first width, 1, alternate depth", tryExtents(wide, 1, d, 0, false));
}

static void mipmappedLimits(void) {
  start();
  static const Limit own[] = {{"1D", 0, 77, 0, 0, 1}, {"2D", 0, 73, 74, 0, 1}};
  for (int i = 0; i < 2; ++i) limitsOf(&own[i], true);
  for (size_t i = 1; i < sizeof kLimits / sizeof *kLimits; ++i)
    if (i != 2) limitsOf(&kLimits[i], true);
}

static const unsigned kPlain[] = {0x01, 0x03, 0x10, 0x20, 0x50, 0x91, 0x97, 0xc2};
static const unsigned kPlainChannels[] = {1, 4, 4, 1, 4, 4, 1, 4};

// Which flags a 64 x 64 (x depth) array of a plain format takes.
static void flagSets(void) {
  start();
  char name[96];
  for (size_t i = 0; i < sizeof kPlain / sizeof *kPlain; ++i)
    for (int bit = 0; bit < 9; ++bit) {
      const size_t depths[] = {0, 6};
      char answers[2][64];
      for (int k = 0; k < 2; ++k) {
        CUarray a;
        CUresult r = makeArray(&a, 64, 64, depths[k], kPlain[i], kPlainChannels[i], 1u << bit);
        snprintf(answers[k], sizeof answers[k], "%s", resultName(r));
        if (!r) D(cuArrayDestroy)(a);
      }
      snprintf(name, sizeof name, "I11: format 0x%02x flag 0x%03x, depth 0 and 6", kPlain[i], 1u << bit);
      fact(name, "%s, %s", answers[0], answers[1]);
    }
  const unsigned depthFormats[] = {0x02, 0x03, 0x10, 0x20};
  for (int i = 0; i < 4; ++i) {
    CUarray a;
    snprintf(name, sizeof name, "I11: format 0x%02x depth texture, surface too", depthFormats[i]);
    RESULT(name, makeArray(&a, 64, 64, 0, depthFormats[i], 1, CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_SURFACE_LDST));
  }
}

static void describePlanes(unsigned format, CUarray a) {
  char name[96];
  for (unsigned i = 0; i < 4; ++i) {
    CUarray p;
    CUresult r = D(cuArrayGetPlane)(&p, a, i);
    snprintf(name, sizeof name, "Q161: format 0x%02x plane %u", format, i);
    if (r)
      RESULT(name, r);
    else
      describeArray(name, p);
  }
}

// Video formats: which flags and channel counts make one, and its planes.
static void videoFormats(void) {
  start();
  char name[96];
  for (unsigned f = 0x51; f <= 0xb5; ++f) {
    if (f > 0x5e && f < 0x9f) continue;
    unsigned count = 0, first = 0, channels = 0;
    for (unsigned flags = 0; flags < 512; ++flags)
      for (unsigned c = 1; c <= 4; ++c) {
        CUarray a;
        if (makeArray(&a, 64, 64, flags & 5 ? 6 : 0, f, c, flags)) continue;
        if (!count++) {
          first = flags;
          channels = c;
          describePlanes(f, a);
        }
        D(cuArrayDestroy)(a);
      }
    snprintf(name, sizeof name, "Q147: format 0x%02x with any flags and channels", f);
    fact(name, "%u ways, first flags 0x%x channels %u", count, first, channels);
  }
}

static void oddPlanes(void) {
  start();
  for (unsigned flags = 0; flags < 512; ++flags) {
    CUarray a;
    if (makeArray(&a, 5, 5, 0, CU_AD_FORMAT_NV12, 3, flags)) continue;
    describePlanes(CU_AD_FORMAT_NV12, a);
    return;
  }
  fact("Q162: NV12 of 5 x 5 with any flags", "never");
}

static void descriptors(void) {
  start();
  CUarray a;
  CUDA_ARRAY_DESCRIPTOR_v2 d = {64, 1, FLOAT_, 1};
  D(cuArrayCreate_v2)(&a, &d);
  describeArray("Q154: cuArrayCreate 64 x 1", a);
  makeArray(&a, 64, 32, 5, BYTE_, 4, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST);
  describeArray("Q154: 2D layered surface", a);
  memset(&d, 0x5a, sizeof d);
  D(cuArrayGetDescriptor_v2)(&d, a);
  fact("Q155: 2D descriptor of it", "%zu %zu format 0x%x channels %u", d.Width, d.Height, d.Format, d.NumChannels);
  makeArray(&a, 64, 64, 0, FLOAT_, 1, CUDA_ARRAY3D_TEXTURE_GATHER);
  describeArray("Q154: gather", a);
  makeArray(&a, 64, 64, 12, FLOAT_, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED);
  describeArray("Q154: cubemap layered", a);
  makeArray(&a, 64, 0, 0, CU_AD_FORMAT_HALF, 2, 0);
  describeArray("Q154: 1D", a);
  memset(&d, 0x5a, sizeof d);
  D(cuArrayGetDescriptor_v2)(&d, a);
  fact("Q155: 2D descriptor of a 1D array", "%zu %zu", d.Width, d.Height);
  RESULT("Q155: NULL output", D(cuArrayGetDescriptor_v2)(NULL, a));
  RESULT("Q155: NULL output, 3D", D(cuArray3DGetDescriptor_v2)(NULL, a));
  CUDA_ARRAY3D_DESCRIPTOR_v2 d3;
  RESULT("Q156: cuArray3DGetDescriptor of NULL", D(cuArray3DGetDescriptor_v2)(&d3, NULL));
  RESULT("Q156: cuMipmappedArrayDestroy of NULL", D(cuMipmappedArrayDestroy)(NULL));
  RESULT("Q156: cuMipmappedArrayGetLevel of NULL", D(cuMipmappedArrayGetLevel)(&a, NULL, 0));
  RESULT("Q156: cuArrayGetPlane of NULL", D(cuArrayGetPlane)(&a, NULL, 0));
  RESULT("Q156: cuMemcpyAtoH of NULL", D(cuMemcpyAtoH_v2)(&d, NULL, 0, 4));
  CUDA_ARRAY_MEMORY_REQUIREMENTS q;
  CUDA_ARRAY_SPARSE_PROPERTIES s;
  RESULT("Q156: cuArrayGetMemoryRequirements of NULL", D(cuArrayGetMemoryRequirements)(&q, NULL, device));
  RESULT("Q156: cuArrayGetSparseProperties of NULL", D(cuArrayGetSparseProperties)(&s, NULL));
  RESULT("Q156: cuMipmappedArrayGetMemoryRequirements of NULL",
         D(cuMipmappedArrayGetMemoryRequirements)(&q, NULL, device));
  RESULT("Q156: cuMipmappedArrayGetSparseProperties of NULL", D(cuMipmappedArrayGetSparseProperties)(&s, NULL));
}

static void orphanedLevel(void) {
  start();
  CUmipmappedArray m;
  CUarray l;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, FLOAT_, 1, 0};
  D(cuMipmappedArrayCreate)(&m, &d, 3);
  D(cuMipmappedArrayGetLevel)(&l, m, 1);
  RESULT("Q158: destroy a level", D(cuArrayDestroy)(l));
  CUarray again;
  RESULT("Q158: the level anew", D(cuMipmappedArrayGetLevel)(&again, m, 1));
  describeArray("Q158: it", again);
  fact("Q158: same handle", "%s", YES(again == l));
  RESULT("Q158: destroy the mipmapped array", D(cuMipmappedArrayDestroy)(m));
  CUDA_ARRAY_DESCRIPTOR_v2 d2;
  RESULT("Q158: descriptor of a level of a destroyed array", D(cuArrayGetDescriptor_v2)(&d2, again));
}

static unsigned char source[1 << 16], back[1 << 16];

static void fillSource(void) {
  for (size_t i = 0; i < sizeof source; ++i) source[i] = (unsigned char)(i * 7 + i / 256 + 1);
}

// Where bytes of `source` arrived in an array that was zero: first offset that is not zero, and how many follow.
static void placed(const char* name, CUresult r, CUarray a, size_t bytes) {
  memset(back, 0, sizeof back);
  CUresult read_ = D(cuMemcpyAtoH_v2)(back, a, 0, bytes);
  size_t first = 0, last = bytes;
  while (first < bytes && !back[first]) ++first;
  while (last > first && !back[last - 1]) --last;
  const bool same = first < last && !memcmp(back + first, source, last - first);
  fact(name, "%s, read %s, bytes %zu to %zu%s", resultName(r), resultName(read_), first, last,
       same           ? " as given"
       : first < last ? " otherwise"
                      : "");
}

static void clear(CUarray a, size_t bytes) {
  static unsigned char zero[1 << 16];
  D(cuMemcpyHtoA_v2)(a, 0, zero, bytes);
}

static void lines(void) {
  start();
  fillSource();
  CUarray line, other, bytes, flat;
  CUdeviceptr p = deviceBytes(4096);
  D(cuMemcpyHtoD_v2)(p, source, 4096);
  makeArray(&line, 64, 0, 0, FLOAT_, 1, 0);
  makeArray(&flat, 64, 1, 0, FLOAT_, 1, 0);
  makeArray(&other, 64, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0);
  makeArray(&bytes, 256, 0, 0, BYTE_, 1, 0);
  clear(line, 256);
  placed("Q169: cuMemcpyDtoA offset 4", D(cuMemcpyDtoA_v2)(line, 4, p, 4), line, 256);
  clear(line, 256);
  placed("Q168: cuMemcpyHtoA offset 2, 4 bytes", D(cuMemcpyHtoA_v2)(line, 2, source, 4), line, 256);
  clear(line, 256);
  placed("Q168: cuMemcpyHtoA 6 bytes", D(cuMemcpyHtoA_v2)(line, 0, source, 6), line, 256);
  clear(flat, 256);
  placed("Q144: cuMemcpyHtoA of an array of height 1", D(cuMemcpyHtoA_v2)(flat, 8, source, 64), flat, 256);
  clear(other, 256);
  D(cuMemcpyHtoA_v2)(line, 0, source, 256);
  placed("Q168: cuMemcpyAtoA to another format of the same size", D(cuMemcpyAtoA_v2)(other, 0, line, 0, 64), other,
         256);
  clear(bytes, 256);
  placed("Q168: cuMemcpyAtoA float to byte array", D(cuMemcpyAtoA_v2)(bytes, 0, line, 0, 64), bytes, 256);
  clear(other, 256);
  placed("Q168: cuMemcpyAtoA 6 bytes", D(cuMemcpyAtoA_v2)(other, 0, line, 0, 6), other, 256);
  RESULT("Q168: cuMemcpyAtoA past the end", D(cuMemcpyAtoA_v2)(other, 0, line, 128, 132));
  RESULT("Q168: cuMemcpyAtoH past the end", D(cuMemcpyAtoH_v2)(back, line, 252, 8));
  RESULT("Q168: cuMemcpyAtoD past the end", D(cuMemcpyAtoD_v2)(p, line, 252, 8));
  RESULT("Q168: cuMemcpyDtoA past the end", D(cuMemcpyDtoA_v2)(line, 256, p, 4));
  RESULT("Q168: cuMemcpyHtoA offset beyond, 0 bytes", D(cuMemcpyHtoA_v2)(line, 1024, source, 0));
  RESULT("Q168: cuMemcpyAtoD 6 bytes", D(cuMemcpyAtoD_v2)(p, line, 0, 6));
  RESULT("Q168: cuMemcpyHtoA NULL source", D(cuMemcpyHtoA_v2)(line, 0, NULL, 4));
  RESULT("Q168: cuMemcpyAtoD NULL destination", D(cuMemcpyAtoD_v2)(0, line, 0, 4));
  D(cuMemcpyHtoA_v2)(line, 0, source, 256);
  CUresult r = D(cuMemcpyAtoA_v2)(line, 4, line, 0, 128);
  D(cuMemcpyAtoH_v2)(back, line, 0, 256);
  fact("Q170: overlapping cuMemcpyAtoA", "%s, %s", resultName(r),
       memcmp(back + 4, source, 128) ? "otherwise" : "like memmove");
}

static void otherShapes(void) {
  start();
  fillSource();
  CUarray plane, box, layers, layeredLine;
  makeArray(&plane, 64, 4, 0, FLOAT_, 1, 0);
  makeArray(&box, 64, 4, 4, FLOAT_, 1, 0);
  makeArray(&layers, 64, 4, 4, FLOAT_, 1, CUDA_ARRAY3D_LAYERED);
  makeArray(&layeredLine, 64, 0, 4, FLOAT_, 1, CUDA_ARRAY3D_LAYERED);
  const struct {
    const char* name;
    CUarray a;
  } shapes[] = {{"2D", plane}, {"3D", box}, {"2D layered", layers}, {"1D layered", layeredLine}};
  char name[96];
  for (int i = 0; i < 4; ++i) {
    clear(shapes[i].a, 256);
    snprintf(name, sizeof name, "Q167: cuMemcpyHtoA of half a row into a %s array", shapes[i].name);
    placed(name, D(cuMemcpyHtoA_v2)(shapes[i].a, 128, source, 128), shapes[i].a, 256);
    snprintf(name, sizeof name, "Q167: cuMemcpyHtoA beyond the row of a %s array", shapes[i].name);
    RESULT(name, D(cuMemcpyHtoA_v2)(shapes[i].a, 128, source, 256));
    snprintf(name, sizeof name, "Q167: cuMemcpyHtoA at the second row of a %s array", shapes[i].name);
    RESULT(name, D(cuMemcpyHtoA_v2)(shapes[i].a, 256, source, 256));
  }
}

static void textures(void) {
  start();
  const size_t heights[] = {0, 1};
  char name[96];
  for (int i = 0; i < 2; ++i) {
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR_v2 d = {2048, heights[i], FLOAT_, 1};
    D(cuArrayCreate_v2)(&a, &d);
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    memset(&resource, 0, sizeof resource);
    memset(&texture, 0, sizeof texture);
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = a;
    CUtexObject t;
    CUsurfObject s;
    snprintf(name, sizeof name, "Q144: cuTexObjectCreate of height %zu", heights[i]);
    RESULT(name, D(cuTexObjectCreate)(&t, &resource, &texture, NULL));
    snprintf(name, sizeof name, "Q144: cuSurfObjectCreate of height %zu without the flag", heights[i]);
    RESULT(name, D(cuSurfObjectCreate)(&s, &resource));
    snprintf(name, sizeof name, "Q144: whole line of height %zu", heights[i]);
    RESULT(name, D(cuMemcpyHtoA_v2)(a, 0, source, 8192));
  }
  CUarray a;
  CUDA_RESOURCE_DESC resource;
  memset(&resource, 0, sizeof resource);
  makeArray(&a, 64, 64, 0, FLOAT_, 1, CUDA_ARRAY3D_SURFACE_LDST);
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = a;
  CUsurfObject s;
  RESULT("Q144: cuSurfObjectCreate with the flag", D(cuSurfObjectCreate)(&s, &resource));
}

static void surfaceReferences(void) {
  start();
  CUmodule m;
  CUsurfref s;
  CUarray with, without;
  makeArray(&with, 64, 64, 0, FLOAT_, 1, CUDA_ARRAY3D_SURFACE_LDST);
  makeArray(&without, 64, 64, 0, FLOAT_, 1, 0);
  RESULT("Q153: module with a surface reference",
         D(cuModuleLoadData)(&m,
                             ".version 6.5\n.target sm_50\n.address_size 64\n.visible .global .surfref s;\n"
                             ".visible .entry nothing() { ret; }\n"));
  CUresult found = D(cuModuleGetSurfRef)(&s, m, "s");
  RESULT("Q153: cuModuleGetSurfRef", found);
  if (found) return;
  RESULT("Q153: cuSurfRefSetArray with SURFACE_LDST", D(cuSurfRefSetArray)(s, with, 0));
  RESULT("Q153: cuSurfRefSetArray without", D(cuSurfRefSetArray)(s, without, 0));
}

// After a fault: which functions about arrays and sharing hand back its error (H26).
static void afterFault(void) {
  start();
  CUarray a, made;
  CUmipmappedArray mips, madeMips;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, FLOAT_, 1, CUDA_ARRAY3D_DEFERRED_MAPPING};
  CUDA_ARRAY_DESCRIPTOR_v2 d2 = {64, 64, FLOAT_, 1};
  CUDA_ARRAY_MEMORY_REQUIREMENTS required;
  CUDA_ARRAY_SPARSE_PROPERTIES sparse;
  CUipcMemHandle memory;
  CUipcEventHandle eventHandle;
  CUevent e;
  CUdeviceptr p = deviceBytes(1 << 21);
  char id[64];
  int fd;
  D(cuEventCreate)(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  D(cuArray3DCreate_v2)(&a, &d);
  D(cuMipmappedArrayCreate)(&mips, &d, 2);
  launch(kernel("stop"), 0, NULL);
  RESULT("H26: the fault", D(cuCtxSynchronize)());
  RESULT("H26: cuArrayGetMemoryRequirements", D(cuArrayGetMemoryRequirements)(&required, a, device));
  RESULT("H26: cuMipmappedArrayGetMemoryRequirements",
         D(cuMipmappedArrayGetMemoryRequirements)(&required, mips, device));
  RESULT("H26: cuArrayGetSparseProperties", D(cuArrayGetSparseProperties)(&sparse, a));
  RESULT("H26: cuMipmappedArrayGetSparseProperties", D(cuMipmappedArrayGetSparseProperties)(&sparse, mips));
  RESULT("H26: cuIpcGetMemHandle", D(cuIpcGetMemHandle)(&memory, p));
  RESULT("H26: cuIpcGetEventHandle", D(cuIpcGetEventHandle)(&eventHandle, e));
  RESULT("H26: cuMemGetHandleForAddressRange",
         D(cuMemGetHandleForAddressRange)(&fd, p, 1 << 21, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  RESULT("H26: cuIpcCloseMemHandle of own memory", D(cuIpcCloseMemHandle)(p));
  RESULT("H26: cuArrayCreate", D(cuArrayCreate_v2)(&made, &d2));
  RESULT("H26: cuArray3DCreate", D(cuArray3DCreate_v2)(&made, &d));
  RESULT("H26: cuMipmappedArrayCreate", D(cuMipmappedArrayCreate)(&madeMips, &d, 2));
  RESULT("H26: cuArrayGetDescriptor", D(cuArrayGetDescriptor_v2)(&d2, a));
  RESULT("H26: cuArray3DGetDescriptor", D(cuArray3DGetDescriptor_v2)(&d, a));
  RESULT("H26: cuArrayGetPlane", D(cuArrayGetPlane)(&made, a, 0));
  RESULT("H26: cuMipmappedArrayGetLevel", D(cuMipmappedArrayGetLevel)(&made, mips, 0));
  RESULT("H26: cuMemcpyHtoA", D(cuMemcpyHtoA_v2)(a, 0, source, 4));
  RESULT("H26: cuMemcpyAtoH", D(cuMemcpyAtoH_v2)(back, a, 0, 4));
  RESULT("H26: cuDeviceGetPCIBusId", D(cuDeviceGetPCIBusId)(id, 64, device));
  RESULT("H26: cuMipmappedArrayDestroy", D(cuMipmappedArrayDestroy)(mips));
  RESULT("H26: cuArrayDestroy", D(cuArrayDestroy)(a));
}

const Group kQuestionArrayGroups[] = {{"questions.arrays.limits", limits},
                                      {"questions.arrays.mipmapped-limits", mipmappedLimits},
                                      {"questions.arrays.flags", flagSets},
                                      {"questions.arrays.video", videoFormats},
                                      {"questions.arrays.odd-planes", oddPlanes},
                                      {"questions.arrays.descriptors", descriptors},
                                      {"questions.arrays.orphaned-level", orphanedLevel},
                                      {"questions.arrays.lines", lines},
                                      {"questions.arrays.other-shapes", otherShapes},
                                      {"questions.arrays.textures", textures},
                                      {"questions.arrays.surface-references", surfaceReferences},
                                      {"questions.arrays.after-fault", afterFault},
                                      {NULL, NULL}};
