// CUDA arrays, by table: which descriptors are accepted, how large they are, how sparse ones are tiled. Questions 146
// to 153, 161 to 166, 173, 174. Long answers are packed: a bit or a number each, in the order of the loops below.
#include "probe.h"

static const unsigned kFormats[] = {0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x10, 0x20, 0x50, 0x91, 0x92, 0x93, 0x94,
                                    0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa1, 0xa2,
                                    0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5,
                                    0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb};
enum { kFormatCount = sizeof kFormats / sizeof *kFormats };

typedef struct {
  const char* name;
  size_t width, height, depth;
  unsigned flags;
} Kind;
static const Kind kKinds[] = {{"1D", 64, 0, 0, 0},
                              {"2D", 64, 64, 0, 0},
                              {"3D", 64, 64, 12, 0},
                              {"1D layered", 64, 0, 12, CUDA_ARRAY3D_LAYERED},
                              {"2D layered", 64, 64, 12, CUDA_ARRAY3D_LAYERED},
                              {"cubemap", 64, 64, 6, CUDA_ARRAY3D_CUBEMAP},
                              {"cubemap layered", 64, 64, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED}};
enum { kKindCount = sizeof kKinds / sizeof *kKinds };

static CUresult make(CUarray* a, size_t width, size_t height, size_t depth, unsigned format, unsigned channels,
                     unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {width, height, depth, (CUarray_format)format, channels, flags};
  return D(cuArray3DCreate_v2)(a, &d);
}

static CUresult makeMipmapped(CUmipmappedArray* m, size_t width, size_t height, size_t depth, unsigned format,
                              unsigned channels, unsigned flags, unsigned levels) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {width, height, depth, (CUarray_format)format, channels, flags};
  return D(cuMipmappedArrayCreate)(m, &d, levels);
}

static CUresult tryOne(const Kind* kind, unsigned format, unsigned channels, unsigned flags, bool mipmapped) {
  if (mipmapped) {
    CUmipmappedArray m;
    CUresult r = makeMipmapped(&m, kind->width, kind->height, kind->depth, format, channels, flags | kind->flags, 2);
    if (!r) D(cuMipmappedArrayDestroy)(m);
    return r;
  }
  CUarray a;
  CUresult r = make(&a, kind->width, kind->height, kind->depth, format, channels, flags | kind->flags);
  if (!r) D(cuArrayDestroy)(a);
  return r;
}

// The seven flags that do not choose the kind, as bits 0 to 6: SURFACE_LDST, TEXTURE_GATHER, DEPTH_TEXTURE,
// COLOR_ATTACHMENT, SPARSE, DEFERRED_MAPPING, VIDEO_ENCODE_DECODE.
static unsigned flagsOf(unsigned bits) { return (bits & 1) << 1 | (bits & 0x7e) << 2; }

// Bit i of the answer, lowest first in 16-bit words: the combination i of flags is accepted.
static void matrix(bool mipmapped) {
  start();
  for (int f = 0; f < kFormatCount; ++f)
    for (unsigned channels = 1; channels <= 4; ++channels)
      for (int k = 0; k < kKindCount; ++k) {
        uint16_t accepted[8] = {0};
        bool any = false;
        CUresult odd = CUDA_SUCCESS;
        for (unsigned bits = 0; bits < 128; ++bits) {
          CUresult r = tryOne(&kKinds[k], kFormats[f], channels, flagsOf(bits), mipmapped);
          if (!r) {
            accepted[bits / 16] |= (uint16_t)(1u << bits % 16);
            any = true;
          } else if (r != CUDA_ERROR_INVALID_VALUE) {
            odd = r;
          }
        }
        if (!any && !odd) continue;
        char name[64];
        snprintf(name, sizeof name, "0x%02x x%u %s", kFormats[f], channels, kKinds[k].name);
        fact(name, "%04x %04x %04x %04x %04x %04x %04x %04x%s%s", accepted[0], accepted[1], accepted[2], accepted[3],
             accepted[4], accepted[5], accepted[6], accepted[7], odd ? " and " : "", odd ? resultName(odd) : "");
      }
}
static void plainMatrix(void) { matrix(false); }
static void mipmappedMatrix(void) { matrix(true); }

