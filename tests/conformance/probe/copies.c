// Copies and fills, and what they wait for: questions 11 to 25, 54 to 60, 71 to 83, 89 to 113.
#include "probe.h"

static CUdeviceptr devicePages(size_t bytes) {
  CUdeviceptr p = 0;
  D(cuMemAlloc_v2)(&p, bytes);
  return p;
}
static CUdeviceptr at(void* p) { return (CUdeviceptr)(uintptr_t)p; }

static void linear(void) {
  start();
  char* m = calloc(1, 16 << 20);
  void* h;
  D(cuMemHostAlloc)(&h, 65536, 0);
  CUdeviceptr p = devicePages(4096), p2 = devicePages(4096), freed = devicePages(8 << 20);
  D(cuMemFree_v2)(freed);
  RESULT("HtoD 0 bytes", D(cuMemcpyHtoD_v2)(p, m, 0));
  RESULT("HtoD 0 bytes of NULL", D(cuMemcpyHtoD_v2)(0, NULL, 0));
  RESULT("DtoD 0 bytes of wild pointers", D(cuMemcpyDtoD_v2)(1, 2, 0));
  RESULT("HtoD NULL source", D(cuMemcpyHtoD_v2)(p, NULL, 4));
  RESULT("HtoD NULL destination", D(cuMemcpyHtoD_v2)(0, m, 4));
  RESULT("HtoD wild destination", D(cuMemcpyHtoD_v2)(0x123456789000ull, m, 4));
  RESULT("DtoH NULL destination", D(cuMemcpyDtoH_v2)(NULL, p, 4));
  RESULT("HtoD to pinned as device", D(cuMemcpyHtoD_v2)(at(h), m, 4));
  RESULT("HtoD to malloc as device", D(cuMemcpyHtoD_v2)(at(m + 8), m, 4));
  RESULT("DtoD from pinned", D(cuMemcpyDtoD_v2)(p, at(h), 4));
  RESULT("DtoD from malloc", D(cuMemcpyDtoD_v2)(p, at(m), 4));
  RESULT("DtoH from pinned", D(cuMemcpyDtoH_v2)(m, at(h), 4));
  RESULT("DtoH to a device pointer as host", D(cuMemcpyDtoH_v2)((void*)(uintptr_t)p2, p, 4));
  RESULT("HtoD from a device pointer as host", D(cuMemcpyHtoD_v2)(p, (void*)(uintptr_t)p2, 4));
  RESULT("cuMemcpy malloc to malloc", D(cuMemcpy)(at(m), at(m + 64), 4));
  RESULT("cuMemcpy malloc to device", D(cuMemcpy)(p, at(m), 4));
  RESULT("HtoD past the end", D(cuMemcpyHtoD_v2)(p, m, 8 << 20));
  RESULT("HtoD one byte past the end", D(cuMemcpyHtoD_v2)(p, m, 4097));
  RESULT("DtoD past the end", D(cuMemcpyDtoD_v2)(p, p2, 8 << 20));
  RESULT("DtoH past the end", D(cuMemcpyDtoH_v2)(m, p, 8 << 20));
  RESULT("DtoH freed", D(cuMemcpyDtoH_v2)(m, freed, 4));
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("DtoHAsync freed", D(cuMemcpyDtoHAsync_v2)(m, freed, 4, s));
  RESULT("its stream", D(cuStreamSynchronize)(s));
  RESULT("self copy", D(cuMemcpyDtoD_v2)(p, p, 4096));
  CUdeviceptr a = devicePages(2 << 20), b = devicePages(2 << 20);
  if (b == a + (2 << 20)) RESULT("copy over two touching allocations", D(cuMemcpyHtoD_v2)(a, m, (2 << 20) + 4));
  unsigned char pattern[8192];
  for (int i = 0; i < 8192; ++i) pattern[i] = (unsigned char)(i * 7 + i / 256);
  CUdeviceptr o = devicePages(8192);
  D(cuMemcpyHtoD_v2)(o, pattern, 8192);
  RESULT("overlapping DtoD", D(cuMemcpyDtoD_v2)(o + 1, o, 4096));
  unsigned char back[8192];
  D(cuMemcpyDtoH_v2)(back, o, 8192);
  fact("overlapping DtoD like memmove", "%s", YES(!memcmp(back + 1, pattern, 4096)));
}

