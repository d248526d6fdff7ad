// CUDA arrays in use: boxes of copies, tiles of sparse arrays, what waits, who owns what. Questions 144, 154 to 159,
// 167 to 173.
#include "probe.h"

#include <unistd.h>

static CUresult make(CUarray* a, size_t width, size_t height, size_t depth, unsigned format, unsigned channels,
                     unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {width, height, depth, (CUarray_format)format, channels, flags};
  return D(cuArray3DCreate_v2)(a, &d);
}

enum { kRoom = 1 << 20 };
static unsigned char* host;
static CUdeviceptr linear;

static void prepare(void) {
  start();
  host = calloc(1, kRoom);
  D(cuMemAlloc_v2)(&linear, kRoom);
}

static CUDA_MEMCPY3D_v2 toArray(CUarray a, size_t width, size_t height, size_t depth) {
  CUDA_MEMCPY3D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = host;
  c.srcPitch = width;
  c.srcHeight = height;
  c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  c.dstArray = a;
  c.WidthInBytes = width;
  c.Height = height;
  c.Depth = depth;
  return c;
}

static void put(const char* name, CUarray a, size_t x, size_t y, size_t z, size_t width, size_t height, size_t depth) {
  CUDA_MEMCPY3D_v2 c = toArray(a, width, height, depth);
  c.dstXInBytes = x;
  c.dstY = y;
  c.dstZ = z;
  RESULT(name, D(cuMemcpy3D_v2)(&c));
}

static void boxes(void) {
  prepare();
  const struct {
    const char* name;
    size_t w, h, d;
    unsigned format, channels, flags;
    size_t rowBytes, rows, slices;  // what the whole should be
  } kShapes[] = {{"1D", 64, 0, 0, 0x20, 1, 0, 256, 1, 1},           {"2D", 64, 32, 0, 0x20, 1, 0, 256, 32, 1},
                 {"3D", 64, 32, 8, 0x20, 1, 0, 256, 32, 8},         {"1D layered", 64, 0, 8, 0x20, 1, 1, 256, 1, 8},
                 {"2D layered", 64, 32, 8, 0x20, 1, 1, 256, 32, 8}, {"cubemap", 32, 32, 6, 0x20, 1, 4, 128, 32, 6},
                 {"u8", 63, 31, 0, 0x01, 1, 0, 63, 31, 1},          {"BC1", 64, 64, 0, 0x91, 4, 0, 128, 16, 1},
                 {"BC1 odd", 30, 30, 0, 0x91, 4, 0, 64, 8, 1},      {"BC7 layered", 64, 64, 4, 0x9d, 4, 1, 256, 16, 4},
                 {"BC7 3D", 64, 64, 4, 0x9d, 4, 0, 256, 16, 4}};
  for (size_t i = 0; i < sizeof kShapes / sizeof *kShapes; ++i) {
    CUarray a = NULL;
    char name[96];
#define NAME(what) (snprintf(name, sizeof name, "%s: %s", kShapes[i].name, what), name)
    CUresult r =
        make(&a, kShapes[i].w, kShapes[i].h, kShapes[i].d, kShapes[i].format, kShapes[i].channels, kShapes[i].flags);
    if (r) {
      RESULT(NAME("create"), r);
      continue;
    }
    const size_t w = kShapes[i].rowBytes, h = kShapes[i].rows, d = kShapes[i].slices;
    put(NAME("whole"), a, 0, 0, 0, w, h, d);
    put(NAME("a byte wider"), a, 0, 0, 0, w + 1, h, d);
    put(NAME("an element wider"), a, 0, 0, 0, w + 16, h, d);
    put(NAME("a row higher"), a, 0, 0, 0, w, h + 1, d);
    put(NAME("a slice deeper"), a, 0, 0, 0, w, h, d + 1);
    put(NAME("four times the rows"), a, 0, 0, 0, w, h * 4, d);
    put(NAME("x 16"), a, 16, 0, 0, w, h, d);
    put(NAME("x 16, narrower"), a, 16, 0, 0, w - 16, h, d);
    put(NAME("y 1"), a, 0, 1, 0, w, h, d);
    put(NAME("last row"), a, 0, h - 1, 0, w, 1, d);
    put(NAME("a row beyond"), a, 0, h, 0, w, 1, d);
    put(NAME("last slice"), a, 0, 0, d - 1, w, h, 1);
    put(NAME("a slice beyond"), a, 0, 0, d, w, h, 1);
    put(NAME("x 3 of 5 bytes"), a, 3, 0, 0, 5, 1, 1);
    put(NAME("x 3 of 8 bytes"), a, 3, 0, 0, 8, 1, 1);
    put(NAME("x 8 of 8 bytes"), a, 8, 0, 0, 8, 1, 1);
    put(NAME("x 0 of 5 bytes"), a, 0, 0, 0, 5, 1, 1);
    put(NAME("x 0 of 8 bytes"), a, 0, 0, 0, 8, 1, 1);
    put(NAME("huge x"), a, (size_t)-4, 0, 0, 8, 1, 1);
    put(NAME("huge y"), a, 0, (size_t)-1, 0, 4, 2, 1);
    put(NAME("huge z"), a, 0, 0, (size_t)-1, 4, 1, 2);
    put(NAME("no width beyond"), a, 4096, 0, 0, 0, 1, 1);
    put(NAME("no height beyond"), a, 0, 4096, 0, 4, 0, 1);
    put(NAME("no depth beyond"), a, 0, 0, 4096, 4, 1, 0);
    put(NAME("4 x 1 x 0"), a, 0, 0, 0, 4, 1, 0);
    RESULT(NAME("HtoA whole row"), D(cuMemcpyHtoA_v2)(a, 0, host, w));
    RESULT(NAME("HtoA more than a row"), D(cuMemcpyHtoA_v2)(a, 0, host, w + 4));
    RESULT(NAME("HtoA second row"), D(cuMemcpyHtoA_v2)(a, w, host, 4));
    RESULT(NAME("HtoA row at 4"), D(cuMemcpyHtoA_v2)(a, 4, host, w));
    RESULT(NAME("HtoA no bytes beyond"), D(cuMemcpyHtoA_v2)(a, 1 << 20, host, 0));
    RESULT(NAME("AtoD whole row"), D(cuMemcpyAtoD_v2)(linear, a, 0, w));
    RESULT(NAME("AtoH 3 bytes at 1"), D(cuMemcpyAtoH_v2)(host, a, 1, 3));
    CUDA_MEMCPY2D_v2 c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.srcArray = a;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = linear;
    c.dstPitch = 512;
    c.WidthInBytes = w;
    c.Height = h;
    RESULT(NAME("2D out"), D(cuMemcpy2D_v2)(&c));
    c.srcY = 1;
    RESULT(NAME("2D out of y 1"), D(cuMemcpy2D_v2)(&c));
    c.srcY = 0;
    c.dstPitch = w - 1;
    RESULT(NAME("2D out, pitch below row"), D(cuMemcpy2D_v2)(&c));
    c.dstPitch = 0;
    RESULT(NAME("2D out, pitch 0"), D(cuMemcpy2D_v2)(&c));
    c.dstPitch = 512;
    RESULT(NAME("2DUnaligned out"), D(cuMemcpy2DUnaligned_v2)(&c));
    RESULT(NAME("2DAsync out"), D(cuMemcpy2DAsync_v2)(&c, NULL));
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    RESULT(NAME("onto itself"), D(cuMemcpy2D_v2)(&c));
    D(cuCtxSynchronize)();
    RESULT(NAME("destroy"), D(cuArrayDestroy)(a));
  }
}