// Kinds with each extent at its limit and one above.
typedef struct {
  const char* name;
  unsigned flags;
  int limits[3];  // attributes of width, height, depth; 0: the extent is 0; -n: it is n
} Limit;
#define ATTRIBUTE(x) CU_DEVICE_ATTRIBUTE_MAXIMUM_##x
static const Limit kLimits[] = {
    {"1D", 0, {ATTRIBUTE(TEXTURE1D_WIDTH), 0, 0}},
    {"1D mipmapped", 0, {ATTRIBUTE(TEXTURE1D_MIPMAPPED_WIDTH), 0, 0}},
    {"1D surface", 2, {ATTRIBUTE(SURFACE1D_WIDTH), 0, 0}},
    {"2D", 0, {ATTRIBUTE(TEXTURE2D_WIDTH), ATTRIBUTE(TEXTURE2D_HEIGHT), 0}},
    {"2D mipmapped", 0, {ATTRIBUTE(TEXTURE2D_MIPMAPPED_WIDTH), ATTRIBUTE(TEXTURE2D_MIPMAPPED_HEIGHT), 0}},
    {"2D surface", 2, {ATTRIBUTE(SURFACE2D_WIDTH), ATTRIBUTE(SURFACE2D_HEIGHT), 0}},
    {"2D gather", 8, {ATTRIBUTE(TEXTURE2D_GATHER_WIDTH), ATTRIBUTE(TEXTURE2D_GATHER_HEIGHT), 0}},
    {"3D", 0, {ATTRIBUTE(TEXTURE3D_WIDTH), ATTRIBUTE(TEXTURE3D_HEIGHT), ATTRIBUTE(TEXTURE3D_DEPTH)}},
    {"3D alternate",
     0,
     {ATTRIBUTE(TEXTURE3D_WIDTH_ALTERNATE), ATTRIBUTE(TEXTURE3D_HEIGHT_ALTERNATE),
      ATTRIBUTE(TEXTURE3D_DEPTH_ALTERNATE)}},
    {"3D surface", 2, {ATTRIBUTE(SURFACE3D_WIDTH), ATTRIBUTE(SURFACE3D_HEIGHT), ATTRIBUTE(SURFACE3D_DEPTH)}},
    {"1D layered", 1, {ATTRIBUTE(TEXTURE1D_LAYERED_WIDTH), 0, ATTRIBUTE(TEXTURE1D_LAYERED_LAYERS)}},
    {"1D layered surface", 3, {ATTRIBUTE(SURFACE1D_LAYERED_WIDTH), 0, ATTRIBUTE(SURFACE1D_LAYERED_LAYERS)}},
    {"2D layered",
     1,
     {ATTRIBUTE(TEXTURE2D_LAYERED_WIDTH), ATTRIBUTE(TEXTURE2D_LAYERED_HEIGHT), ATTRIBUTE(TEXTURE2D_LAYERED_LAYERS)}},
    {"2D layered surface",
     3,
     {ATTRIBUTE(SURFACE2D_LAYERED_WIDTH), ATTRIBUTE(SURFACE2D_LAYERED_HEIGHT), ATTRIBUTE(SURFACE2D_LAYERED_LAYERS)}},
    {"2D layered gather", 9, {ATTRIBUTE(TEXTURE2D_GATHER_WIDTH), ATTRIBUTE(TEXTURE2D_GATHER_HEIGHT), -2}},
    {"cubemap", 4, {ATTRIBUTE(TEXTURECUBEMAP_WIDTH), ATTRIBUTE(TEXTURECUBEMAP_WIDTH), -6}},
    {"cubemap surface", 6, {ATTRIBUTE(SURFACECUBEMAP_WIDTH), ATTRIBUTE(SURFACECUBEMAP_WIDTH), -6}},
    {"cubemap gather", 12, {ATTRIBUTE(TEXTURE2D_GATHER_WIDTH), ATTRIBUTE(TEXTURE2D_GATHER_WIDTH), -6}},
    {"cubemap layered",
     5,
     {ATTRIBUTE(TEXTURECUBEMAP_LAYERED_WIDTH), ATTRIBUTE(TEXTURECUBEMAP_LAYERED_WIDTH),
      ATTRIBUTE(TEXTURECUBEMAP_LAYERED_LAYERS)}},
    {"cubemap layered surface",
     7,
     {ATTRIBUTE(SURFACECUBEMAP_LAYERED_WIDTH), ATTRIBUTE(SURFACECUBEMAP_LAYERED_WIDTH),
      ATTRIBUTE(SURFACECUBEMAP_LAYERED_LAYERS)}}};

