// Batches of copies, decompression, notifications, logs, and the functions of the 32-bit era: questions 175 to 192, 202
// to 204.
#include "probe.h"

#include <pthread.h>
#include <unistd.h>

static CUdeviceptr at(void* p) { return (CUdeviceptr)(uintptr_t)p; }

static CUstream s;
static CUdeviceptr p, q;
static char* h;
static char* m;
static CUmemcpyAttributes a[4];

static void prepare(void) {
  start();
  D(cuStreamCreate)(&s, 0);
  D(cuMemAlloc_v2)(&p, 65536);
  D(cuMemAlloc_v2)(&q, 65536);
  D(cuMemHostAlloc)((void**)&h, 65536, 0);
  if (posix_memalign((void**)&m, 4096, 65536)) _exit(1);
  memset(h, 1, 65536);
  memset(m, 2, 65536);
  D(cuMemsetD8_v2)(p, 0, 65536);
  D(cuCtxSynchronize)();
  memset(a, 0, sizeof a);
  for (int i = 0; i < 4; ++i) a[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
}

static CUresult one(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  size_t index = 0;
  return D(cuMemcpyBatchAsync_v2)(&to, &from, &bytes, 1, a, &index, 1, stream);
}

static unsigned char byteAt(CUdeviceptr where) {
  unsigned char byte = 0xee;
  D(cuMemcpyDtoH_v2)(&byte, where, 1);
  return byte;
}

static void arguments(void) {
  prepare();
  size_t n[4] = {4, 4, 4, 4}, index[4] = {0, 1, 2, 3};
  CUdeviceptr to[4] = {p, p + 64, p + 128, p + 192}, from[4] = {at(h), at(h) + 64, at(h) + 128, at(h) + 192};
  RESULT("nothing at all", D(cuMemcpyBatchAsync_v2)(NULL, NULL, NULL, 0, NULL, NULL, 0, s));
  RESULT("count 0, one attribute", D(cuMemcpyBatchAsync_v2)(to, from, n, 0, a, index, 1, s));
  RESULT("pageable source", one(p, at(m), 64, s));
  RESULT("pageable destination", one(at(m), p, 64, s));
  RESULT("pageable both", one(at(m), at(m) + 128, 64, s));
  a[0].flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
  RESULT("overlap flag", one(p, at(h), 4, s));
  a[0].flags = 2;
  RESULT("flags 2", one(p, at(h), 4, s));
  a[0].flags = 0;
  a[0].srcAccessOrder = (CUmemcpySrcAccessOrder)4;
  RESULT("access order 4", one(p, at(h), 4, s));
  a[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_MAX;
  RESULT("access order MAX", one(p, at(h), 4, s));
  a[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  for (int type = 0; type < 7; ++type) {
    char name[48];
    a[0].srcLocHint.type = (CUmemLocationType)(type == 6 ? 99 : type);
    snprintf(name, sizeof name, "source hint type %d", (int)a[0].srcLocHint.type);
    RESULT(name, one(p, at(h), 4, s));
    a[0].srcLocHint.type = 0;
  }
  a[0].srcLocHint.type = CU_MEM_LOCATION_TYPE_DEVICE;
  a[0].srcLocHint.id = 77;
  RESULT("source hint device 77", one(p, at(h), 4, s));
  CUdeviceptr v;
  D(cuMemAllocManaged)(&v, 65536, CU_MEM_ATTACH_GLOBAL);
  RESULT("source hint device 77, managed source", one(p, v, 4, s));
  a[0].srcLocHint.type = (CUmemLocationType)99;
  RESULT("source hint type 99, managed source", one(p, v, 4, s));
  a[0].srcLocHint.type = 0;
  RESULT("managed to device", one(p, v, 64, s));
  RESULT("size 0 alone", one(p, at(h), 0, s));
  RESULT("the same place", one(p, p, 64, s));
  RESULT("past the end of the destination", one(p + 65532, at(h), 64, s));
  RESULT("far past the end of the destination", one(p, at(h), 8 << 20, s));
  RESULT("past the end of the source", one(q, p + 65532, 64, s));
  D(cuMemHostRegister_v2)(m, 4096, 0);
  RESULT("source over registered and not", one(p, at(m), 8192, s));
  RESULT("destination over registered and not", one(at(m), p, 8192, s));
  D(cuMemHostUnregister)(m);
  RESULT("stream", D(cuStreamSynchronize)(s));
  RESULT("stale stream", D(cuStreamDestroy_v2)(s) ? CUDA_ERROR_UNKNOWN : one(p, at(h), 4, s));
}

static void partialEffects(void) {
  prepare();
  size_t n[4] = {4, 4, 0, 4}, index[4] = {0, 1, 2, 3};
  CUdeviceptr to[4] = {p, p + 64, p + 128, p + 192}, from[4] = {at(h), at(h) + 64, at(h) + 128, at(h) + 192};
  RESULT("third size 0", D(cuMemcpyBatchAsync_v2)(to, from, n, 4, a, index, 1, s));
  D(cuStreamSynchronize)(s);
  fact("the first was copied", "%s", YES(byteAt(p) == 1));
  n[2] = 4;
  a[1].srcAccessOrder = 0;
  RESULT("second attribute bad", D(cuMemcpyBatchAsync_v2)(to, from, n, 4, a, index, 2, s));
  D(cuStreamSynchronize)(s);
  fact("the first was copied", "%s", YES(byteAt(p) == 1));
  a[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  D(cuMemHostRegister_v2)(m, 4096, 0);
  from[2] = at(m);
  n[2] = 8192;
  RESULT("third source partly registered", D(cuMemcpyBatchAsync_v2)(to, from, n, 4, a, index, 1, s));
  D(cuStreamSynchronize)(s);
  fact("the first was copied", "%s", YES(byteAt(p) == 1));
  fact("the last was copied", "%s", YES(byteAt(p + 192) == 1));
}

static void failIndex(void) {
  prepare();
  size_t n[4] = {4, 4, 4, 4}, index[4] = {0, 1, 2, 3}, twisted[3] = {0, 3, 2}, one1[1] = {1};
  size_t fail = 77;
  CUdeviceptr to[4] = {p, p + 64, p + 128, p + 192}, from[4] = {at(h), at(h) + 64, at(h) + 128, at(h) + 192};
#define FAILIDX(name, ...)                                                                 \
  do {                                                                                     \
    fail = 77;                                                                             \
    CUresult result = D(cuMemcpyBatchAsync)(__VA_ARGS__);                                  \
    fact(name, "%s, %s%zd", resultName(result), fail == 77 ? "kept " : "", (ssize_t)fail); \
  } while (0)
  FAILIDX("success", to, from, n, 4, a, index, 1, &fail, s);
  FAILIDX("count 0", to, from, n, 0, a, index, 1, &fail, s);
  FAILIDX("legacy stream", to, from, n, 4, a, index, 1, &fail, NULL);
  FAILIDX("no attributes", to, from, n, 4, a, index, 0, &fail, s);
  FAILIDX("more attributes than copies", to, from, n, 2, a, index, 3, &fail, s);
  FAILIDX("indices not increasing", to, from, n, 4, a, twisted, 3, &fail, s);
  FAILIDX("indices from 1", to, from, n, 4, a, one1, 1, &fail, s);
  FAILIDX("without failIdx", to, from, n, 4, a, one1, 1, NULL, s);
  n[1] = 0;
  FAILIDX("second size 0", to, from, n, 4, a, index, 1, &fail, s);
  n[1] = 4;
  a[2].srcAccessOrder = 0;
  FAILIDX("third attribute has order 0", to, from, n, 4, a, index, 4, &fail, s);
  a[2].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  a[2].flags = 0x80;
  FAILIDX("third attribute has flags 0x80", to, from, n, 4, a, index, 4, &fail, s);
  a[2].flags = 0;
  size_t jump[2] = {0, 2};
  a[1].srcAccessOrder = 0;
  FAILIDX("second attribute, for the third copy, has order 0", to, from, n, 4, a, jump, 2, &fail, s);
  a[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  D(cuMemHostRegister_v2)(m, 4096, 0);
  from[2] = at(m);
  n[2] = 8192;
  FAILIDX("third source partly registered", to, from, n, 4, a, index, 1, &fail, s);
  from[2] = at(h) + 128;
  n[2] = 1 << 20;
  FAILIDX("third past the end", to, from, n, 4, a, index, 1, &fail, s);
  D(cuStreamSynchronize)(s);
  fact("the first was copied", "%s", YES(byteAt(p) == 1));
}

static void nullArrays(void) {
  prepare();
  size_t n = 4;
  CUdeviceptr to = p, from = at(h);
  RESULT("attributes NULL", D(cuMemcpyBatchAsync_v2)(&to, &from, &n, 1, NULL, &(size_t){0}, 1, s));
  RESULT("indices NULL", D(cuMemcpyBatchAsync_v2)(&to, &from, &n, 1, a, NULL, 1, s));
  RESULT("sizes NULL", D(cuMemcpyBatchAsync_v2)(&to, &from, NULL, 1, a, &(size_t){0}, 1, s));
  RESULT("destinations NULL", D(cuMemcpyBatchAsync_v2)(NULL, &from, &n, 1, a, &(size_t){0}, 1, s));
  RESULT("sources NULL", D(cuMemcpyBatchAsync_v2)(&to, NULL, &n, 1, a, &(size_t){0}, 1, s));
}
static void nullSource(void) {
  prepare();
  RESULT("source address 0", one(p, 0, 4, s));
  RESULT("stream", D(cuStreamSynchronize)(s));
}
static void nullDestination(void) {
  prepare();
  RESULT("destination address 0", one(0, at(h), 4, s));
  RESULT("stream", D(cuStreamSynchronize)(s));
}
static void wildDestination(void) {
  prepare();
  RESULT("wild destination", one(0x123456789000ull, at(h), 4, s));
  RESULT("stream", D(cuStreamSynchronize)(s));
}
static void freedSource(void) {
  prepare();
  CUdeviceptr freed;
  D(cuMemAlloc_v2)(&freed, 8 << 20);
  D(cuMemFree_v2)(freed);
  RESULT("freed source", one(p, freed, 4, s));
  RESULT("stream", D(cuStreamSynchronize)(s));
}
static void noContext(void) {
  prepare();
  D(cuCtxSetCurrent)(NULL);
  RESULT("without a context", one(p, at(h), 4, s));
  CUDA_MEMCPY3D_BATCH_OP op;
  memset(&op, 0, sizeof op);
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = at(h);
  op.dst.op.ptr.ptr = p;
  op.extent.width = op.extent.height = op.extent.depth = 1;
  op.srcAccessOrder = 1;
  RESULT("boxes without a context", D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, s));
  CUmemDecompressParams params;
  memset(&params, 0, sizeof params);
  RESULT("decompression without a context", D(cuMemBatchDecompressAsync)(&params, 1, 0, NULL, s));
}

// Whether the call waits for a busy stream, and which bytes it copies when the source changes after it returned.
static void order(void) {
  prepare();
  static const char* const names[] = {"", "stream", "during call", "any"};
  const CUdeviceptr sources[] = {at(m), at(h), q};
  static const char* const kinds[] = {"pageable", "pinned", "device"};
  for (int which = 1; which <= 3; ++which)
    for (int kind = 0; kind < 3; ++kind) {
      char name[64];
      a[0].srcAccessOrder = (CUmemcpySrcAccessOrder)which;
      memset(m, 2, 64);
      memset(h, 2, 64);
      D(cuMemsetD8_v2)(q, 2, 64);
      D(cuMemsetD8_v2)(p, 0, 64);
      D(cuCtxSynchronize)();
      busy(s, 100);
      double started = now();
      CUresult result = one(p, sources[kind], 64, s);
      const char* how = waited(started, 100);
      memset(m, 3, 64);
      memset(h, 3, 64);
      CUresult query = D(cuStreamQuery)(s);
      D(cuStreamSynchronize)(s);
      snprintf(name, sizeof name, "%s, %s", names[which], kinds[kind]);
      fact(name, "%s, %s, then %s, copied %s", resultName(result), how, resultName(query),
           kind == 2        ? (byteAt(p) == 2 ? "right" : "wrong")
           : byteAt(p) == 2 ? "old bytes"
                            : "new bytes");
    }
  a[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  const CUdeviceptr targets[] = {at(m), at(h), q};
  for (int kind = 0; kind < 3; ++kind) {
    char name[64];
    busy(s, 100);
    double started = now();
    CUresult result = one(targets[kind], p, 64, s);
    snprintf(name, sizeof name, "device to %s", kinds[kind]);
    fact(name, "%s, %s", resultName(result), waited(started, 100));
    D(cuStreamSynchronize)(s);
  }
  busy(s, 100);
  double started = now();
  CUresult result = one(p, at(m), 65536, s);
  fact("64 KiB of pageable memory", "%s, %s", resultName(result), waited(started, 100));
  D(cuStreamSynchronize)(s);
  char* large = malloc(4 << 20);
  CUdeviceptr big;
  D(cuMemAlloc_v2)(&big, 4 << 20);
  memset(large, 2, 4 << 20);
  for (int which = 1; which <= 3; ++which) {
    char name[64];
    a[0].srcAccessOrder = (CUmemcpySrcAccessOrder)which;
    busy(s, 100);
    started = now();
    result = one(big, at(large), 4 << 20, s);
    snprintf(name, sizeof name, "4 MiB of pageable memory, %s", names[which]);
    fact(name, "%s, %s", resultName(result), waited(started, 100));
    D(cuStreamSynchronize)(s);
  }
}

static CUDA_MEMCPY3D_BATCH_OP boxOf(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D_BATCH_OP op;
  memset(&op, 0, sizeof op);
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = from;
  op.dst.op.ptr.ptr = to;
  op.extent.width = 8;
  op.extent.height = 4;
  op.extent.depth = 2;
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return op;
}

static void boxes(void) {
  prepare();
  CUDA_MEMCPY3D_BATCH_OP op = boxOf(p, at(h));
#define BOX(name, change)                                   \
  do {                                                      \
    op = boxOf(p, at(h));                                   \
    change;                                                 \
    RESULT(name, D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, s)); \
  } while (0)
  BOX("one", (void)0);
  RESULT("none", D(cuMemcpy3DBatchAsync_v2)(0, &op, 0, s));
  RESULT("none and NULL", D(cuMemcpy3DBatchAsync_v2)(0, NULL, 0, s));
  RESULT("NULL", D(cuMemcpy3DBatchAsync_v2)(1, NULL, 0, s));
  RESULT("flags 1", D(cuMemcpy3DBatchAsync_v2)(1, &op, 1, s));
  RESULT("on NULL", D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, NULL));
  RESULT("on LEGACY", D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, CU_STREAM_LEGACY));
  RESULT("on PER_THREAD", D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, CU_STREAM_PER_THREAD));
  BOX("width 0", op.extent.width = 0);
  BOX("height 0", op.extent.height = 0);
  BOX("depth 0", op.extent.depth = 0);
  BOX("source row length 7", op.src.op.ptr.rowLength = 7);
  BOX("source row length 8", op.src.op.ptr.rowLength = 8);
  BOX("source row length 9", op.src.op.ptr.rowLength = 9);
  BOX("destination row length 7", op.dst.op.ptr.rowLength = 7);
  BOX("source layer height 3", op.src.op.ptr.layerHeight = 3);
  BOX("source layer height 4", op.src.op.ptr.layerHeight = 4);
  BOX("destination layer height 3", op.dst.op.ptr.layerHeight = 3);
  BOX("layer height without row length", op.src.op.ptr.layerHeight = 5);
  BOX("type 0", op.src.type = 0);
  BOX("type 3", op.src.type = (CUmemcpy3DOperandType)3);
  BOX("access order 0", op.srcAccessOrder = 0);
  BOX("access order 4", op.srcAccessOrder = (CUmemcpySrcAccessOrder)4);
  BOX("access order 2", op.srcAccessOrder = (CUmemcpySrcAccessOrder)2);
  BOX("access order 3", op.srcAccessOrder = (CUmemcpySrcAccessOrder)3);
  BOX("op flags 1", op.flags = 1);
  BOX("op flags 2", op.flags = 2);
  BOX("op flags 0x80", op.flags = 0x80);
  BOX("hint type 99", op.src.op.ptr.locHint.type = (CUmemLocationType)99);
  BOX("hint device 77", (op.src.op.ptr.locHint.type = CU_MEM_LOCATION_TYPE_DEVICE, op.src.op.ptr.locHint.id = 77));
  BOX("pageable source", op.src.op.ptr.ptr = at(m));
  BOX("pageable destination", op.dst.op.ptr.ptr = at(m));
  BOX("past the end", op.dst.op.ptr.ptr = p + 65536 - 16);
  BOX("far past the end", op.extent.depth = 1 << 20);
  BOX("huge", op.extent.depth = SIZE_MAX);
  D(cuMemHostRegister_v2)(m, 4096, 0);
  BOX("partly registered", (op.src.op.ptr.ptr = at(m), op.extent.width = 8192, op.extent.height = op.extent.depth = 1));
  D(cuMemHostUnregister)(m);
  RESULT("stream", D(cuStreamSynchronize)(s));
  size_t fail = 77;
  CUDA_MEMCPY3D_BATCH_OP ops[3] = {boxOf(p, at(h)), boxOf(p + 4096, at(h)), boxOf(p + 8192, at(h))};
  CUresult result = D(cuMemcpy3DBatchAsync)(3, ops, &fail, 0, s);
  fact("failIdx of success", "%s, %s%zd", resultName(result), fail == 77 ? "kept " : "", (ssize_t)fail);
  ops[1].extent.width = 0;
  fail = 77;
  result = D(cuMemcpy3DBatchAsync)(3, ops, &fail, 0, s);
  fact("failIdx of width 0", "%s, %s%zd", resultName(result), fail == 77 ? "kept " : "", (ssize_t)fail);
  ops[1] = boxOf(p, at(h));
  ops[1].srcAccessOrder = 0;
  fail = 77;
  result = D(cuMemcpy3DBatchAsync)(3, ops, &fail, 0, s);
  fact("failIdx of order 0", "%s, %s%zd", resultName(result), fail == 77 ? "kept " : "", (ssize_t)fail);
  fail = 77;
  result = D(cuMemcpy3DBatchAsync)(3, ops, &fail, 1, s);
  fact("failIdx of flags 1", "%s, %s%zd", resultName(result), fail == 77 ? "kept " : "", (ssize_t)fail);
  fail = 77;
  result = D(cuMemcpy3DBatchAsync)(0, ops, &fail, 0, s);
  fact("failIdx of none", "%s, %s%zd", resultName(result), fail == 77 ? "kept " : "", (ssize_t)fail);
  fail = 77;
  result = D(cuMemcpy3DBatchAsync)(3, ops, &fail, 0, NULL);
  fact("failIdx on NULL", "%s, %s%zd", resultName(result), fail == 77 ? "kept " : "", (ssize_t)fail);
  // Strides: which bytes arrive.
  for (int i = 0; i < 4096; ++i) h[i] = (char)i;
  op = boxOf(p, at(h));
  op.src.op.ptr.rowLength = 16;
  op.src.op.ptr.layerHeight = 5;
  RESULT("strided source", D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, s));
  D(cuStreamSynchronize)(s);
  fact("second row, second layer start with", "%d %d", byteAt(p + 8), byteAt(p + 32));
}

