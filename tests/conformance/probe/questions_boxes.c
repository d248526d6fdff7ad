// Pitched and box copies: what is left of questions 97 to 109.
#include "questions.h"

#include <sys/mman.h>

#define H CU_MEMORYTYPE_HOST
#define V CU_MEMORYTYPE_DEVICE
#define A CU_MEMORYTYPE_ARRAY

static const size_t kBeyondPitch = (size_t)INT32_MAX + 1;

static CUDA_MEMCPY2D_v2 rectangle(CUmemorytype from, CUdeviceptr source, size_t sourcePitch, CUmemorytype to,
                                  CUdeviceptr destination, size_t destinationPitch, size_t height) {
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = from;
  c.srcHost = host(source);
  c.srcDevice = source;
  c.srcPitch = sourcePitch;
  c.dstMemoryType = to;
  c.dstHost = host(destination);
  c.dstDevice = destination;
  c.dstPitch = destinationPitch;
  c.WidthInBytes = 64;
  c.Height = height;
  return c;
}

// The same copy by all three functions.
static void three(const char* name, CUDA_MEMCPY2D_v2 c) {
  CUresult plain = D(cuMemcpy2D_v2)(&c), unaligned = D(cuMemcpy2DUnaligned_v2)(&c);
  CUresult async = D(cuMemcpy2DAsync_v2)(&c, 0);
  CUresult end = D(cuCtxSynchronize)();
  fact(name, "2D %s, unaligned %s, async %s", resultName(plain), resultName(unaligned), resultName(async));
  if (end) RESULT(name, end);
}

static void pitches(void) {
  start();
  CUdeviceptr p = deviceBytes(1 << 16), q = deviceBytes(1 << 16);
  char* m = hostPages(16);
  three("Q97: device to device, pitch 101", rectangle(V, p, 101, V, q, 101, 2));
  three("Q97: device to device, source pitch above maximum, height 1", rectangle(V, p, kBeyondPitch, V, q, 128, 1));
  three("Q97: device to device, destination pitch above maximum, height 1",
        rectangle(V, p, 128, V, q, kBeyondPitch, 1));
  three("Q98: host to device, destination pitch above maximum, height 1",
        rectangle(H, at(m), 64, V, q, kBeyondPitch, 1));
  three("Q99: host to device, pitch 0, height 2", rectangle(H, at(m), 0, V, q, 0, 2));
  three("Q99: host to device, pitch 32, height 2", rectangle(H, at(m), 32, V, q, 128, 2));
  three("Q99: host to device, pitch 32, height 1", rectangle(H, at(m), 32, V, q, 128, 1));
  three("Q99: height 0", rectangle(H, at(m), 64, V, q, 128, 0));
  three("Q99: source type 0", rectangle(0, at(m), 64, V, q, 128, 2));
  three("Q99: destination NULL", rectangle(H, at(m), 64, V, 0, 128, 2));
  three("Q99: destination beyond its end", rectangle(H, at(m), 64, V, q + 65536 - 64, 128, 2));
}

static void farPitch(void) {
  start();
  CUdeviceptr q = deviceBytes(1 << 16);
  char* m =
      mmap(NULL, kBeyondPitch + (1 << 16), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED) return;
  three("Q98: host to device, source pitch above maximum, height 2", rectangle(H, at(m), kBeyondPitch, V, q, 128, 2));
}

static unsigned char source[1 << 16], back[1 << 16];

static CUDA_MEMCPY3D_v2 intoArray(CUarray a, size_t width, size_t height, size_t depth, size_t z) {
  CUDA_MEMCPY3D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = H;
  c.srcHost = source;
  c.dstMemoryType = A;
  c.dstArray = a;
  c.dstZ = z;
  c.WidthInBytes = width;
  c.Height = height;
  c.Depth = depth;
  c.srcPitch = width;
  c.srcHeight = height;
  return c;
}

// Which of `layers` layers of an array of 16 x 4 floats hold something.
static void layersHeld(const char* name, CUarray a, size_t layers) {
  char held[32] = "";
  for (size_t z = 0; z < layers; ++z) {
    CUDA_MEMCPY3D_v2 c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = A;
    c.srcArray = a;
    c.srcZ = z;
    c.dstMemoryType = H;
    c.dstHost = back;
    c.WidthInBytes = 64;
    c.Height = 4;
    c.Depth = 1;
    memset(back, 0, 256);
    D(cuMemcpy3D_v2)(&c);
    bool any = false;
    for (int i = 0; i < 256; ++i) any = any || back[i];
    if (any) sprintf(held + strlen(held), "%zu ", z);
  }
  fact(name, "%s", held);
}

