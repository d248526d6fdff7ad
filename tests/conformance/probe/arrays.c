// CUDA arrays and mipmapped arrays: questions 95, 96, 103 to 108, 144 to 174.
#include "probe.h"

static CUresult make2D(CUarray* a, size_t width, size_t height, CUarray_format format, unsigned channels) {
  CUDA_ARRAY_DESCRIPTOR_v2 d = {width, height, format, channels};
  return D(cuArrayCreate_v2)(a, &d);
}

static CUresult make3D(CUarray* a, size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels,
                       unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {width, height, depth, format, channels, flags};
  return D(cuArray3DCreate_v2)(a, &d);
}

static void describe(const char* name, CUarray a) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d;
  memset(&d, 0x5a, sizeof d);
  CUresult r = D(cuArray3DGetDescriptor_v2)(&d, a);
  if (r)
    RESULT(name, r);
  else
    fact(name, "%zu %zu %zu format 0x%x channels %u flags 0x%x", d.Width, d.Height, d.Depth, d.Format, d.NumChannels,
         d.Flags);
}

static void creation(void) {
  start();
  CUarray a;
  RESULT("width 0", make2D(&a, 0, 4, CU_AD_FORMAT_FLOAT, 1));
  RESULT("height 0", make2D(&a, 64, 0, CU_AD_FORMAT_FLOAT, 1));
  describe("height 0 described", a);
  RESULT("height 1", make2D(&a, 64, 1, CU_AD_FORMAT_FLOAT, 1));
  describe("height 1 described", a);
  const unsigned channels[] = {0, 1, 2, 3, 4, 5, 16};
  char name[96];
  for (int i = 0; i < 7; ++i) {
    snprintf(name, sizeof name, "float channels %u", channels[i]);
    RESULT(name, make2D(&a, 64, 64, CU_AD_FORMAT_FLOAT, channels[i]));
  }
  RESULT("format 0", make2D(&a, 64, 64, 0, 1));
  RESULT("format 4", make2D(&a, 64, 64, 4, 1));
  RESULT("format 0x7fffffff", make2D(&a, 64, 64, 0x7fffffff, 1));
  RESULT("NULL handle", make2D(NULL, 64, 64, CU_AD_FORMAT_FLOAT, 1));
  RESULT("NULL descriptor", D(cuArrayCreate_v2)(&a, NULL));
  RESULT("height 0 depth 4", make3D(&a, 64, 0, 4, CU_AD_FORMAT_FLOAT, 1, 0));
  RESULT("layered depth 0", make3D(&a, 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
  RESULT("layered 1D", make3D(&a, 64, 0, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
  describe("layered 1D described", a);
  RESULT("cubemap not square", make3D(&a, 64, 32, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP));
  RESULT("cubemap depth 5", make3D(&a, 64, 64, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP));
  RESULT("cubemap", make3D(&a, 64, 64, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP));
  describe("cubemap described", a);
  RESULT("cubemap layered depth 8",
         make3D(&a, 64, 64, 8, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED));
  RESULT("cubemap layered depth 12",
         make3D(&a, 64, 64, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED));
  RESULT("surface and gather",
         make3D(&a, 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER));
  for (unsigned bit = 9; bit < 16; ++bit) {
    snprintf(name, sizeof name, "flag 0x%x", 1u << bit);
    RESULT(name, make3D(&a, 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 1u << bit));
  }
  RESULT("gather 1D", make3D(&a, 64, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER));
  RESULT("gather 3D", make3D(&a, 64, 64, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER));
  RESULT("depth texture", make3D(&a, 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEPTH_TEXTURE));
  RESULT("3D at maximum", make3D(&a, 16384, 16384, 16384, CU_AD_FORMAT_FLOAT, 4, 0));
  RESULT("3D beyond maximum", make3D(&a, 16385, 4, 4, CU_AD_FORMAT_FLOAT, 1, 0));
  RESULT("2D beyond maximum", make2D(&a, 131073, 4, CU_AD_FORMAT_FLOAT, 1));
  RESULT("alternate 3D", make3D(&a, 8192, 8192, 32768, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0));
  RESULT("wide and alternate deep", make3D(&a, 16384, 1, 32768, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0));
  CUDA_ARRAY_DESCRIPTOR_v2 d;
  make3D(&a, 64, 64, 4, CU_AD_FORMAT_FLOAT, 1, 0);
  RESULT("2D descriptor of a 3D array", D(cuArrayGetDescriptor_v2)(&d, a));
  RESULT("destroy", D(cuArrayDestroy)(a));
  RESULT("destroy NULL", D(cuArrayDestroy)(NULL));
  RESULT("descriptor of NULL", D(cuArrayGetDescriptor_v2)(&d, NULL));
}

static void destroyedTwice(void) {
  start();
  CUarray a;
  make2D(&a, 64, 64, CU_AD_FORMAT_FLOAT, 1);
  D(cuArrayDestroy)(a);
  RESULT("second destroy", D(cuArrayDestroy)(a));
}

static void mipmaps(void) {
  start();
  CUmipmappedArray m;
  CUarray l, l2;
  char name[64];
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {65, 33, 17, CU_AD_FORMAT_FLOAT, 1, 0};
  RESULT("65x33x17, 7 levels", D(cuMipmappedArrayCreate)(&m, &d, 7));
  for (unsigned i = 0; i < 8; ++i) {
    snprintf(name, sizeof name, "level %u", i);
    CUresult r = D(cuMipmappedArrayGetLevel)(&l, m, i);
    if (r)
      RESULT(name, r);
    else
      describe(name, l);
  }
  D(cuMipmappedArrayGetLevel)(&l, m, 0);
  D(cuMipmappedArrayGetLevel)(&l2, m, 0);
  fact("same handle for one level", "%s", YES(l == l2));
  RESULT("destroy a level", D(cuArrayDestroy)(l));
  RESULT("destroy", D(cuMipmappedArrayDestroy)(m));
  CUDA_ARRAY3D_DESCRIPTOR_v2 square = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  RESULT("0 levels", D(cuMipmappedArrayCreate)(&m, &square, 0));
  RESULT("100 levels", D(cuMipmappedArrayCreate)(&m, &square, 100));
  for (unsigned i = 6; i < 9; ++i) {
    snprintf(name, sizeof name, "level %u of 100", i);
    RESULT(name, D(cuMipmappedArrayGetLevel)(&l, m, i));
  }
  CUDA_ARRAY3D_DESCRIPTOR_v2 layered = {4, 4, 64, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED};
  RESULT("layered 7 levels", D(cuMipmappedArrayCreate)(&m, &layered, 7));
  RESULT("layered level 2", D(cuMipmappedArrayGetLevel)(&l, m, 2));
  describe("layered level 2 described", l);
  RESULT("layered level 5", D(cuMipmappedArrayGetLevel)(&l, m, 5));
}

static void planes(void) {
  start();
  CUarray a = NULL, p;
  RESULT("NV12", make2D(&a, 64, 64, CU_AD_FORMAT_NV12, 3));
  describe("NV12 described", a);
  for (unsigned i = 0; i < 4; ++i) {
    char name[32];
    snprintf(name, sizeof name, "plane %u", i);
    CUresult r = D(cuArrayGetPlane)(&p, a, i);
    if (r)
      RESULT(name, r);
    else
      describe(name, p);
  }
  RESULT("NV12 5x5", make2D(&a, 5, 5, CU_AD_FORMAT_NV12, 3));
  RESULT("NV12 1 channel", make2D(&a, 64, 64, CU_AD_FORMAT_NV12, 1));
  make2D(&a, 64, 64, CU_AD_FORMAT_FLOAT, 1);
  RESULT("plane of a plain array", D(cuArrayGetPlane)(&p, a, 0));
}

static void copies(void) {
  start();
  CUarray line, plane, box;
  CUdeviceptr p;
  float m[64 * 65] = {0}, back[64 * 64];
  D(cuMemAlloc_v2)(&p, 1 << 16);
  make2D(&line, 64, 0, CU_AD_FORMAT_FLOAT, 1);
  make2D(&plane, 64, 64, CU_AD_FORMAT_FLOAT, 1);
  make3D(&box, 64, 64, 4, CU_AD_FORMAT_FLOAT, 1, 0);
  RESULT("HtoA whole line", D(cuMemcpyHtoA_v2)(line, 0, m, 256));
  RESULT("HtoA offset 2", D(cuMemcpyHtoA_v2)(line, 2, m, 4));
  RESULT("HtoA 6 bytes", D(cuMemcpyHtoA_v2)(line, 0, m, 6));
  RESULT("HtoA past the end", D(cuMemcpyHtoA_v2)(line, 252, m, 8));
  RESULT("HtoA plane, row and a bit", D(cuMemcpyHtoA_v2)(plane, 0, m, 260));
  RESULT("HtoA plane, one row", D(cuMemcpyHtoA_v2)(plane, 0, m, 256));
  RESULT("HtoA box", D(cuMemcpyHtoA_v2)(box, 0, m, 256));
  RESULT("DtoA 0 bytes", D(cuMemcpyDtoA_v2)(line, 0, p, 0));
  RESULT("DtoA", D(cuMemcpyDtoA_v2)(line, 4, p, 4));
  RESULT("AtoD unaligned", D(cuMemcpyAtoD_v2)(p + 1, line, 0, 4));
  RESULT("AtoA overlapping", D(cuMemcpyAtoA_v2)(line, 4, line, 0, 128));
  RESULT("AtoH", D(cuMemcpyAtoH_v2)(back, line, 0, 256));
  RESULT("HtoA NULL array", D(cuMemcpyHtoA_v2)(NULL, 0, m, 4));
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = m;
  c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  c.dstArray = plane;
  c.WidthInBytes = 256;
  c.Height = 64;
  RESULT("2D whole", D(cuMemcpy2D_v2)(&c));
  c.WidthInBytes = 260;
  RESULT("2D too wide", D(cuMemcpy2D_v2)(&c));
  c.WidthInBytes = 256;
  c.Height = 65;
  RESULT("2D too high", D(cuMemcpy2D_v2)(&c));
  c.Height = 64;
  c.dstY = 1;
  RESULT("2D beyond by y", D(cuMemcpy2D_v2)(&c));
  c.dstY = 0;
  c.dstXInBytes = 4;
  RESULT("2D beyond by x", D(cuMemcpy2D_v2)(&c));
  c.dstXInBytes = 2;
  c.WidthInBytes = 4;
  RESULT("2D x not a multiple", D(cuMemcpy2D_v2)(&c));
  c.dstXInBytes = 0;
  c.WidthInBytes = 6;
  RESULT("2D width not a multiple", D(cuMemcpy2D_v2)(&c));
  c.WidthInBytes = 256;
  c.dstArray = box;
  RESULT("2D into a box", D(cuMemcpy2D_v2)(&c));
  c.dstArray = line;
  RESULT("2D 64 rows into a line", D(cuMemcpy2D_v2)(&c));
  c.Height = 1;
  RESULT("2D one row into a line", D(cuMemcpy2D_v2)(&c));
}

// Every format by channels: which creations succeed.
static void formats(void) {
  start();
  char name[64];
  for (unsigned f = 1; f < 256; ++f) {
    char answers[3][8] = {"", "", ""};
    bool any = false;
    const unsigned channels[] = {1, 2, 3, 4};
    for (int i = 0; i < 4; ++i) {
      CUarray a;
      CUmipmappedArray m;
      CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, (CUarray_format)f, channels[i], 0};
      CUresult r2 = make2D(&a, 64, 64, (CUarray_format)f, channels[i]);
      if (!r2) D(cuArrayDestroy)(a);
      CUresult r3 = D(cuArray3DCreate_v2)(&a, &d);
      if (!r3) D(cuArrayDestroy)(a);
      CUresult rm = D(cuMipmappedArrayCreate)(&m, &d, 1);
      if (!rm) D(cuMipmappedArrayDestroy)(m);
      char digit[2] = {(char)('0' + channels[i]), 0};
      if (!r2) strcat(answers[0], digit);
      if (!r3) strcat(answers[1], digit);
      if (!rm) strcat(answers[2], digit);
      any = any || !r2 || !r3 || !rm;
    }
    snprintf(name, sizeof name, "format 0x%02x", f);
    if (any) fact(name, "2D %s, 3D call %s, mipmapped %s", answers[0], answers[1], answers[2]);
  }
}

const Group kArrayGroups[] = {{"arrays.creation", creation},
                              {"arrays.destroyed-twice", destroyedTwice},
                              {"arrays.mipmaps", mipmaps},
                              {"arrays.planes", planes},
                              {"arrays.copies", copies},
                              {"arrays.formats", formats},
                              {NULL, NULL}};
