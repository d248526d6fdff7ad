// Managed memory in detail: advice and prefetches of parts, queries of ranges, batches, attachment.
#include "pool_probe.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static CUmemLocation place(int type, int id) {
  CUmemLocation location;
  memset(&location, 0, sizeof location);
  location.type = (CUmemLocationType)type;
  location.id = id;
  return location;
}

static void ranges(const char* what, CUdeviceptr p, size_t bytes) {
  char text[256] = "";
  CUresult error = CUDA_SUCCESS;
  for (int a = 1; a <= 8; ++a) {
    int value[3] = {77, 77, 77};
    CUresult result =
        D(cuMemRangeGetAttribute)(value, a == 3 ? sizeof value : sizeof(int), (CUmem_range_attribute)a, p, bytes);
    if (result) error = result;
    size_t end = strlen(text);
    snprintf(text + end, sizeof text - end, a == 3 ? "%d:%d,%d,%d " : "%d:%d ", a, value[0], value[1], value[2]);
  }
  fact(what, "%s %s", resultName(error), text);
}

static CUresult advise(CUdeviceptr p, size_t n, int advice, int type, int id) {
  return D(cuMemAdvise_v2)(p, n, (CUmem_advise)advice, place(type, id));
}

static void advice(void) {
  start();
  CUdeviceptr v, d;
  void* h;
  char name[80];
  const size_t half = 4 << 20;
  D(cuMemAllocManaged)(&v, 2 * half, 1);
  D(cuMemAlloc_v2)(&d, 4096);
  D(cuMemHostAlloc)(&h, 4096, 0);
  for (int which = 0; which < 3; ++which) {
    const CUdevice_attribute asked[] = {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                                        CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST};
    int value = -1;
    D(cuDeviceGetAttribute)(&value, asked[which], device);
    snprintf(name, sizeof name, "device attribute %d", (int)asked[which]);
    fact(name, "%d", value);
  }
  ranges("fresh", v, 2 * half);
  for (int a = 0; a <= 7; ++a)
    for (int type = 0; type <= 4; ++type) {
      snprintf(name, sizeof name, "advice %d location type %d", a, type);
      RESULT(name, advise(v, 2 * half, a, type, 0));
    }
  ranges("after all of it", v, 2 * half);
  RESULT("read mostly of half", advise(v, half, 1, 1, 0));
  ranges("first half", v, half);
  ranges("second half", v + half, half);
  ranges("whole", v, 2 * half);
  RESULT("preferred device of half", advise(v, half, 3, 1, 0));
  RESULT("preferred host of the other", advise(v + half, half, 3, 2, 0));
  ranges("first half", v, half);
  ranges("second half", v + half, half);
  ranges("whole", v, 2 * half);
  RESULT("preferred node 0 of the other", advise(v + half, half, 3, 3, 0));
  ranges("second half", v + half, half);
  RESULT("preferred node 64", advise(v + half, half, 3, 3, 64));
  RESULT("preferred current node", advise(v + half, half, 3, 4, 0));
  ranges("second half", v + half, half);
  RESULT("preferred host id 5", advise(v + half, half, 3, 2, 5));
  RESULT("accessed by device in half", advise(v, half, 5, 1, 0));
  RESULT("accessed by host in all", advise(v, 2 * half, 5, 2, 0));
  ranges("first half", v, half);
  ranges("second half", v + half, half);
  ranges("whole", v, 2 * half);
  RESULT("accessed by node 0", advise(v, half, 5, 3, 0));
  RESULT("unset accessed by host", advise(v, half, 6, 2, 0));
  ranges("first half", v, half);
  RESULT("device 99", advise(v, half, 5, 1, 99));
  RESULT("cuMemAdvise device 99", D(cuMemAdvise)(v, half, CU_MEM_ADVISE_SET_ACCESSED_BY, 99));
  RESULT("cuMemAdvise CPU", D(cuMemAdvise)(v, half, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
  RESULT("cuMemAdvise device -2", D(cuMemAdvise)(v, half, CU_MEM_ADVISE_SET_ACCESSED_BY, -2));
  RESULT("cuMemAdvise read mostly device 99", D(cuMemAdvise)(v, half, CU_MEM_ADVISE_SET_READ_MOSTLY, 99));
  RESULT("count 0", advise(v, 0, 1, 1, 0));
  RESULT("beyond", advise(v, 2 * half + 4096, 1, 1, 0));
  RESULT("device memory", advise(d, 4096, 1, 1, 0));
  RESULT("device memory preferred", advise(d, 4096, 3, 1, 0));
  RESULT("pinned memory", advise((CUdeviceptr)(uintptr_t)h, 4096, 1, 1, 0));
  void* m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RESULT("malloc memory", advise((CUdeviceptr)(uintptr_t)m, 4096, 1, 1, 0));
  RESULT("zero", advise(0, 4096, 1, 1, 0));
  RESULT("unset all", advise(v, 2 * half, 2, 1, 0));
  advise(v, 2 * half, 4, 1, 0);
  RESULT("read mostly of one byte", advise(v + 100, 1, 1, 1, 0));
  ranges("that byte", v + 100, 1);
  ranges("first byte", v, 1);
  ranges("last of its small page", v + 4095, 1);
  ranges("next small page", v + 4096, 1);
  ranges("next large page", v + 65536, 1);
}

static void queries(void) {
  start();
  CUdeviceptr v, w, d;
  void* h;
  int value[4];
  D(cuMemAllocManaged)(&v, 100000, 1);
  D(cuMemAllocManaged)(&w, 100000, 1);
  D(cuMemAlloc_v2)(&d, 4096);
  D(cuMemHostAlloc)(&h, 4096, 0);
  const CUmem_range_attribute one = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, list = CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
  RESULT("size 0", D(cuMemRangeGetAttribute)(value, 0, one, v, 4096));
  RESULT("size 3", D(cuMemRangeGetAttribute)(value, 3, one, v, 4096));
  RESULT("size 8", D(cuMemRangeGetAttribute)(value, 8, one, v, 4096));
  RESULT("list size 0", D(cuMemRangeGetAttribute)(value, 0, list, v, 4096));
  RESULT("list size 6", D(cuMemRangeGetAttribute)(value, 6, list, v, 4096));
  RESULT("list size 16", D(cuMemRangeGetAttribute)(value, 16, list, v, 4096));
  RESULT("count 0", D(cuMemRangeGetAttribute)(value, 4, one, v, 0));
  RESULT("beyond the bytes, inside the page", D(cuMemRangeGetAttribute)(value, 4, one, v, 100001));
  RESULT("far beyond", D(cuMemRangeGetAttribute)(value, 4, one, v, 64 << 20));
  RESULT("attribute 0", D(cuMemRangeGetAttribute)(value, 4, (CUmem_range_attribute)0, v, 4096));
  RESULT("attribute 9", D(cuMemRangeGetAttribute)(value, 4, (CUmem_range_attribute)9, v, 4096));
  RESULT("NULL", D(cuMemRangeGetAttribute)(NULL, 4, one, v, 4096));
  RESULT("device memory", D(cuMemRangeGetAttribute)(value, 4, one, d, 4096));
  RESULT("pinned memory", D(cuMemRangeGetAttribute)(value, 4, one, (CUdeviceptr)(uintptr_t)h, 4096));
  RESULT("malloc memory", D(cuMemRangeGetAttribute)(value, 4, one, (CUdeviceptr)(uintptr_t)malloc(8192), 4096));
  RESULT("zero", D(cuMemRangeGetAttribute)(value, 4, one, 0, 4096));
  void* data[2] = {&value[0], &value[1]};
  size_t sizes[2] = {4, 4};
  CUmem_range_attribute which[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  RESULT("two", D(cuMemRangeGetAttributes)(data, sizes, which, 2, v, 4096));
  RESULT("none", D(cuMemRangeGetAttributes)(data, sizes, which, 0, v, 4096));
  which[1] = (CUmem_range_attribute)99;
  value[0] = 55;
  RESULT("second unknown", D(cuMemRangeGetAttributes)(data, sizes, which, 2, v, 4096));
  fact("first was written", "%s", YES(value[0] != 55));
  fact("alignment of managed pointers", "%s", YES(!(v % 512) && !(w % 512)));
}

static void prefetches(void) {
  start();
  CUdeviceptr v, d;
  CUstream s;
  void* h;
  const size_t half = 4 << 20;
  D(cuStreamCreate)(&s, 0);
  D(cuMemAllocManaged)(&v, 2 * half, 1);
  D(cuMemAlloc_v2)(&d, 4096);
  D(cuMemHostAlloc)(&h, 4096, 0);
  RESULT("half to the device", D(cuMemPrefetchAsync_v2)(v, half, place(1, 0), 0, s));
  ranges("first half", v, half);
  ranges("second half", v + half, half);
  ranges("whole", v, 2 * half);
  RESULT("other half to the host", D(cuMemPrefetchAsync_v2)(v + half, half, place(2, 0), 0, s));
  ranges("second half", v + half, half);
  RESULT("to node 0", D(cuMemPrefetchAsync_v2)(v + half, half, place(3, 0), 0, s));
  ranges("second half", v + half, half);
  RESULT("to the current node", D(cuMemPrefetchAsync_v2)(v + half, half, place(4, 0), 0, s));
  ranges("second half", v + half, half);
  RESULT("to node 64", D(cuMemPrefetchAsync_v2)(v + half, half, place(3, 64), 0, s));
  RESULT("to host id 5", D(cuMemPrefetchAsync_v2)(v + half, half, place(2, 5), 0, s));
  RESULT("to location type 0", D(cuMemPrefetchAsync_v2)(v + half, half, place(0, 0), 0, s));
  RESULT("to location type 9", D(cuMemPrefetchAsync_v2)(v + half, half, place(9, 0), 0, s));
  RESULT("to device 99", D(cuMemPrefetchAsync_v2)(v, half, place(1, 99), 0, s));
  RESULT("flags 1", D(cuMemPrefetchAsync_v2)(v, half, place(1, 0), 1, s));
  RESULT("older form to the CPU", D(cuMemPrefetchAsync)(v, half, CU_DEVICE_CPU, s));
  RESULT("older form to device 99", D(cuMemPrefetchAsync)(v, half, 99, s));
  RESULT("older form to -2", D(cuMemPrefetchAsync)(v, half, -2, s));
  RESULT("on NULL", D(cuMemPrefetchAsync)(v, half, device, 0));
  RESULT("count 0", D(cuMemPrefetchAsync)(v, 0, device, s));
  RESULT("beyond", D(cuMemPrefetchAsync)(v, 2 * half + 65536, device, s));
  RESULT("device memory", D(cuMemPrefetchAsync)(d, 4096, device, s));
  RESULT("pinned memory", D(cuMemPrefetchAsync)((CUdeviceptr)(uintptr_t)h, 4096, device, s));
  RESULT("malloc memory", D(cuMemPrefetchAsync)((CUdeviceptr)(uintptr_t)malloc(8192), 4096, device, s));
  RESULT("zero", D(cuMemPrefetchAsync)(0, 4096, device, s));
  RESULT("one byte to the CPU", D(cuMemPrefetchAsync)(v + 100, 1, CU_DEVICE_CPU, s));
  ranges("that byte", v + 100, 1);
  ranges("its small page", v, 4096);
  ranges("next small page", v + 4096, 1);
  RESULT("stream", D(cuStreamSynchronize)(s));
}

static void batches(void) {
  start();
  CUdeviceptr v, w, d;
  CUstream s;
  const size_t half = 4 << 20;
  D(cuStreamCreate)(&s, 0);
  D(cuMemAllocManaged)(&v, half, 1);
  D(cuMemAllocManaged)(&w, half, 1);
  D(cuMemAlloc_v2)(&d, half);
  CUdeviceptr both[3] = {v, w, d};
  size_t sizes[3] = {half, half, half}, index[2] = {0, 1}, one[1] = {1}, same[2] = {0, 0}, far[2] = {0, 5};
  CUmemLocation places[2] = {place(1, 0), place(2, 0)};
  D(cuMemsetD8_v2)(v, 7, half);
  D(cuMemsetD8_v2)(w, 7, half);
  D(cuCtxSynchronize)();
  RESULT("prefetch", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, s));
  ranges("first", v, half);
  ranges("second", w, half);
  RESULT("prefetch on NULL", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, 0));
  RESULT("prefetch on LEGACY", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, CU_STREAM_LEGACY));
  RESULT("prefetch on PER_THREAD",
         D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, CU_STREAM_PER_THREAD));
  RESULT("prefetch flags 1", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 1, s));
  RESULT("prefetch count 0", D(cuMemPrefetchBatchAsync)(both, sizes, 0, places, index, 1, 0, s));
  RESULT("prefetch no locations", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 0, 0, s));
  RESULT("prefetch NULL locations", D(cuMemPrefetchBatchAsync)(both, sizes, 2, NULL, NULL, 0, 0, s));
  RESULT("prefetch index starts at 1", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, one, 1, 0, s));
  RESULT("prefetch index repeats", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, same, 2, 0, s));
  RESULT("prefetch index beyond", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, far, 2, 0, s));
  RESULT("prefetch more locations than ranges", D(cuMemPrefetchBatchAsync)(both, sizes, 1, places, index, 2, 0, s));
  RESULT("prefetch of device memory", D(cuMemPrefetchBatchAsync)(both, sizes, 3, places, index, 2, 0, s));
  sizes[1] = 0;
  RESULT("prefetch size 0", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, s));
  sizes[1] = half;
  places[1] = place(0, 0);
  RESULT("prefetch location type 0", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, s));
  places[1] = place(1, 99);
  RESULT("prefetch device 99", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, s));
  places[1] = place(2, 0);
  RESULT("discard", D(cuMemDiscardBatchAsync)(both, sizes, 2, 0, s));
  D(cuStreamSynchronize)(s);
  unsigned char byte = 77;
  D(cuMemcpyDtoH_v2)(&byte, v, 1);
  fact("a discarded byte", "%s", byte == 0 ? "zero" : byte == 7 ? "as before" : "other");
  ranges("after discard", v, half);
  RESULT("discard on NULL", D(cuMemDiscardBatchAsync)(both, sizes, 2, 0, 0));
  RESULT("discard flags 1", D(cuMemDiscardBatchAsync)(both, sizes, 2, 1, s));
  RESULT("discard count 0", D(cuMemDiscardBatchAsync)(both, sizes, 0, 0, s));
  RESULT("discard of device memory", D(cuMemDiscardBatchAsync)(both, sizes, 3, 0, s));
  sizes[0] = 100;
  RESULT("discard of 100 bytes", D(cuMemDiscardBatchAsync)(both, sizes, 1, 0, s));
  sizes[0] = 0;
  RESULT("discard of 0 bytes", D(cuMemDiscardBatchAsync)(both, sizes, 1, 0, s));
  sizes[0] = half;
  both[0] = v + 100;
  sizes[0] = 4096;
  RESULT("discard of an odd place", D(cuMemDiscardBatchAsync)(both, sizes, 1, 0, s));
  both[0] = v;
  sizes[0] = half;
  RESULT("discard and prefetch", D(cuMemDiscardAndPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, s));
  ranges("first", v, half);
  ranges("second", w, half);
  RESULT("discard and prefetch on NULL", D(cuMemDiscardAndPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 0, 0));
  RESULT("discard and prefetch flags 1", D(cuMemDiscardAndPrefetchBatchAsync)(both, sizes, 2, places, index, 2, 1, s));
  RESULT("discard and prefetch no locations",
         D(cuMemDiscardAndPrefetchBatchAsync)(both, sizes, 2, NULL, NULL, 0, 0, s));
  RESULT("stream", D(cuStreamSynchronize)(s));
}

