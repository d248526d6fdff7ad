// Linear device memory: questions 1 to 16, 53 to 70.
#include "probe.h"

static CUresult alloc(CUdeviceptr* p, size_t n) { return D(cuMemAlloc_v2)(p, n); }

static int compareAddresses(const void* a, const void* b) {
  const CUdeviceptr x = *(const CUdeviceptr*)a, y = *(const CUdeviceptr*)b;
  return x < y ? -1 : x > y;
}

static void alignment(void) {
  start();
  CUdeviceptr p[64], all = 0;
  for (int i = 0; i < 64; ++i) {
    alloc(&p[i], 1);
    all |= p[i];
  }
  qsort(p, 64, sizeof *p, compareAddresses);
  CUdeviceptr least = ~0ull;
  for (int i = 1; i < 64; ++i)
    if (p[i] - p[i - 1] < least) least = p[i] - p[i - 1];
  fact("alignment of 1-byte allocations", "%llu", (unsigned long long)(all & -all));
  fact("smallest spacing of 1-byte allocations", "%llu", (unsigned long long)least);
}

static void beforeInit(void) {
  CUdeviceptr p = 0;
  int n = 0;
  size_t f, t;
  RESULT("cuMemAlloc(&p, 0)", alloc(&p, 0));
  RESULT("cuMemAlloc(NULL, 0)", alloc(NULL, 0));
  RESULT("cuDeviceGetCount", D(cuDeviceGetCount)(&n));
  RESULT("cuDeviceGetCount(NULL)", D(cuDeviceGetCount)(NULL));
  RESULT("cuDriverGetVersion", D(cuDriverGetVersion)(&n));
  RESULT("cuDriverGetVersion(NULL)", D(cuDriverGetVersion)(NULL));
  RESULT("cuMemGetInfo", D(cuMemGetInfo_v2)(&f, &t));
  CUcontext c;
  RESULT("cuCtxGetCurrent", D(cuCtxGetCurrent)(&c));
  RESULT("cuCtxGetCurrent(NULL)", D(cuCtxGetCurrent)(NULL));
  RESULT("cuCtxSetCurrent(NULL)", D(cuCtxSetCurrent)(NULL));
  RESULT("cuStreamSynchronize(0)", D(cuStreamSynchronize)(0));
  RESULT("cuEventQuery(NULL)", D(cuEventQuery)(NULL));
  CUmoduleLoadingMode mode;
  RESULT("cuModuleGetLoadingMode", D(cuModuleGetLoadingMode)(&mode));
  CUmodule m;
  RESULT("cuModuleLoadData", D(cuModuleLoadData)(&m, "x"));
  const void* table;
  CUuuid id = {{0}};
  RESULT("cuGetExportTable(unknown)", D(cuGetExportTable)(&table, &id));
  RESULT("cuInit(1)", D(cuInit)(1));
  RESULT("cuInit(0)", D(cuInit)(0));
  RESULT("cuInit(0) again", D(cuInit)(0));
  RESULT("cuInit(1) after", D(cuInit)(1));
}