static void boxArrays(void) {
  prepare();
  CUarray floats, halves, volume;
  CUDA_ARRAY_DESCRIPTOR flat = {64, 16, CU_AD_FORMAT_FLOAT, 1};
  D(cuArrayCreate_v2)(&floats, &flat);
  flat.Format = CU_AD_FORMAT_HALF;
  D(cuArrayCreate_v2)(&halves, &flat);
  CUDA_ARRAY3D_DESCRIPTOR deep;
  memset(&deep, 0, sizeof deep);
  deep.Width = 16, deep.Height = 8, deep.Depth = 4, deep.Format = CU_AD_FORMAT_FLOAT, deep.NumChannels = 1;
  D(cuArray3DCreate_v2)(&volume, &deep);
  CUDA_MEMCPY3D_BATCH_OP op;
#define TO_ARRAY(name, change)                              \
  do {                                                      \
    op = boxOf(0, at(h));                                   \
    op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;             \
    memset(&op.dst.op, 0, sizeof op.dst.op);                \
    op.dst.op.array.array = floats;                         \
    op.extent.depth = 1;                                    \
    change;                                                 \
    RESULT(name, D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, s)); \
  } while (0)
  TO_ARRAY("pointer to array", (void)0);
  TO_ARRAY("pointer at an odd address", op.src.op.ptr.ptr += 1);
  TO_ARRAY("device pointer at an odd address", op.src.op.ptr.ptr = p + 1);
  TO_ARRAY("row length 7", op.src.op.ptr.rowLength = 7);
  TO_ARRAY("row length 9", op.src.op.ptr.rowLength = 9);
  TO_ARRAY("NULL array", op.dst.op.array.array = NULL);
  TO_ARRAY("offset beyond", op.dst.op.array.offset.x = 60);
  TO_ARRAY("offset at the end", op.dst.op.array.offset.x = 56);
  TO_ARRAY("offset y beyond", op.dst.op.array.offset.y = 13);
  TO_ARRAY("offset z beyond", op.dst.op.array.offset.z = 1);
  TO_ARRAY("depth 2 of a flat array", op.extent.depth = 2);
  TO_ARRAY("volume", (op.dst.op.array.array = volume, op.extent.depth = 4));
  TO_ARRAY("volume, too deep", (op.dst.op.array.array = volume, op.extent.depth = 5));
