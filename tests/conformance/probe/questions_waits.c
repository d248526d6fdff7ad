// What the copies wait for: questions 17 to 25, 58, 83, 100, 112, 157.
#include "questions.h"

enum { kBusy = 100 };

static CUstream blocking;
static CUdeviceptr p;

static void prepare(void) {
  start();
  D(cuStreamCreate)(&blocking, 0);
  p = deviceBytes(4 << 20);
  kernel("spin");
}

// Whether `call` waits for work that keeps `stream` busy.
#define WAITS(name, stream, call)       \
  do {                                  \
    busy(stream, kBusy);                \
    const double t = now();             \
    (void)(call);                       \
    fact(name, "%s", waited(t, kBusy)); \
    D(cuCtxSynchronize)();              \
  } while (0)

// Pageable sources: from which size on the call waits, and when the source may be overwritten.
static void pageable(void) {
  prepare();
  char* m = hostPages(1024);
  char name[96], back[8] = {0};
  const size_t sizes[] = {4, 4096, 32768, 65536, 65537, 131072, 1 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    snprintf(name, sizeof name, "Q19: cuMemcpyHtoDAsync of %zu pageable bytes behind work", sizes[i]);
    WAITS(name, blocking, D(cuMemcpyHtoDAsync_v2)(p, m, sizes[i], blocking));
  }
  memset(m, 1, 4096);
  busy(blocking, kBusy);
  D(cuMemcpyHtoDAsync_v2)(p, m, 4096, blocking);
  memset(m, 2, 4096);
  D(cuMemcpyDtoH_v2)(back, p, 4);
  fact("Q19: source overwritten after return, 4096 bytes arrive", "%s", back[0] == 1 ? "old" : "new");
  memset(m, 1, 4096);
  busy(0, kBusy);
  D(cuMemcpyHtoD_v2)(p, m, 4096);
  memset(m, 2, 4096);
  D(cuMemcpyDtoH_v2)(back, p, 4);
  fact("Q17: source overwritten after return, the bytes that arrive", "%s", back[0] == 1 ? "old" : "new");
  busy(blocking, kBusy);
  D(cuMemcpyDtoHAsync_v2)(m, p, 4096, blocking);
  RESULT("Q20: cuStreamQuery after cuMemcpyDtoHAsync to pageable memory", D(cuStreamQuery)(blocking));
}

// How much of a pageable source is copied aside, and whether more of it may be waiting.
static void staging(void) {
  prepare();
  CUdeviceptr q = deviceBytes(64 << 20);
  char* m = hostPages(16384);
  char name[96], back[4];
  const int mebibytes[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};
  for (int i = 0; i < 9; ++i) {
    snprintf(name, sizeof name, "Q19: cuMemcpyHtoDAsync of %d MiB of pageable memory behind work", mebibytes[i]);
    WAITS(name, blocking, D(cuMemcpyHtoDAsync_v2)(q, m, (size_t)mebibytes[i] << 20, blocking));
  }
  for (int i = 0; i < 3; ++i) {
    const int times[] = {8, 32, 128};
    busy(blocking, kBusy);
    const double t = now();
    for (int k = 0; k < times[i]; ++k) D(cuMemcpyHtoDAsync_v2)(q, m, 1 << 20, blocking);
    snprintf(name, sizeof name, "Q19: %d times 1 MiB of pageable memory behind work", times[i]);
    fact(name, "%s", waited(t, kBusy));
    D(cuCtxSynchronize)();
  }
  memset(m, 1, 1 << 20);
  busy(blocking, kBusy);
  D(cuMemcpyHtoDAsync_v2)(q, m, 1 << 20, blocking);
  memset(m, 2, 1 << 20);
  D(cuMemcpyDtoH_v2)(back, q + (1 << 20) - 4, 4);
  fact("Q19: source overwritten after return, the last of 1 MiB that arrive", "%s", back[0] == 1 ? "old" : "new");
  const size_t sizes[] = {4, 4096, 65536, 1 << 20, 16 << 20};
  for (int i = 0; i < 5; ++i) {
    bool busyOnce = false;
    for (int k = 0; k < 200; ++k) {
      D(cuMemcpyHtoD_v2)(q, m, sizes[i]);
      busyOnce = busyOnce || D(cuStreamQuery)(0) != CUDA_SUCCESS;
    }
    snprintf(name, sizeof name, "Q18: legacy stream ever busy after cuMemcpyHtoD of %zu pageable bytes", sizes[i]);
    fact(name, "%s", YES(busyOnce));
  }
}