// The bytes of a 1D copy into a 2D array, and of rows of blocks.
static void bytes(void) {
  prepare();
  CUarray plane, blocks, layers;
  make(&plane, 64, 8, 0, 0x01, 1, 0);
  make(&blocks, 64, 64, 0, 0x91, 4, 0);
  make(&layers, 64, 0, 4, 0x01, 1, 1);
  for (int i = 0; i < 4096; ++i) host[i] = (unsigned char)(i * 7 + i / 256 + 1);
  unsigned char back[4096];
  memset(back, 0, sizeof back);
  put("blocks in", blocks, 0, 0, 0, 128, 16, 1);
  put("a block over y 3", blocks, 8, 3, 0, 8, 1, 1);
  CUDA_MEMCPY3D_v2 c = toArray(NULL, 128, 16, 1);
  c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  c.srcArray = blocks;
  c.dstMemoryType = CU_MEMORYTYPE_HOST;
  c.dstHost = back;
  c.dstPitch = 128;
  c.dstHeight = 16;
  RESULT("blocks out", D(cuMemcpy3D_v2)(&c));
  for (int i = 0; i < 2048; ++i)
    if (back[i] != host[i]) {
      fact("first byte that the block changed", "%d", i);
      break;
    }
  put("layers in", layers, 0, 0, 0, 64, 1, 4);
  RESULT("HtoA of the first layer", D(cuMemcpyHtoA_v2)(layers, 8, host, 8));
  RESULT("AtoH", D(cuMemcpyAtoH_v2)(back, layers, 0, 64));
  fact("it came to offset 8", "%s", YES(!memcmp(back + 8, host, 8)));
  put("plane in", plane, 0, 0, 0, 64, 8, 1);
  RESULT("AtoA onto itself", D(cuMemcpyAtoA_v2)(plane, 8, plane, 0, 32));
  RESULT("AtoH of it", D(cuMemcpyAtoH_v2)(back, plane, 0, 64));
  fact("like memmove", "%s", YES(!memcmp(back + 8, host, 32)));
  CUarray fresh;
  make(&fresh, 64, 8, 0, 0x01, 1, 0);
  memset(back, 0x5a, sizeof back);
  D(cuMemcpyAtoH_v2)(back, fresh, 0, 64);
}