static void withoutContext(void) {
  start();
  CUdeviceptr p = 0, q = 0;
  void* h = NULL;
  char m[64] = {0};
  size_t f, t;
  CUstream s;
  CUevent e;
  CUmodule module;
  alloc(&p, 4096);
  D(cuMemHostAlloc)(&h, 4096, 0);
  D(cuStreamCreate)(&s, 0);
  D(cuEventCreate)(&e, 0);
  CUfunction nop = kernel("nop");
  D(cuCtxSetCurrent)(NULL);
  RESULT("cuMemAlloc", alloc(&q, 64));
  RESULT("cuMemAlloc(NULL, 0)", alloc(NULL, 0));
  RESULT("cuMemcpyHtoD", D(cuMemcpyHtoD_v2)(p, m, 4));
  RESULT("cuMemcpyHtoD(0, NULL, 4)", D(cuMemcpyHtoD_v2)(0, NULL, 4));
  RESULT("cuMemcpyDtoH", D(cuMemcpyDtoH_v2)(m, p, 4));
  RESULT("cuMemcpyDtoD", D(cuMemcpyDtoD_v2)(p, p + 64, 4));
  RESULT("cuMemcpy", D(cuMemcpy)(p, p + 64, 4));
  RESULT("cuMemcpyHtoDAsync on s", D(cuMemcpyHtoDAsync_v2)(p, m, 4, s));
  RESULT("cuMemcpyHtoDAsync on 0", D(cuMemcpyHtoDAsync_v2)(p, m, 4, 0));
  RESULT("cuMemsetD8", D(cuMemsetD8_v2)(p, 1, 4));
  RESULT("cuMemsetD8Async on s", D(cuMemsetD8Async)(p, 1, 4, s));
  RESULT("cuMemGetInfo", D(cuMemGetInfo_v2)(&f, &t));
  RESULT("cuMemHostAlloc", D(cuMemHostAlloc)(&h, 64, 0));
  RESULT("cuMemGetAddressRange", D(cuMemGetAddressRange_v2)(&q, &f, p));
  unsigned type;
  RESULT("cuPointerGetAttribute", D(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  RESULT("cuMemAllocManaged", D(cuMemAllocManaged)(&q, 64, 1));
  RESULT("cuMemHostGetDevicePointer", D(cuMemHostGetDevicePointer_v2)(&q, h, 0));
  RESULT("cuMemFreeHost", D(cuMemFreeHost)(h));
  RESULT("cuStreamCreate", D(cuStreamCreate)(&s, 0));
  RESULT("cuStreamSynchronize(s)", D(cuStreamSynchronize)(s));
  RESULT("cuStreamSynchronize(0)", D(cuStreamSynchronize)(0));
  RESULT("cuStreamQuery(s)", D(cuStreamQuery)(s));
  RESULT("cuStreamQuery(0)", D(cuStreamQuery)(0));
  RESULT("cuEventCreate", D(cuEventCreate)(&e, 0));
  RESULT("cuEventRecord(e, s)", D(cuEventRecord)(e, s));
  RESULT("cuEventRecord(e, 0)", D(cuEventRecord)(e, 0));
  RESULT("cuEventQuery", D(cuEventQuery)(e));
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
  RESULT("cuModuleLoadData", D(cuModuleLoadData)(&module, "x"));
  RESULT("cuLaunchKernel on s", D(cuLaunchKernel)(nop, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  RESULT("cuLaunchKernel on 0", D(cuLaunchKernel)(nop, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
  CUdevice d;
  RESULT("cuCtxGetDevice", D(cuCtxGetDevice)(&d));
  unsigned version;
  RESULT("cuCtxGetApiVersion(NULL)", D(cuCtxGetApiVersion)(NULL, &version));
  RESULT("cuCtxPopCurrent", D(cuCtxPopCurrent_v2)(&context));
  RESULT("cuMemFree", D(cuMemFree_v2)(p));
}

static void nullOutputs(void) {
  start();
  RESULT("cuMemAlloc(NULL, 64)", alloc(NULL, 64));
  RESULT("cuMemGetInfo(NULL, NULL)", D(cuMemGetInfo_v2)(NULL, NULL));
  RESULT("cuMemHostAlloc(NULL, 64)", D(cuMemHostAlloc)(NULL, 64, 0));
  RESULT("cuStreamCreate(NULL)", D(cuStreamCreate)(NULL, 0));
  RESULT("cuEventCreate(NULL)", D(cuEventCreate)(NULL, 0));
  RESULT("cuDeviceGetName(NULL)", D(cuDeviceGetName)(NULL, 64, device));
  RESULT("cuDeviceGetAttribute(NULL)", D(cuDeviceGetAttribute)(NULL, 1, device));
  RESULT("cuCtxGetDevice(NULL)", D(cuCtxGetDevice)(NULL));
  RESULT("cuCtxGetCurrent(NULL)", D(cuCtxGetCurrent)(NULL));
  RESULT("cuModuleLoadData(NULL, x)", D(cuModuleLoadData)(NULL, "x"));
  CUmodule m;
  RESULT("cuModuleLoadData(&m, NULL)", D(cuModuleLoadData)(&m, NULL));
  RESULT("cuDeviceGet(NULL)", D(cuDeviceGet)(NULL, 0));
}

static void failedAllocation(void) {
  start();
  size_t f, total;
  D(cuMemGetInfo_v2)(&f, &total);
  CUdeviceptr p = 0xdead;
  RESULT("1 EiB", alloc(&p, 1ull << 60));
  fact("output after failure", "%s", p == 0xdead ? "left alone" : p ? "changed" : "zero");
  RESULT("SIZE_MAX", alloc(&p, SIZE_MAX));
  RESULT("total + 1", alloc(&p, total + 1));
  RESULT("zero bytes", alloc(&p, 0));
  RESULT("allocation afterwards", alloc(&p, 64));
}

static void freeing(void) {
  start();
  CUdeviceptr p, q;
  char m[8] = {0};
  alloc(&p, 4096);
  RESULT("cuMemFree(0)", D(cuMemFree_v2)(0));
  RESULT("interior pointer", D(cuMemFree_v2)(p + 256));
  RESULT("copy afterwards", D(cuMemcpyHtoD_v2)(p, m, 4));
  RESULT("free", D(cuMemFree_v2)(p));
  RESULT("double free", D(cuMemFree_v2)(p));
  RESULT("wild pointer", D(cuMemFree_v2)(0x123456789000ull));
  RESULT("malloc pointer", D(cuMemFree_v2)((CUdeviceptr)(uintptr_t)m));
  RESULT("allocation afterwards", alloc(&q, 64));
}

static void memoryInfo(void) {
  start();
  size_t f0, f1, t, total;
  CUdeviceptr p, q;
  D(cuDeviceTotalMem_v2)(&total, device);
  D(cuMemGetInfo_v2)(&f0, &t);
  fact("total equals cuDeviceTotalMem", "%s", YES(t == total));
  alloc(&p, 1);
  D(cuMemGetInfo_v2)(&f1, &t);
  fact("free drops after 1 byte", "%llu", (unsigned long long)(f0 - f1));
  alloc(&q, 1);
  size_t f2;
  D(cuMemGetInfo_v2)(&f2, &t);
  fact("free drops after another byte", "%llu", (unsigned long long)(f1 - f2));
  alloc(&q, 3 << 20);
  D(cuMemGetInfo_v2)(&f1, &t);
  fact("free drops after 3 MiB", "%llu", (unsigned long long)(f2 - f1));
  alloc(&q, 64 << 20);
  D(cuMemGetInfo_v2)(&f2, &t);
  fact("free drops after 64 MiB", "%llu", (unsigned long long)(f1 - f2));
  D(cuMemFree_v2)(q);
  D(cuMemGetInfo_v2)(&f2, &t);
  fact("free returns after free of 64 MiB", "%s", YES(f1 == f2));
  D(cuMemFree_v2)(p);
  D(cuMemGetInfo_v2)(&f1, &t);
  fact("free rises after freeing the byte", "%llu", (unsigned long long)(f1 - f2));
  RESULT("only total", D(cuMemGetInfo_v2)(NULL, &t));
  RESULT("only free", D(cuMemGetInfo_v2)(&f1, NULL));
}

static void addressRange(void) {
  start();
  CUdeviceptr p, b = 1, v, pitched, async;
  size_t n = 1, pitch;
  void* h;
  char* m = aligned_alloc(4096, 8192);
  alloc(&p, 1000);
  D(cuMemHostAlloc)(&h, 5000, 0);
  D(cuMemAllocManaged)(&v, 5000, 1);
  D(cuMemHostRegister_v2)(m, 8192, 0);
  D(cuMemAllocPitch_v2)(&pitched, &pitch, 100, 10, 4);
  RESULT("device + 8", D(cuMemGetAddressRange_v2)(&b, &n, p + 8));
  fact("device base and size", "%s %zu", YES(b == p), n);
  D(cuMemGetAddressRange_v2)(&b, &n, pitched + 8);
  fact("pitched base and size", "%s %zu", YES(b == pitched), n);
  RESULT("zero", D(cuMemGetAddressRange_v2)(&b, &n, 0));
  RESULT("malloc", D(cuMemGetAddressRange_v2)(&b, &n, (CUdeviceptr)(uintptr_t)&b));
  RESULT("one past the end", D(cuMemGetAddressRange_v2)(&b, &n, p + 1000));
  RESULT("in the rounding", D(cuMemGetAddressRange_v2)(&b, &n, p + 1010));
  RESULT("both NULL", D(cuMemGetAddressRange_v2)(NULL, NULL, p));
  RESULT("base only", D(cuMemGetAddressRange_v2)(&b, NULL, p));
  RESULT("pinned + 8", D(cuMemGetAddressRange_v2)(&b, &n, (CUdeviceptr)(uintptr_t)h + 8));
  fact("pinned base and size", "%s %zu", YES(b == (CUdeviceptr)(uintptr_t)h), n);
  RESULT("registered + 8", D(cuMemGetAddressRange_v2)(&b, &n, (CUdeviceptr)(uintptr_t)m + 8));
  fact("registered base and size", "%s %zu", YES(b == (CUdeviceptr)(uintptr_t)m), n);
  RESULT("managed + 8", D(cuMemGetAddressRange_v2)(&b, &n, v + 8));
  fact("managed base and size", "%s %zu", YES(b == v), n);
  D(cuMemAllocAsync)(&async, 1000, 0);
  D(cuCtxSynchronize)();
  RESULT("async + 8", D(cuMemGetAddressRange_v2)(&b, &n, async + 8));
  fact("async base and size", "%s %zu", YES(b == async), n);
  D(cuMemFree_v2)(p);
  RESULT("freed", D(cuMemGetAddressRange_v2)(&b, &n, p));
}

static void pitches(void) {
  start();
  CUdeviceptr p;
  size_t pitch;
  const unsigned elements[] = {0, 1, 2, 3, 4, 8, 16, 32};
  for (int i = 0; i < 8; ++i) {
    char name[64];
    pitch = 0;
    CUresult r = D(cuMemAllocPitch_v2)(&p, &pitch, 100, 4, elements[i]);
    snprintf(name, sizeof name, "element size %u", elements[i]);
    fact(name, "%s %zu", resultName(r), pitch);
  }
  const size_t widths[] = {1, 511, 512, 513, 1024, 1025, 4096, 4097};
  for (int i = 0; i < 8; ++i) {
    char name[64];
    D(cuMemAllocPitch_v2)(&p, &pitch, widths[i], 4, 4);
    snprintf(name, sizeof name, "pitch of width %zu", widths[i]);
    fact(name, "%zu", pitch);
  }
  RESULT("width 0", D(cuMemAllocPitch_v2)(&p, &pitch, 0, 4, 4));
  RESULT("height 0", D(cuMemAllocPitch_v2)(&p, &pitch, 4, 0, 4));
  RESULT("overflow", D(cuMemAllocPitch_v2)(&p, &pitch, 1ull << 40, 1ull << 40, 4));
  RESULT("above MAX_PITCH", D(cuMemAllocPitch_v2)(&p, &pitch, (size_t)INT32_MAX + 1, 1, 4));
  RESULT("NULL pitch", D(cuMemAllocPitch_v2)(&p, NULL, 4, 4, 4));
}

static void zeroed(void) {
  start();
  CUdeviceptr p;
  unsigned char m[65536];
  alloc(&p, sizeof m);
  D(cuMemcpyDtoH_v2)(m, p, sizeof m);
  bool zero = true;
  for (size_t i = 0; i < sizeof m; ++i) zero = zero && !m[i];
  fact("first allocation reads zero", "%s", YES(zero));
}

static void otherContext(void) {
  start();
  CUcontext other;
  CUdeviceptr p, q;
  char m[8] = {0};
  alloc(&p, 4096);
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("copy from another context's memory", D(cuMemcpyDtoH_v2)(m, p, 4));
  RESULT("memset of another context's memory", D(cuMemsetD8_v2)(p, 0, 4));
  CUcontext owner;
  D(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p);
  fact("owner of memory", "%s", owner == context ? "allocating context" : "other");
  RESULT("free of another context's memory", D(cuMemFree_v2)(p));
  D(cuCtxSetCurrent)(context);
  alloc(&q, 4096);
  D(cuCtxSetCurrent)(other);
  D(cuCtxDestroy_v2)(context);
  RESULT("free of a destroyed context's memory", D(cuMemFree_v2)(q));
  RESULT("copy from a destroyed context's memory", D(cuMemcpyDtoH_v2)(m, q, 4));
}

static void pointerAttributes(void) {
  start();
  CUdeviceptr p, v;
  void* h;
  char* m = aligned_alloc(4096, 8192);
  char* r = aligned_alloc(4096, 8192);
  D(cuMemHostAlloc)(&h, 4096, CU_MEMHOSTALLOC_DEVICEMAP);
  D(cuMemHostRegister_v2)(r, 8192, CU_MEMHOSTREGISTER_DEVICEMAP);
  D(cuMemAllocManaged)(&v, 4096, 1);
  alloc(&p, 1000);
  const struct {
    const char* name;
    CUdeviceptr at;
  } kinds[] = {{"device", p + 8},
               {"pinned", (CUdeviceptr)(uintptr_t)h + 8},
               {"registered", (CUdeviceptr)(uintptr_t)r + 8},
               {"managed", v + 8},
               {"malloc", (CUdeviceptr)(uintptr_t)m},
               {"zero", 0},
               {"wild", 0x123456789000ull}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
    for (int a = 1; a <= 23; ++a) {
      if (a == CU_POINTER_ATTRIBUTE_P2P_TOKENS) continue;
      unsigned char value[256];
      memset(value, 0x5a, sizeof value);
      char name[64];
      CUresult result = D(cuPointerGetAttribute)(value, (CUpointer_attribute)a, kinds[k].at);
      snprintf(name, sizeof name, "%s attribute %d", kinds[k].name, a);
      const bool address = a == 1 || a == 3 || a == 4 || a == 7 || a == 11 || a == 17 || a == 19 || a == 20 || a == 23;
      if (result)
        fact(name, "%s", resultName(result));
      else if (address) {
        uint64_t word;
        memcpy(&word, value, 8);
        fact(name, "%s", word == kinds[k].at ? "same address" : word ? "other value" : "zero");
      } else {
        uint32_t word;
        memcpy(&word, value, 4);
        const bool byte = value[1] == 0x5a, half = !byte && value[4] == 0x5a;
        fact(name, "%lld%s",
             byte   ? (long long)value[0]
             : half ? (long long)(int32_t)word
                    : (long long)*(int64_t*)value,
             byte   ? " (1 byte)"
             : half ? " (4 bytes)"
                    : " (8 bytes)");
      }
    }
  CUpointer_attribute list[6] = {1, 2, 3, 4, 8, 9};
  uint64_t values[6] = {7, 7, 7, 7, 7, 7};
  void* outputs[6] = {values, values + 1, values + 2, values + 3, values + 4, values + 5};
  RESULT("runtime's six on malloc", D(cuPointerGetAttributes)(6, list, outputs, (CUdeviceptr)(uintptr_t)m));
  fact("runtime's six on malloc, values", "%llu %u %llu %s %u %d", (unsigned long long)values[0], (unsigned)values[1],
       (unsigned long long)values[2], values[3] == (uint64_t)(uintptr_t)m ? "same address" : "other value",
       (unsigned)values[4], (int)values[5]);
  RESULT("list of zero", D(cuPointerGetAttributes)(0, list, outputs, p));
  RESULT("unknown attribute", D(cuPointerGetAttribute)(values, (CUpointer_attribute)99, p));
  RESULT("NULL value", D(cuPointerGetAttribute)(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
}

const Group kMemoryGroups[] = {{"memory.alignment", alignment},
                               {"memory.before-init", beforeInit},
                               {"memory.without-context", withoutContext},
                               {"memory.null-outputs", nullOutputs},
                               {"memory.failed-allocation", failedAllocation},
                               {"memory.freeing", freeing},
                               {"memory.info", memoryInfo},
                               {"memory.address-range", addressRange},
                               {"memory.pitches", pitches},
                               {"memory.zeroed", zeroed},
                               {"memory.other-context", otherContext},
                               {"memory.pointer-attributes", pointerAttributes},
                               {NULL, NULL}};
