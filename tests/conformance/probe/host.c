// Page-locked and registered host memory, managed memory: questions 26 to 52, 131 to 141, 205 to 214.
#include "probe.h"

#include <sys/mman.h>

static CUresult hostAlloc(void** h, size_t n, unsigned flags) { return D(cuMemHostAlloc)(h, n, flags); }
static CUresult pin(void* p, size_t n, unsigned flags) { return D(cuMemHostRegister_v2)(p, n, flags); }
static CUresult unpin(void* p) { return D(cuMemHostUnregister)(p); }
static char* pages(size_t count) {
  char* p = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, 1, count * 4096);
  return p;
}

static void devicePointer(const char* name, void* p) {
  CUdeviceptr d = 0;
  CUresult r = D(cuMemHostGetDevicePointer_v2)(&d, p, 0);
  fact(name, "%s %s", resultName(r), r ? "" : d == (CUdeviceptr)(uintptr_t)p ? "same address" : "other address");
}

static void devicePointers(void) {
  start();
  void *plain, *wc, *small;
  CUdeviceptr v, p;
  char *registered = pages(2), *mapped = pages(2);
  hostAlloc(&plain, 4096, 0);
  hostAlloc(&wc, 4096, CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_DEVICEMAP);
  D(cuMemAllocHost_v2)(&small, 4096);
  D(cuMemAllocManaged)(&v, 4096, 1);
  D(cuMemAlloc_v2)(&p, 4096);
  pin(registered, 8192, 0);
  pin(mapped, 8192, CU_MEMHOSTREGISTER_DEVICEMAP);
  devicePointer("cuMemHostAlloc without DEVICEMAP", plain);
  devicePointer("write-combined", wc);
  devicePointer("cuMemAllocHost", small);
  devicePointer("interior", (char*)plain + 100);
  devicePointer("registered", registered);
  devicePointer("registered with DEVICEMAP", mapped);
  devicePointer("malloc", malloc(64));
  devicePointer("managed", (void*)(uintptr_t)v);
  devicePointer("device", (void*)(uintptr_t)p);
  devicePointer("NULL", NULL);
  CUdeviceptr d;
  RESULT("flags 1", D(cuMemHostGetDevicePointer_v2)(&d, plain, 1));
  RESULT("NULL output", D(cuMemHostGetDevicePointer_v2)(NULL, plain, 0));
}

static void flags(void) {
  start();
  void* h;
  unsigned f;
  char name[64];
  for (unsigned i = 0; i < 8; ++i) {
    f = 99;
    CUresult made = hostAlloc(&h, 4096, i);
    CUresult r = D(cuMemHostGetFlags)(&f, h);
    snprintf(name, sizeof name, "cuMemHostAlloc flags %u", i);
    fact(name, "%s %s %u", resultName(made), resultName(r), f);
  }
  RESULT("interior", D(cuMemHostGetFlags)(&f, (char*)h + 1));
  D(cuMemAllocHost_v2)(&h, 64);
  D(cuMemHostGetFlags)(&f, h);
  fact("cuMemAllocHost flags", "%u", f);
  char* m = pages(1);
  RESULT("malloc", D(cuMemHostGetFlags)(&f, m));
  pin(m, 4096, 0);
  f = 99;
  CUresult r = D(cuMemHostGetFlags)(&f, m);
  fact("registered", "%s %u", resultName(r), f);
  CUdeviceptr v;
  D(cuMemAllocManaged)(&v, 4096, 1);
  RESULT("managed", D(cuMemHostGetFlags)(&f, (void*)(uintptr_t)v));
  RESULT("cuMemHostAlloc unknown flag 0x80", hostAlloc(&h, 4096, 0x80));
  RESULT("cuMemHostAlloc unknown flag 8", hostAlloc(&h, 4096, 8));
  RESULT("cuMemHostRegister unknown flag 0x80", pin(pages(1), 4096, 0x80));
  RESULT("cuMemAllocManaged unknown flag 0x80", D(cuMemAllocManaged)(&v, 4096, 0x80));
  const unsigned managed[] = {0, 1, 2, 3, 4, 5};
  for (int i = 0; i < 6; ++i) {
    snprintf(name, sizeof name, "cuMemAllocManaged flags %u", managed[i]);
    RESULT(name, D(cuMemAllocManaged)(&v, 4096, managed[i]));
  }
  RESULT("cuMemAllocManaged zero bytes", D(cuMemAllocManaged)(&v, 0, 1));
  RESULT("cuMemAllocManaged zero bytes and flags", D(cuMemAllocManaged)(&v, 0, 0));
}