static void parameters(void) {
  prepare();
  CUarray a, foreign;
  make(&a, 64, 32, 4, 0x20, 1, 0);
  CUcontext other;
  D(cuCtxCreate_v2)(&other, 0, device);
  make(&foreign, 64, 32, 4, 0x20, 1, 0);
  D(cuCtxSetCurrent)(context);
  CUDA_MEMCPY3D_v2 c = toArray(a, 64, 4, 2);
#define TRY(name, change)   \
  c = toArray(a, 64, 4, 2); \
  change;                   \
  RESULT(name, D(cuMemcpy3D_v2)(&c))
  TRY("plain", (void)0);
  TRY("source LOD 1", c.srcLOD = 1);
  TRY("destination LOD 1", c.dstLOD = 1);
  TRY("source LOD 1, source an array", (c.srcLOD = 1, c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = a));
  TRY("destination LOD 1, both arrays", (c.dstLOD = 1, c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = a));
  TRY("reserved0", c.reserved0 = &c);
  TRY("reserved1", c.reserved1 = &c);
  TRY("destination pitch and height nonsense", (c.dstPitch = 1, c.dstHeight = 1));
  TRY("source pitch 0", c.srcPitch = 0);
  TRY("source height 0", c.srcHeight = 0);
  TRY("source pitch 63", c.srcPitch = 63);
  TRY("source height 3", c.srcHeight = 3);
  TRY("destination array NULL", c.dstArray = NULL);
  TRY("destination host set too", c.dstHost = host);
  TRY("source array set too", c.srcArray = a);
  TRY("destination of another context", c.dstArray = foreign);
  TRY("source type 0", c.srcMemoryType = (CUmemorytype)0);
  TRY("destination type 0", c.dstMemoryType = (CUmemorytype)0);
  TRY("destination type 5", c.dstMemoryType = (CUmemorytype)5);
  TRY("source NULL", c.srcHost = NULL);
  TRY("width 0, array NULL", (c.dstArray = NULL, c.WidthInBytes = 0));
  TRY("height 0, array NULL", (c.dstArray = NULL, c.Height = 0));
  TRY("depth 0, array NULL", (c.dstArray = NULL, c.Depth = 0));
  TRY("unified source", (c.srcMemoryType = CU_MEMORYTYPE_UNIFIED, c.srcDevice = linear));
  TRY("unified source of malloc",
      (c.srcMemoryType = CU_MEMORYTYPE_UNIFIED, c.srcDevice = (CUdeviceptr)(uintptr_t)host));
  RESULT("AtoA to another context", D(cuMemcpyAtoA_v2)(foreign, 0, a, 0, 64));
  RESULT("AtoD of another context's array", D(cuMemcpyAtoD_v2)(linear, foreign, 0, 64));
  RESULT("AtoA NULL", D(cuMemcpyAtoA_v2)(a, 0, NULL, 0, 64));
  RESULT("AtoA NULL, 0 bytes", D(cuMemcpyAtoA_v2)(a, 0, NULL, 0, 0));
  RESULT("AtoD to 0", D(cuMemcpyAtoD_v2)(0, a, 0, 64));
  RESULT("AtoD to wild", D(cuMemcpyAtoD_v2)(0x123456789000ull, a, 0, 64));
  RESULT("AtoD past the end", D(cuMemcpyAtoD_v2)(linear + kRoom - 32, a, 0, 64));
  RESULT("AtoH to NULL", D(cuMemcpyAtoH_v2)(NULL, a, 0, 64));
  RESULT("HtoA from NULL", D(cuMemcpyHtoA_v2)(a, 0, NULL, 64));
  RESULT("HtoAAsync, stream -1", D(cuMemcpyHtoAAsync_v2)(NULL, 0, host, 64, NULL));
  RESULT("DtoA wild", D(cuMemcpyDtoA_v2)(a, 0, 0x123456789000ull, 64));
  RESULT("3D NULL", D(cuMemcpy3D_v2)(NULL));
  CUDA_MEMCPY3D_PEER p;
#define PEER(name, change)               \
  memset(&p, 0, sizeof p);               \
  p.srcMemoryType = CU_MEMORYTYPE_ARRAY; \
  p.srcArray = a;                        \
  p.srcContext = context;                \
  p.dstMemoryType = CU_MEMORYTYPE_ARRAY; \
  p.dstArray = foreign;                  \
  p.dstContext = other;                  \
  p.WidthInBytes = 64;                   \
  p.Height = 4;                          \
  p.Depth = 2;                           \
  change;                                \
  RESULT(name, D(cuMemcpy3DPeer)(&p))
  PEER("peer", (void)0);
  PEER("peer, contexts swapped", (p.srcContext = other, p.dstContext = context));
  PEER("peer, context NULL", p.dstContext = NULL);
  PEER("peer, too deep", p.Depth = 5);
  PEER("peer, LOD 1", p.dstLOD = 1);
}

static void handles(void) {
  start();
  CUarray a = NULL, l;
  CUmipmappedArray m;
  CUDA_ARRAY_DESCRIPTOR_v2 d2;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d3 = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  RESULT("3DCreate NULL handle", D(cuArray3DCreate_v2)(NULL, &d3));
  RESULT("3DCreate NULL descriptor", D(cuArray3DCreate_v2)(&a, NULL));
  RESULT("MipmappedArrayCreate NULL handle", D(cuMipmappedArrayCreate)(NULL, &d3, 1));
  RESULT("MipmappedArrayCreate NULL descriptor", D(cuMipmappedArrayCreate)(&m, NULL, 1));
  RESULT("3DGetDescriptor NULL array", D(cuArray3DGetDescriptor_v2)(&d3, NULL));
  D(cuArray3DCreate_v2)(&a, &d3);
  RESULT("GetDescriptor NULL descriptor", D(cuArrayGetDescriptor_v2)(NULL, a));
  RESULT("3DGetDescriptor NULL descriptor", D(cuArray3DGetDescriptor_v2)(NULL, a));
  RESULT("GetDescriptor NULL both", D(cuArrayGetDescriptor_v2)(NULL, NULL));
  RESULT("GetPlane NULL result", D(cuArrayGetPlane)(NULL, a, 0));
  RESULT("GetPlane NULL array", D(cuArrayGetPlane)(&l, NULL, 0));
  D(cuMipmappedArrayCreate)(&m, &d3, 3);
  RESULT("GetLevel NULL result", D(cuMipmappedArrayGetLevel)(NULL, m, 0));
  RESULT("GetLevel NULL array", D(cuMipmappedArrayGetLevel)(&l, NULL, 0));
  RESULT("MipmappedArrayDestroy NULL", D(cuMipmappedArrayDestroy)(NULL));
  RESULT("level 0 of 3", D(cuMipmappedArrayGetLevel)(&l, m, 0));
  RESULT("plane of a level", D(cuArrayGetPlane)(&a, l, 0));
  RESULT("2D descriptor of a level", D(cuArrayGetDescriptor_v2)(&d2, l));
  CUDA_ARRAY3D_DESCRIPTOR_v2 bad = {0, 0, 0, 0, 0, 0xffffffff};
  RESULT("MipmappedArrayCreate all wrong", D(cuMipmappedArrayCreate)(&m, &bad, 1));
  size_t before, after, total;
  D(cuMemGetInfo_v2)(&before, &total);
  CUDA_ARRAY3D_DESCRIPTOR_v2 large = {4096, 4096, 0, CU_AD_FORMAT_FLOAT, 4, 0};
  D(cuArray3DCreate_v2)(&a, &large);
  D(cuMemGetInfo_v2)(&after, &total);
  fact("256 MiB array takes 250 MiB at least", "%s", YES(before - after >= (size_t)250 << 20));
  D(cuArrayDestroy)(a);
  D(cuMemGetInfo_v2)(&before, &total);
  large.Flags = CUDA_ARRAY3D_SPARSE;
  D(cuArray3DCreate_v2)(&a, &large);
  D(cuMemGetInfo_v2)(&after, &total);
  fact("sparse one takes", "%zu MiB", (before - after) >> 20);
}