static void fills(void) {
  start();
  CUdeviceptr p = devicePages(4096), v;
  void* h;
  char* m = malloc(4096);
  D(cuMemHostAlloc)(&h, 4096, 0);
  D(cuMemAllocManaged)(&v, 4096, 1);
  RESULT("D32 misaligned", D(cuMemsetD32_v2)(p + 1, 0, 4));
  RESULT("D16 misaligned", D(cuMemsetD16_v2)(p + 1, 0, 4));
  RESULT("D8 zero elements", D(cuMemsetD8_v2)(p, 1, 0));
  RESULT("D8 zero elements of NULL", D(cuMemsetD8_v2)(0, 1, 0));
  RESULT("D8 NULL", D(cuMemsetD8_v2)(0, 1, 4));
  RESULT("D8 wild", D(cuMemsetD8_v2)(0x123456789000ull, 1, 4));
  RESULT("D2D8 zero width", D(cuMemsetD2D8_v2)(p, 256, 1, 0, 4));
  RESULT("D2D8 zero height", D(cuMemsetD2D8_v2)(p, 256, 1, 4, 0));
  RESULT("D8 past the end", D(cuMemsetD8_v2)(p, 1, 8 << 20));
  RESULT("D8 one past the end", D(cuMemsetD8_v2)(p, 1, 4097));
  RESULT("pinned", D(cuMemsetD8_v2)(at(h), 1, 4096));
  RESULT("managed", D(cuMemsetD8_v2)(v, 1, 4096));
  RESULT("malloc", D(cuMemsetD8_v2)(at(m), 1, 64));
  RESULT("D2D32 pitch below row", D(cuMemsetD2D32_v2)(p, 8, 0, 4, 4));
  RESULT("D2D32 pitch not a multiple", D(cuMemsetD2D32_v2)(p, 18, 0, 4, 4));
  RESULT("D2D32 height 1 pitch 0", D(cuMemsetD2D32_v2)(p, 0, 7, 4, 1));
  RESULT("D2D32 height 1 pitch 3", D(cuMemsetD2D32_v2)(p, 3, 7, 4, 1));
  RESULT("D2D8 pitch above maximum", D(cuMemsetD2D8_v2)(p, (size_t)INT32_MAX + 1, 0, 4, 2));
  RESULT("D2D8 fits by the last row", D(cuMemsetD2D8_v2)(p, 1024, 0, 512, 4));
  RESULT("D2D8 beyond by the last row", D(cuMemsetD2D8_v2)(p, 1024, 0, 512, 5));
}

static void streamHandles(void) {
  start();
  CUdeviceptr p = devicePages(4096);
  void* h;
  D(cuMemHostAlloc)(&h, 4096, 0);
  CUstream s, sB;
  D(cuStreamCreate)(&s, 0);
  D(cuStreamDestroy_v2)(s);
  RESULT("copy on NULL", D(cuMemcpyHtoDAsync_v2)(p, h, 4, 0));
  RESULT("copy on LEGACY", D(cuMemcpyHtoDAsync_v2)(p, h, 4, CU_STREAM_LEGACY));
  RESULT("copy on PER_THREAD", D(cuMemcpyHtoDAsync_v2)(p, h, 4, CU_STREAM_PER_THREAD));
  CUcontext other;
  D(cuCtxCreate_v2)(&other, 0, device);
  D(cuStreamCreate)(&sB, 0);
  D(cuCtxSetCurrent)(context);
  RESULT("copy on another context's stream", D(cuMemcpyHtoDAsync_v2)(p, h, 4, sB));
  RESULT("memset on another context's stream", D(cuMemsetD8Async)(p, 0, 4, sB));
  RESULT("launch on another context's stream", D(cuLaunchKernel)(kernel("nop"), 1, 1, 1, 1, 1, 1, 0, sB, NULL, NULL));
}

static void destroyedStream(void) {
  start();
  CUdeviceptr p = devicePages(4096);
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  D(cuStreamDestroy_v2)(s);
  RESULT("copy on a destroyed stream", D(cuMemcpyHtoDAsync_v2)(p, &p, 4, s));
}

