// Sparse and deferred-mapped arrays: their properties, sizes and what mapping takes. Questions 173 and 174.
#include "questions.h"

typedef struct {
  size_t width, height, depth;
  unsigned levels, flags;
  unsigned format, channels;
} Shape;

static const Shape kShapes[] = {
    {1024, 1024, 0, 1, 0, 0x20, 1}, {1024, 1024, 0, 11, 0, 0x20, 1}, {1024, 1024, 0, 5, 0, 0x20, 1},
    {1000, 700, 0, 10, 0, 0x20, 1}, {1000, 700, 0, 10, 0, 0x01, 1},  {1000, 700, 0, 10, 0, 0x20, 4},
    {128, 128, 0, 8, 0, 0x20, 1},   {64, 64, 0, 7, 0, 0x20, 1},      {256, 64, 0, 9, 0, 0x20, 1},
    {4096, 256, 0, 13, 0, 0x10, 2}, {256, 256, 256, 9, 0, 0x01, 1},  {100, 60, 40, 7, 0, 0x20, 1},
    {64, 64, 64, 7, 0, 0x20, 4},    {1024, 1024, 4, 11, 1, 0x20, 1}, {1000, 700, 3, 10, 1, 0x01, 4},
    {64, 64, 5, 7, 1, 0x20, 1},     {512, 512, 6, 10, 4, 0x20, 1},   {512, 512, 12, 10, 5, 0x20, 1},
    {4096, 0, 0, 13, 0, 0x20, 1},   {4096, 0, 4, 13, 1, 0x20, 1},    {512, 512, 0, 10, 0, 0x91, 4},
    {512, 512, 0, 10, 2, 0x20, 1},  {5, 3, 0, 1, 0, 0x01, 1},        {17, 9, 0, 5, 0, 0x02, 1},
    {130, 129, 2, 1, 0, 0x03, 1},   {130, 129, 5, 1, 1, 0x03, 1},    {4096, 0, 0, 1, 0, 0x20, 1},
    {33000, 3, 0, 1, 0, 0x01, 1},   {16, 16, 0, 5, 0, 0x20, 4},      {300, 200, 7, 9, 0, 0x10, 4},
};

static void nameOf(char* name, size_t size, const char* what, const Shape* s) {
  snprintf(name, size, "%s %zux%zux%zu, %u levels, flags 0x%x, format 0x%02x x%u", what, s->width, s->height, s->depth,
           s->levels, s->flags, s->format, s->channels);
}

static CUresult makeMips(CUmipmappedArray* m, const Shape* s, unsigned flag) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {s->width, s->height, s->depth, s->format, s->channels, s->flags | flag};
  return D(cuMipmappedArrayCreate)(m, &d, s->levels);
}

static void sparseMips(void) {
  start();
  char name[128];
  for (size_t i = 0; i < sizeof kShapes / sizeof *kShapes; ++i) {
    CUmipmappedArray m;
    CUDA_ARRAY_SPARSE_PROPERTIES q;
    memset(&q, 0, sizeof q);
    nameOf(name, sizeof name, "Q174: sparse mipmapped", &kShapes[i]);
    CUresult made = makeMips(&m, &kShapes[i], CUDA_ARRAY3D_SPARSE);
    if (made) {
      RESULT(name, made);
      continue;
    }
    CUresult r = D(cuMipmappedArrayGetSparseProperties)(&q, m);
    fact(name, "%s tile %ux%ux%u miptail first %u size %llu flags %u", resultName(r), q.tileExtent.width,
         q.tileExtent.height, q.tileExtent.depth, q.miptailFirstLevel, q.miptailSize, q.flags);
    D(cuMipmappedArrayDestroy)(m);
  }
}