static void levelLife(void) {
  start();
  CUmipmappedArray m;
  CUarray l, again = NULL;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  D(cuMipmappedArrayCreate)(&m, &d, 3);
  D(cuMipmappedArrayGetLevel)(&l, m, 1);
  RESULT("destroy a level", D(cuArrayDestroy)(l));
  RESULT("get it again", D(cuMipmappedArrayGetLevel)(&again, m, 1));
  fact("same handle", "%s", YES(l == again));
  RESULT("describe it", D(cuArray3DGetDescriptor_v2)(&d, again));
  RESULT("destroy it again", D(cuArrayDestroy)(again));
  RESULT("destroy the whole", D(cuMipmappedArrayDestroy)(m));
}

static void levelAfterwards(void) {
  start();
  CUmipmappedArray m;
  CUarray l;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  D(cuMipmappedArrayCreate)(&m, &d, 3);
  D(cuMipmappedArrayGetLevel)(&l, m, 1);
  D(cuMipmappedArrayDestroy)(m);
  RESULT("describe a level of a destroyed array", D(cuArray3DGetDescriptor_v2)(&d, l));
}

static void afterContext(void) {
  start();
  CUcontext other;
  CUarray a;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d;
  D(cuCtxCreate_v2)(&other, 0, device);
  make(&a, 64, 64, 0, 0x20, 1, 0);
  D(cuCtxSetCurrent)(context);
  RESULT("describe another context's array", D(cuArray3DGetDescriptor_v2)(&d, a));
  RESULT("destroy another context's array", D(cuArrayDestroy)(a));
  D(cuCtxSetCurrent)(other);
  make(&a, 64, 64, 0, 0x20, 1, 0);
  D(cuCtxSetCurrent)(context);
  D(cuCtxDestroy_v2)(other);
  RESULT("describe an array of a destroyed context", D(cuArray3DGetDescriptor_v2)(&d, a));
  RESULT("destroy an array of a destroyed context", D(cuArrayDestroy)(a));
}

static void withoutContext(void) {
  start();
  CUarray a, b;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  make(&a, 64, 64, 0, 0x20, 1, 0);
  D(cuCtxSetCurrent)(NULL);
  RESULT("create", D(cuArray3DCreate_v2)(&b, &d));
  RESULT("create with NULL", D(cuArray3DCreate_v2)(NULL, NULL));
  RESULT("describe", D(cuArray3DGetDescriptor_v2)(&d, a));
  RESULT("copy", D(cuMemcpyAtoA_v2)(a, 0, a, 64, 64));
  CUDA_ARRAY_SPARSE_PROPERTIES p;
  CUDA_ARRAY_MEMORY_REQUIREMENTS r;
  RESULT("sparse properties", D(cuArrayGetSparseProperties)(&p, a));
  RESULT("requirements", D(cuArrayGetMemoryRequirements)(&r, a, 0));
  RESULT("plane", D(cuArrayGetPlane)(&b, a, 0));
  RESULT("destroy", D(cuArrayDestroy)(a));
}

// The structures of 32-bit times.
static void old(void) {
  prepare();
  CUarray a = NULL;
  CUDA_ARRAY_DESCRIPTOR_v1 d = {64, 32, CU_AD_FORMAT_FLOAT, 1};
  CUDA_ARRAY3D_DESCRIPTOR_v1 d3 = {64, 32, 4, CU_AD_FORMAT_FLOAT, 1, 0};
  RESULT("cuArrayCreate", D(cuArrayCreate)(&a, &d));
  memset(&d, 0, sizeof d);
  RESULT("cuArrayGetDescriptor", D(cuArrayGetDescriptor)(&d, a));
  fact("described", "%u %u format 0x%x channels %u", d.Width, d.Height, d.Format, d.NumChannels);
  RESULT("cuMemcpyHtoA", D(cuMemcpyHtoA)(a, 0, host, 64));
  RESULT("cuMemcpyHtoA too long", D(cuMemcpyHtoA)(a, 0, host, 6400));
  RESULT("cuMemcpyAtoH", D(cuMemcpyAtoH)(host, a, 0, 64));
  RESULT("cuMemcpyAtoA", D(cuMemcpyAtoA)(a, 0, a, 64, 64));
  RESULT("cuMemcpyHtoAAsync", D(cuMemcpyHtoAAsync)(a, 0, host, 64, NULL));
  RESULT("cuMemcpyAtoHAsync", D(cuMemcpyAtoHAsync)(host, a, 0, 64, NULL));
  D(cuCtxSynchronize)();
  RESULT("cuMemcpyAtoD to 0", D(cuMemcpyAtoD)(0, a, 0, 64));
  RESULT("cuMemcpyDtoA from 0", D(cuMemcpyDtoA)(a, 0, 0, 64));
  CUDA_MEMCPY2D_v1 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = host;
  c.srcPitch = 256;
  c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  c.dstArray = a;
  c.WidthInBytes = 256;
  c.Height = 32;
  RESULT("cuMemcpy2D", D(cuMemcpy2D)(&c));
  RESULT("cuMemcpy2DUnaligned", D(cuMemcpy2DUnaligned)(&c));
  RESULT("cuMemcpy2DAsync", D(cuMemcpy2DAsync)(&c, NULL));
  c.Height = 33;
  RESULT("cuMemcpy2D too high", D(cuMemcpy2D)(&c));
  RESULT("cuArray3DCreate", D(cuArray3DCreate)(&a, &d3));
  memset(&d3, 0, sizeof d3);
  RESULT("cuArray3DGetDescriptor", D(cuArray3DGetDescriptor)(&d3, a));
  fact("3D described", "%u %u %u format 0x%x channels %u flags 0x%x", d3.Width, d3.Height, d3.Depth, d3.Format,
       d3.NumChannels, d3.Flags);
  CUDA_MEMCPY3D_v1 box;
  memset(&box, 0, sizeof box);
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = host;
  box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  box.dstArray = a;
  box.WidthInBytes = 256;
  box.Height = 32;
  box.Depth = 4;
  RESULT("cuMemcpy3D", D(cuMemcpy3D)(&box));
  RESULT("cuMemcpy3DAsync", D(cuMemcpy3DAsync)(&box, NULL));
}

