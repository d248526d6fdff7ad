// Answers whose reason was not known, each asked with its neighbours: in a primary context and in one that was created,
// in another order, with other flags.
#include "graphs.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void usePrimary(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  D(cuDevicePrimaryCtxRetain)(&context, device);
  const CUresult result = D(cuCtxSetCurrent)(context);
  if (result) RESULT("start", result);
}
static void useFlagged(unsigned flags) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  RESULT("created", D(cuCtxCreate_v4)(&context, NULL, flags, device));
}

// --- flags of host memory

static void hostFlagsNow(void) {
  char name[64];
  for (unsigned f = 0; f < 8; ++f) {
    void* h = NULL;
    unsigned got = 99;
    const CUresult made = D(cuMemHostAlloc)(&h, 4096, f);
    snprintf(name, sizeof name, "cuMemHostAlloc %u", f);
    const CUresult asked = made ? made : D(cuMemHostGetFlags)(&got, h);
    fact(name, "%s %u", resultName(asked), got);
  }
  for (unsigned f = 0; f < 4; ++f) {
    char* p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned got = 99;
    const CUresult made = D(cuMemHostRegister_v2)(p, 8192, f);
    snprintf(name, sizeof name, "cuMemHostRegister %u", f);
    const CUresult asked = made ? made : D(cuMemHostGetFlags)(&got, p);
    fact(name, "%s %u", resultName(asked), got);
  }
  void* h = NULL;
  unsigned got = 99;
  D(cuMemAllocHost_v2)(&h, 4096);
  D(cuMemHostGetFlags)(&got, h);
  fact("cuMemAllocHost", "%u", got);
  unsigned flags = 99;
  D(cuCtxGetFlags)(&flags);
  fact("flags of the context", "%#x", flags);
}
static void hostFlagsPrimary(void) {
  usePrimary();
  hostFlagsNow();
  CUcontext other = NULL;
  void* h = NULL;
  unsigned got = 99;
  D(cuMemHostAlloc)(&h, 4096, 1);
  D(cuCtxCreate_v4)(&other, NULL, 0, device);
  D(cuMemHostGetFlags)(&got, h);
  fact("portable memory, asked in another context", "%u", got);
  group = "neighbours.host-flags-created-beside-primary";
  hostFlagsNow();
  D(cuCtxDestroy_v2)(other);
  D(cuCtxSetCurrent)(context);
  group = "neighbours.host-flags-primary-afterwards";
  hostFlagsNow();
}
static void hostFlagsPrimarySpin(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  D(cuDevicePrimaryCtxSetFlags_v2)(device, CU_CTX_SCHED_SPIN);
  usePrimary();
  hostFlagsNow();
}
static void hostFlagsMapped(void) { useFlagged(CU_CTX_MAP_HOST), hostFlagsNow(); }
static void hostFlagsPlain(void) { useFlagged(0), hostFlagsNow(); }
static void hostFlagsOld(void) { start(), hostFlagsNow(); }

// --- what refused calls leave in their outputs

#define OUTPUT(name, call)                                                                       \
  do {                                                                                           \
    CUdeviceptr p = 0x1234;                                                                      \
    const CUresult r = (call);                                                                   \
    fact(name, "%s %s", resultName(r), !p ? "zero" : p == 0x1234 ? "left" : r ? "set" : "made"); \
  } while (0)