static const char* shortResult(CUresult r) {
  return r == CUDA_SUCCESS ? "ok" : r == CUDA_ERROR_INVALID_VALUE ? "invalid" : resultName(r);
}

static void limits(void) {
  start();
  for (size_t i = 0; i < sizeof kLimits / sizeof *kLimits; ++i) {
    const Limit* l = &kLimits[i];
    int maximum[3];
    for (int e = 0; e < 3; ++e) {
      maximum[e] = l->limits[e] < 0 ? -l->limits[e] : 0;
      if (l->limits[e] > 0) D(cuDeviceGetAttribute)(&maximum[e], (CUdevice_attribute)l->limits[e], device);
    }
    const bool cube = l->flags & 4;
    for (int e = 0; e < 3; ++e) {
      if (l->limits[e] <= 0) continue;
      for (int above = 0; above < 2; ++above) {
        size_t extent[3];
        for (int o = 0; o < 3; ++o) extent[o] = maximum[o] ? 1 : 0;
        if (cube) extent[2] = 6;
        if (l->limits[2] < 0) extent[2] = (size_t)maximum[2];
        extent[e] = (size_t)maximum[e] + (size_t)above * (cube && e == 2 ? 6 : 1);
        if (cube && e == 2) extent[2] -= extent[2] % 6;
        if (cube && e < 2) extent[0] = extent[1] = extent[e];
        CUarray a;
        CUmipmappedArray m;
        CUresult plain = make(&a, extent[0], extent[1], extent[2], 1, 1, l->flags);
        if (!plain) D(cuArrayDestroy)(a);
        CUresult mip = makeMipmapped(&m, extent[0], extent[1], extent[2], 1, 1, l->flags, 1);
        if (!mip) D(cuMipmappedArrayDestroy)(m);
        char name[96];
        snprintf(name, sizeof name, "%s: %zux%zux%zu", l->name, extent[0], extent[1], extent[2]);
        fact(name, "%s, mipmapped %s", shortResult(plain), shortResult(mip));
      }
    }
  }
}

// Bytes of a deferred-mapping array in units of `unit`, or -1.
static long units(size_t width, size_t height, size_t depth, unsigned format, unsigned channels, unsigned flags,
                  unsigned levels, size_t unit) {
  CUDA_ARRAY_MEMORY_REQUIREMENTS r;
  memset(&r, 0, sizeof r);
  CUresult got;
  flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
  if (levels) {
    CUmipmappedArray m;
    if (makeMipmapped(&m, width, height, depth, format, channels, flags, levels)) return -1;
    got = D(cuMipmappedArrayGetMemoryRequirements)(&r, m, device);
    D(cuMipmappedArrayDestroy)(m);
  } else {
    CUarray a;
    if (make(&a, width, height, depth, format, channels, flags)) return -1;
    got = D(cuArrayGetMemoryRequirements)(&r, a, device);
    D(cuArrayDestroy)(a);
  }
  if (got) return -2;
  return r.size % unit ? -3 : (long)(r.size / unit);
}

static char* list;
static void begin(void) { *(list = realloc(list, 1 << 16)) = 0; }
static void add(long value) { snprintf(list + strlen(list), 32, *list ? " %ld" : "%ld", value); }

enum { kTile = 65536 };