// The same with a context of those times.
static void oldContext(void) {
  start();
  CUcontext oldOne = NULL;
  RESULT("cuCtxCreate", D(cuCtxCreate)(&oldOne, 0, device));
  CUarray a = NULL;
  CUDA_ARRAY_DESCRIPTOR_v1 d = {64, 32, CU_AD_FORMAT_FLOAT, 1};
  CUDA_ARRAY_DESCRIPTOR_v2 d2 = {64, 32, CU_AD_FORMAT_FLOAT, 1};
  unsigned char row[64] = {1, 2, 3};
  RESULT("cuArrayCreate", D(cuArrayCreate)(&a, &d));
  RESULT("cuArrayGetDescriptor", D(cuArrayGetDescriptor)(&d, a));
  RESULT("cuArrayGetDescriptor_v2", D(cuArrayGetDescriptor_v2)(&d2, a));
  RESULT("cuMemcpyHtoA", D(cuMemcpyHtoA)(a, 0, row, 64));
  RESULT("cuMemcpyHtoA_v2", D(cuMemcpyHtoA_v2)(a, 0, row, 64));
  RESULT("cuArrayCreate_v2", D(cuArrayCreate_v2)(&a, &d2));
  RESULT("cuMemcpyAtoH_v2", D(cuMemcpyAtoH_v2)(row, a, 0, 64));
}

enum { kBusy = 60 };

static void waits(void) {
  prepare();
  CUstream blocking, other;
  D(cuStreamCreate)(&blocking, 0);
  D(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING);
  CUarray a, victim;
  void* pinned;
  D(cuMemHostAlloc)(&pinned, 65536, 0);
  make(&a, 64, 64, 0, 0x20, 1, 0);
  kernel("spin");
  char name[96];
  CUstream streams[2] = {blocking, other};
  const char* const kNames[2] = {"blocking", "non-blocking"};
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = linear;
  c.srcPitch = 256;
  c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  c.dstArray = a;
  c.WidthInBytes = 256;
  c.Height = 64;
  for (int i = 0; i < 2; ++i) {
    double t;
#define WAITS(what, call)                                             \
  busy(streams[i], kBusy);                                            \
  t = now();                                                          \
  call;                                                               \
  snprintf(name, sizeof name, "%s stream busy: %s", kNames[i], what); \
  fact(name, "%s", waited(t, kBusy));                                 \
  D(cuCtxSynchronize)()
    WAITS("HtoA", D(cuMemcpyHtoA_v2)(a, 0, host, 256));
    WAITS("HtoA of pinned", D(cuMemcpyHtoA_v2)(a, 0, pinned, 256));
    WAITS("AtoH", D(cuMemcpyAtoH_v2)(host, a, 0, 256));
    WAITS("AtoD", D(cuMemcpyAtoD_v2)(linear, a, 0, 256));
    WAITS("DtoA", D(cuMemcpyDtoA_v2)(a, 0, linear, 256));
    WAITS("AtoA", D(cuMemcpyAtoA_v2)(a, 0, a, 0, 128));
    WAITS("2D device to array", D(cuMemcpy2D_v2)(&c));
    WAITS("HtoAAsync of malloc in it", D(cuMemcpyHtoAAsync_v2)(a, 0, host, 256, streams[i]));
    WAITS("HtoAAsync of pinned in it", D(cuMemcpyHtoAAsync_v2)(a, 0, pinned, 256, streams[i]));
    WAITS("AtoHAsync to malloc in it", D(cuMemcpyAtoHAsync_v2)(host, a, 0, 256, streams[i]));
    WAITS("AtoHAsync to pinned in it", D(cuMemcpyAtoHAsync_v2)(pinned, a, 0, 256, streams[i]));
    WAITS("create", make(&victim, 64, 64, 0, 0x20, 1, 0));
    WAITS("destroy", D(cuArrayDestroy)(victim));
    make(&victim, 64, 64, 0, 0x20, 1, 0);
    busy(streams[i], kBusy);
    D(cuMemcpyHtoAAsync_v2)(victim, 0, pinned, 256, streams[i]);
    t = now();
    snprintf(name, sizeof name, "%s stream busy: destroy of an array with a queued copy", kNames[i]);
    CUresult r = D(cuArrayDestroy)(victim);
    fact(name, "%s, %s", resultName(r), waited(t, kBusy));
    RESULT("the stream then", D(cuStreamSynchronize)(streams[i]));
  }
}

static CUmemGenericAllocationHandle pool(size_t size, unsigned short usage) {
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  prop.allocFlags.usage = usage;
  CUmemGenericAllocationHandle h = 0;
  CUresult r = D(cuMemCreate)(&h, size, &prop, 0);
  if (r) RESULT("cuMemCreate", r);
  return h;
}