static void freeing(void) {
  start();
  void *h, *h2;
  CUdeviceptr p;
  hostAlloc(&h, 4096, 0);
  hostAlloc(&h2, 4096, 0);
  D(cuMemAlloc_v2)(&p, 4096);
  char* m = pages(1);
  pin(m, 4096, 0);
  RESULT("NULL", D(cuMemFreeHost)(NULL));
  RESULT("interior", D(cuMemFreeHost)((char*)h2 + 64));
  RESULT("once", D(cuMemFreeHost)(h));
  RESULT("twice", D(cuMemFreeHost)(h));
  RESULT("malloc", D(cuMemFreeHost)(malloc(64)));
  RESULT("registered", D(cuMemFreeHost)(m));
  RESULT("device", D(cuMemFreeHost)((void*)(uintptr_t)p));
  RESULT("cuMemFree of pinned", D(cuMemFree_v2)((CUdeviceptr)(uintptr_t)h2));
  RESULT("cuMemFree of registered", D(cuMemFree_v2)((CUdeviceptr)(uintptr_t)m));
  RESULT("unregister of cuMemHostAlloc memory", unpin(h2));
  RESULT("zero bytes cuMemHostAlloc", hostAlloc(&h, 0, 0));
  fact("its pointer", "%s", h ? "set" : "NULL");
  RESULT("zero bytes cuMemAllocHost", D(cuMemAllocHost_v2)(&h, 0));
  RESULT("SIZE_MAX", hostAlloc(&h, SIZE_MAX, 0));
  RESULT("1 PiB", hostAlloc(&h, 1ull << 50, 0));
}