static void requirements(void) {
  start();
  const unsigned u8 = 0x01, u32 = 0x03;
  char name[96];
  // A row of 16,384 x 16 bytes is four units, so that the answers show how heights and depths are rounded.
  begin();
  for (size_t h = 1; h <= 300; h += h < 40 ? 1 : 7) add(units(16384, h, 0, u32, 4, 0, 0, 4 * kTile));
  fact("2D, rows of 1, 2 ... 40, 47 ...", "%s", list);
  for (size_t h = 1; h <= 512; h *= 2) {
    begin();
    for (size_t d = 1; d <= 70; d += d < 20 ? 1 : 5) add(units(16384, h, d, u32, 4, 0, 0, 4 * kTile));
    snprintf(name, sizeof name, "3D, rows of height %zu, depth 1, 2 ... 20, 25 ...", h);
    fact(name, "%s", list);
  }
  begin();
  for (size_t h = 1; h <= 300; h += h < 40 ? 1 : 7) add(units(16384, h, 8, u32, 4, 0, 0, 4 * kTile));
  fact("3D, rows of depth 8, height 1, 2 ... 40, 47 ...", "%s", list);
  // Many layers show how narrow widths and a layer's bytes are rounded.
  for (unsigned channels = 1; channels <= 4; channels *= 2) {
    begin();
    for (size_t w = 1; w <= 260; w += w < 20 ? 1 : 12) add(units(w, 1, 2048, u32, channels, 1, 0, kTile));
    snprintf(name, sizeof name, "2D layered u32 x%u, height 1, 2048 layers, width 1, 2 ... 20, 32 ...", channels);
    fact(name, "%s", list);
  }
  begin();
  for (size_t h = 1; h <= 140; h += h < 40 ? 1 : 5) add(units(16, h, 2048, u32, 1, 1, 0, kTile));
  fact("2D layered u32, width 16, 2048 layers, height 1, 2 ... 40, 45 ...", "%s", list);
  begin();
  for (size_t h = 1; h <= 140; h += h < 40 ? 1 : 5) add(units(100, h, 2048, u32, 1, 1, 0, kTile));
  fact("2D layered u32, width 100, 2048 layers, height 1, 2 ... 40, 45 ...", "%s", list);
  begin();
  for (size_t w = 1; w <= 300; w += w < 20 ? 1 : 20) add(units(w, 0, 2048, u32, 1, 1, 0, kTile));
  fact("1D layered u32, 2048 layers, width 1, 2 ... 20, 40 ...", "%s", list);
  begin();
  for (size_t w = 1; w <= 131072; w *= 2) add(units(w, 0, 0, u32, 4, 0, 0, kTile));
  fact("1D u32 x4, width 1, 2, 4 ...", "%s", list);
  begin();
  for (size_t d = 1; d <= 40; ++d) add(units(64, 64, d, u32, 4, 1, 0, kTile));
  fact("2D layered 64x64 u32 x4, layers 1, 2 ...", "%s", list);
  begin();
  for (size_t w = 16; w <= 512; w += 24) add(units(w, w, 6, u32, 1, 4, 0, kTile));
  fact("cubemap u32, width 16, 40 ...", "%s", list);
  begin();
  for (size_t h = 1; h <= 1100; h += h < 40 ? 1 : 37) add(units(16384, h, 0, 0x9d, 4, 0, 0, kTile));
  fact("BC7 16384 wide, height 1, 2 ... 40, 77 ...", "%s", list);
  for (int f = 0; f < kFormatCount; ++f)
    for (unsigned channels = 1; channels <= 4; ++channels) {
      begin();
      for (int k = 0; k < kKindCount; ++k)
        add(units(kKinds[k].width * 7, kKinds[k].height * 7, kKinds[k].depth, kFormats[f], channels, kKinds[k].flags, 0,
                  kTile));
      bool any = false;
      for (const char* c = list; *c; c = strchr(c, ' ') ? strchr(c, ' ') + 1 : "") any = any || *c != '-';
      if (!any) continue;
      snprintf(name, sizeof name, "0x%02x x%u of every kind, 448 wide", kFormats[f], channels);
      fact(name, "%s", list);
    }
  // Levels.
  for (unsigned h = 1; h <= 1024; h *= 4) {
    begin();
    for (unsigned levels = 1; levels <= 12; ++levels) add(units(16384, h, 0, u32, 4, 0, levels, kTile));
    snprintf(name, sizeof name, "mipmapped 2D u32 x4 16384x%u, levels 1, 2 ...", h);
    fact(name, "%s", list);
  }
  for (unsigned d = 1; d <= 64; d *= 4) {
    begin();
    for (unsigned levels = 1; levels <= 10; ++levels) add(units(512, 512, d, u32, 4, 0, levels, kTile));
    snprintf(name, sizeof name, "mipmapped 3D u32 x4 512x512x%u, levels 1, 2 ...", d);
    fact(name, "%s", list);
  }
  for (unsigned w = 1; w <= 512; w *= 2) {
    begin();
    for (unsigned levels = 1; levels <= 10; ++levels) add(units(w, w, 1024, u32, 1, 1, levels, kTile));
    snprintf(name, sizeof name, "mipmapped 2D layered u32 %ux%u, 1024 layers, levels 1, 2 ...", w, w);
    fact(name, "%s", list);
  }
  begin();
  for (unsigned w = 16; w <= 1000; w += 123) add(units(w, w, 6, u32, 1, 4, 12, kTile));
  fact("mipmapped cubemap u32, all levels, width 16, 139 ...", "%s", list);
  begin();
  for (unsigned w = 16; w <= 4000; w += 333) add(units(w, w / 2 + 1, 0, u8, 1, 0, 12, kTile));
  fact("mipmapped 2D u8, all levels, width 16, 349 ...", "%s", list);
  begin();
  for (unsigned w = 16; w <= 4000; w += 333) add(units(w, w / 2 + 1, 0, 0x91, 4, 0, 12, kTile));
  fact("mipmapped 2D BC1, all levels, width 16, 349 ...", "%s", list);
  begin();
  for (unsigned w = 16; w <= 400; w += 33) add(units(w, w, w / 3, u32, 1, 0, 12, kTile));
  fact("mipmapped 3D u32, all levels, width 16, 49 ...", "%s", list);

  CUDA_ARRAY_MEMORY_REQUIREMENTS r;
  CUarray a = NULL;
  CUmipmappedArray m = NULL;
  make(&a, 64, 64, 0, u32, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
  memset(&r, 0x5a, sizeof r);
  RESULT("of an array", D(cuArrayGetMemoryRequirements)(&r, a, device));
  fact("its values", "%zu %zu reserved %x %x %x %x", r.size, r.alignment, r.reserved[0], r.reserved[1], r.reserved[2],
       r.reserved[3]);
  RESULT("device -1", D(cuArrayGetMemoryRequirements)(&r, a, -1));
  RESULT("device 4711", D(cuArrayGetMemoryRequirements)(&r, a, 4711));
  RESULT("NULL result", D(cuArrayGetMemoryRequirements)(NULL, a, device));
  RESULT("NULL array", D(cuArrayGetMemoryRequirements)(&r, NULL, device));
  RESULT("NULL mipmapped array", D(cuMipmappedArrayGetMemoryRequirements)(&r, NULL, device));
  makeMipmapped(&m, 64, 64, 0, u32, 1, 0, 2);
  RESULT("plain mipmapped array", D(cuMipmappedArrayGetMemoryRequirements)(&r, m, device));
  makeMipmapped(&m, 64, 64, 0, u32, 1, CUDA_ARRAY3D_DEFERRED_MAPPING, 2);
  D(cuMipmappedArrayGetLevel)(&a, m, 1);
  RESULT("level of a deferred mipmapped array", D(cuArrayGetMemoryRequirements)(&r, a, device));
  make(&a, 256, 256, 0, u32, 1, CUDA_ARRAY3D_SPARSE);
  RESULT("sparse array", D(cuArrayGetMemoryRequirements)(&r, a, device));
}

static void describeSparse(const char* name, CUresult r, const CUDA_ARRAY_SPARSE_PROPERTIES* p) {
  if (r)
    RESULT(name, r);
  else
    fact(name, "tile %ux%ux%u tail from %u, %llu bytes, flags %u", p->tileExtent.width, p->tileExtent.height,
         p->tileExtent.depth, p->miptailFirstLevel, p->miptailSize, p->flags);
}

static void sparse(void) {
  start();
  CUDA_ARRAY_SPARSE_PROPERTIES p;
  char name[96];
  const struct {
    size_t w, h, d;
    unsigned flags;
  } kShapes[] = {{4096, 0, 0, 0},   {256, 0, 12, 1},   {1024, 1024, 0, 0}, {1024, 1024, 12, 1}, {1024, 1024, 6, 4},
                 {512, 512, 12, 5}, {256, 256, 64, 0}, {16, 16, 0, 0},     {16, 16, 16, 0},     {100, 300, 0, 0},
                 {100, 300, 5, 1},  {1000, 77, 3, 0},  {4096, 4096, 0, 0}, {128, 128, 0, 0},    {129, 129, 0, 0},
                 {64, 2048, 0, 0},  {2048, 64, 0, 0},  {64, 64, 6, 4},     {2048, 100, 7, 1},   {512, 64, 64, 0}};
  const struct { unsigned format, channels; } kSome[] = {{0x01, 1}, {0x03, 1}, {0x20, 4}, {0x91, 4}, {0x9d, 4}};
  for (size_t f = 0; f < sizeof kSome / sizeof *kSome; ++f)
    for (size_t s = 0; s < sizeof kShapes / sizeof *kShapes; ++s) {
      CUarray a;
      CUmipmappedArray m;
      const unsigned flags = kShapes[s].flags | CUDA_ARRAY3D_SPARSE;
      CUresult r = make(&a, kShapes[s].w, kShapes[s].h, kShapes[s].d, kSome[f].format, kSome[f].channels, flags);
      memset(&p, 0, sizeof p);
      if (!r) r = D(cuArrayGetSparseProperties)(&p, a);
      snprintf(name, sizeof name, "0x%02x x%u %zux%zux%zu flags %u", kSome[f].format, kSome[f].channels, kShapes[s].w,
               kShapes[s].h, kShapes[s].d, kShapes[s].flags);
      describeSparse(name, r, &p);
      for (unsigned levels = 1; levels <= 16; levels += levels == 1 ? 3 : 12) {
        r = makeMipmapped(&m, kShapes[s].w, kShapes[s].h, kShapes[s].d, kSome[f].format, kSome[f].channels, flags,
                          levels);
        memset(&p, 0, sizeof p);
        if (!r) r = D(cuMipmappedArrayGetSparseProperties)(&p, m);
        snprintf(name, sizeof name, "0x%02x x%u %zux%zux%zu flags %u, %u levels", kSome[f].format, kSome[f].channels,
                 kShapes[s].w, kShapes[s].h, kShapes[s].d, kShapes[s].flags, levels);
        describeSparse(name, r, &p);
      }
    }
  CUarray a = NULL;
  CUmipmappedArray m = NULL;
  make(&a, 256, 256, 0, 3, 1, 0);
  RESULT("plain array", D(cuArrayGetSparseProperties)(&p, a));
  RESULT("NULL array", D(cuArrayGetSparseProperties)(&p, NULL));
  makeMipmapped(&m, 1024, 1024, 0, 3, 1, CUDA_ARRAY3D_SPARSE, 4);
  D(cuMipmappedArrayGetLevel)(&a, m, 0);
  RESULT("level", D(cuArrayGetSparseProperties)(&p, a));
  RESULT("NULL result", D(cuMipmappedArrayGetSparseProperties)(NULL, m));
  RESULT("NULL mipmapped array", D(cuMipmappedArrayGetSparseProperties)(&p, NULL));
  makeMipmapped(&m, 1024, 1024, 0, 3, 1, 0, 4);
  RESULT("plain mipmapped array", D(cuMipmappedArrayGetSparseProperties)(&p, m));
}

static const unsigned kVideoFormats[] = {0x9f, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
                                         0xa8, 0xa9, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5};
enum { kVideoFormatCount = sizeof kVideoFormats / sizeof *kVideoFormats };

// Video formats take one number of channels each.
static CUresult makeVideo(CUarray* a, unsigned* channels, size_t width, size_t height, size_t depth, unsigned format,
                          unsigned flags) {
  CUresult r = CUDA_SUCCESS;
  for (*channels = 1; *channels <= 4; ++*channels)
    if (!(r = make(a, width, height, depth, format, *channels, flags | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE))) break;
  return r;
}

static bool copies(CUarray a, size_t width, size_t height, size_t depth) {
  static char* room;
  if (!room) room = calloc(1, 1 << 20);
  CUDA_MEMCPY3D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = room;
  c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  c.dstArray = a;
  c.WidthInBytes = width;
  c.Height = height;
  c.Depth = depth;
  return !D(cuMemcpy3D_v2)(&c);
}

// The largest box that a copy may have, in bytes, rows and slices.
static void largestCopy(const char* name, CUarray a) {
  size_t width = 0, height = 0, depth = 0;
  for (size_t w = 1; w <= 1024; ++w) width = copies(a, w, 1, 1) ? w : width;
  for (size_t h = 1; h <= 256; ++h) height = copies(a, 1, h, 1) || copies(a, 16, h, 1) ? h : height;
  for (size_t d = 1; d <= 8; ++d) depth = copies(a, 1, 1, d) || copies(a, 16, 1, d) ? d : depth;
  fact(name, "%zu bytes x %zu x %zu, one byte %s, three bytes %s", width, height, depth, YES(copies(a, 1, 1, 1)),
       YES(copies(a, 3, 1, 1)));
}

static void describeArray(const char* name, CUarray a) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d;
  CUresult r = D(cuArray3DGetDescriptor_v2)(&d, a);
  if (r)
    RESULT(name, r);
  else
    fact(name, "%zu %zu %zu format 0x%x channels %u flags 0x%x", d.Width, d.Height, d.Depth, d.Format, d.NumChannels,
         d.Flags);
}

