// Stream-ordered memory, virtual memory management, batches, capture, exports: questions 84, 115 to 130, 175 to 199.
#include "probe.h"

#include <sys/wait.h>
#include <unistd.h>

static CUdeviceptr at(void* p) { return (CUdeviceptr)(uintptr_t)p; }

static void ordered(void) {
  start();
  CUdeviceptr p, q;
  CUstream s;
  CUmemoryPool pool, other;
  cuuint64_t value;
  D(cuStreamCreate)(&s, 0);
  RESULT("alloc", D(cuMemAllocAsync)(&p, 1000, s));
  RESULT("alloc 0 bytes", D(cuMemAllocAsync)(&q, 0, s));
  fact("its pointer", "%s", q ? "set" : "zero");
  RESULT("alloc NULL", D(cuMemAllocAsync)(NULL, 64, s));
  RESULT("alloc too much", D(cuMemAllocAsync)(&q, 1ull << 50, s));
  RESULT("free", D(cuMemFreeAsync)(p, s));
  RESULT("free again", D(cuMemFreeAsync)(p, s));
  RESULT("free 0", D(cuMemFreeAsync)(0, s));
  D(cuMemAllocAsync)(&p, 1000, s);
  RESULT("cuMemFree of it", D(cuMemFree_v2)(p));
  D(cuMemAlloc_v2)(&p, 1000);
  RESULT("cuMemFreeAsync of cuMemAlloc memory", D(cuMemFreeAsync)(p, s));
  RESULT("default pool", D(cuDeviceGetDefaultMemPool)(&pool, device));
  RESULT("current pool", D(cuDeviceGetMemPool)(&other, device));
  fact("the same", "%s", YES(pool == other));
  RESULT("threshold", D(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
  fact("default threshold", "%llu", (unsigned long long)value);
  RESULT("destroy the default pool", D(cuMemPoolDestroy)(pool));
  CUmemPoolProps props;
  memset(&props, 0, sizeof props);
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  RESULT("create a pool", D(cuMemPoolCreate)(&other, &props));
  RESULT("alloc from it", D(cuMemAllocFromPoolAsync)(&p, 1000, other, s));
  RESULT("destroy it with a live allocation", D(cuMemPoolDestroy)(other));
  RESULT("free afterwards", D(cuMemFreeAsync)(p, s));
  props.maxSize = 1 << 20;
  RESULT("create with a maximum", D(cuMemPoolCreate)(&other, &props));
  RESULT("alloc beyond the maximum", D(cuMemAllocFromPoolAsync)(&p, 64 << 20, other, s));
  RESULT("trim", D(cuMemPoolTrimTo)(pool, 0));
  RESULT("set a read-only attribute", D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  RESULT("attribute 99", D(cuMemPoolGetAttribute)(pool, (CUmemPool_attribute)99, &value));
  props.maxSize = 0;
  props.location.type = CU_MEM_LOCATION_TYPE_HOST;
  props.location.id = 0;
  RESULT("create a host pool", D(cuMemPoolCreate)(&other, &props));
  props.location.type = (CUmemLocationType)99;
  RESULT("create with location 99", D(cuMemPoolCreate)(&other, &props));
}

static void virtualMemory(void) {
  start();
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  size_t g = 0;
  CUdeviceptr va, va2;
  CUmemGenericAllocationHandle h;
  const size_t size = 2 << 20;
  char m[8] = {0};
  RESULT("granularity", D(cuMemGetAllocationGranularity)(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  fact("minimum", "%zu", g);
  RESULT("reserve", D(cuMemAddressReserve)(&va, 4 * size, 0, 0, 0));
  RESULT("reserve 0", D(cuMemAddressReserve)(&va2, 0, 0, 0, 0));
  RESULT("reserve 4096", D(cuMemAddressReserve)(&va2, 4096, 0, 0, 0));
  RESULT("reserve alignment 3", D(cuMemAddressReserve)(&va2, size, 3, 0, 0));
  RESULT("reserve flags 1", D(cuMemAddressReserve)(&va2, size, 0, 0, 1));
  RESULT("create", D(cuMemCreate)(&h, size, &prop, 0));
  CUmemGenericAllocationHandle bad;
  RESULT("create 4096", D(cuMemCreate)(&bad, 4096, &prop, 0));
  RESULT("create flags 1", D(cuMemCreate)(&bad, size, &prop, 1));
  RESULT("copy before map", D(cuMemcpyHtoD_v2)(va, m, 4));
  RESULT("map", D(cuMemMap)(va, size, 0, h, 0));
  RESULT("map again over it", D(cuMemMap)(va, size, 0, h, 0));
  RESULT("copy before access", D(cuMemcpyHtoD_v2)(va, m, 4));
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  RESULT("access", D(cuMemSetAccess)(va, size, &access, 1));
  RESULT("access of unmapped", D(cuMemSetAccess)(va + size, size, &access, 1));
  RESULT("copy", D(cuMemcpyHtoD_v2)(va, m, 4));
  RESULT("map the same at another address", D(cuMemMap)(va + size, size, 0, h, 0));
  RESULT("map offset 4096", D(cuMemMap)(va + 2 * size, size, 4096, h, 0));
  RESULT("map beyond reservation", D(cuMemMap)(va + 4 * size, size, 0, h, 0));
  RESULT("release", D(cuMemRelease)(h));
  RESULT("copy after release", D(cuMemcpyHtoD_v2)(va, m, 4));
  CUmemGenericAllocationHandle again;
  RESULT("retain by address", D(cuMemRetainAllocationHandle)(&again, (void*)(uintptr_t)va));
  RESULT("release it", D(cuMemRelease)(again));
  CUdeviceptr b;
  size_t n;
  RESULT("address range", D(cuMemGetAddressRange_v2)(&b, &n, va + 8));
  fact("base and size", "%s %zu", YES(b == va), n);
  RESULT("cuMemFree of mapped", D(cuMemFree_v2)(va));
  RESULT("free reservation while mapped", D(cuMemAddressFree)(va, 4 * size));
  RESULT("unmap", D(cuMemUnmap)(va, size));
  RESULT("unmap again", D(cuMemUnmap)(va, size));
  RESULT("unmap second", D(cuMemUnmap)(va + size, size));
  RESULT("free part of the reservation", D(cuMemAddressFree)(va, size));
  RESULT("free reservation", D(cuMemAddressFree)(va, 4 * size));
  RESULT("release once too often", D(cuMemRelease)(h));
}

static void batches(void) {
  start();
  CUstream s;
  CUdeviceptr p;
  D(cuStreamCreate)(&s, 0);
  D(cuMemAlloc_v2)(&p, 4096);
  void* h;
  D(cuMemHostAlloc)(&h, 4096, 0);
  CUdeviceptr d[4] = {p, p + 64, p + 128, p + 192}, f[4] = {at(h), at(h) + 64, at(h) + 128, at(h) + 192};
  size_t n[4] = {4, 4, 4, 4}, index[2] = {0, 2};
  CUmemcpyAttributes a[2];
  memset(a, 0, sizeof a);
  a[0].srcAccessOrder = a[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  RESULT("one", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, a, index, 1, s));
  RESULT("on NULL", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, a, index, 1, 0));
  RESULT("on LEGACY", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, a, index, 1, CU_STREAM_LEGACY));
  RESULT("on PER_THREAD", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, a, index, 1, CU_STREAM_PER_THREAD));
  RESULT("count 0", D(cuMemcpyBatchAsync_v2)(d, f, n, 0, a, index, 1, s));
  RESULT("no attributes", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, NULL, NULL, 0, s));
  size_t one[1] = {1}, equal[2] = {0, 0}, far[2] = {0, 4};
  RESULT("index starts at 1", D(cuMemcpyBatchAsync_v2)(d, f, n, 4, a, one, 1, s));
  RESULT("index repeats", D(cuMemcpyBatchAsync_v2)(d, f, n, 4, a, equal, 2, s));
  RESULT("index beyond", D(cuMemcpyBatchAsync_v2)(d, f, n, 4, a, far, 2, s));
  RESULT("more attributes than copies", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, a, index, 2, s));
  n[1] = 0;
  RESULT("size 0 inside", D(cuMemcpyBatchAsync_v2)(d, f, n, 3, a, index, 1, s));
  n[1] = 4;
  a[0].srcAccessOrder = 0;
  RESULT("access order 0", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, a, index, 1, s));
  a[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  a[0].flags = 0x80;
  RESULT("flags 0x80", D(cuMemcpyBatchAsync_v2)(d, f, n, 1, a, index, 1, s));
  a[0].flags = 0;
  f[2] = 0x123456789000ull;
  CUresult r = D(cuMemcpyBatchAsync_v2)(d, f, n, 3, a, index, 1, s);
  RESULT("third source wild", r);
  RESULT("the stream", D(cuStreamSynchronize)(s));
}