#define BETWEEN(name, to, from)                               \
  do {                                                        \
    op = boxOf(0, 0);                                         \
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY; \
    memset(&op.dst.op, 0, sizeof op.dst.op);                  \
    memset(&op.src.op, 0, sizeof op.src.op);                  \
    op.src.op.array.array = from, op.dst.op.array.array = to; \
    op.extent.depth = 1;                                      \
    RESULT(name, D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, s));   \
  } while (0)
  BETWEEN("float to half array", halves, floats);
  BETWEEN("float to float array", volume, floats);
  RESULT("stream", D(cuStreamSynchronize)(s));
  float values[4] = {1, 2, 3, 4}, row[64];
  memcpy(h, values, sizeof values);
  CUDA_MEMCPY2D back;
  memset(&back, 0, sizeof back);
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = floats;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = row;
  back.WidthInBytes = sizeof row;
  back.Height = 1;
  TO_ARRAY("one element at offset 1", (op.dst.op.array.offset.x = 1, op.extent.width = op.extent.height = 1));
  D(cuStreamSynchronize)(s);
  D(cuMemcpy2D_v2)(&back);
  fact("offset is in elements", "%s", YES(row[1] == 1));
}

static void decompression(void) {
  prepare();
  int value = -1;
  RESULT("algorithm mask", D(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, device));
  fact("mask", "%d", value);
  RESULT("maximum length", D(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH, device));
  fact("maximum", "%d", value);
  int capable = 1;
  RESULT("cuMemAlloc memory capable",
         D(cuPointerGetAttribute)(&capable, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, p));
  fact("is", "%s", YES(capable));
  capable = 1;
  RESULT("pinned memory capable",
         D(cuPointerGetAttribute)(&capable, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, at(h)));
  fact("is", "%s", YES(capable));
  // A stored Deflate block of "abc".
  static const unsigned char deflated[] = {1, 3, 0, 0xfc, 0xff, 'a', 'b', 'c'};
  D(cuMemcpyHtoD_v2)(p, deflated, sizeof deflated);
  CUmemDecompressParams params[2];
  memset(params, 0, sizeof params);
  params[0].srcNumBytes = sizeof deflated;
  params[0].dstNumBytes = 64;
  params[0].src = (const void*)(uintptr_t)p;
  params[0].dst = (void*)(uintptr_t)(p + 4096);
  params[0].dstActBytes = (cuuint32_t*)(uintptr_t)(p + 8192);
  params[0].algo = CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE;
  params[1] = params[0];
  size_t index = 77;
#define DECOMPRESS(name, ...)                                                                \
  do {                                                                                       \
    index = 77;                                                                              \
    CUresult result = D(cuMemBatchDecompressAsync)(__VA_ARGS__);                             \
    fact(name, "%s, %s%zd", resultName(result), index == 77 ? "kept " : "", (ssize_t)index); \
  } while (0)
  DECOMPRESS("one", params, 1, 0, &index, s);
  DECOMPRESS("two", params, 2, 0, &index, s);
  DECOMPRESS("without index", params, 1, 0, NULL, s);
  DECOMPRESS("count 0", params, 0, 0, &index, s);
  DECOMPRESS("NULL and 0", NULL, 0, 0, &index, s);
  DECOMPRESS("NULL", NULL, 1, 0, &index, s);
  DECOMPRESS("flags 1", params, 1, 1, &index, s);
  DECOMPRESS("on legacy", params, 1, 0, &index, NULL);
  params[1].algo = 0;
  DECOMPRESS("second algorithm 0", params, 2, 0, &index, s);
  params[1] = params[0];
  params[1].padding[0] = 1;
  DECOMPRESS("second padding 1", params, 2, 0, &index, s);
  params[1] = params[0];
  params[1].src = m;
  DECOMPRESS("second source pageable", params, 2, 0, &index, s);
  params[1] = params[0];
  params[1].srcNumBytes = 0;
  DECOMPRESS("second source empty", params, 2, 0, &index, s);
  RESULT("stream", D(cuStreamSynchronize)(s));
  CUstream gone;
  D(cuStreamCreate)(&gone, 0);
  D(cuStreamDestroy_v2)(gone);
  DECOMPRESS("stale stream", params, 1, 0, &index, gone);
}