static CUarrayMapInfo tileOf(CUarray a, CUmemGenericAllocationHandle h, unsigned width, unsigned height) {
  CUarrayMapInfo i;
  memset(&i, 0, sizeof i);
  i.resourceType = CU_RESOURCE_TYPE_ARRAY;
  i.resource.array = a;
  i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
  i.subresource.sparseLevel.extentWidth = width;
  i.subresource.sparseLevel.extentHeight = height;
  i.subresource.sparseLevel.extentDepth = 1;
  i.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  i.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  i.memHandle.memHandle = h;
  i.deviceBitMask = 1u << device;
  return i;
}

static int readPixel(CUarray a, size_t x, size_t y) {
  CUDA_MEMCPY2D_v2 c;
  unsigned value = 4711;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  c.srcArray = a;
  c.srcXInBytes = x * 4;
  c.srcY = y;
  c.dstMemoryType = CU_MEMORYTYPE_HOST;
  c.dstHost = &value;
  c.WidthInBytes = 4;
  c.Height = 1;
  CUresult r = D(cuMemcpy2D_v2)(&c);
  return r ? -(int)r : (int)value;
}
static CUresult writePixel(CUarray a, size_t x, size_t y, unsigned value) {
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = &value;
  c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  c.dstArray = a;
  c.dstXInBytes = x * 4;
  c.dstY = y;
  c.WidthInBytes = 4;
  c.Height = 1;
  return D(cuMemcpy2D_v2)(&c);
}

static void tiles(void) {
  start();
  CUarray a, plain;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("create sparse", make(&a, 512, 512, 0, 0x03, 1, CUDA_ARRAY3D_SPARSE));
  make(&plain, 512, 512, 0, 0x03, 1, 0);
  CUmemGenericAllocationHandle h = pool(2 << 20, CU_MEM_CREATE_USAGE_TILE_POOL), common = pool(2 << 20, 0);
  CUarrayMapInfo i;
#define MAP(name, change)     \
  i = tileOf(a, h, 128, 128); \
  change;                     \
  RESULT(name, D(cuMemMapArrayAsync)(&i, 1, s))
  RESULT("NULL list", D(cuMemMapArrayAsync)(NULL, 1, s));
  i = tileOf(a, h, 128, 128);
  RESULT("count 0", D(cuMemMapArrayAsync)(&i, 0, s));
  RESULT("NULL list, count 0", D(cuMemMapArrayAsync)(NULL, 0, s));
  MAP("resource type LINEAR", i.resourceType = CU_RESOURCE_TYPE_LINEAR);
  MAP("resource type 77", i.resourceType = (CUresourcetype)77);
  MAP("resource NULL", i.resource.array = NULL);
  MAP("plain array", i.resource.array = plain);
  MAP("subresource type 7", i.subresourceType = (CUarraySparseSubresourceType)7);
  MAP("level 1", i.subresource.sparseLevel.level = 1);
  MAP("layer 1", i.subresource.sparseLevel.layer = 1);
  MAP("x 1", i.subresource.sparseLevel.offsetX = 1);
  MAP("x 512", i.subresource.sparseLevel.offsetX = 512);
  MAP("y 64", i.subresource.sparseLevel.offsetY = 64);
  MAP("z 1", i.subresource.sparseLevel.offsetZ = 1);
  MAP("width 100", i.subresource.sparseLevel.extentWidth = 100);
  MAP("width 0", i.subresource.sparseLevel.extentWidth = 0);
  MAP("depth 0", i.subresource.sparseLevel.extentDepth = 0);
  MAP("depth 2", i.subresource.sparseLevel.extentDepth = 2);
  MAP("width beyond", i.subresource.sparseLevel.extentWidth = 640);
  MAP("operation 0", i.memOperationType = (CUmemOperationType)0);
  MAP("operation 3", i.memOperationType = (CUmemOperationType)3);
  MAP("handle type 1", i.memHandleType = (CUmemHandleType)1);
  MAP("offset 4096", i.offset = 4096);
  MAP("offset at the end", i.offset = 2 << 20);
  MAP("device mask 0", i.deviceBitMask = 0);
  MAP("device mask 2", i.deviceBitMask = 2);
  MAP("device mask 3", i.deviceBitMask = 3);
  MAP("flags 1", i.flags = 1);
  MAP("reserved 1", i.reserved[0] = 1);
  MAP("tail", i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL);
  MAP("handle without the tile pool usage", i.memHandle.memHandle = common);
  RESULT("synchronise", D(cuStreamSynchronize)(s));
  MAP("first tile", (void)0);
  RESULT("synchronise again", D(cuStreamSynchronize)(s));
  RESULT("write", writePixel(a, 5, 6, 42));
  fact("read", "%d", readPixel(a, 5, 6));
  RESULT("write to no tile", writePixel(a, 200, 6, 43));
  fact("read from no tile", "%d", readPixel(a, 200, 6));
  MAP("same memory at a second tile", i.subresource.sparseLevel.offsetX = 128);
  D(cuStreamSynchronize)(s);
  fact("read through it", "%d", readPixel(a, 133, 6));
  MAP("first tile again, other memory", i.offset = 65536);
  D(cuStreamSynchronize)(s);
  writePixel(a, 5, 6, 44);
  fact("second tile keeps", "%d", readPixel(a, 133, 6));
  MAP("four tiles at once", (i.subresource.sparseLevel.offsetY = 256, i.subresource.sparseLevel.extentWidth = 256,
                             i.subresource.sparseLevel.extentHeight = 256, i.offset = 1 << 20));
  D(cuStreamSynchronize)(s);
  for (unsigned t = 0; t < 4; ++t) writePixel(a, t % 2 * 128, 256 + t / 2 * 128, 100 + t);
  MAP("third of them elsewhere", (i.subresource.sparseLevel.offsetX = 384, i.offset = (1 << 20) + 2 * 65536));
  D(cuStreamSynchronize)(s);
  fact("tiles in memory: third is", "%d", readPixel(a, 384, 0));
  MAP("unmap with no handle", (i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP, i.memHandle.memHandle = 0));
  D(cuStreamSynchronize)(s);
  fact("read after unmap", "%d", readPixel(a, 5, 6));
  CUarrayMapInfo two[2] = {tileOf(a, h, 128, 128), tileOf(a, h, 100, 128)};
  RESULT("a good one and a bad one", D(cuMemMapArrayAsync)(two, 2, s));
  D(cuStreamSynchronize)(s);
  writePixel(a, 5, 6, 55);
  fact("the good one was done", "%s", YES(readPixel(a, 5, 6) == 55));
  MAP("unmap again", i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP);
  MAP("beyond the memory", (i.offset = (2 << 20) - 65536, i.subresource.sparseLevel.extentWidth = 256));
  RESULT("release the memory while mapped", D(cuMemRelease)(h));
  fact("read after release", "%d", readPixel(a, 133, 6));
  RESULT("destroy while mapped", D(cuArrayDestroy)(a));
  RESULT("synchronise at last", D(cuCtxSynchronize)());
}