static void synchronous(void) {
  prepare();
  CUdeviceptr v;
  void* h;
  char m[64];
  CUstream per = CU_STREAM_PER_THREAD;
  D(cuMemAllocManaged)(&v, 4096, CU_MEM_ATTACH_GLOBAL);
  D(cuMemHostAlloc)(&h, 4096, 0);
  memset(h, 1, 4096);
  WAITS("Q22: cuMemsetD8 of managed memory", blocking, D(cuMemsetD8_v2)(v, 1, 4));
  busy(blocking, kBusy);
  D(cuMemsetD8_v2)(at(h), 7, 4);
  fact("Q22: pinned memory read after cuMemsetD8 behind work", "%s", *(char*)h == 7 ? "new" : "old");
  D(cuCtxSynchronize)();
  WAITS("Q23: cuMemcpyDtoH behind the legacy stream", 0, D(cuMemcpyDtoH_v2)(m, p, 4));
  WAITS("Q23: cuMemcpyDtoH behind the per-thread stream", per, D(cuMemcpyDtoH_v2)(m, p, 4));
  WAITS("Q23: cuMemcpyDtoD behind the legacy stream", 0, D(cuMemcpyDtoD_v2)(p, p + 64, 4));
  WAITS("Q112: cuMemcpyPeer behind a blocking stream", blocking, D(cuMemcpyPeer)(p, context, p + 64, context, 4));
  CUdeviceptr q = deviceBytes(64 << 20);
  CUcontext other;
  D(cuCtxCreate_v2)(&other, 0, device);
  CUstream elsewhere;
  D(cuStreamCreate)(&elsewhere, 0);
  kernel("spin");
  busy(elsewhere, kBusy);
  D(cuCtxSetCurrent)(context);
  double t = now();
  D(cuMemFree_v2)(q);
  fact("Q58: cuMemFree while another context of the device works", "%s", waited(t, kBusy));
}

static void perThread(void) {
  prepare();
  CUresult (*copy)(CUdeviceptr, const void*, size_t) = symbol("cuMemcpyHtoD_v2_ptds");
  CUresult (*fill)(CUdeviceptr, unsigned char, size_t) = symbol("cuMemsetD8_v2_ptds");
  CUresult (*async)(CUdeviceptr, const void*, size_t, CUstream) = symbol("cuMemcpyHtoDAsync_v2_ptsz");
  char* m = hostPages(256);
  CUstream free_;
  D(cuStreamCreate)(&free_, CU_STREAM_NON_BLOCKING);
  WAITS("Q83: cuMemcpyHtoD_v2_ptds behind the legacy stream", 0, copy(p, m, 4));
  WAITS("Q83: cuMemcpyHtoD_v2_ptds behind a blocking stream", blocking, copy(p, m, 4));
  WAITS("Q83: cuMemcpyHtoD_v2_ptds behind a non-blocking stream", free_, copy(p, m, 4));
  WAITS("Q83: cuMemcpyHtoD_v2_ptds behind the per-thread stream", CU_STREAM_PER_THREAD, copy(p, m, 4));
  WAITS("Q83: cuMemsetD8_v2_ptds behind the legacy stream", 0, fill(p, 1, 4));
  WAITS("Q83: cuMemcpyHtoDAsync_v2_ptsz of 4 pageable bytes on NULL behind the per-thread stream", CU_STREAM_PER_THREAD,
        async(p, m, 4, 0));
  WAITS("Q83: cuMemcpyHtoDAsync_v2_ptsz of 1 MiB pageable on NULL behind the per-thread stream", CU_STREAM_PER_THREAD,
        async(p, m, 1 << 20, 0));
}

enum { kDevice, kPinned, kRegistered, kManaged, kPageable, kKinds };
static const char* const kKindNames[kKinds] = {"device", "pinned", "registered", "managed", "pageable"};

// Two areas of 64 KiB of every kind of memory.
static void areas(CUdeviceptr of[kKinds][2]) {
  for (int i = 0; i < 2; ++i) {
    void* h;
    char* m = hostPages(16);
    of[kDevice][i] = deviceBytes(1 << 16);
    D(cuMemHostAlloc)(&h, 1 << 16, 0);
    of[kPinned][i] = at(h);
    D(cuMemHostRegister_v2)(m, 1 << 16, 0);
    of[kRegistered][i] = at(m);
    D(cuMemAllocManaged)(&of[kManaged][i], 1 << 16, CU_MEM_ATTACH_GLOBAL);
    memset(host(of[kManaged][i]), 1, 1 << 16);
    of[kPageable][i] = at(hostPages(16));
  }
}

static void pairs(void) {
  prepare();
  CUdeviceptr of[kKinds][2];
  areas(of);
  char name[96];
  for (int from = 0; from < kKinds; ++from)
    for (int to = 0; to < kKinds; ++to) {
      snprintf(name, sizeof name, "Q24: cuMemcpyAsync %s to %s", kKindNames[from], kKindNames[to]);
      WAITS(name, blocking, D(cuMemcpyAsync)(of[to][1], of[from][0], 4096, blocking));
    }
}