static volatile int notified;
static CUresult insideRegister = CUDA_ERROR_UNKNOWN, insideUnregister = CUDA_ERROR_UNKNOWN;
static CUcontext insideContext = (CUcontext)(intptr_t)7;
static pthread_t mainThread;
static bool sameThread;
static CUasyncCallbackHandle insideHandle;
static void notification(CUasyncNotificationInfo* info, void* data, CUasyncCallbackHandle handle) {
  (void)info, (void)data;
  ++notified;
  sameThread = pthread_equal(pthread_self(), mainThread);
  D(cuCtxGetCurrent)(&insideContext);
  CUasyncCallbackHandle k;
  insideHandle = handle;
  insideRegister = D(cuDeviceRegisterAsyncNotification)(device, notification, NULL, &k);
  insideUnregister = D(cuDeviceUnregisterAsyncNotification)(device, handle);
}

static void notifications(void) {
  prepare();
  mainThread = pthread_self();
  CUasyncCallbackHandle k = NULL, k2 = NULL, k3 = NULL;
  RESULT("callback NULL", D(cuDeviceRegisterAsyncNotification)(device, NULL, NULL, &k));
  RESULT("handle NULL", D(cuDeviceRegisterAsyncNotification)(device, notification, NULL, NULL));
  RESULT("device 77", D(cuDeviceRegisterAsyncNotification)(77, notification, NULL, &k));
  RESULT("device -1", D(cuDeviceRegisterAsyncNotification)(-1, notification, NULL, &k));
  RESULT("register", D(cuDeviceRegisterAsyncNotification)(device, notification, NULL, &k));
  RESULT("register again", D(cuDeviceRegisterAsyncNotification)(device, notification, NULL, &k2));
  fact("distinct handles", "%s", YES(k && k2 && k != k2));
  RESULT("unregister with device 77", D(cuDeviceUnregisterAsyncNotification)(77, k2));
  RESULT("unregister", D(cuDeviceUnregisterAsyncNotification)(device, k2));
  size_t freeBytes = 0, total = 0;
  D(cuMemGetInfo_v2)(&freeBytes, &total);
  CUdeviceptr big = 0, more = 0;
  RESULT("nearly everything", D(cuMemAlloc_v2)(&big, freeBytes - (size_t)(1ull << 30)));
  RESULT("more than there is", D(cuMemAlloc_v2)(&more, 4ull << 30));
  usleep(300000);
  fact("notified", "%s", YES(notified));
  if (notified) {
    fact("same thread", "%s", YES(sameThread));
    fact("current context", "%s", insideContext == context ? "the same" : insideContext ? "another" : "none");
    RESULT("registering inside", insideRegister);
    RESULT("unregistering inside", insideUnregister);
    fact("its handle", "%s", YES(insideHandle == k));
  }
  D(cuMemFree_v2)(big);
  RESULT("register third", D(cuDeviceRegisterAsyncNotification)(device, notification, NULL, &k3));
  RESULT("unregister", D(cuDeviceUnregisterAsyncNotification)(device, k));
  RESULT("unregister third", D(cuDeviceUnregisterAsyncNotification)(device, k3));
}
static void notificationTwice(void) {
  prepare();
  CUasyncCallbackHandle k = NULL;
  RESULT("register", D(cuDeviceRegisterAsyncNotification)(device, notification, NULL, &k));
  RESULT("unregister", D(cuDeviceUnregisterAsyncNotification)(device, k));
  RESULT("unregister again", D(cuDeviceUnregisterAsyncNotification)(device, k));
}
static void notificationNull(void) {
  prepare();
  RESULT("unregister NULL", D(cuDeviceUnregisterAsyncNotification)(device, NULL));
}
static void notificationGarbage(void) {
  prepare();
  static char garbage[256];
  RESULT("unregister garbage", D(cuDeviceUnregisterAsyncNotification)(device, (CUasyncCallbackHandle)garbage));
}