static void deferredMips(void) {
  start();
  char name[128];
  for (size_t i = 0; i < sizeof kShapes / sizeof *kShapes; ++i) {
    CUmipmappedArray m;
    CUDA_ARRAY_MEMORY_REQUIREMENTS q;
    memset(&q, 0, sizeof q);
    nameOf(name, sizeof name, "Q173: deferred mipmapped", &kShapes[i]);
    CUresult made = makeMips(&m, &kShapes[i], CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUresult r = made ? made : D(cuMipmappedArrayGetMemoryRequirements)(&q, m, device);
    fact(name, "%s, %s size %zu alignment %zu", resultName(made), resultName(r), q.size, q.alignment);
    if (!made) D(cuMipmappedArrayDestroy)(m);
  }
}

// Single-level arrays of the same shapes, sparse and deferred.
static void plain(void) {
  start();
  char name[128];
  for (size_t i = 0; i < sizeof kShapes / sizeof *kShapes; ++i) {
    const Shape* s = &kShapes[i];
    if (i && s->width == s[-1].width && s->flags == s[-1].flags && s->format == s[-1].format) continue;
    CUarray a;
    CUDA_ARRAY_MEMORY_REQUIREMENTS q;
    CUDA_ARRAY_SPARSE_PROPERTIES t;
    memset(&q, 0, sizeof q);
    memset(&t, 0, sizeof t);
    CUresult made =
        makeArray(&a, s->width, s->height, s->depth, s->format, s->channels, s->flags | CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUresult r = made ? made : D(cuArrayGetMemoryRequirements)(&q, a, device);
    nameOf(name, sizeof name, "Q173: deferred", s);
    fact(name, "%s, %s size %zu alignment %zu", resultName(made), resultName(r), q.size, q.alignment);
    if (!made) D(cuArrayDestroy)(a);
    made = makeArray(&a, s->width, s->height, s->depth, s->format, s->channels, s->flags | CUDA_ARRAY3D_SPARSE);
    r = made ? made : D(cuArrayGetSparseProperties)(&t, a);
    nameOf(name, sizeof name, "Q174: sparse", s);
    fact(name, "%s tile %ux%ux%u miptail first %u size %llu flags %u", resultName(r), t.tileExtent.width,
         t.tileExtent.height, t.tileExtent.depth, t.miptailFirstLevel, t.miptailSize, t.flags);
    if (!made) D(cuArrayDestroy)(a);
  }
}

static void queries(void) {
  start();
  CUarray plain_, sparse, deferred, level;
  CUmipmappedArray mips, sparseMips_;
  CUDA_ARRAY_MEMORY_REQUIREMENTS q;
  CUDA_ARRAY_SPARSE_PROPERTIES t;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  makeArray(&plain_, 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  makeArray(&sparse, 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE);
  makeArray(&deferred, 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
  D(cuMipmappedArrayCreate)(&mips, &d, 3);
  d.Flags = CUDA_ARRAY3D_SPARSE;
  D(cuMipmappedArrayCreate)(&sparseMips_, &d, 3);
  D(cuMipmappedArrayGetLevel)(&level, sparseMips_, 0);
  RESULT("Q174: properties of a plain array", D(cuArrayGetSparseProperties)(&t, plain_));
  RESULT("Q174: properties of a level of a sparse array", D(cuArrayGetSparseProperties)(&t, level));
  RESULT("Q174: properties of a plain mipmapped array", D(cuMipmappedArrayGetSparseProperties)(&t, mips));
  RESULT("Q174: properties into NULL", D(cuArrayGetSparseProperties)(NULL, sparse));
  RESULT("Q173: requirements of a plain array", D(cuArrayGetMemoryRequirements)(&q, plain_, device));
  RESULT("Q173: requirements of a sparse array", D(cuArrayGetMemoryRequirements)(&q, sparse, device));
  RESULT("Q173: requirements of a plain mipmapped array", D(cuMipmappedArrayGetMemoryRequirements)(&q, mips, device));
  RESULT("Q173: requirements of a sparse mipmapped array",
         D(cuMipmappedArrayGetMemoryRequirements)(&q, sparseMips_, device));
  RESULT("Q173: requirements for device 99", D(cuArrayGetMemoryRequirements)(&q, deferred, 99));
  RESULT("Q173: requirements for device -1", D(cuArrayGetMemoryRequirements)(&q, deferred, -1));
  RESULT("Q173: requirements into NULL", D(cuArrayGetMemoryRequirements)(NULL, deferred, device));
  CUarray both;
  RESULT("Q173: sparse and deferred together",
         makeArray(&both, 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING));
  char m[64] = {0};
  RESULT("Q173: cuMemcpyHtoA into a deferred array", D(cuMemcpyHtoA_v2)(deferred, 0, m, 4));
  RESULT("Q173: its context", D(cuCtxSynchronize)());
}

static CUmemGenericAllocationHandle memory(size_t bytes) {
  CUmemGenericAllocationHandle h = 0;
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  RESULT("Q174: cuMemCreate of a tile pool", D(cuMemCreate)(&h, bytes, &prop, 0));
  return h;
}

static CUarrayMapInfo firstTile(CUarray a, CUmemGenericAllocationHandle h, const CUDA_ARRAY_SPARSE_PROPERTIES* t) {
  CUarrayMapInfo i;
  memset(&i, 0, sizeof i);
  i.resourceType = CU_RESOURCE_TYPE_ARRAY;
  i.resource.array = a;
  i.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
  i.subresource.sparseLevel.extentWidth = t->tileExtent.width;
  i.subresource.sparseLevel.extentHeight = t->tileExtent.height;
  i.subresource.sparseLevel.extentDepth = 1;
  i.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  i.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  i.memHandle.memHandle = h;
  i.deviceBitMask = 1;
  return i;
}

static CUresult copyRectangle(CUarray a, void* m, size_t width, size_t height, bool in) {
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
  c.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
  c.srcHost = c.dstHost = m;
  c.srcArray = c.dstArray = a;
  c.WidthInBytes = width;
  c.Height = height;
  return D(cuMemcpy2D_v2)(&c);
}

static void mapping(void) {
  start();
  CUarray a = NULL;
  CUDA_ARRAY_SPARSE_PROPERTIES t = {{0, 0, 0}, 0, 0, 0, {0}};
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  makeArray(&a, 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE);
  D(cuArrayGetSparseProperties)(&t, a);
  if (t.tileExtent.width * 4ull * t.tileExtent.height != 65536) return;
  CUmemGenericAllocationHandle h = memory(2 << 20);
  CUarrayMapInfo i = firstTile(a, h, &t);
  RESULT("Q174: map the first tile", D(cuMemMapArrayAsync)(&i, 1, s));
  RESULT("Q174: its stream", D(cuStreamSynchronize)(s));
  static unsigned char m[65536], back[65536];
  for (size_t k = 0; k < sizeof m; ++k) m[k] = (unsigned char)(k * 7 + 1);
  const size_t row = t.tileExtent.width * 4ull, rows = t.tileExtent.height;
  RESULT("Q174: copy into the mapped tile", copyRectangle(a, m, row, rows, true));
  RESULT("Q174: copy back", copyRectangle(a, back, row, rows, false));
  fact("Q174: bytes as written", "%s", YES(!memcmp(m, back, row * rows)));
#define VARIED(name, change)                       \
  do {                                             \
    i = firstTile(a, h, &t);                       \
    change;                                        \
    RESULT(name, D(cuMemMapArrayAsync)(&i, 1, s)); \
  } while (0)
  VARIED("Q174: map at memory offset 65536", i.offset = 65536);
  VARIED("Q174: map at memory offset 4096", i.offset = 4096);
  VARIED("Q174: map at memory offset beyond the pool", i.offset = 2 << 20);
  VARIED("Q174: map at x 1", i.subresource.sparseLevel.offsetX = 1);
  VARIED("Q174: map half a tile", i.subresource.sparseLevel.extentWidth /= 2);
  VARIED("Q174: map at level 1", i.subresource.sparseLevel.level = 1);
  VARIED("Q174: map at layer 1", i.subresource.sparseLevel.layer = 1);
  VARIED("Q174: map beyond the array", i.subresource.sparseLevel.offsetX = 1024);
  VARIED("Q174: map with device mask 0", i.deviceBitMask = 0);
  VARIED("Q174: map with device mask 2", i.deviceBitMask = 2);
  VARIED("Q174: map with flags 1", i.flags = 1);
  VARIED("Q174: map of resource type 99", i.resourceType = 99);
  VARIED("Q174: map of handle type 99", i.memHandleType = 99);
  VARIED("Q174: operation 99", i.memOperationType = 99);
  VARIED("Q174: unmap", i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP);
  VARIED("Q174: unmap with memory 0", (i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP, i.memHandle.memHandle = 0));
  RESULT("Q174: no entries", D(cuMemMapArrayAsync)(&i, 0, s));
  RESULT("Q174: its stream at the end", D(cuStreamSynchronize)(s));
  RESULT("Q174: copy from an unmapped tile", copyRectangle(a, back, row, rows, false));
  bool zero = true;
  for (size_t k = 0; k < row * rows; ++k) zero = zero && !back[k];
  fact("Q174: it reads as zero", "%s", YES(zero));
  RESULT("Q174: copy into an unmapped tile", copyRectangle(a, m, row, rows, true));
  RESULT("Q174: its context", D(cuCtxSynchronize)());
}

static void mappingPlain(void) {
  start();
  CUarray a;
  CUDA_ARRAY_SPARSE_PROPERTIES t = {{128, 128, 1}, 0, 0, 0, {0}};
  makeArray(&a, 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  CUarrayMapInfo i = firstTile(a, memory(2 << 20), &t);
  RESULT("Q174: map into a plain array", D(cuMemMapArrayAsync)(&i, 1, 0));
}

static void mappingDeferred(void) {
  start();
  CUarray a;
  CUDA_ARRAY_SPARSE_PROPERTIES t = {{0, 0, 0}, 0, 0, 0, {0}};
  makeArray(&a, 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
  CUmemGenericAllocationHandle h = 0;
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  RESULT("Q173: cuMemCreate", D(cuMemCreate)(&h, 4 << 20, &prop, 0));
  CUarrayMapInfo i = firstTile(a, h, &t);
  i.subresource.sparseLevel.extentDepth = 0;
  RESULT("Q173: map a deferred array", D(cuMemMapArrayAsync)(&i, 1, 0));
  RESULT("Q173: its stream", D(cuStreamSynchronize)(0));
  static unsigned char m[4096], back[4096];
  memset(m, 7, sizeof m);
  RESULT("Q173: copy into it", copyRectangle(a, m, 1024, 4, true));
  RESULT("Q173: copy back", copyRectangle(a, back, 1024, 4, false));
  fact("Q173: bytes as written", "%s", YES(!memcmp(m, back, sizeof m)));
  i.offset = 65536;
  RESULT("Q173: map it again elsewhere", D(cuMemMapArrayAsync)(&i, 1, 0));
  RESULT("Q173: destroy it while mapped", D(cuArrayDestroy)(a));
  RESULT("Q173: release the memory", D(cuMemRelease)(h));
}

const Group kQuestionSparseGroups[] = {{"questions.sparse.mipmapped", sparseMips},
                                       {"questions.sparse.deferred-mipmapped", deferredMips},
                                       {"questions.sparse.plain", plain},
                                       {"questions.sparse.queries", queries},
                                       {"questions.sparse.mapping-tiles", mapping},
                                       {"questions.sparse.mapping-plain", mappingPlain},
                                       {"questions.sparse.mapping-deferred", mappingDeferred},
                                       {NULL, NULL}};