static void edgeTiles(void) {
  start();
  CUarray a;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  CUmemGenericAllocationHandle h = pool(2 << 20, CU_MEM_CREATE_USAGE_TILE_POOL);
  CUarrayMapInfo i;
  RESULT("create 200 x 300", make(&a, 200, 300, 0, 0x03, 1, CUDA_ARRAY3D_SPARSE));
  MAP("last tile, clipped extent",
      (i.subresource.sparseLevel.offsetX = 128, i.subresource.sparseLevel.offsetY = 256,
       i.subresource.sparseLevel.extentWidth = 72, i.subresource.sparseLevel.extentHeight = 44));
  MAP("last tile, full extent", (i.subresource.sparseLevel.offsetX = 128, i.subresource.sparseLevel.offsetY = 256));
  RESULT("create layered", make(&a, 256, 256, 3, 0x03, 1, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_LAYERED));
  MAP("layer 2", i.subresource.sparseLevel.layer = 2);
  MAP("layer 3", i.subresource.sparseLevel.layer = 3);
  MAP("z 1 of layers", i.subresource.sparseLevel.offsetZ = 1);
  RESULT("create 3D", make(&a, 64, 64, 64, 0x03, 1, CUDA_ARRAY3D_SPARSE));
  MAP("a 3D tile", (i.subresource.sparseLevel.extentWidth = 32, i.subresource.sparseLevel.extentHeight = 32,
                    i.subresource.sparseLevel.extentDepth = 16));
  MAP("two in depth", (i.subresource.sparseLevel.extentWidth = 32, i.subresource.sparseLevel.extentHeight = 32,
                       i.subresource.sparseLevel.extentDepth = 32));
  MAP("depth 1", (i.subresource.sparseLevel.extentWidth = 32, i.subresource.sparseLevel.extentHeight = 32));
  RESULT("synchronise", D(cuStreamSynchronize)(s));
  CUmipmappedArray m = NULL;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {512, 512, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SPARSE};
  RESULT("create mipmapped", D(cuMipmappedArrayCreate)(&m, &d, 10));
  CUDA_ARRAY_SPARSE_PROPERTIES p;
  memset(&p, 0, sizeof p);
  D(cuMipmappedArrayGetSparseProperties)(&p, m);
  fact("tail", "from %u, %llu bytes", p.miptailFirstLevel, p.miptailSize);
#define MIPMAPPED (i.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, i.resource.mipmap = m)
#define TAIL                                                                \
  (MIPMAPPED, i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL, \
   memset(&i.subresource, 0, sizeof i.subresource), i.subresource.miptail.size = p.miptailSize)
  MAP("level 1 of it", (MIPMAPPED, i.subresource.sparseLevel.level = 1));
  MAP("level 3 of it", (MIPMAPPED, i.subresource.sparseLevel.level = 3));
  MAP("level 9 of it", (MIPMAPPED, i.subresource.sparseLevel.level = 9));
  MAP("level 10 of it", (MIPMAPPED, i.subresource.sparseLevel.level = 10));
  MAP("tail of it", TAIL);
  MAP("tail layer 1", (TAIL, i.subresource.miptail.layer = 1));
  MAP("tail offset 1", (TAIL, i.subresource.miptail.offset = 1));
  MAP("tail twice as long", (TAIL, i.subresource.miptail.size *= 2));
  MAP("tail of no bytes", (TAIL, i.subresource.miptail.size = 0));
  RESULT("synchronise mipmapped", D(cuStreamSynchronize)(s));
  CUarray l;
  D(cuMipmappedArrayGetLevel)(&l, m, 5);
  writePixel(l, 1, 1, 77);
  fact("in the tail", "%d", readPixel(l, 1, 1));
  RESULT("create small", make(&a, 64, 64, 3, 0x03, 1, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_LAYERED));
  CUDA_ARRAY_SPARSE_PROPERTIES whole;
  memset(&whole, 0, sizeof whole);
  D(cuArrayGetSparseProperties)(&whole, a);
  fact("its tail", "%llu bytes, flags %u", whole.miptailSize, whole.flags);
  MAP("its level 0", (i.subresource.sparseLevel.extentWidth = 64, i.subresource.sparseLevel.extentHeight = 64));
  MAP("its tail of layer 0",
      (i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL, memset(&i.subresource, 0, sizeof i.subresource),
       i.subresource.miptail.size = whole.miptailSize));
  MAP("its tail of layer 1",
      (i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL, memset(&i.subresource, 0, sizeof i.subresource),
       i.subresource.miptail.size = whole.miptailSize, i.subresource.miptail.layer = 1));
  D(cuMipmappedArrayGetLevel)(&l, m, 0);
  MAP("a level's handle", (i.resourceType = CU_RESOURCE_TYPE_ARRAY, i.resource.array = l));
}