// The functions whose pointers and sizes have 32 bits, in a 64-bit process.
static void firstApi(void) {
  prepare();
  struct {
    CUdeviceptr_v1 address, guard;
  } small = {0x11111111u, 0x22222222u};
  struct {
    unsigned size, guard;
  } length = {0x11111111u, 0x22222222u};
  CUresult result = D(cuMemAlloc)(&small.address, 64);
  fact("cuMemAlloc", "%s, address %s, guard %s", resultName(result),
       small.address == 0x11111111u ? "kept"
       : small.address              ? "set"
                                    : "0",
       small.guard == 0x22222222u ? "kept" : "overwritten");
  if (!result) RESULT("free what it gave", D(cuMemFree)(small.address));
  RESULT("cuMemAlloc NULL", D(cuMemAlloc)(NULL, 64));
  RESULT("cuMemAlloc 0", D(cuMemAlloc)(&small.address, 0));
  small.address = 0x11111111u, small.guard = 0x22222222u;
  result = D(cuMemAllocPitch)(&small.address, &length.size, 64, 4, 4);
  fact("cuMemAllocPitch", "%s, address %s, guard %s, pitch %s, guard %s", resultName(result),
       small.address == 0x11111111u ? "kept"
       : small.address              ? "set"
                                    : "0",
       small.guard == 0x22222222u ? "kept" : "overwritten", length.size == 0x11111111u ? "kept" : "set",
       length.guard == 0x22222222u ? "kept" : "overwritten");
  RESULT("cuMemFree 0", D(cuMemFree)(0));
  RESULT("cuMemFree 4096", D(cuMemFree)(4096));
  RESULT("cuMemFree of low bits", D(cuMemFree)((CUdeviceptr_v1)p));
  small.address = 0x11111111u, small.guard = 0x22222222u;
  RESULT("cuMemGetAddressRange of low bits", D(cuMemGetAddressRange)(&small.address, &length.size, (CUdeviceptr_v1)p));
  RESULT("cuMemGetAddressRange 0", D(cuMemGetAddressRange)(&small.address, &length.size, 0));
  small.address = 0x11111111u, small.guard = 0x22222222u;
  result = D(cuMemHostGetDevicePointer)(&small.address, h, 0);
  fact("cuMemHostGetDevicePointer", "%s, address %s, guard %s", resultName(result),
       small.address == 0x11111111u ? "kept"
       : small.address              ? "set"
                                    : "0",
       small.guard == 0x22222222u ? "kept" : "overwritten");
  RESULT("cuMemcpyHtoD of low bits", D(cuMemcpyHtoD)((CUdeviceptr_v1)p, m, 4));
  RESULT("cuMemcpyHtoD 0 bytes", D(cuMemcpyHtoD)(0, m, 0));
  RESULT("cuMemcpyDtoH 0", D(cuMemcpyDtoH)(m, 0, 4));
  RESULT("cuMemcpyDtoD", D(cuMemcpyDtoD)((CUdeviceptr_v1)p, (CUdeviceptr_v1)p + 64, 4));
  RESULT("cuMemcpyHtoDAsync", D(cuMemcpyHtoDAsync)((CUdeviceptr_v1)p, h, 4, s));
  RESULT("cuMemcpyDtoHAsync", D(cuMemcpyDtoHAsync)(h, (CUdeviceptr_v1)p, 4, s));
  RESULT("cuMemcpyDtoDAsync", D(cuMemcpyDtoDAsync)((CUdeviceptr_v1)p, (CUdeviceptr_v1)p + 64, 4, s));
  RESULT("cuMemsetD8", D(cuMemsetD8)((CUdeviceptr_v1)p, 1, 4));
  RESULT("cuMemsetD16", D(cuMemsetD16)((CUdeviceptr_v1)p, 1, 4));
  RESULT("cuMemsetD32", D(cuMemsetD32)((CUdeviceptr_v1)p, 1, 4));
  RESULT("cuMemsetD8 0 bytes", D(cuMemsetD8)((CUdeviceptr_v1)p, 1, 0));
  RESULT("cuMemsetD2D8", D(cuMemsetD2D8)((CUdeviceptr_v1)p, 64, 1, 4, 4));
  RESULT("cuMemsetD2D16", D(cuMemsetD2D16)((CUdeviceptr_v1)p, 64, 1, 4, 4));
  RESULT("cuMemsetD2D32", D(cuMemsetD2D32)((CUdeviceptr_v1)p, 64, 1, 4, 4));
  unsigned freeBytes = 1, total = 1;
  RESULT("cuMemGetInfo", D(cuMemGetInfo)(&freeBytes, &total));
  fact("total", "%u", total);
  unsigned size = 1;
  RESULT("cuDeviceTotalMem", D(cuDeviceTotalMem)(&size, device));
  fact("total", "%u", size);
  CUDA_MEMCPY2D_v1 flat;
  memset(&flat, 0, sizeof flat);
  flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_HOST;
  flat.srcHost = h;
  flat.dstHost = m;
  flat.srcPitch = flat.dstPitch = 64;
  flat.WidthInBytes = 16;
  flat.Height = 4;
  memset(m, 9, 256);
  memset(h, 1, 256);
  RESULT("cuMemcpy2D host to host", D(cuMemcpy2D)(&flat));
  fact("copied", "%s", YES(m[64] == 1 && m[16] == 9));
  RESULT("cuMemcpy2DUnaligned host to host", D(cuMemcpy2DUnaligned)(&flat));
  RESULT("cuMemcpy2DAsync host to host", D(cuMemcpy2DAsync)(&flat, s));
  flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  flat.dstDevice = (CUdeviceptr_v1)p;
  RESULT("cuMemcpy2D to low bits", D(cuMemcpy2D)(&flat));
  RESULT("cuMemcpy2D NULL", D(cuMemcpy2D)(NULL));
  CUDA_MEMCPY3D_v1 deep;
  memset(&deep, 0, sizeof deep);
  deep.srcMemoryType = deep.dstMemoryType = CU_MEMORYTYPE_HOST;
  deep.srcHost = h;
  deep.dstHost = m;
  deep.srcPitch = deep.dstPitch = 64;
  deep.srcHeight = deep.dstHeight = 4;
  deep.WidthInBytes = 16;
  deep.Height = 4;
  deep.Depth = 2;
  RESULT("cuMemcpy3D host to host", D(cuMemcpy3D)(&deep));
  RESULT("cuMemcpy3DAsync host to host", D(cuMemcpy3DAsync)(&deep, s));
  RESULT("stream", D(cuStreamSynchronize)(s));
  CUDA_ARRAY_DESCRIPTOR_v1 descriptor = {64, 4, CU_AD_FORMAT_FLOAT, 1};
  CUarray array = NULL;
  RESULT("cuArrayCreate", D(cuArrayCreate)(&array, &descriptor));
  if (array) {
    RESULT("cuMemcpyHtoA", D(cuMemcpyHtoA)(array, 0, m, 16));
    flat.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    flat.dstArray = array;
    RESULT("cuMemcpy2D to an array", D(cuMemcpy2D)(&flat));
    CUDA_ARRAY_DESCRIPTOR_v1 got;
    RESULT("cuArrayGetDescriptor", D(cuArrayGetDescriptor)(&got, array));
    fact("width", "%u", got.Width);
  }
  CUmodule module;
  unsigned bytes = 7;
  RESULT("module", D(cuModuleLoadData)(&module,
                                       ".version 6.5\n.target sm_50\n.address_size 64\n"
                                       ".visible .global .align 4 .u32 x = 42;\n"));
  small.address = 0x11111111u, small.guard = 0x22222222u;
  result = D(cuModuleGetGlobal)(&small.address, &bytes, module, "x");
  fact("cuModuleGetGlobal", "%s, address %s, guard %s, size %u", resultName(result),
       small.address == 0x11111111u ? "kept"
       : small.address              ? "set"
                                    : "0",
       small.guard == 0x22222222u ? "kept" : "overwritten", bytes);
}