// Every video format: its planes, its extents, its storage.
static void video(void) {
  start();
  char name[96];
  for (int f = 0; f < kVideoFormatCount; ++f) {
    CUarray a = NULL, p = NULL;
    unsigned channels;
#define NAME(...) (snprintf(name, sizeof name, "0x%02x " __VA_ARGS__), name)
    const unsigned format = kVideoFormats[f];
    CUresult r = makeVideo(&a, &channels, 64, 32, 0, format, 0);
    if (r) {
      RESULT(NAME("64x32", format), r);
      continue;
    }
    describeArray(NAME("64x32", format), a);
    largestCopy(NAME("copy", format), a);
    for (unsigned plane = 0; plane < 4; ++plane) {
      r = D(cuArrayGetPlane)(&p, a, plane);
      if (r) {
        RESULT(NAME("plane %u", format, plane), r);
        continue;
      }
      describeArray(NAME("plane %u", format, plane), p);
      largestCopy(NAME("plane %u copy", format, plane), p);
    }
    D(cuArrayDestroy)(a);
    // A bit an extent, widths 1 to 8 in the digits of one height, heights 1 to 8.
    unsigned accepted[8] = {0};
    for (size_t h = 1; h <= 8; ++h)
      for (size_t w = 1; w <= 8; ++w)
        if (!makeVideo(&a, &channels, w, h, 0, format, 0)) {
          accepted[h - 1] |= 1u << (w - 1);
          D(cuArrayDestroy)(a);
        }
    fact(NAME("extents to 8x8", format), "%02x %02x %02x %02x %02x %02x %02x %02x", accepted[0], accepted[1],
         accepted[2], accepted[3], accepted[4], accepted[5], accepted[6], accepted[7]);
    begin();
    for (size_t w = 64; w <= 1024; w *= 2)
      add(units(w, 64, 0, format, channels, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, 0, kTile));
    for (size_t h = 2; h <= 512; h *= 2)
      add(units(4096, h, 0, format, channels, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, 0, kTile));
    add(units(1024, 768, 3, format, channels, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE | CUDA_ARRAY3D_LAYERED, 0, kTile));
    fact(NAME("deferred, 64 to 1024 wide, 2 to 512 high, 3 layers", format), "%s", list);
    CUDA_ARRAY_SPARSE_PROPERTIES sp;
    memset(&sp, 0, sizeof sp);
    r = makeVideo(&a, &channels, 1024, 1024, 0, format, CUDA_ARRAY3D_SPARSE);
    if (!r) r = D(cuArrayGetSparseProperties)(&sp, a);
    describeSparse(NAME("sparse 1024x1024", format), r, &sp);
    memset(&sp, 0, sizeof sp);
    r = makeVideo(&a, &channels, 64, 64, 0, format, CUDA_ARRAY3D_SPARSE);
    if (!r) r = D(cuArrayGetSparseProperties)(&sp, a);
    describeSparse(NAME("sparse 64x64", format), r, &sp);
    r = makeVideo(&a, &channels, 64, 32, 2, format, CUDA_ARRAY3D_LAYERED);
    if (r) {
      RESULT(NAME("layered", format), r);
    } else {
      largestCopy(NAME("layered copy", format), a);
      if (!D(cuArrayGetPlane)(&p, a, 1)) describeArray(NAME("layered plane 1", format), p);
    }
    RESULT(NAME("131072 wide", format), makeVideo(&a, &channels, 131072, 16, 0, format, CUDA_ARRAY3D_DEFERRED_MAPPING));
    RESULT(NAME("131074 wide", format), makeVideo(&a, &channels, 131074, 16, 0, format, CUDA_ARRAY3D_DEFERRED_MAPPING));
  }
}