static void refusals(void) {
  usePrimary();
  static const size_t widths[] = {0, 1, 512, 1ull << 20, 1ull << 31, 1ull << 40, 1ull << 62, ~0ull};
  static const size_t heights[] = {0, 1, 1ull << 20, 1ull << 40, 1ull << 62, ~0ull};
  static const unsigned elements[] = {0, 3, 4, 8, 16, 32};
  char name[96];
  for (size_t i = 0; i < sizeof widths / sizeof *widths; ++i)
    for (size_t j = 0; j < sizeof heights / sizeof *heights; ++j) {
      if (widths[i] == 1ull << 20 && heights[j] == 1ull << 20) continue;
      CUdeviceptr p = 0x1234;
      size_t pitch = 0x5678;
      const CUresult r = D(cuMemAllocPitch_v2)(&p, &pitch, widths[i], heights[j], 4);
      snprintf(name, sizeof name, "cuMemAllocPitch %#zx %#zx", widths[i], heights[j]);
      fact(name, "%s, pointer %s, pitch %s", resultName(r),
           !p            ? "zero"
           : p == 0x1234 ? "left"
                         : "set",
           !pitch            ? "zero"
           : pitch == 0x5678 ? "left"
                             : "set");
      if (!r) D(cuMemFree_v2)(p);
    }
  for (size_t i = 0; i < sizeof elements / sizeof *elements; ++i) {
    CUdeviceptr p = 0x1234;
    size_t pitch = 0x5678;
    const CUresult r = D(cuMemAllocPitch_v2)(&p, &pitch, 100, 4, elements[i]);
    snprintf(name, sizeof name, "cuMemAllocPitch elements of %u", elements[i]);
    fact(name, "%s, pointer %s, pitch %s", resultName(r),
         !p            ? "zero"
         : p == 0x1234 ? "left"
                       : "set",
         !pitch            ? "zero"
         : pitch == 0x5678 ? "left"
                           : "set");
    if (!r) D(cuMemFree_v2)(p);
  }
  CUarray_format wrongFormat = (CUarray_format)0x77;
  OUTPUT("cuMemAlloc 0", D(cuMemAlloc_v2)(&p, 0));
  OUTPUT("cuMemAlloc 1 << 60", D(cuMemAlloc_v2)(&p, 1ull << 60));
  OUTPUT("cuMemAllocManaged 0", D(cuMemAllocManaged)(&p, 0, 1));
  OUTPUT("cuMemAllocManaged flags 9", D(cuMemAllocManaged)(&p, 64, 9));
  OUTPUT("cuMemAllocManaged 1 << 60", D(cuMemAllocManaged)(&p, 1ull << 60, 1));
  OUTPUT("cuMemHostAlloc 0", D(cuMemHostAlloc)((void**)&p, 0, 0));
  OUTPUT("cuMemHostAlloc flags 0x80", D(cuMemHostAlloc)((void**)&p, 64, 0x80));
  OUTPUT("cuMemHostAlloc 1 << 60", D(cuMemHostAlloc)((void**)&p, 1ull << 60, 0));
  OUTPUT("cuMemAllocHost 1 << 60", D(cuMemAllocHost_v2)((void**)&p, 1ull << 60));
  OUTPUT("cuMemAllocAsync 0", D(cuMemAllocAsync)(&p, 0, NULL));
  OUTPUT("cuMemAllocAsync 1 << 60", D(cuMemAllocAsync)(&p, 1ull << 60, NULL));
  OUTPUT("cuMemAddressReserve 0", D(cuMemAddressReserve)(&p, 0, 0, 0, 0));
  OUTPUT("cuMemAddressReserve 1 << 60", D(cuMemAddressReserve)(&p, 1ull << 60, 0, 0, 0));
  OUTPUT("cuStreamCreate flags 8", D(cuStreamCreate)((CUstream*)&p, 8));
  OUTPUT("cuEventCreate flags 64", D(cuEventCreate)((CUevent*)&p, 64));
  CUDA_ARRAY_DESCRIPTOR flat = {16, 16, wrongFormat, 1};
  OUTPUT("cuArrayCreate format", D(cuArrayCreate_v2)((CUarray*)&p, &flat));
  CUDA_ARRAY3D_DESCRIPTOR deep = {16, 16, 16, wrongFormat, 1, 0};
  OUTPUT("cuArray3DCreate format", D(cuArray3DCreate_v2)((CUarray*)&p, &deep));
  deep.Format = CU_AD_FORMAT_FLOAT;
  deep.Width = 1ull << 40;
  OUTPUT("cuArray3DCreate width", D(cuArray3DCreate_v2)((CUarray*)&p, &deep));
  OUTPUT("cuMipmappedArrayCreate width", D(cuMipmappedArrayCreate)((CUmipmappedArray*)&p, &deep, 3));
  OUTPUT("cuModuleLoadData garbage",
         D(cuModuleLoadData)((CUmodule*)&p, "this is no module at all, whatever one thinks"));
  CUmodule m = NULL;
  D(cuModuleLoadData)(&m, ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry nop() { ret; }\n");
  OUTPUT("cuModuleGetFunction unknown", D(cuModuleGetFunction)((CUfunction*)&p, m, "nothing"));
  size_t bytes = 77;
  OUTPUT("cuModuleGetGlobal unknown", D(cuModuleGetGlobal_v2)(&p, &bytes, m, "nothing"));
  fact("cuModuleGetGlobal unknown, bytes", "%s", bytes == 77 ? "left" : bytes ? "set" : "zero");
  OUTPUT("cuGraphCreate flags 1", D(cuGraphCreate)((CUgraph*)&p, 1));
  OUTPUT("cuMemHostGetDevicePointer malloc", D(cuMemHostGetDevicePointer_v2)(&p, &bytes, 0));
  OUTPUT("cuMemGetAddressRange wild", D(cuMemGetAddressRange_v2)(&p, &bytes, 0x10000));
  OUTPUT("cuPointerGetAttribute wild", D(cuPointerGetAttribute)(&p, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 0x10000));
  OUTPUT("cuDevicePrimaryCtxRetain device 99", D(cuDevicePrimaryCtxRetain)((CUcontext*)&p, 99));
  OUTPUT("cuCtxCreate device 99", D(cuCtxCreate_v4)((CUcontext*)&p, NULL, 0, 99));
  OUTPUT("cuCtxCreate flags 0x8000", D(cuCtxCreate_v4)((CUcontext*)&p, NULL, 0x8000, device));
  CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 99}};
  OUTPUT("cuMemPoolCreate device 99", D(cuMemPoolCreate)((CUmemoryPool*)&p, &props));
  OUTPUT("cuMemPoolImportFromShareableHandle NULL, descriptor",
         D(cuMemPoolImportFromShareableHandle)((CUmemoryPool*)&p, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OUTPUT("cuMemPoolImportFromShareableHandle NULL, no type",
         D(cuMemPoolImportFromShareableHandle)((CUmemoryPool*)&p, NULL, (CUmemAllocationHandleType)0, 0));
  OUTPUT("cuMemPoolImportFromShareableHandle NULL, flags",
         D(cuMemPoolImportFromShareableHandle)((CUmemoryPool*)&p, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
  OUTPUT(
      "cuMemPoolImportFromShareableHandle descriptor 77",
      D(cuMemPoolImportFromShareableHandle)((CUmemoryPool*)&p, (void*)77, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OUTPUT("cuMemPoolImportFromShareableHandle fabric NULL",
         D(cuMemPoolImportFromShareableHandle)((CUmemoryPool*)&p, NULL, CU_MEM_HANDLE_TYPE_FABRIC, 0));
  OUTPUT("cuMemImportFromShareableHandle NULL",
         D(cuMemImportFromShareableHandle)((CUmemGenericAllocationHandle*)&p, NULL,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

// --- objects that are gone, or never were. Each question in a process of its own: any may end it.

static char zeroes[4096] __attribute__((aligned(64)));
static void inOther(const char* name, void (*ask)(void* object, const char* name), void* (*make)(void), bool primary) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (primary)
      usePrimary();
    else
      start();
    ask(make(), name);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) fact(name, "crash");
}

static CUarray newArray(void) {
  CUarray a = NULL;
  const CUDA_ARRAY_DESCRIPTOR d = {16, 16, CU_AD_FORMAT_FLOAT, 1};
  D(cuArrayCreate_v2)(&a, &d);
  return a;
}
static void* goneArray(void) {
  CUarray a = newArray();
  D(cuArrayDestroy)(a);
  return a;
}
static void* goneArrayThenOthers(void) {
  CUarray a = newArray();
  (void)newArray();
  D(cuArrayDestroy)(a);
  (void)newArray();
  D(cuMemAlloc_v2)(&(CUdeviceptr){0}, 100);
  return a;
}
static void* goneMipmap(void) {
  CUmipmappedArray m = NULL;
  const CUDA_ARRAY3D_DESCRIPTOR d = {16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  D(cuMipmappedArrayCreate)(&m, &d, 2);
  D(cuMipmappedArrayDestroy)(m);
  return m;
}
static void* goneStream(void) {
  CUstream s = NULL;
  D(cuStreamCreate)(&s, 0);
  D(cuStreamDestroy_v2)(s);
  return s;
}
static void* goneEvent(void) {
  CUevent e = NULL;
  D(cuEventCreate)(&e, 0);
  D(cuEventDestroy_v2)(e);
  return e;
}
static void* small(void) { return (void*)(uintptr_t)0x1000; }
static void* odd(void) { return (void*)(uintptr_t)0x1237; }
static void* empty(void) { return zeroes; }
static void* filled(void) { return memset(zeroes, 0x5a, sizeof zeroes); }
static void* onHeap(void) { return calloc(1, 4096); }
static void* aContext(void) { return context; }
static void* nothing(void) { return NULL; }

static void destroyArray(void* a, const char* name) { RESULT(name, D(cuArrayDestroy)(a)); }
static void destroyArrayAfterMore(void* a, const char* name) {
  RESULT(name, D(cuArrayDestroy)(a));
  RESULT(name, D(cuArrayDestroy)(a));
  RESULT("a synchronisation then", D(cuCtxSynchronize)());
}
static void describeArray(void* a, const char* name) {
  CUDA_ARRAY_DESCRIPTOR d;
  RESULT(name, D(cuArrayGetDescriptor_v2)(&d, a));
}
static void copyArray(void* a, const char* name) { RESULT(name, D(cuMemcpyHtoA_v2)(a, 0, zeroes, 16)); }
static void destroyMipmap(void* a, const char* name) { RESULT(name, D(cuMipmappedArrayDestroy)(a)); }
static void levelOf(void* a, const char* name) { RESULT(name, D(cuMipmappedArrayGetLevel)(&(CUarray){0}, a, 0)); }
static void destroyStream(void* s, const char* name) { RESULT(name, D(cuStreamDestroy_v2)(s)); }
static void queryStream(void* s, const char* name) { RESULT(name, D(cuStreamQuery)(s)); }
static void waitStream(void* s, const char* name) { RESULT(name, D(cuStreamSynchronize)(s)); }
static void fillStream(void* s, const char* name) {
  CUdeviceptr p = 0;
  D(cuMemAlloc_v2)(&p, 64);
  RESULT(name, D(cuMemsetD8Async)(p, 0, 64, s));
}
static void flagsOfStream(void* s, const char* name) { RESULT(name, D(cuStreamGetFlags)(s, &(unsigned){0})); }
static void contextOfStream(void* s, const char* name) { RESULT(name, D(cuStreamGetCtx)(s, &(CUcontext){0})); }
static void destroyEvent(void* e, const char* name) { RESULT(name, D(cuEventDestroy_v2)(e)); }
static void queryEvent(void* e, const char* name) { RESULT(name, D(cuEventQuery)(e)); }

static void gone(bool primary) {
  static const struct {
    const char* name;
    void (*ask)(void*, const char*);
    int kind;
    bool all;  // of everything that never was, too
  } asks[] = {{"cuArrayDestroy", destroyArray, 0, true},
              {"cuArrayDestroy twice more", destroyArrayAfterMore, 0, false},
              {"cuArrayGetDescriptor", describeArray, 0, false},
              {"cuMemcpyHtoA", copyArray, 0, false},
              {"cuMipmappedArrayDestroy", destroyMipmap, 1, false},
              {"cuMipmappedArrayGetLevel", levelOf, 1, false},
              {"cuStreamDestroy", destroyStream, 2, false},
              {"cuStreamQuery", queryStream, 2, false},
              {"cuStreamSynchronize", waitStream, 2, false},
              {"cuMemsetD8Async", fillStream, 2, false},
              {"cuStreamGetFlags", flagsOfStream, 2, false},
              {"cuStreamGetCtx", contextOfStream, 2, false},
              {"cuEventDestroy", destroyEvent, 3, false},
              {"cuEventQuery", queryEvent, 3, false}};
  static const struct {
    const char* name;
    void* (*make)(void);
    int kind;  // -1: of none
  } makes[] = {{"gone", goneArray, 0},
               {"gone, others made", goneArrayThenOthers, 0},
               {"gone", goneMipmap, 1},
               {"gone", goneStream, 2},
               {"gone", goneEvent, 3},
               {"zeroes", empty, -1},
               {"zeroes of malloc", onHeap, -1},
               {"0x1000", small, -1},
               {"0x1237", odd, -1},
               {"0x5a5a", filled, -1},
               {"a context", aContext, -1},
               {"NULL", nothing, -1}};
  char name[96];
  for (size_t i = 0; i < sizeof asks / sizeof *asks; ++i)
    for (size_t j = 0; j < sizeof makes / sizeof *makes; ++j) {
      if (makes[j].kind >= 0 ? makes[j].kind != asks[i].kind : makes[j].make != empty && !asks[i].all) continue;
      snprintf(name, sizeof name, "%s of %s", asks[i].name, makes[j].name);
      inOther(name, asks[i].ask, makes[j].make, primary);
    }
}
static void gonePrimary(void) { gone(true); }
static void goneCreated(void) { gone(false); }

// --- pools

static void water(const char* when, CUmemoryPool pool) {
  uint64_t v[4] = {0};
  D(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &v[0]);
  D(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &v[1]);
  D(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &v[2]);
  D(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &v[3]);
  fact(when, "reserved %llu high %llu, used %llu high %llu", (unsigned long long)v[0], (unsigned long long)v[1],
       (unsigned long long)v[2], (unsigned long long)v[3]);
}
static void poolMarks(bool own, CUstream s) {
  CUmemoryPool pool = NULL;
  CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
  if (own)
    D(cuMemPoolCreate)(&pool, &props);
  else
    D(cuDeviceGetDefaultMemPool)(&pool, device);
  CUdeviceptr p = 0, q = 0;
  uint64_t zero = 0, kept = ~0ull;
  water("at first", pool);
  D(cuMemAllocFromPoolAsync)(&p, 1 << 20, pool, s);
  water("allocated", pool);
  D(cuMemFreeAsync)(p, s);
  water("freed", pool);
  D(cuStreamSynchronize)(s);
  water("synchronised", pool);
  RESULT("reset reserved", D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
  water("reserved reset", pool);
  RESULT("reset used", D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  water("used reset", pool);
  D(cuMemAllocFromPoolAsync)(&p, 1 << 20, pool, s);
  water("allocated again", pool);
  D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
  water("reset while allocated", pool);
  D(cuMemFreeAsync)(p, s);
  D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
  water("reset while freed", pool);
  D(cuCtxSynchronize)();
  water("context synchronised", pool);
  D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
  water("reset", pool);
  D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
  D(cuMemAllocFromPoolAsync)(&q, 40 << 20, pool, s);
  D(cuMemFreeAsync)(q, s);
  D(cuStreamSynchronize)(s);
  water("kept", pool);
  D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
  water("kept, reset", pool);
  D(cuMemPoolTrimTo)(pool, 0);
  water("trimmed", pool);
  D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
  water("trimmed, reset", pool);
}
static void poolMarksDefault(void) { usePrimary(), poolMarks(false, NULL); }
static void poolMarksOwn(void) {
  CUstream s = NULL;
  usePrimary();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  poolMarks(true, s);
}

// --- interprocess events at home

static void homeEvents(void) {
  CUevent e = NULL, opened = NULL;
  CUipcEventHandle handle;
  CUcontext other = NULL;
  D(cuEventCreate)(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  RESULT("handle", D(cuIpcGetEventHandle)(&handle, e));
  RESULT("open at home", D(cuIpcOpenEventHandle)(&opened, handle));
  RESULT("open at home again", D(cuIpcOpenEventHandle)(&opened, handle));
  D(cuEventRecord)(e, NULL);
  RESULT("open at home, recorded", D(cuIpcOpenEventHandle)(&opened, handle));
  D(cuCtxCreate_v4)(&other, NULL, 0, device);
  RESULT("open in a context created later", D(cuIpcOpenEventHandle)(&opened, handle));
  D(cuCtxSetCurrent)(context);
  RESULT("open at home afterwards", D(cuIpcOpenEventHandle)(&opened, handle));
  D(cuEventDestroy_v2)(e);
  RESULT("open, destroyed", D(cuIpcOpenEventHandle)(&opened, handle));
  memset(&handle, 0, sizeof handle);
  RESULT("open zeroes", D(cuIpcOpenEventHandle)(&opened, handle));
  D(cuCtxSetCurrent)(NULL);
  RESULT("open without a context", D(cuIpcOpenEventHandle)(&opened, handle));
}
static void homeEventsPrimary(void) { usePrimary(), homeEvents(); }
static void homeEventsCreated(void) { start(), homeEvents(); }
static void homeEventsFlagged(void) { useFlagged(0), homeEvents(); }

// --- CUDA_VISIBLE_DEVICES

static void visible(void) {
  static const char* const lists[] = {"0",     "+0",    "-0",   "0x0",  "0X0",        "0x",
                                      "00",    "000",   "0abc", "0 ",   " 0",         "\t0",
                                      "a0",    "0,0",   "0,00", "0,+0", "0,1",        "0,-1",
                                      "0,abc", "0,",    ",0",   "0;0",  "0.5",        "1e0",
                                      "-1",    "1",     "99",   "+",    "-",          "--0",
                                      "++0",   "0b0",   "08",   " ",    "NONE",       "NoDevFiles",
                                      "0 ,0",  "0, 0",  "0,99", "99,0", "4294967296", "18446744073709551616",
                                      "GPU-",  "GPU-0", "gpu-", "MIG-", "0:0"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      setenv("CUDA_VISIBLE_DEVICES", lists[i], 1);
      int count = -1;
      const CUresult r = D(cuInit)(0);
      D(cuDeviceGetCount)(&count);
      char name[64];
      snprintf(name, sizeof name, "\"%s\"", lists[i][0] == '\t' ? "tab 0" : lists[i]);
      fact(name, "%s %s", resultName(r), count < 0 ? "none" : count == 0 ? "0" : count == 1 ? "1" : "more");
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
  }
}

// --- access to ranges with gaps

static void gaps(void) {
  usePrimary();
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device};
  size_t g = 0;
  D(cuMemGetAllocationGranularity)(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CUmemGenericAllocationHandle h = 0;
  D(cuMemCreate)(&h, g, &prop, 0);
  static const char* const maps[] = {"x.x.", ".xx.", "xx..", "....", ".x.x", "x..x", "xxxx"};
  for (size_t m = 0; m < sizeof maps / sizeof *maps; ++m) {
    static const struct {
      int from, count;
    } ranges[] = {{0, 4}, {0, 1}, {1, 1}, {1, 2}, {0, 3}, {2, 2}, {0, 5}, {3, 2}, {-1, 3}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; ++r) {
      CUdeviceptr p = 0;
      D(cuMemAddressReserve)(&p, 4 * g, 0, 0, 0);
      for (int i = 0; i < 4; ++i)
        if (maps[m][i] == 'x') D(cuMemMap)(p + i * g, g, 0, h, 0);
      const CUmemAccessDesc both = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      char name[64], text[64], flags[8] = "";
      snprintf(name, sizeof name, "mapped %s, access to %d of %d", maps[m], ranges[r].from, ranges[r].count);
      snprintf(text, sizeof text, "%s",
               resultName(D(cuMemSetAccess)(p + ranges[r].from * g, (size_t)ranges[r].count * g, &both, 1)));
      for (int i = 0; i < 4; ++i) {
        unsigned long long have = 9;
        const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, device};
        flags[i] = D(cuMemGetAccess)(&have, &here, p + i * g) ? '-' : (char)('0' + have);
        flags[i + 1] = 0;
      }
      fact(name, "%s, access %s", text, flags);
      for (int i = 0; i < 4; ++i)
        if (maps[m][i] == 'x') D(cuMemUnmap)(p + i * g, g);
      D(cuMemAddressFree)(p, 4 * g);
    }
  }
}

// --- many memory operations

static void manyOperations(void) {
  usePrimary();
  CUstream s = NULL;
  CUdeviceptr p = 0;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  D(cuMemAlloc_v2)(&p, 4096);
  static CUstreamBatchMemOpParams all[4096];
  static const unsigned counts[] = {0, 1, 64, 128, 200, 250, 251, 252, 253, 254, 255, 256, 257, 300, 512, 1024, 4096};
  for (int kind = 0; kind < 3; ++kind) {
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
      memset(&all[i], 0, sizeof all[i]);
      all[i].operation = kind == 2 ? CU_STREAM_MEM_OP_WAIT_VALUE_32
                         : kind    ? CU_STREAM_MEM_OP_WRITE_VALUE_64
                                   : CU_STREAM_MEM_OP_WRITE_VALUE_32;
      if (kind == 2) {
        all[i].waitValue.address = p;
        all[i].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
      } else {
        all[i].writeValue.address = p;
      }
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
      char name[48], text[64];
      snprintf(name, sizeof name, "%u %s", counts[i], kind == 2 ? "waits" : kind ? "writes of 64 bits" : "writes");
      snprintf(text, sizeof text, "%s", resultName(D(cuStreamBatchMemOp_v2)(s, counts[i], all, 0)));
      fact(name, "%s, %s", text, resultName(D(cuStreamSynchronize)(s)));
      CUgraph g = newGraph();
      CUgraphNode n = NULL;
      const CUDA_BATCH_MEM_OP_NODE_PARAMS params = {context, counts[i], all, 0};
      snprintf(name + strlen(name), sizeof name - strlen(name), ", node");
      RESULT(name, D(cuGraphAddBatchMemOpNode)(&n, g, NULL, 0, &params));
      D(cuGraphDestroy)(g);
    }
  }
}

// --- behind a fault

static volatile int functionCalls;
static volatile CUresult callbackStatus;
static void CUDA_CB called(void* data) {
  (void)data;
  ++functionCalls;
}
static void CUDA_CB calledBack(CUstream stream, CUresult status, void* data) {
  (void)stream, (void)data;
  callbackStatus = status;
}
static void faultNow(CUstream s) {
  CUdeviceptr nowhere = 0x10;
  unsigned what = 1;
  void* arguments[] = {&nowhere, &what};
  launch(kernel("store"), s, arguments);
}
static void functionsBehindFault(void) {
  usePrimary();
  CUstream s = NULL;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  (void)kernel("store");
  busy(s, 50);
  callbackStatus = (CUresult)-1;
  faultNow(s);
  RESULT("cuLaunchHostFunc", D(cuLaunchHostFunc)(s, called, NULL));
  RESULT("cuStreamAddCallback", D(cuStreamAddCallback)(s, calledBack, NULL, 0));
  RESULT("synchronise", D(cuStreamSynchronize)(s));
  usleep(200000);
  fact("host function", "%d", functionCalls);
  fact("callback", "%s", (int)callbackStatus == -1 ? "not called" : resultName(callbackStatus));
  callbackStatus = (CUresult)-1;
  RESULT("cuLaunchHostFunc later", D(cuLaunchHostFunc)(s, called, NULL));
  RESULT("cuStreamAddCallback later", D(cuStreamAddCallback)(s, calledBack, NULL, 0));
  usleep(200000);
  fact("host function then", "%d", functionCalls);
  fact("callback then", "%s", (int)callbackStatus == -1 ? "not called" : resultName(callbackStatus));
}

static CUstream sick;
static CUevent sickEvent, plainEvent;
static CUdeviceptr sickMemory;
static void* sickHost;
static CUgraphExec sickExec;
static CUgraph sickGraph;
static CUmodule sickModule;
#define ASK(name, call)                   \
  do {                                    \
    if (sigsetjmp(afterCrash, 1))         \
      fact(name, "crash");                \
    else                                  \
      fact(name, "%s", resultName(call)); \
  } while (0)
static void behindFault(void) {
  static char host[64];
  float ms = 0;
  usePrimary();
  D(cuStreamCreate)(&sick, CU_STREAM_NON_BLOCKING);
  D(cuEventCreate)(&sickEvent, 0);
  D(cuEventCreate)(&plainEvent, CU_EVENT_DISABLE_TIMING);
  D(cuMemAlloc_v2)(&sickMemory, 4096);
  D(cuMemHostAlloc)(&sickHost, 4096, 0);
  D(cuModuleLoadData)(&sickModule, ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry nop() { ret; }\n");
  sickGraph = newGraph();
  (void)emptyAfter(sickGraph, NULL);
  sickExec = instantiated(sickGraph);
  CUfunction nop = kernel("nop");
  D(cuEventRecord)(plainEvent, sick);
  catchCrashes();
  faultNow(sick);
  RESULT("synchronise", D(cuStreamSynchronize)(sick));
  ASK("cuEventRecord", D(cuEventRecord)(sickEvent, sick));
  ASK("cuEventRecord on the legacy stream", D(cuEventRecord)(sickEvent, NULL));
  ASK("cuEventRecordWithFlags", D(cuEventRecordWithFlags)(sickEvent, sick, 0));
  ASK("cuEventQuery", D(cuEventQuery)(sickEvent));
  ASK("cuEventQuery of one before", D(cuEventQuery)(plainEvent));
  ASK("cuEventSynchronize", D(cuEventSynchronize)(sickEvent));
  ASK("cuEventSynchronize of one before", D(cuEventSynchronize)(plainEvent));
  ASK("cuEventElapsedTime", D(cuEventElapsedTime)(&ms, sickEvent, sickEvent));
  ASK("cuEventCreate", D(cuEventCreate)(&(CUevent){0}, 0));
  ASK("cuStreamQuery", D(cuStreamQuery)(sick));
  ASK("cuStreamSynchronize", D(cuStreamSynchronize)(sick));
  ASK("cuStreamWaitEvent", D(cuStreamWaitEvent)(sick, plainEvent, 0));
  ASK("cuStreamCreate", D(cuStreamCreate)(&(CUstream){0}, 0));
  ASK("cuStreamGetPriority", D(cuStreamGetPriority)(sick, &(int){0}));
  ASK("cuStreamGetFlags", D(cuStreamGetFlags)(sick, &(unsigned){0}));
  ASK("cuStreamBeginCapture", D(cuStreamBeginCapture_v2)(sick, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASK("cuStreamIsCapturing", D(cuStreamIsCapturing)(sick, &(CUstreamCaptureStatus){0}));
  ASK("cuStreamEndCapture", D(cuStreamEndCapture)(sick, &(CUgraph){0}));
  ASK("cuCtxSynchronize", D(cuCtxSynchronize)());
  ASK("cuCtxGetCurrent", D(cuCtxGetCurrent)(&(CUcontext){0}));
  ASK("cuCtxGetDevice", D(cuCtxGetDevice)(&(CUdevice){0}));
  ASK("cuCtxGetFlags", D(cuCtxGetFlags)(&(unsigned){0}));
  ASK("cuCtxGetLimit", D(cuCtxGetLimit)(&(size_t){0}, CU_LIMIT_STACK_SIZE));
  ASK("cuCtxSetLimit", D(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 2048));
  ASK("cuMemAlloc", D(cuMemAlloc_v2)(&(CUdeviceptr){0}, 64));
  ASK("cuMemAllocManaged", D(cuMemAllocManaged)(&(CUdeviceptr){0}, 64, 1));
  ASK("cuMemAllocAsync", D(cuMemAllocAsync)(&(CUdeviceptr){0}, 64, sick));
  ASK("cuMemHostAlloc", D(cuMemHostAlloc)(&(void*){0}, 64, 0));
  ASK("cuMemHostRegister", D(cuMemHostRegister_v2)(host, 64, 0));
  ASK("cuMemHostGetFlags", D(cuMemHostGetFlags)(&(unsigned){0}, sickHost));
  ASK("cuMemGetInfo", D(cuMemGetInfo_v2)(&(size_t){0}, &(size_t){0}));
  ASK("cuMemGetAddressRange", D(cuMemGetAddressRange_v2)(NULL, &(size_t){0}, sickMemory));
  ASK("cuPointerGetAttribute", D(cuPointerGetAttribute)(&(unsigned){0}, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, sickMemory));
  ASK("cuMemcpyHtoD", D(cuMemcpyHtoD_v2)(sickMemory, host, 64));
  ASK("cuMemcpyDtoHAsync", D(cuMemcpyDtoHAsync_v2)(sickHost, sickMemory, 64, sick));
  ASK("cuMemcpyHtoD, no bytes", D(cuMemcpyHtoD_v2)(sickMemory, host, 0));
  ASK("cuMemsetD8", D(cuMemsetD8_v2)(sickMemory, 0, 64));
  ASK("cuMemsetD8Async, wild", D(cuMemsetD8Async)(0x10, 0, 64, sick));
  ASK("cuLaunchKernel", D(cuLaunchKernel)(nop, 1, 1, 1, 1, 1, 1, 0, sick, NULL, NULL));
  ASK("cuLaunchKernel of NULL", D(cuLaunchKernel)(NULL, 1, 1, 1, 1, 1, 1, 0, sick, NULL, NULL));
  ASK("cuFuncGetAttribute", D(cuFuncGetAttribute)(&(int){0}, CU_FUNC_ATTRIBUTE_NUM_REGS, nop));
  ASK("cuModuleLoadData", D(cuModuleLoadData)(&(CUmodule){0}, ".version 6.5\n.target sm_50\n.address_size 64\n"));
  ASK("cuModuleGetFunction", D(cuModuleGetFunction)(&(CUfunction){0}, sickModule, "nop"));
  ASK("cuModuleUnload", D(cuModuleUnload)(sickModule));
  ASK("cuGraphCreate", D(cuGraphCreate)(&(CUgraph){0}, 0));
  ASK("cuGraphInstantiate", D(cuGraphInstantiateWithFlags)(&(CUgraphExec){0}, sickGraph, 0));
  ASK("cuGraphLaunch", D(cuGraphLaunch)(sickExec, sick));
  ASK("cuGraphUpload", D(cuGraphUpload)(sickExec, sick));
  ASK("cuGraphExecDestroy", D(cuGraphExecDestroy)(sickExec));
  ASK("cuGraphDestroy", D(cuGraphDestroy)(sickGraph));
  ASK("cuLaunchHostFunc", D(cuLaunchHostFunc)(sick, called, NULL));
  ASK("cuStreamAddCallback", D(cuStreamAddCallback)(sick, calledBack, NULL, 0));
  ASK("cuStreamWriteValue32", D(cuStreamWriteValue32_v2)(sick, sickMemory, 1, 0));
  ASK("cuDeviceGetAttribute", D(cuDeviceGetAttribute)(&(int){0}, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
  ASK("cuDeviceGetDefaultMemPool", D(cuDeviceGetDefaultMemPool)(&(CUmemoryPool){0}, device));
  ASK("cuOccupancyMaxActiveBlocksPerMultiprocessor",
      D(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&(int){0}, nop, 32, 0));
  ASK("cuMemFree", D(cuMemFree_v2)(sickMemory));
  ASK("cuMemFreeHost", D(cuMemFreeHost)(sickHost));
  ASK("cuEventDestroy", D(cuEventDestroy_v2)(sickEvent));
  ASK("cuStreamDestroy", D(cuStreamDestroy_v2)(sick));
  ASK("cuCtxCreate", D(cuCtxCreate_v4)(&(CUcontext){0}, NULL, 0, device));
  ASK("cuDevicePrimaryCtxReset", D(cuDevicePrimaryCtxReset_v2)(device));
}

// --- advice about memory of the host

static void advice(void) {
  usePrimary();
  static const struct {
    const char* name;
    int kind;
  } memories[] = {{"malloc", 0},  {"anonymous", 1}, {"file", 2},   {"registered", 3}, {"page-locked", 4},
                  {"managed", 5}, {"nothing", 6},   {"device", 7}, {"static", 8}};
  static char fixed[65536] __attribute__((aligned(4096)));
  int pageable = -1;
  D(cuDeviceGetAttribute)(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device);
  fact("pageable access", "%d", pageable);
  for (size_t i = 0; i < sizeof memories / sizeof *memories; ++i) {
    CUdeviceptr p = 0;
    char* at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[] = "/tmp/probe-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    if (ftruncate(fd, 65536)) continue;
    switch (memories[i].kind) {
      case 0:
        at = malloc(65536);
        break;
      case 2:
        at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        break;
      case 3:
        D(cuMemHostRegister_v2)(at, 65536, 0);
        break;
      case 4:
        D(cuMemHostAlloc)((void**)&at, 65536, 0);
        break;
      case 5:
        D(cuMemAllocManaged)(&p, 65536, 1);
        break;
      case 6:
        p = 0x10000;
        break;
      case 7:
        D(cuMemAlloc_v2)(&p, 65536);
        break;
      case 8:
        at = fixed;
        break;
    }
    if (!p) p = (CUdeviceptr)(uintptr_t)at;
    for (int a = 0; a <= 8; ++a)
      for (int to = 0; to < 3; ++to) {
        const CUmemLocation place = {to == 0   ? CU_MEM_LOCATION_TYPE_DEVICE
                                     : to == 1 ? CU_MEM_LOCATION_TYPE_HOST
                                               : CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
                                     0};
        char name[64];
        snprintf(name, sizeof name, "%s, advice %d, to %s", memories[i].name, a,
                 to == 0   ? "device"
                 : to == 1 ? "host"
                           : "nearest node");
        RESULT(name, D(cuMemAdvise_v2)(p, 65536, (CUmem_advise)a, place));
      }
    const CUmemLocation home = {CU_MEM_LOCATION_TYPE_DEVICE, device}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    char name[64];
    snprintf(name, sizeof name, "%s, prefetch to the device", memories[i].name);
    RESULT(name, D(cuMemPrefetchAsync_v2)(p, 65536, home, 0, NULL));
    snprintf(name, sizeof name, "%s, prefetch to the host", memories[i].name);
    RESULT(name, D(cuMemPrefetchAsync_v2)(p, 65536, host, 0, NULL));
    D(cuCtxSynchronize)();
  }
}

const Group kNeighbourGroups[] = {{"neighbours.host-flags-primary", hostFlagsPrimary},
                                  {"neighbours.host-flags-primary-spinning", hostFlagsPrimarySpin},
                                  {"neighbours.host-flags-mapping", hostFlagsMapped},
                                  {"neighbours.host-flags-plain", hostFlagsPlain},
                                  {"neighbours.host-flags-old", hostFlagsOld},
                                  {"neighbours.refusals", refusals},
                                  {"neighbours.gone-primary", gonePrimary},
                                  {"neighbours.gone-created", goneCreated},
                                  {"neighbours.pool-marks-default", poolMarksDefault},
                                  {"neighbours.pool-marks-own", poolMarksOwn},
                                  {"neighbours.events-at-home-primary", homeEventsPrimary},
                                  {"neighbours.events-at-home-created", homeEventsCreated},
                                  {"neighbours.events-at-home-created-plainly", homeEventsFlagged},
                                  {"neighbours.visible-devices", visible},
                                  {"neighbours.access-gaps", gaps},
                                  {"neighbours.many-operations", manyOperations},
                                  {"neighbours.functions-behind-fault", functionsBehindFault},
                                  {"neighbours.behind-fault", behindFault},
                                  {"neighbours.advice", advice},
                                  {NULL, NULL}};