static void registering(void) {
  start();
  char* m = pages(16);
  RESULT("middle two pages", pin(m + 4096, 8192, 0));
  RESULT("overlap left", pin(m, 8192, 0));
  RESULT("overlap right", pin(m + 8192, 8192, 0));
  RESULT("inside", pin(m + 4096, 4096, 0));
  RESULT("outside", pin(m, 16384, 0));
  RESULT("same", pin(m + 4096, 8192, 0));
  RESULT("adjacent", pin(m + 3 * 4096, 4096, 0));
  RESULT("unregister interior", unpin(m + 8192));
  RESULT("unregister NULL", unpin(NULL));
  RESULT("unregister never registered", unpin(m));
  RESULT("unregister", unpin(m + 4096));
  RESULT("unregister again", unpin(m + 4096));
  RESULT("unaligned", pin(m + 8 * 4096 + 100, 1000, 0));
  RESULT("second range in the same page", pin(m + 8 * 4096 + 2000, 100, 0));
  RESULT("unregister unaligned", unpin(m + 8 * 4096 + 100));
  RESULT("size 0", pin(m, 0, 0));
  RESULT("NULL", pin(NULL, 4096, 0));
  RESULT("NULL, 0, 0x80", pin(NULL, 0, 0x80));
  RESULT("m, 0, 0x80", pin(m, 0, 0x80));
  RESULT("unmapped", pin((void*)0x10000, 4096, 0));
  char* hole = pages(3);
  munmap(hole + 4096, 4096);
  RESULT("hole in the middle", pin(hole, 3 * 4096, 0));
  void* h;
  CUdeviceptr v;
  hostAlloc(&h, 4096, 0);
  D(cuMemAllocManaged)(&v, 4096, 1);
  RESULT("cuMemHostAlloc memory", pin(h, 4096, 0));
  RESULT("managed memory", pin((void*)(uintptr_t)v, 4096, 0));
  char onStack[8192];
  RESULT("stack", pin(onStack, sizeof onStack, 0));
  char* readOnly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RESULT("read-only mapping", pin(readOnly, 4096, 0));
  RESULT("read-only mapping with READ_ONLY", pin(readOnly, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
  RESULT("writable with READ_ONLY", pin(pages(1), 4096, CU_MEMHOSTREGISTER_READ_ONLY));
  RESULT("IOMEMORY on ordinary memory", pin(pages(1), 4096, CU_MEMHOSTREGISTER_IOMEMORY));
  char* shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  RESULT("shared anonymous", pin(shared, 8192, 0));
  char* gone = pages(1);
  pin(gone, 4096, 0);
  munmap(gone, 4096);
  RESULT("unregister after munmap", unpin(gone));
}

static void partly(void) {
  start();
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 1 << 20);
  char* m = pages(4);
  pin(m, 100, 0);
  RESULT("copy leaves the bytes, stays in the page", D(cuMemcpyHtoD_v2)(p, m, 200));
  unpin(m);
  pin(m, 4096, 0);
  RESULT("copy straddles registered and plain", D(cuMemcpyHtoD_v2)(p, m, 8192));
  RESULT("copy straddles the other way", D(cuMemcpyDtoH_v2)(m, p, 8192));
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("async straddles", D(cuMemcpyHtoDAsync_v2)(p, m, 8192, s));
  RESULT("its stream", D(cuStreamSynchronize)(s));
}

static void lifetime(void) {
  start();
  void *h, *portable;
  CUcontext other;
  hostAlloc(&h, 4096, 0);
  hostAlloc(&portable, 4096, CU_MEMHOSTALLOC_PORTABLE);
  char* m = pages(1);
  pin(m, 4096, 0);
  D(cuCtxCreate_v2)(&other, 0, device);
  unsigned f;
  RESULT("flags in another context", D(cuMemHostGetFlags)(&f, h));
  RESULT("device pointer in another context", D(cuMemHostGetDevicePointer_v2)((CUdeviceptr[1]){0}, h, 0));
  D(cuCtxDestroy_v2)(context);
  RESULT("free after its context", D(cuMemFreeHost)(h));
  RESULT("free of portable after its context", D(cuMemFreeHost)(portable));
  RESULT("unregister after its context", unpin(m));
  RESULT("register again", pin(m, 4096, 0));
}

static void attach(void) {
  start();
  CUdeviceptr v;
  CUstream s;
  D(cuMemAllocManaged)(&v, 8192, 1);
  D(cuStreamCreate)(&s, 0);
  RESULT("single on s", D(cuStreamAttachMemAsync)(s, v, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("single on NULL", D(cuStreamAttachMemAsync)(0, v, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("host on s", D(cuStreamAttachMemAsync)(s, v, 0, CU_MEM_ATTACH_HOST));
  RESULT("global on NULL", D(cuStreamAttachMemAsync)(0, v, 0, CU_MEM_ATTACH_GLOBAL));
  RESULT("half length", D(cuStreamAttachMemAsync)(s, v, 4096, CU_MEM_ATTACH_SINGLE));
  RESULT("whole length", D(cuStreamAttachMemAsync)(s, v, 8192, CU_MEM_ATTACH_SINGLE));
  RESULT("flags 3", D(cuStreamAttachMemAsync)(s, v, 0, 3));
  RESULT("interior", D(cuStreamAttachMemAsync)(s, v + 4096, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("flags 0", D(cuStreamAttachMemAsync)(s, v, 0, 0));
}

static void attachDevice(void) {
  start();
  CUdeviceptr p;
  CUstream s;
  D(cuMemAlloc_v2)(&p, 8192);
  D(cuStreamCreate)(&s, 0);
  RESULT("device memory", D(cuStreamAttachMemAsync)(s, p, 0, CU_MEM_ATTACH_SINGLE));
}

static void attachMalloc(void) {
  start();
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("malloc memory", D(cuStreamAttachMemAsync)(s, (CUdeviceptr)(uintptr_t)malloc(64), 0, CU_MEM_ATTACH_SINGLE));
}

const Group kHostGroups[] = {{"host.device-pointers", devicePointers},
                             {"host.flags", flags},
                             {"host.freeing", freeing},
                             {"host.registering", registering},
                             {"host.partly-registered", partly},
                             {"host.lifetime", lifetime},
                             {"host.attach", attach},
                             {"host.attach-device", attachDevice},
                             {"host.attach-malloc", attachMalloc},
                             {NULL, NULL}};