static void deferred(void) {
  start();
  CUarray a;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  CUmemGenericAllocationHandle h = pool(2 << 20, 0), small = pool(2 << 20, 1), tilePool = pool(2 << 20, 1);
  CUarrayMapInfo i;
  RESULT("create 512 x 512", make(&a, 512, 512, 0, 0x03, 1, CUDA_ARRAY3D_DEFERRED_MAPPING));
  CUDA_ARRAY_MEMORY_REQUIREMENTS r;
  memset(&r, 0, sizeof r);
  D(cuArrayGetMemoryRequirements)(&r, a, device);
  fact("needs", "%zu", r.size);
#define WHOLE (memset(&i.subresource, 0, sizeof i.subresource))
  MAP("one tile", (void)0);
  MAP("offset 4096", (WHOLE, i.offset = 4096));
  MAP("offset too far", (WHOLE, i.offset = (2 << 20) - 65536));
  MAP("memory without the tile pool usage", WHOLE);
  h = tilePool;
  MAP("tile pool, one tile", (void)0);
  MAP("tile pool, offset 4096", (WHOLE, i.offset = 4096));
  MAP("tile pool, offset too far", (WHOLE, i.offset = (2 << 20) - 65536));
  MAP("flags 1", (WHOLE, i.flags = 1));
  MAP("layer 1", (WHOLE, i.subresource.sparseLevel.layer = 1));
  MAP("device mask 0", (WHOLE, i.deviceBitMask = 0));
  MAP("as tail", (WHOLE, i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL));
  MAP("as tail of its size",
      (WHOLE, i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL, i.subresource.miptail.size = r.size));
  MAP("extents of the array",
      (WHOLE, i.subresource.sparseLevel.extentWidth = 512, i.subresource.sparseLevel.extentHeight = 512,
       i.subresource.sparseLevel.extentDepth = 1));
  MAP("whole at 65536", (WHOLE, i.offset = 65536));
  RESULT("synchronise", D(cuStreamSynchronize)(s));
  RESULT("write", writePixel(a, 5, 6, 42));
  fact("read", "%d", readPixel(a, 5, 6));
  MAP("again elsewhere", (WHOLE, i.memHandle.memHandle = small));
  RESULT("synchronise", D(cuStreamSynchronize)(s));
  fact("read elsewhere", "%d", readPixel(a, 5, 6));
  MAP("back", (WHOLE, i.offset = 65536));
  RESULT("synchronise", D(cuStreamSynchronize)(s));
  fact("read again", "%d", readPixel(a, 5, 6));
  MAP("unmap", (WHOLE, i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP, i.memHandle.memHandle = 0));
  RESULT("synchronise", D(cuStreamSynchronize)(s));
}

static void deferredUnmapTwice(void) {
  start();
  CUarray a;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  CUmemGenericAllocationHandle h = pool(2 << 20, 1);
  CUarrayMapInfo i;
  make(&a, 512, 512, 0, 0x03, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
  MAP("unmap what was never mapped", (WHOLE, i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP));
  MAP("map", WHOLE);
  MAP("unmap", (WHOLE, i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP));
  RESULT("synchronise", D(cuStreamSynchronize)(s));
  CUmipmappedArray m = NULL;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {256, 256, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_DEFERRED_MAPPING};
  RESULT("create mipmapped", D(cuMipmappedArrayCreate)(&m, &d, 4));
  MAP("map mipmapped", (WHOLE, MIPMAPPED));
  RESULT("synchronise mipmapped", D(cuStreamSynchronize)(s));
  CUarray l;
  D(cuMipmappedArrayGetLevel)(&l, m, 2);
  RESULT("write to a level", writePixel(l, 1, 1, 77));
  fact("read it", "%d", readPixel(l, 1, 1));
  MAP("map a level", (WHOLE, i.resource.array = l));
}

static void deferredUnmapped(void) {
  start();
  CUarray a;
  make(&a, 512, 512, 0, 0x03, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
  RESULT("write to an unmapped one", writePixel(a, 5, 6, 42));
  fact("read", "%d", readPixel(a, 5, 6));
  RESULT("synchronise", D(cuCtxSynchronize)());
}

static void sparseUnmapped(void) {
  start();
  CUarray a;
  make(&a, 512, 512, 0, 0x03, 1, CUDA_ARRAY3D_SPARSE);
  RESULT("write to an unmapped one", writePixel(a, 5, 6, 42));
  fact("read", "%d", readPixel(a, 5, 6));
  RESULT("synchronise", D(cuCtxSynchronize)());
}

const Group kArrayCopyGroups[] = {{"arrays.boxes", boxes},
                                  {"arrays.bytes", bytes},
                                  {"arrays.parameters", parameters},
                                  {"arrays.handles", handles},
                                  {"arrays.level-life", levelLife},
                                  {"arrays.level-afterwards", levelAfterwards},
                                  {"arrays.after-context", afterContext},
                                  {"arrays.without-context", withoutContext},
                                  {"arrays.old", old},
                                  {"arrays.old-context", oldContext},
                                  {"arrays.waits", waits},
                                  {"arrays.tiles", tiles},
                                  {"arrays.edge-tiles", edgeTiles},
                                  {"arrays.deferred", deferred},
                                  {"arrays.deferred-twice", deferredUnmapTwice},
                                  {"arrays.deferred-unmapped", deferredUnmapped},
                                  {"arrays.sparse-unmapped", sparseUnmapped},
                                  {NULL, NULL}};