static void emptied(CUarray a, size_t layers) {
  memset(source, 0, sizeof source);
  CUDA_MEMCPY3D_v2 c = intoArray(a, 64, 4, layers, 0);
  D(cuMemcpy3D_v2)(&c);
  memset(source, 5, sizeof source);
}

static void layers(void) {
  start();
  CUarray box, layered, cube, cubes;
  makeArray(&box, 16, 4, 4, CU_AD_FORMAT_FLOAT, 1, 0);
  makeArray(&layered, 16, 4, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED);
  makeArray(&cube, 16, 16, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP);
  makeArray(&cubes, 16, 16, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED);
  const struct {
    const char* name;
    CUarray a;
    size_t layers;
  } shapes[] = {{"3D", box, 4}, {"layered", layered, 4}, {"cubemap", cube, 6}, {"cubemap layered", cubes, 12}};
  char name[96];
  for (int i = 0; i < 4; ++i) {
    emptied(shapes[i].a, shapes[i].layers);
    CUDA_MEMCPY2D_v2 c2 = rectangle(H, at(source), 64, A, 0, 0, 4);
    c2.dstArray = shapes[i].a;
    snprintf(name, sizeof name, "Q103: cuMemcpy2D into a %s array", shapes[i].name);
    RESULT(name, D(cuMemcpy2D_v2)(&c2));
    snprintf(name, sizeof name, "Q103: layers of the %s array it wrote", shapes[i].name);
    layersHeld(name, shapes[i].a, shapes[i].layers);
    emptied(shapes[i].a, shapes[i].layers);
    CUDA_MEMCPY3D_v2 c = intoArray(shapes[i].a, 64, 4, 1, 3);
    snprintf(name, sizeof name, "Q108: cuMemcpy3D at z 3 of a %s array", shapes[i].name);
    RESULT(name, D(cuMemcpy3D_v2)(&c));
    snprintf(name, sizeof name, "Q108: layers of the %s array it wrote", shapes[i].name);
    layersHeld(name, shapes[i].a, shapes[i].layers);
    c = intoArray(shapes[i].a, 64, 4, 2, shapes[i].layers - 1);
    snprintf(name, sizeof name, "Q108: two layers at the last of a %s array", shapes[i].name);
    RESULT(name, D(cuMemcpy3D_v2)(&c));
  }
}