// The same in a context of their own time.
static void firstContext(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUcontext old = NULL;
  RESULT("cuCtxCreate", D(cuCtxCreate)(&old, 0, device));
  unsigned version = 7;
  RESULT("cuCtxGetApiVersion", D(cuCtxGetApiVersion)(old, &version));
  fact("version", "%u", version);
  CUdeviceptr wide = 0;
  RESULT("cuMemAlloc_v2", D(cuMemAlloc_v2)(&wide, 64));
  struct {
    CUdeviceptr_v1 address, guard;
  } small = {0x11111111u, 0x22222222u};
  CUresult result = D(cuMemAlloc)(&small.address, 64);
  fact("cuMemAlloc", "%s, address %s, guard %s", resultName(result),
       small.address == 0x11111111u ? "kept"
       : small.address              ? "set"
                                    : "0",
       small.guard == 0x22222222u ? "kept" : "overwritten");
  unsigned freeBytes = 1, total = 1;
  RESULT("cuMemGetInfo", D(cuMemGetInfo)(&freeBytes, &total));
  fact("total", "%u", total);
  CUarray array = NULL;
  CUDA_ARRAY_DESCRIPTOR_v1 descriptor = {64, 4, CU_AD_FORMAT_FLOAT, 1};
  RESULT("cuArrayCreate", D(cuArrayCreate)(&array, &descriptor));
  RESULT("cuMemsetD8", D(cuMemsetD8)(0, 1, 4));
  RESULT("cuMemFree 0", D(cuMemFree)(0));
  CUstream t;
  RESULT("cuStreamCreate", D(cuStreamCreate)(&t, 0));
}
static void firstPrimary(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUcontext primary = NULL;
  D(cuDevicePrimaryCtxRetain)(&primary, device);
  D(cuCtxSetCurrent)(primary);
  unsigned version = 7;
  RESULT("cuCtxGetApiVersion", D(cuCtxGetApiVersion)(primary, &version));
  fact("version", "%u", version);
  CUdeviceptr_v1 address = 7;
  RESULT("cuMemAlloc", D(cuMemAlloc)(&address, 64));
  D(cuCtxSetCurrent)(NULL);
  RESULT("cuMemAlloc without a context", D(cuMemAlloc)(&address, 64));
  RESULT("cuMemFree without a context", D(cuMemFree)(0));
}

static int logCalls;
static CUlogLevel logLevel;
static char logText[512];
static size_t logLength;
static void CUDA_CB onLog(void* data, CUlogLevel level, char* message, size_t length) {
  ++*(int*)data;
  ++logCalls;
  logLevel = level;
  logLength = length;
  snprintf(logText, sizeof logText, "%.*s", (int)length, message);
}