static void boxPairs(void) {
  prepare();
  CUdeviceptr of[kKinds][2];
  areas(of);
  char name[96];
  const int kinds[] = {kDevice, kPinned, kPageable};
  for (int i = 0; i < 9; ++i) {
    const int from = kinds[i / 3], to = kinds[i % 3];
    CUDA_MEMCPY2D_v2 c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.srcDevice = of[from][0];
    c.dstDevice = of[to][1];
    c.srcPitch = c.dstPitch = 128;
    c.WidthInBytes = 64;
    c.Height = 8;
    snprintf(name, sizeof name, "Q24: cuMemcpy2DAsync %s to %s", kKindNames[from], kKindNames[to]);
    WAITS(name, blocking, D(cuMemcpy2DAsync_v2)(&c, blocking));
    CUDA_MEMCPY3D_v2 b;
    memset(&b, 0, sizeof b);
    b.srcMemoryType = b.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    b.srcDevice = of[from][0];
    b.dstDevice = of[to][1];
    b.srcPitch = b.dstPitch = 128;
    b.srcHeight = b.dstHeight = b.Height = 8;
    b.WidthInBytes = 64;
    b.Depth = 2;
    snprintf(name, sizeof name, "Q24: cuMemcpy3DAsync %s to %s", kKindNames[from], kKindNames[to]);
    WAITS(name, blocking, D(cuMemcpy3DAsync_v2)(&b, blocking));
  }
  WAITS("Q24: cuMemcpyPeerAsync device to device", blocking,
        D(cuMemcpyPeerAsync)(of[kDevice][1], context, of[kDevice][0], context, 4096, blocking));
}

static void hostBoxes(void) {
  prepare();
  char *m = hostPages(4), *to = hostPages(4);
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = m;
  c.dstHost = to;
  c.WidthInBytes = 64;
  c.Height = 4;
  WAITS("Q100: cuMemcpy2D host to host behind a blocking stream", blocking, D(cuMemcpy2D_v2)(&c));
  memset(m, 5, 64);
  busy(blocking, kBusy);
  D(cuMemcpy2D_v2)(&c);
  fact("Q100: its bytes on return", "%s", to[0] == 5 ? "copied" : "not yet");
  D(cuCtxSynchronize)();
  memset(m, 6, 64);
  busy(blocking, kBusy);
  D(cuMemcpyAsync)(at(to), at(m), 64, blocking);
  fact("Q25: bytes of a host to host cuMemcpyAsync on return", "%s", to[0] == 6 ? "copied" : "not yet");
}

static void arrayWaits(void) {
  prepare();
  CUarray a;
  void* h;
  char m[256];
  D(cuMemHostAlloc)(&h, 4096, 0);
  makeArray(&a, 64, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  WAITS("Q24: cuMemcpyHtoAAsync from pinned", blocking, D(cuMemcpyHtoAAsync_v2)(a, 0, h, 256, blocking));
  WAITS("Q24: cuMemcpyHtoAAsync from pageable", blocking, D(cuMemcpyHtoAAsync_v2)(a, 0, m, 256, blocking));
  WAITS("Q24: cuMemcpyAtoHAsync to pinned", blocking, D(cuMemcpyAtoHAsync_v2)(h, a, 0, 256, blocking));
  WAITS("Q24: cuMemcpyAtoHAsync to pageable", blocking, D(cuMemcpyAtoHAsync_v2)(m, a, 0, 256, blocking));
  WAITS("Q23: cuMemcpyHtoA behind a blocking stream", blocking, D(cuMemcpyHtoA_v2)(a, 0, m, 256));
  WAITS("Q23: cuMemcpyAtoH behind a blocking stream", blocking, D(cuMemcpyAtoH_v2)(m, a, 0, 256));
  WAITS("Q23: cuMemcpyDtoA behind a blocking stream", blocking, D(cuMemcpyDtoA_v2)(a, 0, p, 256));
  WAITS("Q23: cuMemcpyAtoD behind a blocking stream", blocking, D(cuMemcpyAtoD_v2)(p, a, 0, 256));
  CUarray b;
  WAITS("Q157: cuArrayCreate", blocking, makeArray(&b, 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, 0));
  WAITS("Q157: cuArrayDestroy of an idle array", blocking, D(cuArrayDestroy)(b));
  busy(blocking, kBusy);
  D(cuMemcpyHtoAAsync_v2)(a, 0, h, 256, blocking);
  double t = now();
  CUresult destroyed = D(cuArrayDestroy)(a);
  fact("Q157: cuArrayDestroy with a copy queued", "%s, %s", resultName(destroyed), waited(t, kBusy));
  RESULT("Q157: its stream", D(cuStreamSynchronize)(blocking));
}

const Group kQuestionWaitGroups[] = {{"questions.waits.pageable", pageable},
                                     {"questions.staging", staging},
                                     {"questions.waits.synchronous", synchronous},
                                     {"questions.waits.per-thread", perThread},
                                     {"questions.waits.pairs", pairs},
                                     {"questions.waits.boxes", boxPairs},
                                     {"questions.waits.host-boxes", hostBoxes},
                                     {"questions.waits.arrays", arrayWaits},
                                     {NULL, NULL}};