// Which location counts where an index repeats, and what a refused batch has done to the ranges before the bad one.
static void batchOrder(void) {
  start();
  CUdeviceptr v, w, d;
  CUstream s;
  const size_t half = 4 << 20;
  D(cuStreamCreate)(&s, 0);
  D(cuMemAllocManaged)(&v, half, 1);
  D(cuMemAllocManaged)(&w, half, 1);
  D(cuMemAlloc_v2)(&d, half);
  CUdeviceptr both[2] = {v, w}, wrong[2] = {v, d};
  size_t sizes[2] = {half, half}, none[2] = {half, 0}, same[2] = {0, 0}, index[2] = {0, 1};
  CUmemLocation places[2] = {place(1, 0), place(2, 0)}, bad[2] = {place(1, 0), place(0, 0)};
  RESULT("the same index twice", D(cuMemPrefetchBatchAsync)(both, sizes, 2, places, same, 2, 0, s));
  ranges("first", v, half);
  ranges("second", w, half);
  D(cuMemPrefetchAsync_v2)(v, half, places[1], 0, s);
  RESULT("device memory behind it", D(cuMemPrefetchBatchAsync)(wrong, sizes, 2, places, same, 1, 0, s));
  ranges("first", v, half);
  RESULT("0 bytes behind it", D(cuMemPrefetchBatchAsync)(both, none, 2, places, same, 1, 0, s));
  ranges("first", v, half);
  RESULT("no place behind it", D(cuMemPrefetchBatchAsync)(both, sizes, 2, bad, index, 2, 0, s));
  ranges("first", v, half);
  D(cuStreamSynchronize)(s);
}