static void logs(void) {
  start();
  CUlogsCallbackHandle k = NULL, k2 = NULL;
  CUlogIterator from = 77, later = 77;
  int seen = 0, seen2 = 0;
  RESULT("callback NULL", D(cuLogsRegisterCallback)(NULL, NULL, &k));
  RESULT("current NULL", D(cuLogsCurrent)(NULL, 0));
  RESULT("current flags 1", D(cuLogsCurrent)(&from, 1));
  RESULT("current", D(cuLogsCurrent)(&from, 0));
  RESULT("register", D(cuLogsRegisterCallback)(onLog, &seen, &k));
  RESULT("register again", D(cuLogsRegisterCallback)(onLog, &seen2, &k2));
  fact("distinct", "%s", YES(k && k2 && k != k2));
  seen = seen2 = 0;
  CUdeviceptr nothing;
  RESULT("a failing call", D(cuMemAlloc_v2)(&nothing, 0));
  fact("callbacks of it", "%d %d", seen, seen2);
  if (seen) fact("its level and length", "%d %s", (int)logLevel, YES(strlen(logText) == logLength));
  seen = 0;
  RESULT("another failing call", D(cuMemFree_v2)(0x1234));
  fact("callbacks of it", "%d", seen);
  CUstream waiting;
  D(cuStreamCreate)(&waiting, 0);
  busy(waiting, 50);
  seen = 0;
  RESULT("a busy stream", D(cuStreamQuery)(waiting));
  fact("callbacks of it", "%d", seen);
  D(cuStreamSynchronize)(waiting);
  seen = 0;
  RESULT("an attribute of host memory",
         D(cuPointerGetAttribute)(&(int){0}, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(&seen)));
  fact("callbacks of it", "%d", seen);
  seen = 0;
  RESULT("a device that is not there", D(cuDeviceGet)(&(CUdevice){0}, 77));
  fact("callbacks of it", "%d", seen);
  seen = 0;
  RESULT("a bad launch", D(cuLaunchKernel)(kernel("nop"), 1, 1, 1, 5000, 1, 1, 0, NULL, NULL, NULL));
  fact("callbacks of it", "%d", seen);
  if (seen) fact("its text", "%s", logText);
  seen = 0;
  RESULT("bad PTX", D(cuModuleLoadData)(&(CUmodule){0}, ".version 6.5\n.target sm_50\n.address_size 64\nnonsense"));
  fact("callbacks of it", "%d", seen);
  if (seen) fact("its text", "%s", logText);
  RESULT("unregister second", D(cuLogsUnregisterCallback)(k2));
  RESULT("current", D(cuLogsCurrent)(&later, 0));
  fact("later than before", "%s", YES(later != from));
  static char buffer[65536];
  size_t size = sizeof buffer;
  memset(buffer, 0x5a, sizeof buffer);
  CUlogIterator all = from;
  RESULT("dump", D(cuLogsDumpToMemory)(NULL, buffer, &size, 0));
  fact("dumped something", "%s", YES(size && size < sizeof buffer));
  fact("ends with zero", "%s", YES(size < sizeof buffer && buffer[size] == 0));
  fact("length is the text's", "%s", YES(strlen(buffer) == size));
  size = sizeof buffer;
  RESULT("dump since", D(cuLogsDumpToMemory)(&all, buffer, &size, 0));
  fact("iterator moved to the end", "%s", YES(all == later));
  size = sizeof buffer;
  RESULT("dump since the end", D(cuLogsDumpToMemory)(&all, buffer, &size, 0));
  fact("size", "%zu", size);
  size = 16;
  RESULT("dump to 16 bytes", D(cuLogsDumpToMemory)(NULL, buffer, &size, 0));
  fact("size", "%zu", size);
  size = sizeof buffer;
  RESULT("dump flags 1", D(cuLogsDumpToMemory)(NULL, buffer, &size, 1));
  RESULT("dump buffer NULL", D(cuLogsDumpToMemory)(NULL, NULL, &size, 0));
  fact("size", "%s", size == sizeof buffer ? "kept" : size ? "set" : "0");
  RESULT("dump size NULL", D(cuLogsDumpToMemory)(NULL, buffer, NULL, 0));
  RESULT("dump to a file", D(cuLogsDumpToFile)(NULL, "/tmp/probe-log", 0));
  fact("the file is there", "%s", YES(access("/tmp/probe-log", F_OK) == 0));
  unlink("/tmp/probe-log");
  RESULT("dump to no folder", D(cuLogsDumpToFile)(NULL, "/tmp/there/is/none", 0));
  RESULT("dump to NULL", D(cuLogsDumpToFile)(NULL, NULL, 0));
  RESULT("dump to a file, flags 1", D(cuLogsDumpToFile)(NULL, "/tmp/probe-log", 1));
  RESULT("unregister", D(cuLogsUnregisterCallback)(k));
  seen = 0;
  D(cuMemAlloc_v2)(&nothing, 0);
  D(cuLaunchKernel)(kernel("nop"), 1, 1, 1, 5000, 1, 1, 0, NULL, NULL, NULL);
  fact("callbacks after unregistering", "%d", seen);
}

// What the log looks like; not compared, the words are each driver's own.
static void logWords(void) {
  start();
  int seen = 0;
  CUlogsCallbackHandle k;
  D(cuLogsRegisterCallback)(onLog, &seen, &k);
  CUdeviceptr nothing;
  static char buffer[65536];
  size_t size = sizeof buffer;
  D(cuMemAlloc_v2)(&nothing, 0);
  D(cuLaunchKernel)(kernel("nop"), 1, 1, 1, 5000, 1, 1, 0, NULL, NULL, NULL);
  D(cuModuleLoadData)(&(CUmodule){0}, ".version 6.5\n.target sm_50\n.address_size 64\nnonsense");
  fact("callback", "%s", logText);
  if (!D(cuLogsDumpToMemory)(NULL, buffer, &size, 0)) fact("dump", "%s", buffer);
}
static void logsBeforeInit(void) {
  CUlogsCallbackHandle k = NULL;
  int seen = 0;
  RESULT("register", D(cuLogsRegisterCallback)(onLog, &seen, &k));
  RESULT("current", D(cuLogsCurrent)(&(CUlogIterator){0}, 0));
}
static void logsTwice(void) {
  start();
  CUlogsCallbackHandle k = NULL;
  int seen = 0;
  D(cuLogsRegisterCallback)(onLog, &seen, &k);
  RESULT("unregister", D(cuLogsUnregisterCallback)(k));
  RESULT("unregister again", D(cuLogsUnregisterCallback)(k));
}
static void logsNull(void) {
  start();
  RESULT("unregister NULL", D(cuLogsUnregisterCallback)(NULL));
}
static void logsNoHandle(void) {
  start();
  int seen = 0;
  RESULT("register", D(cuLogsRegisterCallback)(onLog, &seen, NULL));
  D(cuMemAlloc_v2)(&(CUdeviceptr){0}, 0);
  fact("called", "%s", YES(seen));
}

CUresult cuProfilerInitialize(const char* configuration, const char* output, int mode);  // of cudaProfiler.h