static void destroyedStreamSynchronize(void) {
  start();
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  D(cuStreamDestroy_v2)(s);
  RESULT("synchronise a destroyed stream", D(cuStreamSynchronize)(s));
}

static void garbageStream(void) {
  start();
  RESULT("copy on a garbage stream", D(cuMemcpyHtoDAsync_v2)(devicePages(64), &device, 4, (CUstream)0x1234));
}

// Which synchronous calls wait for which work.
static void waits(void) {
  start();
  enum { kBusy = 300 };
  CUstream blocking, free_;
  D(cuStreamCreate)(&blocking, 0);
  D(cuStreamCreate)(&free_, CU_STREAM_NON_BLOCKING);
  CUdeviceptr p = devicePages(16 << 20), q;
  char* m = calloc(1, 16 << 20);
  void *h, *h2;
  D(cuMemHostAlloc)(&h, 16 << 20, 0);
  CUstream streams[2] = {blocking, free_};
  const char* names[2] = {"blocking stream busy", "non-blocking stream busy"};
  kernel("spin");
  for (int i = 0; i < 2; ++i) {
    char name[128];
    double t;
#define WAITS(what, call)                                \
  busy(streams[i], kBusy);                               \
  t = now();                                             \
  (void)(call);                                          \
  snprintf(name, sizeof name, "%s: %s", names[i], what); \
  fact(name, "%s", waited(t, kBusy));                    \
  D(cuCtxSynchronize)();
    WAITS("cuMemcpyDtoH 4 bytes pageable", D(cuMemcpyDtoH_v2)(m, p, 4))
    WAITS("cuMemcpyHtoD 4 bytes pageable", D(cuMemcpyHtoD_v2)(p, m, 4))
    WAITS("cuMemcpyHtoD 16 MiB pageable", D(cuMemcpyHtoD_v2)(p, m, 16 << 20))
    WAITS("cuMemcpyHtoD 4 bytes pinned", D(cuMemcpyHtoD_v2)(p, h, 4))
    WAITS("cuMemcpyDtoD 4 bytes", D(cuMemcpyDtoD_v2)(p, p + 64, 4))
    WAITS("cuMemsetD8 4 bytes device", D(cuMemsetD8_v2)(p, 0, 4))
    WAITS("cuMemsetD8 4 bytes pinned", D(cuMemsetD8_v2)(at(h), 0, 4))
    WAITS("cuMemAlloc 64 MiB", D(cuMemAlloc_v2)(&q, 64 << 20))
    WAITS("cuMemFree of unrelated", D(cuMemFree_v2)(q))
    WAITS("cuMemHostAlloc 1 MiB", D(cuMemHostAlloc)(&h2, 1 << 20, 0))
    WAITS("cuMemFreeHost", D(cuMemFreeHost)(h2))
    WAITS("cuMemHostRegister 1 MiB", D(cuMemHostRegister_v2)(m + 4096 - at(m) % 4096, 1 << 20, 0))
    WAITS("cuMemHostUnregister", D(cuMemHostUnregister)(m + 4096 - at(m) % 4096))
    WAITS("cuStreamSynchronize(NULL)", D(cuStreamSynchronize)(0))
    WAITS("cuStreamQuery(NULL)", D(cuStreamQuery)(0))
    WAITS("cuCtxSynchronize", D(cuCtxSynchronize)())
    WAITS("cuMemcpyHtoDAsync pageable same stream", D(cuMemcpyHtoDAsync_v2)(p, m, 4096, streams[i]))
    WAITS("cuMemcpyHtoDAsync 16 MiB pageable same stream", D(cuMemcpyHtoDAsync_v2)(p, m, 16 << 20, streams[i]))
    WAITS("cuMemcpyHtoDAsync pinned same stream", D(cuMemcpyHtoDAsync_v2)(p, h, 4096, streams[i]))
    WAITS("cuMemcpyDtoHAsync pageable same stream", D(cuMemcpyDtoHAsync_v2)(m, p, 4096, streams[i]))
    WAITS("cuMemcpyDtoHAsync pinned same stream", D(cuMemcpyDtoHAsync_v2)(h, p, 4096, streams[i]))
    WAITS("cuMemcpyAsync pageable to pageable same stream", D(cuMemcpyAsync)(at(m), at(m + 8192), 4096, streams[i]))
    WAITS("cuMemcpyAsync pinned to pinned same stream", D(cuMemcpyAsync)(at(h), at(h) + 8192, 4096, streams[i]))
    WAITS("cuMemsetD8Async same stream", D(cuMemsetD8Async)(p, 0, 4, streams[i]))
    CUevent e;
    D(cuEventCreate)(&e, 0);
    D(cuEventRecord)(e, streams[i]);
    WAITS("cuEventSynchronize of an earlier event", D(cuEventSynchronize)(e))
    CUmodule module;
    WAITS("cuModuleLoadData",
          D(cuModuleLoadData)(&module, ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry a() { ret; }\n"))
    WAITS("cuModuleUnload", D(cuModuleUnload)(module))
    CUstream made;
    WAITS("cuStreamCreate", D(cuStreamCreate)(&made, 0))
    busy(made, kBusy);
    t = now();
    D(cuStreamDestroy_v2)(made);
    fact("cuStreamDestroy of a busy stream", "%s", waited(t, kBusy));
    D(cuCtxSynchronize)();
  }
}

static CUresult copy2D(CUmemorytype from, void* source, size_t sourcePitch, CUmemorytype to, CUdeviceptr destination,
                       size_t destinationPitch, size_t x, size_t width, size_t height) {
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = from;
  c.srcHost = source;
  c.srcDevice = at(source);
  c.srcPitch = sourcePitch;
  c.srcXInBytes = x;
  c.dstMemoryType = to;
  c.dstHost = (void*)(uintptr_t)destination;
  c.dstDevice = destination;
  c.dstPitch = destinationPitch;
  c.WidthInBytes = width;
  c.Height = height;
  return D(cuMemcpy2D_v2)(&c);
}

static void pitched(void) {
  start();
  char* m = calloc(1, 1 << 20);
  void* h;
  CUdeviceptr p = devicePages(1 << 20), small = devicePages(1024 * 3 + 64);
  D(cuMemHostAlloc)(&h, 1 << 20, 0);
#define H CU_MEMORYTYPE_HOST
#define V CU_MEMORYTYPE_DEVICE
#define U CU_MEMORYTYPE_UNIFIED
  RESULT("plain", copy2D(H, m, 64, V, p, 128, 0, 64, 4));
  RESULT("source pitch 0, height 1", copy2D(H, m, 0, V, p, 128, 0, 64, 1));
  RESULT("source pitch 0, height 2", copy2D(H, m, 0, V, p, 128, 0, 64, 2));
  RESULT("destination pitch 0, height 2", copy2D(H, m, 64, V, p, 0, 0, 64, 2));
  RESULT("source pitch below width, height 1", copy2D(H, m, 32, V, p, 128, 0, 64, 1));
  RESULT("source pitch below width, height 2", copy2D(H, m, 32, V, p, 128, 0, 64, 2));
  RESULT("pitch below width + x, height 1", copy2D(H, m, 64, V, p, 128, 4, 64, 1));
  RESULT("pitch below width + x, height 2", copy2D(H, m, 64, V, p, 128, 4, 64, 2));
  RESULT("width 0", copy2D(H, m, 64, V, p, 128, 0, 0, 2));
  RESULT("height 0", copy2D(H, m, 64, V, p, 128, 0, 64, 0));
  RESULT("width 0 of NULL", copy2D(H, NULL, 64, V, 0, 128, 0, 0, 2));
  RESULT("source type 0", copy2D(0, m, 64, V, p, 128, 0, 64, 2));
  RESULT("source type 5", copy2D(5, m, 64, V, p, 128, 0, 64, 2));
  RESULT("NULL structure", D(cuMemcpy2D_v2)(NULL));
  RESULT("NULL 3D structure", D(cuMemcpy3D_v2)(NULL));
  RESULT("device to device odd pitch", copy2D(V, (void*)(uintptr_t)p, 101, V, p + 65536, 103, 0, 64, 2));
  RESULT("device pitch above maximum",
         copy2D(V, (void*)(uintptr_t)p, (size_t)INT32_MAX + 1, V, p + 65536, 128, 0, 64, 1));
  RESULT("host pitch above maximum, height 1", copy2D(H, m, (size_t)INT32_MAX + 1, V, p, 128, 0, 64, 1));
  RESULT("host to host", copy2D(H, m, 64, H, at(m) + 4096, 64, 0, 64, 2));
  RESULT("unified malloc source", copy2D(U, m, 64, V, p, 128, 0, 64, 2));
  RESULT("DEVICE type with pinned pointer", copy2D(V, h, 64, V, p, 128, 0, 64, 2));
  RESULT("DEVICE type with malloc pointer", copy2D(V, m, 64, V, p, 128, 0, 64, 2));
  RESULT("HOST type with device pointer", copy2D(H, (void*)(uintptr_t)p, 64, V, p + 65536, 128, 0, 64, 2));
  RESULT("last row fits exactly", copy2D(H, m, 1024, V, small, 1024, 0, 64, 4));
  RESULT("last row one too many", copy2D(H, m, 1024, V, small, 1024, 0, 64, 5));
  CUDA_MEMCPY3D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = H;
  c.srcHost = m;
  c.srcPitch = 64;
  c.srcHeight = 4;
  c.dstMemoryType = V;
  c.dstDevice = p;
  c.dstPitch = 128;
  c.dstHeight = 8;
  c.WidthInBytes = 64;
  c.Height = 4;
  c.Depth = 2;
  RESULT("3D plain", D(cuMemcpy3D_v2)(&c));
  c.srcHeight = 0;
  RESULT("3D source height 0", D(cuMemcpy3D_v2)(&c));
  c.srcHeight = 2;
  RESULT("3D source height below height", D(cuMemcpy3D_v2)(&c));
  c.srcHeight = 4;
  c.Depth = 0;
  RESULT("3D depth 0", D(cuMemcpy3D_v2)(&c));
  c.Depth = 2;
  c.srcLOD = 1;
  RESULT("3D LOD 1 of host", D(cuMemcpy3D_v2)(&c));
  c.srcLOD = 0;
  c.reserved0 = (void*)1;
  RESULT("3D reserved0 set", D(cuMemcpy3D_v2)(&c));
}

static void peers(void) {
  start();
  CUcontext other;
  CUdeviceptr p = devicePages(4096);
  D(cuCtxCreate_v2)(&other, 0, device);
  CUdeviceptr q = devicePages(4096);
  RESULT("same device, two contexts", D(cuMemcpyPeer)(q, other, p, context, 64));
  RESULT("contexts swapped", D(cuMemcpyPeer)(q, context, p, other, 64));
  RESULT("same context", D(cuMemcpyPeer)(q, other, q + 64, other, 64));
  RESULT("NULL contexts", D(cuMemcpyPeer)(q, NULL, p, NULL, 64));
  D(cuCtxSetCurrent)(NULL);
  RESULT("without a current context", D(cuMemcpyPeer)(q, other, p, context, 64));
  int can = 7;
  RESULT("cuDeviceCanAccessPeer self", D(cuDeviceCanAccessPeer)(&can, device, device));
  fact("its answer", "%d", can);
  D(cuCtxSetCurrent)(context);
  RESULT("enable peer access to self", D(cuCtxEnablePeerAccess)(context, 0));
  RESULT("enable peer access to a context of the same device", D(cuCtxEnablePeerAccess)(other, 0));
  RESULT("disable peer access never enabled", D(cuCtxDisablePeerAccess)(other));
}

const Group kCopyGroups[] = {{"copies.linear", linear},
                             {"copies.fills", fills},
                             {"copies.stream-handles", streamHandles},
                             {"copies.destroyed-stream", destroyedStream},
                             {"copies.destroyed-stream-synchronise", destroyedStreamSynchronize},
                             {"copies.garbage-stream", garbageStream},
                             {"copies.waits", waits},
                             {"copies.pitched", pitched},
                             {"copies.peers", peers},
                             {NULL, NULL}};