// Planes share the memory of their array and are the same each time.
static void planesInUse(void) {
  start();
  CUarray a = NULL, y = NULL, uv = NULL, again = NULL;
  RESULT("create", make(&a, 64, 32, 0, CU_AD_FORMAT_NV12, 3, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE));
  D(cuArrayGetPlane)(&y, a, 0);
  D(cuArrayGetPlane)(&uv, a, 1);
  D(cuArrayGetPlane)(&again, a, 1);
  fact("same handle for one plane", "%s", YES(uv == again));
  unsigned char pattern[64], back[64] = {0};
  for (int i = 0; i < 64; ++i) pattern[i] = (unsigned char)(i + 1);
  RESULT("to the first row of plane 0", D(cuMemcpyHtoA_v2)(y, 0, pattern, 64));
  RESULT("to the first row of plane 1", D(cuMemcpyHtoA_v2)(uv, 0, pattern, 64));
  RESULT("from the array", D(cuMemcpyAtoH_v2)(back, a, 0, 64));
  fact("the array shows plane 0", "%s", YES(!memcmp(back, pattern, 64)));
  RESULT("plane of a plane", D(cuArrayGetPlane)(&again, uv, 0));
  RESULT("destroy a plane", D(cuArrayDestroy)(uv));
  RESULT("get it again", D(cuArrayGetPlane)(&again, a, 1));
  describeArray("described again", again);
  RESULT("destroy", D(cuArrayDestroy)(a));
}