static void* touch(void* p) {
  *(volatile int*)p = 5;
  return NULL;
}

static void attachment(void) {
  start();
  CUdeviceptr v, host;
  CUstream s, s2;
  void* h;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  D(cuStreamCreate)(&s2, CU_STREAM_NON_BLOCKING);
  D(cuMemHostAlloc)(&h, 8192, 0);
  D(cuMemAllocManaged)(&v, 8192, 1);
  D(cuMemAllocManaged)(&host, 8192, CU_MEM_ATTACH_HOST);
  RESULT("pinned", D(cuStreamAttachMemAsync)(s, (CUdeviceptr)(uintptr_t)h, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("single on LEGACY", D(cuStreamAttachMemAsync)(CU_STREAM_LEGACY, v, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("single on PER_THREAD", D(cuStreamAttachMemAsync)(CU_STREAM_PER_THREAD, v, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("flags 8", D(cuStreamAttachMemAsync)(s, v, 0, 8));
  RESULT("flags 5", D(cuStreamAttachMemAsync)(s, v, 0, 5));
  RESULT("longer", D(cuStreamAttachMemAsync)(s, v, 8193, CU_MEM_ATTACH_SINGLE));
  RESULT("malloc with a length",
         D(cuStreamAttachMemAsync)(s, (CUdeviceptr)(uintptr_t)malloc(64), 64, CU_MEM_ATTACH_SINGLE));
  RESULT("wild", D(cuStreamAttachMemAsync)(s, 0x123456789000ull, 0, CU_MEM_ATTACH_SINGLE));
  unsigned what = 3;
  CUdeviceptr to = host;
  void* arguments[] = {&to, &what};
  launch(kernel("store"), s2, arguments);
  RESULT("kernel stores to CU_MEM_ATTACH_HOST memory", D(cuStreamSynchronize)(s2));
  fact("it arrives", "%d", *(volatile int*)(uintptr_t)host);
  RESULT("attach to s", D(cuStreamAttachMemAsync)(s, v, 0, CU_MEM_ATTACH_SINGLE));
  D(cuStreamSynchronize)(s);
  to = v;
  launch(kernel("store"), s2, arguments);
  RESULT("kernel in another stream", D(cuStreamSynchronize)(s2));
  fact("it arrives", "%d", *(volatile int*)(uintptr_t)v);
  RESULT("destroy s", D(cuStreamDestroy_v2)(s));
  launch(kernel("store"), s2, arguments);
  RESULT("kernel after that", D(cuStreamSynchronize)(s2));
  pthread_t thread;
  pthread_create(&thread, NULL, touch, (void*)(uintptr_t)v);
  pthread_join(thread, NULL);
  fact("a thread without a context writes", "%d", *(volatile int*)(uintptr_t)v);
  busy(s2, 300);
  double t = now();
  *(volatile int*)(uintptr_t)v = 6;
  fact("the host writes while a kernel runs", "%s", waited(t, 300));
  D(cuStreamSynchronize)(s2);
  busy(s2, 300);
  t = now();
  RESULT("attach in a busy stream", D(cuStreamAttachMemAsync)(s2, v, 0, CU_MEM_ATTACH_SINGLE));
  fact("it", "%s", waited(t, 300));
  D(cuStreamSynchronize)(s2);
  CUdeviceptr w;
  D(cuMemAllocManaged)(&w, 8192, 1);
  busy(s2, 300);
  t = now();
  RESULT("cuMemFree of managed memory in a busy context", D(cuMemFree_v2)(w));
  fact("it", "%s", waited(t, 300));
  D(cuStreamSynchronize)(s2);
  CUgraph graph = NULL;
  RESULT("begin capture", D(cuStreamBeginCapture_v2)(s2, CU_STREAM_CAPTURE_MODE_RELAXED));
  RESULT("attach while capturing", D(cuStreamAttachMemAsync)(s2, v, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("end capture", D(cuStreamEndCapture)(s2, &graph));
  RESULT("attach to a destroyed stream's successor", D(cuStreamAttachMemAsync)(s2, v, 0, CU_MEM_ATTACH_GLOBAL));
}

static void sizes(void) {
  start();
  CUdeviceptr v = 0;
  RESULT("128 TiB", D(cuMemAllocManaged)(&v, 1ull << 47, 1));
  RESULT("SIZE_MAX", D(cuMemAllocManaged)(&v, ~0ull, 1));
  RESULT("NULL", D(cuMemAllocManaged)(NULL, 64, 1));
  size_t before, after, total;
  D(cuMemGetInfo_v2)(&before, &total);
  D(cuMemAllocManaged)(&v, 64 << 20, 1);
  D(cuMemGetInfo_v2)(&after, &total);
  fact("free memory falls by", "%zu", before - after);
  RESULT("host flags", D(cuMemHostGetFlags)((unsigned[1]){0}, (void*)(uintptr_t)v));
  D(cuMemAllocManaged)(&v, 4096, CU_MEM_ATTACH_HOST);
  pointerFacts("CU_MEM_ATTACH_HOST", v + 8);
}

// Allocated and freed without being touched.
static void vast(void) {
  CUdeviceptr v = 0;
  start();
  RESULT("1 TiB", D(cuMemAllocManaged)(&v, 1ull << 40, 1));
  if (v) D(cuMemFree_v2)(v);
}

// What the calls of managed memory say when the context is in error.
static void fault(void) {
  CUdeviceptr v, nowhere = 0;
  CUstream s;
  unsigned what = 1;
  int value;
  void* arguments[] = {&nowhere, &what};
  start();
  D(cuStreamCreate)(&s, 0);
  D(cuMemAllocManaged)(&v, 4096, 1);
  launch(kernel("store"), s, arguments);
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
  RESULT("cuStreamAttachMemAsync", D(cuStreamAttachMemAsync)(s, v, 0, CU_MEM_ATTACH_SINGLE));
  RESULT("cuMemAdvise", advise(v, 4096, 1, 1, 0));
  RESULT("cuMemPrefetchAsync", D(cuMemPrefetchAsync_v2)(v, 4096, place(1, 0), 0, s));
  RESULT("cuMemRangeGetAttribute", D(cuMemRangeGetAttribute)(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, v, 4096));
  RESULT("cuMemAllocManaged", D(cuMemAllocManaged)(&v, 4096, 1));
}

// Calls that a driver may not survive, each in a process of its own.
static void nullRanges(void) {
  CUmemLocation where = place(1, 0);
  size_t index = 0, size = 4096;
  CUstream s;
  start();
  D(cuStreamCreate)(&s, 0);
  RESULT("prefetch of NULL", D(cuMemPrefetchBatchAsync)(NULL, &size, 1, &where, &index, 1, 0, s));
}
static void nullSizes(void) {
  CUmemLocation where = place(1, 0);
  size_t index = 0;
  CUdeviceptr v;
  CUstream s;
  start();
  D(cuStreamCreate)(&s, 0);
  D(cuMemAllocManaged)(&v, 4096, 1);
  RESULT("prefetch without sizes", D(cuMemPrefetchBatchAsync)(&v, NULL, 1, &where, &index, 1, 0, s));
}
static void nullDiscard(void) {
  size_t size = 4096;
  CUstream s;
  start();
  D(cuStreamCreate)(&s, 0);
  RESULT("discard of NULL", D(cuMemDiscardBatchAsync)(NULL, &size, 1, 0, s));
}
static void nullAnswer(void) {
  int value;
  void* data[2] = {&value, NULL};
  size_t sizes[2] = {4, 4};
  CUmem_range_attribute which[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  CUdeviceptr v;
  start();
  D(cuMemAllocManaged)(&v, 4096, 1);
  RESULT("second answer into NULL", D(cuMemRangeGetAttributes)(data, sizes, which, 2, v, 4096));
}
static void attachNothing(void) {
  CUstream s;
  start();
  D(cuStreamCreate)(&s, 0);
  RESULT("attach of 0", D(cuStreamAttachMemAsync)(s, 0, 0, CU_MEM_ATTACH_SINGLE));
}

const Group kManagedGroups[] = {{"managed.advice", advice},
                                {"managed.queries", queries},
                                {"managed.prefetches", prefetches},
                                {"managed.batches", batches},
                                {"managed.batch-order", batchOrder},
                                {"managed.attachment", attachment},
                                {"managed.sizes", sizes},
                                {"managed.vast", vast},
                                {"managed.fault", fault},
                                {"managed.null-ranges", nullRanges},
                                {"managed.null-sizes", nullSizes},
                                {"managed.null-discard", nullDiscard},
                                {"managed.null-answer", nullAnswer},
                                {"managed.attach-nothing", attachNothing},
                                {NULL, NULL}};