static void lineBoxes(void) {
  start();
  CUarray line, plane, layeredLine;
  makeArray(&line, 16, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  makeArray(&plane, 16, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  makeArray(&layeredLine, 16, 0, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED);
  const size_t extents[][2] = {{1, 1}, {0, 0}, {0, 1}, {1, 0}, {2, 1}, {1, 2}};
  char name[96];
  for (int i = 0; i < 6; ++i) {
    const size_t h = extents[i][0], d = extents[i][1];
    CUDA_MEMCPY3D_v2 c = intoArray(line, 64, h, d, 0);
    snprintf(name, sizeof name, "Q107: cuMemcpy3D into a 1D array, height %zu depth %zu", h, d);
    RESULT(name, D(cuMemcpy3D_v2)(&c));
    c = intoArray(plane, 64, h, d, 0);
    snprintf(name, sizeof name, "Q107: cuMemcpy3D into a 2D array, height %zu depth %zu", h, d);
    RESULT(name, D(cuMemcpy3D_v2)(&c));
    c = intoArray(layeredLine, 64, h, d, 0);
    snprintf(name, sizeof name, "Q107: cuMemcpy3D into a 1D layered array, height %zu depth %zu", h, d);
    RESULT(name, D(cuMemcpy3D_v2)(&c));
  }
  CUDA_MEMCPY3D_v2 c = intoArray(line, 64, 1, 1, 1);
  RESULT("Q107: z 1 of a 1D array", D(cuMemcpy3D_v2)(&c));
  c = intoArray(layeredLine, 64, 1, 1, 3);
  RESULT("Q107: z 3 of a 1D layered array", D(cuMemcpy3D_v2)(&c));
  c.dstZ = 0;
  c.dstY = 3;
  RESULT("Q107: y 3 of a 1D layered array", D(cuMemcpy3D_v2)(&c));
}

static void levels(void) {
  start();
  CUmipmappedArray m;
  CUarray l0, l1;
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {16, 4, 4, CU_AD_FORMAT_FLOAT, 1, 0};
  D(cuMipmappedArrayCreate)(&m, &d, 2);
  D(cuMipmappedArrayGetLevel)(&l0, m, 0);
  D(cuMipmappedArrayGetLevel)(&l1, m, 1);
  CUDA_MEMCPY3D_v2 c = intoArray(l0, 32, 2, 2, 0);
  c.dstLOD = 1;
  RESULT("Q105: dstLOD 1 of level 0", D(cuMemcpy3D_v2)(&c));
  c = intoArray(l1, 64, 4, 4, 0);
  RESULT("Q105: whole size of level 0 into level 1", D(cuMemcpy3D_v2)(&c));
  c = intoArray(l1, 32, 2, 2, 0);
  RESULT("Q105: into level 1", D(cuMemcpy3D_v2)(&c));
  CUarray plain;
  makeArray(&plain, 16, 4, 4, CU_AD_FORMAT_FLOAT, 1, 0);
  c = intoArray(plain, 64, 4, 4, 0);
  c.dstLOD = 1;
  RESULT("Q105: dstLOD 1 of a plain array", D(cuMemcpy3D_v2)(&c));
}

static void defaults(void) {
  start();
  CUdeviceptr p = deviceBytes(4096);
  for (size_t i = 0; i < sizeof source; ++i) source[i] = (unsigned char)(i / 64 + 1);
  CUDA_MEMCPY3D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = H;
  c.srcHost = source;
  c.srcPitch = 64;
  c.dstMemoryType = V;
  c.dstDevice = p;
  c.dstPitch = 64;
  c.dstHeight = 4;
  c.WidthInBytes = 64;
  c.Height = 4;
  c.Depth = 2;
  RESULT("Q104: source height 0, height 4, depth 2", D(cuMemcpy3D_v2)(&c));
  D(cuMemcpyDtoH_v2)(back, p, 512);
  fact("Q104: rows that arrived", "%d %d %d %d, %d %d %d %d", back[0], back[64], back[128], back[192], back[256],
       back[320], back[384], back[448]);
  c.srcPitch = 0;
  c.srcHeight = 4;
  RESULT("Q104: source pitch 0", D(cuMemcpy3D_v2)(&c));
  D(cuMemcpyDtoH_v2)(back, p, 512);
  fact("Q89: rows that arrived with pitch 0", "%d %d %d %d", back[0], back[64], back[128], back[192]);
  c.srcHeight = 3;
  c.srcPitch = 64;
  c.Depth = 1;
  RESULT("Q104: source height 3 of 4, depth 1", D(cuMemcpy3D_v2)(&c));
  c.srcY = 2;
  c.srcHeight = 4;
  RESULT("Q104: source height 4, y 2, height 4", D(cuMemcpy3D_v2)(&c));
}

static void peerBoxes(void) {
  start();
  CUdeviceptr p = deviceBytes(4096);
  CUcontext other;
  D(cuCtxCreate_v2)(&other, 0, device);
  CUdeviceptr q = deviceBytes(4096);
  const struct {
    const char* name;
    CUcontext from, to;
  } cases[] = {{"two contexts", context, other},
               {"contexts swapped", other, context},
               {"the same context", context, context},
               {"source context NULL", NULL, other},
               {"both NULL", NULL, NULL}};
  char name[96];
  for (int i = 0; i < 5; ++i) {
    CUDA_MEMCPY3D_PEER c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = c.dstMemoryType = V;
    c.srcDevice = p;
    c.dstDevice = q;
    c.srcContext = cases[i].from;
    c.dstContext = cases[i].to;
    c.WidthInBytes = 64;
    c.Height = c.Depth = 2;
    c.srcPitch = c.dstPitch = 64;
    c.srcHeight = c.dstHeight = 2;
    snprintf(name, sizeof name, "Q109: cuMemcpy3DPeer, %s", cases[i].name);
    RESULT(name, D(cuMemcpy3DPeer)(&c));
    snprintf(name, sizeof name, "Q109: cuMemcpy3DPeerAsync, %s", cases[i].name);
    RESULT(name, D(cuMemcpy3DPeerAsync)(&c, 0));
  }
  RESULT("Q109: cuMemcpy3DPeer of NULL", D(cuMemcpy3DPeer)(NULL));
}

const Group kQuestionBoxGroups[] = {{"questions.boxes.pitches", pitches}, {"questions.boxes.far-pitch", farPitch},
                                    {"questions.boxes.layers", layers},   {"questions.boxes.lines", lineBoxes},
                                    {"questions.boxes.levels", levels},   {"questions.boxes.defaults", defaults},
                                    {"questions.boxes.peers", peerBoxes}, {NULL, NULL}};