static void small(void) {
  prepare();
  RESULT("flush", D(cuFlushGPUDirectRDMAWrites)(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
  RESULT("flush to all", D(cuFlushGPUDirectRDMAWrites)(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
  RESULT("flush target 1", D(cuFlushGPUDirectRDMAWrites)((CUflushGPUDirectRDMAWritesTarget)1, 100));
  RESULT("flush scope 1", D(cuFlushGPUDirectRDMAWrites)(0, (CUflushGPUDirectRDMAWritesScope)1));
  CUevent e, early;
  D(cuEventCreate)(&e, 0);
  D(cuEventCreate)(&early, 0);
  RESULT("record a context", D(cuCtxRecordEvent)(context, e));
  RESULT("record NULL", D(cuCtxRecordEvent)(NULL, e));
  RESULT("record event NULL", D(cuCtxRecordEvent)(context, NULL));
  RESULT("context waits", D(cuCtxWaitEvent)(context, e));
  RESULT("NULL waits", D(cuCtxWaitEvent)(NULL, e));
  RESULT("context waits for NULL", D(cuCtxWaitEvent)(context, NULL));
  RESULT("context waits for what was never recorded", D(cuCtxWaitEvent)(context, early));
  busy(s, 100);
  RESULT("record a busy context", D(cuCtxRecordEvent)(context, e));
  RESULT("query it", D(cuEventQuery)(e));
  RESULT("synchronise", D(cuEventSynchronize)(e));
  RESULT("stream then", D(cuStreamQuery)(s));
  CUstream free1;
  D(cuStreamCreate)(&free1, CU_STREAM_NON_BLOCKING);
  busy(s, 100);
  D(cuEventRecord)(e, s);
  RESULT("context waits for a busy stream", D(cuCtxWaitEvent)(context, e));
  D(cuMemsetD8Async)(p, 1, 4, free1);
  RESULT("another stream then", D(cuStreamQuery)(free1));
  D(cuCtxSynchronize)();
  busy(free1, 100);
  D(cuCtxRecordEvent)(context, e);
  RESULT("record covers non-blocking streams", D(cuEventQuery)(e));
  D(cuCtxSynchronize)();
  D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED);
  RESULT("record while capturing", D(cuCtxRecordEvent)(context, e));
  CUstreamCaptureStatus status;
  D(cuStreamIsCapturing)(s, &status);
  fact("the capture", "%d", (int)status);
  CUgraph graph = NULL;
  D(cuStreamEndCapture)(s, &graph);
  CUcontext second;
  D(cuCtxCreate_v2)(&second, 0, device);
  RESULT("record a context that is not the event's", D(cuCtxRecordEvent)(second, e));
  RESULT("wait of another context", D(cuCtxWaitEvent)(second, e));
  D(cuCtxSetCurrent)(context);
  RESULT("profiler", D(cuProfilerInitialize)("a", "b", 0));
  RESULT("profiler NULL", D(cuProfilerInitialize)(NULL, NULL, 0));
  RESULT("profiler mode 9", D(cuProfilerInitialize)("a", "b", 9));
}

static void atomics(void) {
  start();
  CUatomicOperation operations[14];
  unsigned capabilities[14];
  for (int i = 0; i < 14; ++i) operations[i] = (CUatomicOperation)i;
  memset(capabilities, 0x5a, sizeof capabilities);
  RESULT("host, the 13", D(cuDeviceGetHostAtomicCapabilities)(capabilities, operations, 13, device));
  for (int i = 0; i < 13; ++i) {
    char name[32];
    snprintf(name, sizeof name, "host, operation %d", i);
    fact(name, "%#x", capabilities[i]);
  }
  RESULT("host, MAX", D(cuDeviceGetHostAtomicCapabilities)(capabilities, &operations[13], 1, device));
  RESULT("host, none", D(cuDeviceGetHostAtomicCapabilities)(capabilities, operations, 0, device));
  RESULT("host, NULL operations", D(cuDeviceGetHostAtomicCapabilities)(capabilities, NULL, 1, device));
  RESULT("host, NULL capabilities", D(cuDeviceGetHostAtomicCapabilities)(NULL, operations, 1, device));
  RESULT("host, device 77", D(cuDeviceGetHostAtomicCapabilities)(capabilities, operations, 1, 77));
  memset(capabilities, 0x5a, sizeof capabilities);
  RESULT("peer, itself", D(cuDeviceGetP2PAtomicCapabilities)(capabilities, operations, 13, device, device));
  fact("its first", "%#x", capabilities[0]);
  RESULT("peer, none", D(cuDeviceGetP2PAtomicCapabilities)(capabilities, operations, 0, device, device));
  RESULT("peer, device 77", D(cuDeviceGetP2PAtomicCapabilities)(capabilities, operations, 1, device, 77));
  RESULT("peer, source 77", D(cuDeviceGetP2PAtomicCapabilities)(capabilities, operations, 1, 77, device));
  RESULT("peer, NULL", D(cuDeviceGetP2PAtomicCapabilities)(NULL, operations, 1, device, device));
  CUdevice second;
  if (!D(cuDeviceGet)(&second, 1)) {
    RESULT("peer, another", D(cuDeviceGetP2PAtomicCapabilities)(capabilities, operations, 13, device, second));
    for (int i = 0; i < 13; ++i) {
      char name[32];
      snprintf(name, sizeof name, "peer, operation %d", i);
      fact(name, "%#x", capabilities[i]);
    }
  }
}

const Group kBatchingGroups[] = {{"copy-batches.arguments", arguments},
                                 {"copy-batches.partial", partialEffects},
                                 {"copy-batches.fail-index", failIndex},
                                 {"copy-batches.null-arrays", nullArrays},
                                 {"copy-batches.null-source", nullSource},
                                 {"copy-batches.null-destination", nullDestination},
                                 {"copy-batches.wild-destination", wildDestination},
                                 {"copy-batches.freed-source", freedSource},
                                 {"copy-batches.no-context", noContext},
                                 {"copy-batches.order", order},
                                 {"copy-batches.boxes", boxes},
                                 {"copy-batches.box-arrays", boxArrays},
                                 {"decompression", decompression},
                                 {"notifications", notifications},
                                 {"notification.twice", notificationTwice},
                                 {"notification.null", notificationNull},
                                 {"notification.garbage", notificationGarbage},
                                 {"first-api", firstApi},
                                 {"first-api-context", firstContext},
                                 {"first-api-primary", firstPrimary},
                                 {"logs", logs},
                                 {"log-words", logWords},
                                 {"logs.before-init", logsBeforeInit},
                                 {"logs.twice", logsTwice},
                                 {"logs.null", logsNull},
                                 {"log-handles", logsNoHandle},
                                 {"small-calls", small},
                                 {"atomic-capabilities", atomics},
                                 {NULL, NULL}};