// Which combinations of flags a block-compressed format refuses as not supported.
static void blockFlags(void) {
  start();
  for (int mipmapped = 0; mipmapped < 2; ++mipmapped)
    for (int k = 0; k < kKindCount; ++k)
      for (unsigned channels = 3; channels <= 4; ++channels) {
        uint16_t refused[8] = {0};
        for (unsigned bits = 0; bits < 128; ++bits)
          if (tryOne(&kKinds[k], 0x91, channels, flagsOf(bits), mipmapped) == CUDA_ERROR_NOT_SUPPORTED)
            refused[bits / 16] |= (uint16_t)(1u << bits % 16);
        char name[96];
        snprintf(name, sizeof name, "BC1 x%u %s%s", channels, kKinds[k].name, mipmapped ? " mipmapped" : "");
        fact(name, "%04x %04x %04x %04x %04x %04x %04x %04x", refused[0], refused[1], refused[2], refused[3],
             refused[4], refused[5], refused[6], refused[7]);
      }
  CUarray a;
  RESULT("width 0 and surface", make(&a, 0, 64, 0, 0x91, 4, 2));
  RESULT("too wide and surface", make(&a, 1 << 20, 64, 0, 0x91, 4, 2));
  RESULT("height 0, depth 4 and surface", make(&a, 64, 0, 4, 0x91, 4, 2));
  RESULT("unknown flag and surface", make(&a, 64, 64, 0, 0x91, 4, 0x202));
  RESULT("cubemap not square and surface", make(&a, 64, 32, 6, 0x91, 4, 6));
}

const Group kArrayMatrixGroups[] = {{"arrays.matrix", plainMatrix},
                                    {"arrays.matrix-mipmapped", mipmappedMatrix},
                                    {"arrays.limits", limits},
                                    {"arrays.requirements", requirements},
                                    {"arrays.sparse", sparse},
                                    {"arrays.video", video},
                                    {"arrays.planes-in-use", planesInUse},
                                    {"arrays.block-flags", blockFlags},
                                    {NULL, NULL}};