static void capture(void) {
  start();
  CUstream s;
  CUdeviceptr p, q;
  char m[64] = {0};
  void* h;
  D(cuStreamCreate)(&s, 0);
  D(cuMemAlloc_v2)(&p, 4096);
  RESULT("begin", D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  RESULT("cuMemAlloc", D(cuMemAlloc_v2)(&q, 64));
  RESULT("cuMemHostAlloc", D(cuMemHostAlloc)(&h, 64, 0));
  RESULT("cuMemcpyHtoD", D(cuMemcpyHtoD_v2)(p, m, 4));
  RESULT("cuMemsetD8", D(cuMemsetD8_v2)(p, 0, 4));
  RESULT("cuMemcpyHtoDAsync pageable", D(cuMemcpyHtoDAsync_v2)(p, m, 4, s));
  RESULT("cuMemsetD8Async", D(cuMemsetD8Async)(p, 0, 4, s));
  RESULT("cuMemAllocAsync", D(cuMemAllocAsync)(&q, 64, s));
  RESULT("cuMemFreeAsync", D(cuMemFreeAsync)(q, s));
  RESULT("cuStreamQuery", D(cuStreamQuery)(s));
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
  CUgraph graph = NULL;
  RESULT("end", D(cuStreamEndCapture)(s, &graph));
  fact("graph", "%s", graph ? "set" : "NULL");
  RESULT("begin", D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  RESULT("relaxed cuMemAlloc", D(cuMemAlloc_v2)(&q, 64));
  RESULT("relaxed cuMemFree", D(cuMemFree_v2)(q));
  RESULT("relaxed cuMemcpyHtoDAsync pageable", D(cuMemcpyHtoDAsync_v2)(p, m, 4, s));
  RESULT("relaxed cuMemsetD8Async", D(cuMemsetD8Async)(p, 0, 4, s));
  RESULT("relaxed cuMemAllocAsync", D(cuMemAllocAsync)(&q, 64, s));
  RESULT("relaxed cuMemFreeAsync", D(cuMemFreeAsync)(q, s));
  RESULT("relaxed cuEventQuery of nothing", D(cuEventQuery)(NULL));
  RESULT("relaxed end", D(cuStreamEndCapture)(s, &graph));
  size_t nodes = 0;
  if (graph) RESULT("nodes", D(cuGraphGetNodes)(graph, NULL, &nodes));
  fact("count", "%zu", nodes);
  RESULT("begin on NULL", D(cuStreamBeginCapture_v2)(0, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void sharing(void) {
  start();
  CUdeviceptr p, small, v, async, q;
  void* h;
  CUipcMemHandle k, k2;
  memset(&k, 0, sizeof k);
  memset(&k2, 0, sizeof k2);
  D(cuMemAlloc_v2)(&p, 4 << 20);
  D(cuMemAlloc_v2)(&small, 256);
  D(cuMemHostAlloc)(&h, 4096, 0);
  D(cuMemAllocManaged)(&v, 4096, 1);
  D(cuMemAllocAsync)(&async, 4096, 0);
  RESULT("handle", D(cuIpcGetMemHandle)(&k, p));
  RESULT("handle again", D(cuIpcGetMemHandle)(&k2, p));
  fact("equal", "%s", YES(!memcmp(&k, &k2, sizeof k)));
  RESULT("open at home", D(cuIpcOpenMemHandle_v2)(&q, k, 1));
  RESULT("interior", D(cuIpcGetMemHandle)(&k2, p + 4096));
  RESULT("pinned", D(cuIpcGetMemHandle)(&k2, at(h)));
  RESULT("managed", D(cuIpcGetMemHandle)(&k2, v));
  RESULT("async", D(cuIpcGetMemHandle)(&k2, async));
  RESULT("small", D(cuIpcGetMemHandle)(&k2, small));
  RESULT("freed or wild", D(cuIpcGetMemHandle)(&k2, 0x123456789000ull));
  RESULT("flags 0", D(cuIpcOpenMemHandle_v2)(&q, k, 0));
  RESULT("flags 2", D(cuIpcOpenMemHandle_v2)(&q, k, 2));
  memset(&k2, 0x5a, sizeof k2);
  RESULT("random handle", D(cuIpcOpenMemHandle_v2)(&q, k2, 1));
  RESULT("close of own memory", D(cuIpcCloseMemHandle)(p));
  CUevent e, plain;
  CUipcEventHandle ek;
  D(cuEventCreate)(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  D(cuEventCreate)(&plain, CU_EVENT_DISABLE_TIMING);
  RESULT("event handle", D(cuIpcGetEventHandle)(&ek, e));
  RESULT("handle of a plain event", D(cuIpcGetEventHandle)(&ek, plain));
  RESULT("open event at home", D(cuIpcOpenEventHandle)(&plain, ek));
  int fd = -1;
  RESULT("dma-buf", D(cuMemGetHandleForAddressRange)(&fd, p, 2 << 20, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  RESULT("dma-buf unaligned",
         D(cuMemGetHandleForAddressRange)(&fd, p + 1, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  RESULT("dma-buf size 0", D(cuMemGetHandleForAddressRange)(&fd, p, 0, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  RESULT("dma-buf NULL", D(cuMemGetHandleForAddressRange)(NULL, p, 65536, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  RESULT("dma-buf type 0", D(cuMemGetHandleForAddressRange)(&fd, p, 65536, 0, 0));
}

// Two processes: what the importer sees.
static void betweenProcesses(void) {
  int toChild[2], toParent[2];
  if (pipe(toChild) || pipe(toParent)) return;
  pid_t child = fork();
  CUipcMemHandle k[2];
  char byte;
  if (child == 0) {
    if (read(toChild[0], k, sizeof k) != sizeof k) _exit(1);
    start();
    CUdeviceptr q1 = 0, q2 = 0, b, s1 = 0;
    size_t n;
    unsigned m[2] = {0, 0};
    RESULT("open", D(cuIpcOpenMemHandle_v2)(&q1, k[0], 1));
    RESULT("open again", D(cuIpcOpenMemHandle_v2)(&q2, k[0], 1));
    fact("same pointer", "%s", YES(q1 == q2));
    RESULT("read", D(cuMemcpyDtoH_v2)(m, q1, 4));
    fact("what the exporter wrote", "%s", YES(m[0] == 0x12345678));
    RESULT("range", D(cuMemGetAddressRange_v2)(&b, &n, q1 + 8));
    fact("base and size", "%s %zu", YES(b == q1), n);
    RESULT("open small", D(cuIpcOpenMemHandle_v2)(&s1, k[1], 1));
    D(cuMemGetAddressRange_v2)(&b, &n, s1);
    fact("small base and size", "%s %zu", YES(b == s1), n);
    CUipcMemHandle again;
    RESULT("re-export", D(cuIpcGetMemHandle)(&again, q1));
    RESULT("cuMemFree of imported", D(cuMemFree_v2)(q1));
    RESULT("close interior", D(cuIpcCloseMemHandle)(q1 + 256));
    CUcontext other;
    D(cuCtxCreate_v2)(&other, 0, device);
    RESULT("open in another context", D(cuIpcOpenMemHandle_v2)(&q2, k[0], 1));
    D(cuCtxSetCurrent)(context);
    RESULT("close", D(cuIpcCloseMemHandle)(q1));
    RESULT("close second", D(cuIpcCloseMemHandle)(q1));
    RESULT("close once more", D(cuIpcCloseMemHandle)(q1));
    if (write(toParent[1], "x", 1) != 1) _exit(1);
    _exit(0);
  }
  start();
  CUdeviceptr p, small;
  D(cuMemAlloc_v2)(&p, 4 << 20);
  D(cuMemAlloc_v2)(&small, 256);
  D(cuMemsetD32_v2)(p, 0x12345678, 16);
  D(cuCtxSynchronize)();
  D(cuIpcGetMemHandle)(&k[0], p);
  D(cuIpcGetMemHandle)(&k[1], small);
  if (write(toChild[1], k, sizeof k) != sizeof k || read(toParent[0], &byte, 1) != 1) fact("child", "failed");
  waitpid(child, NULL, 0);
  RESULT("exporter frees", D(cuMemFree_v2)(p));
}

const Group kPoolGroups[] = {
    {"pools.ordered", ordered}, {"virtual-memory", virtualMemory},           {"batches", batches}, {"capture", capture},
    {"ipc.sharing", sharing},   {"ipc.between-processes", betweenProcesses}, {NULL, NULL}};
