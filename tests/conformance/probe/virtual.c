// Virtual memory management, external memory and semaphores: granularity, errors, access, mappings of parts, copies
// across mappings, pointer attributes, kernels on what they may not touch; questions 193 to 197.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

typedef CUmemGenericAllocationHandle Handle;
enum { kSize = 2 << 20 };
static const CUmemAccess_flags kNone = CU_MEM_ACCESS_FLAGS_PROT_NONE, kRead = CU_MEM_ACCESS_FLAGS_PROT_READ,
                               kBoth = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

static CUmemAllocationProp properties(void) {
  CUmemAllocationProp p;
  memset(&p, 0, sizeof p);
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = device;
  return p;
}

static CUmemAllocationProp hostProperties(CUmemLocationType type, int id) {
  CUmemAllocationProp p = properties();
  p.location.type = type;
  p.location.id = id;
  return p;
}

static CUdeviceptr reserve(size_t size) {
  CUdeviceptr va = 0;
  CUresult r = D(cuMemAddressReserve)(&va, size, 0, 0, 0);
  if (r) RESULT("reserve", r);
  return va;
}

static Handle create(size_t size) {
  CUmemAllocationProp p = properties();
  Handle h = 0;
  CUresult r = D(cuMemCreate)(&h, size, &p, 0);
  if (r) RESULT("create", r);
  return h;
}

static CUresult setAccess(CUdeviceptr va, size_t size, CUmemLocationType type, int id, CUmemAccess_flags flags) {
  CUmemAccessDesc a = {{type, id}, flags};
  return D(cuMemSetAccess)(va, size, &a, 1);
}
static CUresult allow(CUdeviceptr va, size_t size, CUmemAccess_flags flags) {
  return setAccess(va, size, CU_MEM_LOCATION_TYPE_DEVICE, device, flags);
}
static void accessOf(const char* name, CUdeviceptr va, CUmemLocationType type, int id) {
  unsigned long long f = 99;
  CUmemLocation l = {type, id};
  CUresult r = D(cuMemGetAccess)(&f, &l, va);
  fact(name, "%s %llu", resultName(r), f);
}

// A mapped, accessible range.
static CUdeviceptr mapped(size_t size, CUmemAccess_flags flags) {
  CUdeviceptr va = reserve(size);
  Handle h = create(size);
  CUresult r = D(cuMemMap)(va, size, 0, h, 0);
  if (!r && flags) r = allow(va, size, flags);
  if (r) RESULT("map", r);
  D(cuMemRelease)(h);
  return va;
}

static void granularity(void) {
  start();
  CUmemAllocationProp p = properties();
  size_t g = 0;
  RESULT("NULL", D(cuMemGetAllocationGranularity)(NULL, &p, 0));
  RESULT("no properties", D(cuMemGetAllocationGranularity)(&g, NULL, 0));
  RESULT("option 2", D(cuMemGetAllocationGranularity)(&g, &p, (CUmemAllocationGranularity_flags)2));
  for (int type = 0; type < 4; ++type) {
    char name[64];
    p = properties();
    p.type = (CUmemAllocationType)type;
    g = 0;
    CUresult r = D(cuMemGetAllocationGranularity)(&g, &p, 0);
    snprintf(name, sizeof name, "allocation type %d", type);
    fact(name, "%s %zu", resultName(r), g);
  }
  for (int type = 0; type < 6; ++type)
    for (int option = 0; option < 2; ++option) {
      char name[64];
      p = hostProperties((CUmemLocationType)type, 0);
      g = 0;
      CUresult r = D(cuMemGetAllocationGranularity)(&g, &p, (CUmemAllocationGranularity_flags)option);
      snprintf(name, sizeof name, "location %d option %d", type, option);
      fact(name, "%s %zu", resultName(r), g);
    }
  p = properties();
  p.location.id = 99;
  RESULT("device 99", D(cuMemGetAllocationGranularity)(&g, &p, 0));
  p = properties();
  p.allocFlags.compressionType = 1;
  RESULT("compressible", D(cuMemGetAllocationGranularity)(&g, &p, 0));
  p = properties();
  p.allocFlags.usage = 1;
  RESULT("tile pool", D(cuMemGetAllocationGranularity)(&g, &p, 0));
  fact("tile pool granularity", "%zu", g);
}

static void reserving(void) {
  start();
  CUdeviceptr a = 0, b = 0;
  RESULT("NULL", D(cuMemAddressReserve)(NULL, kSize, 0, 0, 0));
  RESULT("64 KiB", D(cuMemAddressReserve)(&a, 65536, 0, 0, 0));
  RESULT("3 MiB", D(cuMemAddressReserve)(&a, 3 << 20, 0, 0, 0));
  RESULT("alignment 1", D(cuMemAddressReserve)(&a, kSize, 1, 0, 0));
  RESULT("alignment 4096", D(cuMemAddressReserve)(&a, kSize, 4096, 0, 0));
  fact("aligned to 2 MiB", "%s", YES(a % kSize == 0));
  RESULT("alignment 6 MiB", D(cuMemAddressReserve)(&a, kSize, 6 << 20, 0, 0));
  RESULT("alignment 1 GiB", D(cuMemAddressReserve)(&a, kSize, 1 << 30, 0, 0));
  fact("aligned to 1 GiB", "%s", YES(a % (1 << 30) == 0));
  RESULT("alignment 2^40", D(cuMemAddressReserve)(&a, kSize, 1ull << 40, 0, 0));
  RESULT("1 TiB", D(cuMemAddressReserve)(&a, 1ull << 40, 0, 0, 0));
  RESULT("free 1 TiB", D(cuMemAddressFree)(a, 1ull << 40));
  RESULT("2^47", D(cuMemAddressReserve)(&a, 1ull << 47, 0, 0, 0));
  RESULT("2^60", D(cuMemAddressReserve)(&a, 1ull << 60, 0, 0, 0));
  RESULT("2^64 - 2 MiB", D(cuMemAddressReserve)(&a, 0 - (size_t)kSize, 0, 0, 0));
  a = reserve(8 * kSize);
  D(cuMemAddressFree)(a, 8 * kSize);
  RESULT("at a free address", D(cuMemAddressReserve)(&b, 2 * kSize, 0, a + 4 * kSize, 0));
  fact("there", "%s", YES(b == a + 4 * kSize));
  CUdeviceptr c = 0;
  RESULT("at a taken address", D(cuMemAddressReserve)(&c, kSize, 0, b, 0));
  fact("elsewhere", "%s", YES(c && c != b));
  RESULT("at an unaligned address", D(cuMemAddressReserve)(&c, kSize, 0, b + 4096, 0));
  RESULT("at a host address", D(cuMemAddressReserve)(&c, kSize, 0, 0x10000000, 0));
  fact("host address granted", "%s", YES(c == 0x10000000));
  RESULT("flags 2", D(cuMemAddressReserve)(&c, kSize, 0, 0, 2));
  CUdeviceptr base;
  size_t n;
  RESULT("address range", D(cuMemGetAddressRange_v2)(&base, &n, b));
  RESULT("free at an offset", D(cuMemAddressFree)(b + kSize, kSize));
  RESULT("free too much", D(cuMemAddressFree)(b, 3 * kSize));
  RESULT("free size 0", D(cuMemAddressFree)(b, 0));
  RESULT("free", D(cuMemAddressFree)(b, 2 * kSize));
  RESULT("free again", D(cuMemAddressFree)(b, 2 * kSize));
  RESULT("free 0", D(cuMemAddressFree)(0, kSize));
  RESULT("free 0 of 0", D(cuMemAddressFree)(0, 0));
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, kSize);
  RESULT("free of cuMemAlloc memory", D(cuMemAddressFree)(p, kSize));
}

static void creating(void) {
  start();
  CUmemAllocationProp p = properties();
  Handle h = 0, g = 0;
  RESULT("NULL handle", D(cuMemCreate)(NULL, kSize, &p, 0));
  RESULT("NULL properties", D(cuMemCreate)(&h, kSize, NULL, 0));
  RESULT("size 0", D(cuMemCreate)(&h, 0, &p, 0));
  RESULT("3 MiB", D(cuMemCreate)(&h, 3 << 20, &p, 0));
  for (int type = 0; type < 4; ++type) {
    char name[64];
    p = properties();
    p.type = (CUmemAllocationType)type;
    snprintf(name, sizeof name, "allocation type %d", type);
    RESULT(name, D(cuMemCreate)(&h, kSize, &p, 0));
  }
  for (int type = 0; type < 6; ++type) {
    char name[64];
    p = hostProperties((CUmemLocationType)type, 0);
    snprintf(name, sizeof name, "location %d", type);
    RESULT(name, D(cuMemCreate)(&h, kSize, &p, 0));
  }
  p = hostProperties(CU_MEM_LOCATION_TYPE_HOST, 5);
  RESULT("host 5", D(cuMemCreate)(&h, kSize, &p, 0));
  p = hostProperties(CU_MEM_LOCATION_TYPE_HOST_NUMA, 77);
  RESULT("node 77", D(cuMemCreate)(&h, kSize, &p, 0));
  p = properties();
  p.location.id = 99;
  RESULT("device 99", D(cuMemCreate)(&h, kSize, &p, 0));
  p.location.id = -1;
  RESULT("device -1", D(cuMemCreate)(&h, kSize, &p, 0));
  for (int type = 1; type <= 0x20; type *= 2) {
    char name[64];
    p = properties();
    p.requestedHandleTypes = (CUmemAllocationHandleType)type;
    snprintf(name, sizeof name, "handle type %d", type);
    RESULT(name, D(cuMemCreate)(&h, kSize, &p, 0));
  }
  p = properties();
  p.requestedHandleTypes = (CUmemAllocationHandleType)3;
  RESULT("handle types 3", D(cuMemCreate)(&h, kSize, &p, 0));
  p = properties();
  p.allocFlags.compressionType = 1;
  RESULT("compressible", D(cuMemCreate)(&h, kSize, &p, 0));
  CUmemAllocationProp q;
  memset(&q, 0, sizeof q);
  RESULT("properties of it", D(cuMemGetAllocationPropertiesFromHandle)(&q, h));
  fact("compression", "%d", q.allocFlags.compressionType);
  p.allocFlags.compressionType = 2;
  RESULT("compression 2", D(cuMemCreate)(&h, kSize, &p, 0));
  p = properties();
  p.allocFlags.gpuDirectRDMACapable = 1;
  RESULT("rdma", D(cuMemCreate)(&h, kSize, &p, 0));
  p.allocFlags.gpuDirectRDMACapable = 2;
  RESULT("rdma 2", D(cuMemCreate)(&h, kSize, &p, 0));
  p = properties();
  p.allocFlags.usage = 1;
  RESULT("tile pool", D(cuMemCreate)(&h, kSize, &p, 0));
  p.allocFlags.usage = 2;
  RESULT("usage 2", D(cuMemCreate)(&h, kSize, &p, 0));
  p = properties();
  p.allocFlags.reserved[0] = 1;
  RESULT("reserved 1", D(cuMemCreate)(&h, kSize, &p, 0));
  p = properties();
  p.win32HandleMetaData = &p;
  RESULT("win32 data", D(cuMemCreate)(&h, kSize, &p, 0));
  p = properties();
  RESULT("1 TiB", D(cuMemCreate)(&h, 1ull << 40, &p, 0));
  RESULT("2^60", D(cuMemCreate)(&h, 1ull << 60, &p, 0));
  size_t free0, free1, free2, total;
  D(cuMemGetInfo_v2)(&free0, &total);
  D(cuMemCreate)(&h, 64 << 20, &p, 0);
  D(cuMemGetInfo_v2)(&free1, &total);
  RESULT("release", D(cuMemRelease)(h));
  D(cuMemGetInfo_v2)(&free2, &total);
  fact("64 MiB cost", "%zu", free0 - free1);
  fact("and come back", "%s", YES(free2 == free0));
  h = create(kSize);
  g = create(kSize);
  fact("handles differ", "%s", YES(h != g && h && g));
  RESULT("release 0", D(cuMemRelease)(0));
  RESULT("release 1", D(cuMemRelease)(1));
  RESULT("release a pointer", D(cuMemRelease)((Handle)(uintptr_t)&h));
  RESULT("release twice, first", D(cuMemRelease)(g));
  RESULT("release twice, second", D(cuMemRelease)(g));
  RESULT("properties of a released handle", D(cuMemGetAllocationPropertiesFromHandle)(&q, g));
  RESULT("properties of 0", D(cuMemGetAllocationPropertiesFromHandle)(&q, 0));
  RESULT("properties NULL", D(cuMemGetAllocationPropertiesFromHandle)(NULL, h));
  memset(&q, 0x5a, sizeof q);
  RESULT("properties", D(cuMemGetAllocationPropertiesFromHandle)(&q, h));
  fact("as asked for", "%d %d %d %d %d %d", q.type, q.requestedHandleTypes, q.location.type, q.location.id,
       q.allocFlags.compressionType, q.allocFlags.gpuDirectRDMACapable);
}

static void mapping(void) {
  start();
  CUdeviceptr va = reserve(8 * kSize), base = 0;
  Handle h = create(2 * kSize), one = create(kSize), again = 0;
  size_t n = 0;
  RESULT("size 0", D(cuMemMap)(va, 0, 0, h, 0));
  RESULT("handle 0", D(cuMemMap)(va, kSize, 0, 0, 0));
  RESULT("flags 1", D(cuMemMap)(va, kSize, 0, one, 1));
  RESULT("unaligned address", D(cuMemMap)(va + 65536, kSize, 0, one, 0));
  RESULT("unaligned size", D(cuMemMap)(va, 65536, 0, one, 0));
  RESULT("more than the handle has", D(cuMemMap)(va, 2 * kSize, 0, one, 0));
  RESULT("not reserved", D(cuMemMap)(0x200000, kSize, 0, one, 0));
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, kSize);
  RESULT("over cuMemAlloc memory", D(cuMemMap)(p, kSize, 0, one, 0));
  RESULT("half of a handle", D(cuMemMap)(va, kSize, 0, h, 0));
  RESULT("the other half, by offset", D(cuMemMap)(va + kSize, kSize, kSize, h, 0));
  RESULT("offset beyond", D(cuMemMap)(va + kSize, kSize, 2 * kSize, h, 0));
  RESULT("all of it elsewhere", D(cuMemMap)(va + 2 * kSize, 2 * kSize, 0, h, 0));
  RESULT("partly over a mapping", D(cuMemMap)(va + 3 * kSize, 2 * kSize, 0, h, 0));
  RESULT("one", D(cuMemMap)(va + 5 * kSize, kSize, 0, one, 0));
  RESULT("release a mapped handle", D(cuMemRelease)(one));
  RESULT("map a released handle", D(cuMemMap)(va + 6 * kSize, kSize, 0, one, 0));
  RESULT("retain", D(cuMemRetainAllocationHandle)(&again, (void*)(uintptr_t)(va + 5 * kSize)));
  fact("the same handle", "%s", YES(again == one));
  RESULT("map it again", D(cuMemMap)(va + 6 * kSize, kSize, 0, again, 0));
  RESULT("retain inside", D(cuMemRetainAllocationHandle)(&again, (void*)(uintptr_t)(va + 5 * kSize + 4096)));
  RESULT("retain NULL", D(cuMemRetainAllocationHandle)(NULL, (void*)(uintptr_t)(va + 5 * kSize)));
  RESULT("retain of a hole", D(cuMemRetainAllocationHandle)(&again, (void*)(uintptr_t)(va + 7 * kSize)));
  RESULT("retain of cuMemAlloc memory", D(cuMemRetainAllocationHandle)(&again, (void*)(uintptr_t)p));
  RESULT("retain of host memory", D(cuMemRetainAllocationHandle)(&again, &p));
  RESULT("range of a part", D(cuMemGetAddressRange_v2)(&base, &n, va + 8));
  fact("base and size", "%s %zu", YES(base == va), n);
  RESULT("range of the whole", D(cuMemGetAddressRange_v2)(&base, &n, va + 3 * kSize));
  fact("its base and size", "%s %zu", YES(base == va + 2 * kSize), n);
  RESULT("range of a hole", D(cuMemGetAddressRange_v2)(&base, &n, va + 7 * kSize));
  RESULT("unmap size 0", D(cuMemUnmap)(va, 0));
  RESULT("unmap unaligned", D(cuMemUnmap)(va + 65536, kSize));
  RESULT("unmap half a mapping", D(cuMemUnmap)(va + 2 * kSize, kSize));
  RESULT("unmap the second half", D(cuMemUnmap)(va + 3 * kSize, kSize));
  RESULT("unmap across, ending inside", D(cuMemUnmap)(va, 3 * kSize));
  RESULT("still mapped", D(cuMemGetAddressRange_v2)(&base, &n, va));
  RESULT("unmap mapping and hole", D(cuMemUnmap)(va + 6 * kSize, 2 * kSize));
  RESULT("unmap a hole", D(cuMemUnmap)(va + 7 * kSize, kSize));
  RESULT("unmap beyond the reservation", D(cuMemUnmap)(va + 6 * kSize, 4 * kSize));
  RESULT("unmap what is not reserved", D(cuMemUnmap)(0x200000, kSize));
  RESULT("unmap cuMemAlloc memory", D(cuMemUnmap)(p, kSize));
  RESULT("unmap all", D(cuMemUnmap)(va, 8 * kSize));
  RESULT("nothing mapped", D(cuMemGetAddressRange_v2)(&base, &n, va + 2 * kSize));
  RESULT("free the addresses", D(cuMemAddressFree)(va, 8 * kSize));
}

static void neighbours(void) {
  start();
  CUdeviceptr a = reserve(4 * kSize);
  D(cuMemAddressFree)(a, 4 * kSize);
  CUdeviceptr x = 0, y = 0;
  D(cuMemAddressReserve)(&x, 2 * kSize, 0, a, 0);
  D(cuMemAddressReserve)(&y, 2 * kSize, 0, a + 2 * kSize, 0);
  fact("adjacent reservations", "%s", YES(y == x + 2 * kSize));
  Handle h = create(2 * kSize), g = create(2 * kSize), big = create(4 * kSize);
  RESULT("map across two reservations", D(cuMemMap)(x, 4 * kSize, 0, big, 0));
  D(cuMemUnmap)(x, 4 * kSize);
  RESULT("map one", D(cuMemMap)(x, 2 * kSize, 0, h, 0));
  RESULT("map other", D(cuMemMap)(y, 2 * kSize, 0, g, 0));
  RESULT("access across", allow(x, 4 * kSize, kBoth));
  static char m[4 * kSize];
  RESULT("copy across", D(cuMemcpyHtoD_v2)(x + kSize, m, 2 * kSize));
  RESULT("unmap across", D(cuMemUnmap)(x, 4 * kSize));
  RESULT("free across", D(cuMemAddressFree)(x, 4 * kSize));
  RESULT("free one", D(cuMemAddressFree)(x, 2 * kSize));
}

static void accessing(void) {
  start();
  CUdeviceptr va = reserve(6 * kSize);
  Handle h = create(2 * kSize);
  CUmemAccessDesc a[2] = {{{CU_MEM_LOCATION_TYPE_DEVICE, device}, kBoth}, {{CU_MEM_LOCATION_TYPE_HOST, 0}, kBoth}};
  char m[8] = {0};
  D(cuMemMap)(va, 2 * kSize, 0, h, 0);
  D(cuMemMap)(va + 2 * kSize, 2 * kSize, 0, h, 0);
  accessOf("before", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  accessOf("of a hole", va + 4 * kSize, CU_MEM_LOCATION_TYPE_DEVICE, device);
  accessOf("of host memory", (CUdeviceptr)(uintptr_t)&va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  accessOf("of device 99", va, CU_MEM_LOCATION_TYPE_DEVICE, 99);
  accessOf("of location 0", va, 0, 0);
  accessOf("of host", va, CU_MEM_LOCATION_TYPE_HOST, 0);
  accessOf("of node 0", va, CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
  accessOf("of location 99", va, 99, 0);
  CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  unsigned long long f;
  RESULT("get NULL", D(cuMemGetAccess)(NULL, &here, va));
  RESULT("get no location", D(cuMemGetAccess)(&f, NULL, va));
  RESULT("no descriptors", D(cuMemSetAccess)(va, 2 * kSize, a, 0));
  RESULT("NULL descriptors", D(cuMemSetAccess)(va, 2 * kSize, NULL, 1));
  RESULT("size 0", allow(va, 0, kBoth));
  RESULT("unaligned", allow(va + 65536, kSize, kBoth));
  RESULT("unaligned size", allow(va, 65536, kBoth));
  RESULT("flags 2", allow(va, 2 * kSize, 2));
  RESULT("flags 7", allow(va, 2 * kSize, 7));
  RESULT("device 99", setAccess(va, 2 * kSize, CU_MEM_LOCATION_TYPE_DEVICE, 99, kBoth));
  RESULT("location 0", setAccess(va, 2 * kSize, 0, 0, kBoth));
  RESULT("location 99", setAccess(va, 2 * kSize, 99, 0, kBoth));
  RESULT("host", setAccess(va, 2 * kSize, CU_MEM_LOCATION_TYPE_HOST, 0, kBoth));
  RESULT("node 0", setAccess(va, 2 * kSize, CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, kBoth));
  RESULT("device and host", D(cuMemSetAccess)(va, 2 * kSize, a, 2));
  accessOf("after device and host", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  a[1] = a[0];
  a[1].flags = kRead;
  RESULT("twice the device", D(cuMemSetAccess)(va, 2 * kSize, a, 2));
  accessOf("after twice", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  RESULT("half a mapping", allow(va + 2 * kSize, kSize, kBoth));
  accessOf("that half", va + 2 * kSize, CU_MEM_LOCATION_TYPE_DEVICE, device);
  accessOf("the other half", va + 3 * kSize, CU_MEM_LOCATION_TYPE_DEVICE, device);
  RESULT("the second half", allow(va + 3 * kSize, kSize, kBoth));
  RESULT("mapping and hole", allow(va, 6 * kSize, kBoth));
  accessOf("after mapping and hole", va + 2 * kSize, CU_MEM_LOCATION_TYPE_DEVICE, device);
  RESULT("ending inside a mapping", allow(va, 3 * kSize, kBoth));
  RESULT("two mappings", allow(va, 4 * kSize, kBoth));
  accessOf("first", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  accessOf("second, inside", va + 3 * kSize + 12345, CU_MEM_LOCATION_TYPE_DEVICE, device);
  RESULT("write", D(cuMemcpyHtoD_v2)(va, m, 8));
  RESULT("read only", allow(va, 2 * kSize, kRead));
  accessOf("after read only", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  RESULT("read", D(cuMemcpyDtoH_v2)(m, va, 8));
  RESULT("write to read only", D(cuMemcpyHtoD_v2)(va, m, 8));
  RESULT("fill read only", D(cuMemsetD8_v2)(va, 1, 8));
  RESULT("none", allow(va, 2 * kSize, kNone));
  accessOf("after none", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  RESULT("read none", D(cuMemcpyDtoH_v2)(m, va, 8));
  RESULT("fill none", D(cuMemsetD8_v2)(va, 1, 8));
  RESULT("read the other mapping", D(cuMemcpyDtoH_v2)(m, va + 2 * kSize, 8));
  RESULT("both again", allow(va, 2 * kSize, kBoth));
  RESULT("read again", D(cuMemcpyDtoH_v2)(m, va, 8));
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 2 * kSize);
  RESULT("of cuMemAlloc memory", allow(p, 2 * kSize, kBoth));
  accessOf("get of cuMemAlloc memory", p, CU_MEM_LOCATION_TYPE_DEVICE, device);
}

static void copies(void) {
  start();
  CUdeviceptr va = reserve(6 * kSize), p;
  Handle h[3] = {create(kSize), create(kSize), create(2 * kSize)};
  D(cuMemMap)(va, kSize, 0, h[0], 0);
  D(cuMemMap)(va + kSize, kSize, 0, h[1], 0);
  D(cuMemMap)(va + 3 * kSize, 2 * kSize, 0, h[2], 0);
  allow(va, 2 * kSize, kBoth);
  allow(va + 3 * kSize, 2 * kSize, kBoth);
  D(cuMemAlloc_v2)(&p, 8 * kSize);
  static char m[8 * kSize], back[8 * kSize];
  for (size_t i = 0; i < sizeof m; ++i) m[i] = (char)(i * 7 + i / 5);
  RESULT("to the device across a border", D(cuMemcpyHtoD_v2)(va + kSize - 1000, m, 2000));
  RESULT("to the host across a border", D(cuMemcpyDtoH_v2)(back, va + kSize - 1000, 2000));
  fact("the same bytes", "%s", YES(!memcmp(m, back, 2000)));
  RESULT("inside the device across a border", D(cuMemcpyDtoD_v2)(p, va, 2 * kSize));
  RESULT("fill across a border", D(cuMemsetD8_v2)(va + kSize - 1000, 1, 2000));
  RESULT("fill 32 bits across a border", D(cuMemsetD32_v2)(va + kSize - 1000, 1, 500));
  RESULT("unified across a border", D(cuMemcpy)(va + kSize - 8, p, 16));
  RESULT("rows across a border", D(cuMemsetD2D8_v2)(va, 65536, 1, 1000, 64));
  RESULT("into a hole", D(cuMemcpyHtoD_v2)(va + 2 * kSize - 1000, m, 2000));
  RESULT("starting in a hole", D(cuMemcpyHtoD_v2)(va + 3 * kSize - 1000, m, 2000));
  RESULT("over a hole", D(cuMemcpyHtoD_v2)(va, m, 4 * kSize));
  RESULT("from a hole", D(cuMemcpyDtoH_v2)(back, va + 2 * kSize, 8));
  RESULT("beyond the end", D(cuMemcpyHtoD_v2)(va + 5 * kSize - 8, m, 16));
  RESULT("fill into a hole", D(cuMemsetD8_v2)(va + 2 * kSize - 1000, 1, 2000));
  CUdeviceptr other = mapped(kSize, kNone);
  RESULT("from no access", D(cuMemcpyDtoH_v2)(back, other, 8));
  RESULT("from no access, asynchronous", D(cuMemcpyDtoHAsync_v2)(back, other, 8, 0));
  RESULT("to no access inside the device", D(cuMemcpyDtoD_v2)(other, p, 8));
  RESULT("fill no access", D(cuMemsetD8_v2)(other, 1, 8));
  RESULT("allowed in part", allow(va, kSize, kNone));
  RESULT("across into no access", D(cuMemcpyHtoD_v2)(va + kSize - 8, m, 16));
  CUDA_MEMCPY2D box;
  memset(&box, 0, sizeof box);
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = m;
  box.srcPitch = 65536;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = va + kSize;
  box.dstPitch = 65536;
  box.WidthInBytes = 100;
  box.Height = 40;
  RESULT("box into a hole", D(cuMemcpy2D_v2)(&box));
  box.dstDevice = va + 3 * kSize;
  RESULT("box", D(cuMemcpy2D_v2)(&box));
  RESULT("the context afterwards", D(cuCtxSynchronize)());
}

static void aliases(void) {
  start();
  CUdeviceptr va = reserve(2 * kSize);
  Handle h = create(kSize);
  D(cuMemMap)(va, kSize, 0, h, 0);
  D(cuMemMap)(va + kSize, kSize, 0, h, 0);
  allow(va, 2 * kSize, kBoth);
  unsigned m = 42, back = 0;
  D(cuMemsetD8_v2)(va, 0, kSize);
  RESULT("write one", D(cuMemcpyHtoD_v2)(va + 64, &m, 4));
  RESULT("read the other", D(cuMemcpyDtoH_v2)(&back, va + kSize + 64, 4));
  fact("is", "%u", back);
  RESULT("unmap one", D(cuMemUnmap)(va, kSize));
  D(cuMemcpyDtoH_v2)(&back, va + kSize + 64, 4);
  fact("still", "%u", back);
  RESULT("map it again", D(cuMemMap)(va, kSize, 0, h, 0));
  accessOf("access is gone", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  allow(va, kSize, kBoth);
  back = 0;
  D(cuMemcpyDtoH_v2)(&back, va + 64, 4);
  fact("and again", "%u", back);
  size_t free0, free1, free2, total;
  D(cuMemGetInfo_v2)(&free0, &total);
  D(cuMemRelease)(h);
  D(cuMemUnmap)(va, kSize);
  D(cuMemGetInfo_v2)(&free1, &total);
  D(cuMemUnmap)(va + kSize, kSize);
  D(cuMemGetInfo_v2)(&free2, &total);
  fact("free while one mapping is left", "%zu", free1 - free0);
  fact("free with the last mapping", "%zu", free2 - free0);
}

static void attributesOf(const char* what, CUdeviceptr p, CUdeviceptr base) {
  char name[96];
  for (int which = 1; which <= 21; ++which) {
    uint64_t value[2] = {0x5a5a5a5a5a5a5a5aull, 0};
    if (which == 5) continue;
    CUresult r = D(cuPointerGetAttribute)(value, (CUpointer_attribute)which, p);
    snprintf(name, sizeof name, "%s: attribute %d", what, which);
    uint64_t v = value[0];
    const char* note = "";
    bool small = v >> 32 == 0x5a5a5a5a;
    if (small) v &= 0xffffffff;
    if (r) {
      fact(name, "%s", resultName(r));
      continue;
    }
    if (which == 7 || which == 20) {
      fact(name, "%s", v ? "an id" : "0");
      continue;
    }
    if (which == 1 || which == 17) {
      fact(name, "%s", v ? "set" : "NULL");
      continue;
    }
    if (v == p && v != base)
      note = "the pointer";
    else if (v == base && v)
      note = "the base";
    if (*note)
      fact(name, "%s", note);
    else if (!small && v > 1ull << 40)
      fact(name, "another address");
    else
      fact(name, "%llu", (unsigned long long)v);
  }
}

static void attributes(void) {
  start();
  CUdeviceptr va = reserve(4 * kSize);
  Handle h = create(2 * kSize);
  attributesOf("reserved", va + 100, va);
  D(cuMemMap)(va, 2 * kSize, 0, h, 0);
  attributesOf("mapped", va + 100, va);
  allow(va, 2 * kSize, kBoth);
  attributesOf("accessible", va + kSize + 100, va);
  allow(va, 2 * kSize, kRead);
  attributesOf("readable", va + 100, va);
  CUmemAllocationProp p = properties();
  p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  p.allocFlags.gpuDirectRDMACapable = 1;
  Handle g = 0;
  D(cuMemCreate)(&g, kSize, &p, 0);
  D(cuMemMap)(va + 3 * kSize, kSize, 0, g, 0);
  allow(va + 3 * kSize, kSize, kBoth);
  attributesOf("exportable", va + 3 * kSize + 100, va + 3 * kSize);
  int on = 1;
  RESULT("set SYNC_MEMOPS", D(cuPointerSetAttribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, va));
  CUipcMemHandle k;
  RESULT("ipc handle", D(cuIpcGetMemHandle)(&k, va));
  unsigned flags;
  RESULT("host flags", D(cuMemHostGetFlags)(&flags, (void*)(uintptr_t)va));
  RESULT("register it", D(cuMemHostRegister_v2)((void*)(uintptr_t)va, 4096, 0));
  RESULT("advise it", D(cuMemAdvise)(va, kSize, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
  RESULT("prefetch it", D(cuMemPrefetchAsync)(va, kSize, device, 0));
}

static void hostMemory(void) {
  start();
  const struct {
    const char* name;
    CUmemLocationType type;
    int id;
  } places[] = {{"host", CU_MEM_LOCATION_TYPE_HOST, 0},
                {"node", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
                {"current node", CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0}};
  for (int i = 0; i < 3; ++i) {
    char name[96];
#define NAMED(text) (snprintf(name, sizeof name, "%s: %s", places[i].name, text), name)
    CUmemAllocationProp p = hostProperties(places[i].type, places[i].id), q;
    Handle h = 0;
    memset(&q, 0, sizeof q);
    CUresult r = D(cuMemCreate)(&h, kSize, &p, 0);
    RESULT(NAMED("create"), r);
    if (r) continue;
    D(cuMemGetAllocationPropertiesFromHandle)(&q, h);
    fact(NAMED("location"), "%d %d", q.location.type, q.location.id);
    CUdeviceptr va = reserve(2 * kSize);
    RESULT(NAMED("map"), D(cuMemMap)(va, kSize, 0, h, 0));
    RESULT(NAMED("access of the device"), allow(va, kSize, kBoth));
    accessOf(NAMED("access of the host"), va, CU_MEM_LOCATION_TYPE_HOST, 0);
    RESULT(NAMED("set host"), setAccess(va, kSize, CU_MEM_LOCATION_TYPE_HOST, 0, kBoth));
    RESULT(NAMED("set node 0"), setAccess(va, kSize, CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, kBoth));
    RESULT(NAMED("set current node"), setAccess(va, kSize, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0, kBoth));
    accessOf(NAMED("host now"), va, CU_MEM_LOCATION_TYPE_HOST, 0);
    accessOf(NAMED("node now"), va, CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
    accessOf(NAMED("device now"), va, CU_MEM_LOCATION_TYPE_DEVICE, device);
    attributesOf(places[i].name, va + 100, va);
    unsigned m = 7;
    RESULT(NAMED("copy"), D(cuMemcpyHtoD_v2)(va, &m, 4));
    RESULT(NAMED("fill"), D(cuMemsetD8_v2)(va, 1, 8));
    RESULT(NAMED("set host read only"), setAccess(va, kSize, CU_MEM_LOCATION_TYPE_HOST, 0, kRead));
    RESULT(NAMED("set host none"), setAccess(va, kSize, CU_MEM_LOCATION_TYPE_HOST, 0, kNone));
    D(cuMemRelease)(h);
  }
}

static void hostTouch(void) {
  start();
  CUmemAllocationProp p = hostProperties(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
  Handle h = 0;
  if (D(cuMemCreate)(&h, kSize, &p, 0)) return;
  CUdeviceptr va = reserve(kSize);
  D(cuMemMap)(va, kSize, 0, h, 0);
  RESULT("access of the host", setAccess(va, kSize, CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, kBoth));
  allow(va, kSize, kBoth);
  *(volatile unsigned*)(uintptr_t)va = 77;
  unsigned back = 0;
  RESULT("copy what the host wrote", D(cuMemcpyDtoH_v2)(&back, va, 4));
  fact("is", "%u", back);
}

// How a kernel fares that stores to (or loads from) `va`.
static void kernelOn(CUdeviceptr va, bool stores) {
  unsigned what = 5;
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 256);
  void* storing[] = {&va, &what};
  void* loading[] = {&va, &p};
  launch(kernel(stores ? "store" : "load"), 0, stores ? storing : loading);
  RESULT("synchronise", D(cuCtxSynchronize)());
  CUdeviceptr q;
  RESULT("then cuMemAlloc", D(cuMemAlloc_v2)(&q, 64));
  RESULT("then cuMemUnmap", D(cuMemUnmap)(va / kSize * kSize, kSize));
  RESULT("then cuMemAddressReserve", D(cuMemAddressReserve)(&q, kSize, 0, 0, 0));
  Handle h;
  CUmemAllocationProp props = properties();
  RESULT("then cuMemCreate", D(cuMemCreate)(&h, kSize, &props, 0));
}
static void kernelNone(void) {
  start();
  kernelOn(mapped(kSize, kNone), true);
}
static void kernelReadNone(void) {
  start();
  kernelOn(mapped(kSize, kNone), false);
}
static void kernelReadOnly(void) {
  start();
  kernelOn(mapped(kSize, kRead), true);
}
static void kernelReads(void) {
  start();
  kernelOn(mapped(kSize, kRead), false);
}
static void kernelBoth(void) {
  start();
  kernelOn(mapped(kSize, kBoth), true);
}
static void kernelReserved(void) {
  start();
  kernelOn(reserve(kSize), true);
}
static void kernelUnmapped(void) {
  start();
  CUdeviceptr va = mapped(kSize, kBoth);
  D(cuMemUnmap)(va, kSize);
  kernelOn(va, false);
}

// Which calls wait for a kernel that runs.
static void waiting(void) {
  start();
  const int kBusy = 200;
  CUstream s;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  CUdeviceptr va = reserve(4 * kSize);
  Handle h = create(kSize), g;
  busy(s, 1);
  D(cuCtxSynchronize)();
  double t;
  busy(s, kBusy);
  t = now();
  g = create(kSize);
  fact("cuMemCreate", "%s", waited(t, kBusy));
  D(cuCtxSynchronize)();
  busy(s, kBusy);
  t = now();
  D(cuMemMap)(va, kSize, 0, h, 0);
  fact("cuMemMap", "%s", waited(t, kBusy));
  D(cuCtxSynchronize)();
  busy(s, kBusy);
  t = now();
  allow(va, kSize, kBoth);
  fact("cuMemSetAccess", "%s", waited(t, kBusy));
  D(cuCtxSynchronize)();
  busy(s, kBusy);
  t = now();
  D(cuMemUnmap)(va, kSize);
  fact("cuMemUnmap", "%s", waited(t, kBusy));
  D(cuCtxSynchronize)();
  busy(s, kBusy);
  t = now();
  D(cuMemRelease)(h);
  fact("cuMemRelease", "%s", waited(t, kBusy));
  D(cuCtxSynchronize)();
  busy(s, kBusy);
  t = now();
  D(cuMemAddressFree)(va, 4 * kSize);
  fact("cuMemAddressFree", "%s", waited(t, kBusy));
  D(cuCtxSynchronize)();
  D(cuMemRelease)(g);
}

static void unmapQueued(void) {
  start();
  CUstream s;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  CUdeviceptr va = mapped(kSize, kBoth), p;
  D(cuMemAlloc_v2)(&p, kSize);
  busy(s, 1);
  D(cuCtxSynchronize)();
  busy(s, 200);
  RESULT("copy", D(cuMemcpyDtoDAsync_v2)(p, va, kSize, s));
  RESULT("unmap under it", D(cuMemUnmap)(va, kSize));
  RESULT("the stream", D(cuStreamSynchronize)(s));
}

static void withoutContext(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUmemAllocationProp p = properties();
  size_t g;
  CUdeviceptr va = 0;
  Handle h = 0;
  int fd = -1;
  RESULT("granularity", D(cuMemGetAllocationGranularity)(&g, &p, 0));
  RESULT("reserve", D(cuMemAddressReserve)(&va, kSize, 0, 0, 0));
  p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  RESULT("create", D(cuMemCreate)(&h, kSize, &p, 0));
  RESULT("map", D(cuMemMap)(va, kSize, 0, h, 0));
  RESULT("access", allow(va, kSize, kBoth));
  accessOf("get access", va, CU_MEM_LOCATION_TYPE_DEVICE, device);
  RESULT("export", D(cuMemExportToShareableHandle)(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  RESULT("retain", D(cuMemRetainAllocationHandle)(&h, (void*)(uintptr_t)va));
  RESULT("pointer attribute", D(cuPointerGetAttribute)(&g, CU_POINTER_ATTRIBUTE_RANGE_SIZE, va));
  CUcontext c;
  D(cuCtxCreate_v2)(&c, 0, device);
  unsigned m = 3;
  RESULT("copy in a context", D(cuMemcpyHtoD_v2)(va, &m, 4));
  D(cuCtxDestroy_v2)(c);
  D(cuCtxCreate_v2)(&c, 0, device);
  m = 0;
  RESULT("copy in the next context", D(cuMemcpyDtoH_v2)(&m, va, 4));
  fact("the content survived", "%s", YES(m == 3));
  D(cuCtxDestroy_v2)(c);
  RESULT("unmap", D(cuMemUnmap)(va, kSize));
  RESULT("release", D(cuMemRelease)(h));
  RESULT("free", D(cuMemAddressFree)(va, kSize));
}

static void beforeInit(void) {
  CUdeviceptr va = 0;
  Handle h = 0;
  CUmemAllocationProp p = properties();
  size_t g;
  CUexternalMemory m;
  RESULT("granularity", D(cuMemGetAllocationGranularity)(&g, &p, 0));
  RESULT("reserve", D(cuMemAddressReserve)(&va, kSize, 0, 0, 0));
  RESULT("create", D(cuMemCreate)(&h, kSize, &p, 0));
  RESULT("release", D(cuMemRelease)(h));
  RESULT("unmap", D(cuMemUnmap)(va, kSize));
  RESULT("destroy external memory", D(cuDestroyExternalMemory)(NULL));
  RESULT("import external memory", D(cuImportExternalMemory)(&m, NULL));
}

static void exporting(void) {
  start();
  CUmemAllocationProp p = properties(), q;
  Handle h = 0, plain = create(kSize), i = 0, j = 0;
  int fd = -1, fd2 = -1;
  p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  RESULT("create", D(cuMemCreate)(&h, kSize, &p, 0));
  const CUmemAllocationHandleType kFd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  RESULT("export", D(cuMemExportToShareableHandle)(&fd, h, kFd, 0));
  fact("close-on-exec", "%s", YES(fcntl(fd, F_GETFD) & FD_CLOEXEC));
  RESULT("export again", D(cuMemExportToShareableHandle)(&fd2, h, kFd, 0));
  fact("another descriptor", "%s", YES(fd2 != fd && fd2 >= 0));
  RESULT("export NULL", D(cuMemExportToShareableHandle)(NULL, h, kFd, 0));
  RESULT("export flags 1", D(cuMemExportToShareableHandle)(&fd2, h, kFd, 1));
  RESULT("export handle 0", D(cuMemExportToShareableHandle)(&fd2, 0, kFd, 0));
  RESULT("export type 0", D(cuMemExportToShareableHandle)(&fd2, h, 0, 0));
  RESULT("export type 2", D(cuMemExportToShareableHandle)(&fd2, h, 2, 0));
  RESULT("export type 4", D(cuMemExportToShareableHandle)(&fd2, h, 4, 0));
  RESULT("export type 8", D(cuMemExportToShareableHandle)(&fd2, h, 8, 0));
  RESULT("export type 16", D(cuMemExportToShareableHandle)(&fd2, h, 16, 0));
  RESULT("export what was not made for it", D(cuMemExportToShareableHandle)(&fd2, plain, kFd, 0));
  RESULT("import", D(cuMemImportFromShareableHandle)(&i, (void*)(uintptr_t)fd, kFd));
  fact("a handle of its own", "%s", YES(i != h && i));
  RESULT("import again", D(cuMemImportFromShareableHandle)(&j, (void*)(uintptr_t)fd, kFd));
  fact("and another", "%s", YES(j != i));
  memset(&q, 0, sizeof q);
  RESULT("properties", D(cuMemGetAllocationPropertiesFromHandle)(&q, i));
  fact("of the import", "%d %d %d %d", q.type, q.requestedHandleTypes, q.location.type, q.location.id);
  RESULT("export the import", D(cuMemExportToShareableHandle)(&fd2, i, kFd, 0));
  RESULT("import NULL", D(cuMemImportFromShareableHandle)(NULL, (void*)(uintptr_t)fd, kFd));
  RESULT("import type 0", D(cuMemImportFromShareableHandle)(&j, (void*)(uintptr_t)fd, 0));
  RESULT("import type 2", D(cuMemImportFromShareableHandle)(&j, (void*)(uintptr_t)fd, 2));
  RESULT("import type 16", D(cuMemImportFromShareableHandle)(&j, (void*)(uintptr_t)fd, 16));
  RESULT("import descriptor -1", D(cuMemImportFromShareableHandle)(&j, (void*)(intptr_t)-1, kFd));
  RESULT("import descriptor 999", D(cuMemImportFromShareableHandle)(&j, (void*)(intptr_t)999, kFd));
  RESULT("import standard output", D(cuMemImportFromShareableHandle)(&j, (void*)(intptr_t)1, kFd));
  int zero = open("/dev/zero", O_RDWR), memory = memfd_create("probe", MFD_ALLOW_SEALING);
  if (ftruncate(memory, kSize)) return;
  RESULT("import /dev/zero", D(cuMemImportFromShareableHandle)(&j, (void*)(intptr_t)zero, kFd));
  RESULT("import a memfd", D(cuMemImportFromShareableHandle)(&j, (void*)(intptr_t)memory, kFd));
  CUdeviceptr va = reserve(2 * kSize);
  unsigned m = 42, back = 0;
  D(cuMemMap)(va, kSize, 0, h, 0);
  RESULT("map the import", D(cuMemMap)(va + kSize, kSize, 0, i, 0));
  RESULT("access", allow(va, 2 * kSize, kBoth));
  D(cuMemcpyHtoD_v2)(va, &m, 4);
  D(cuMemcpyDtoH_v2)(&back, va + kSize, 4);
  fact("the same memory", "%s", YES(back == 42));
  close(fd);
  RESULT("release", D(cuMemRelease)(h));
  RESULT("release the import", D(cuMemRelease)(i));
  RESULT("read after all releases", D(cuMemcpyDtoH_v2)(&back, va + kSize, 4));
}

static void fabric(void) {
  start();
  CUmemAllocationProp p = properties();
  Handle h = 0;
  p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  RESULT("create", D(cuMemCreate)(&h, kSize, &p, 0));
  char buffer[64];
  memset(buffer, 0x5a, sizeof buffer);
  if (h) RESULT("export", D(cuMemExportToShareableHandle)(buffer, h, CU_MEM_HANDLE_TYPE_FABRIC, 0));
  RESULT("import garbage", D(cuMemImportFromShareableHandle)(&h, buffer, CU_MEM_HANDLE_TYPE_FABRIC));
}

static void exportHost(void) {
  start();
  for (int type = CU_MEM_LOCATION_TYPE_HOST; type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT; ++type) {
    char name[64];
    CUmemAllocationProp p = hostProperties((CUmemLocationType)type, 0);
    Handle h = 0;
    int fd = -1;
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    snprintf(name, sizeof name, "create at location %d", type);
    CUresult r = D(cuMemCreate)(&h, kSize, &p, 0);
    RESULT(name, r);
    snprintf(name, sizeof name, "export of location %d", type);
    if (!r) RESULT(name, D(cuMemExportToShareableHandle)(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  }
}

static const char* descriptorKind(int fd) {
  char link[64], target[128] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, target, sizeof target - 1);
  return n < 0 ? "closed" : strstr(target, "dmabuf") ? "a dma-buf" : "something else";
}

static void dmaBuf(void) {
  start();
  const CUmemRangeHandleType kType = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
  int fd = -1, value = -1;
  CUdeviceptr p, small, managed;
  void* h;
  D(cuMemAlloc_v2)(&p, 2 * kSize);
  D(cuMemAlloc_v2)(&small, 4096);
  D(cuMemAllocManaged)(&managed, kSize, CU_MEM_ATTACH_GLOBAL);
  D(cuMemHostAlloc)(&h, kSize, 0);
  D(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device);
  fact("supported", "%d", value);
#define FOR_RANGE(name, address, size, flags) \
  RESULT(name, D(cuMemGetHandleForAddressRange)(&fd, address, size, kType, flags))
  FOR_RANGE("whole", p, 2 * kSize, 0);
  fact("is", "%s", descriptorKind(fd));
  struct stat s;
  fact("fstat", "%s", YES(!fstat(fd, &s)));
  fact("its size", "%lld", (long long)lseek(fd, 0, SEEK_END));
  fact("close-on-exec", "%s", YES(fcntl(fd, F_GETFD) & FD_CLOEXEC));
  void* seen = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  fact("can be mapped", "%s", YES(seen != MAP_FAILED));
  close(fd);
  fd = -1;
  FOR_RANGE("first half", p, kSize, 0);
  FOR_RANGE("one page inside", p + 65536, 4096, 0);
  FOR_RANGE("64 KiB inside", p + 65536, 65536, 0);
  FOR_RANGE("beyond the end", p, 2 * kSize + 65536, 0);
  FOR_RANGE("size 100", p, 100, 0);
  FOR_RANGE("small allocation", small, 4096, 0);
  FOR_RANGE("small, 64 KiB", small, 65536, 0);
  FOR_RANGE("managed", managed, kSize, 0);
  FOR_RANGE("page-locked", (CUdeviceptr)(uintptr_t)h, kSize, 0);
  FOR_RANGE("pageable", (CUdeviceptr)(uintptr_t)&fd / 4096 * 4096, 4096, 0);
  FOR_RANGE("address 0", 0, 4096, 0);
  FOR_RANGE("flags 1", p, kSize, 1);
  FOR_RANGE("flags 2", p, kSize, 2);
  FOR_RANGE("flags 0x80", p, kSize, 0x80);
  RESULT("type 2", D(cuMemGetHandleForAddressRange)(&fd, p, kSize, (CUmemRangeHandleType)2, 0));
  FOR_RANGE("mapped", mapped(2 * kSize, kBoth), 2 * kSize, 0);
  FOR_RANGE("mapped without access", mapped(kSize, kNone), kSize, 0);
  FOR_RANGE("reserved", reserve(kSize), kSize, 0);
  CUdeviceptr va = reserve(4 * kSize);
  Handle a = create(kSize), b = create(kSize);
  D(cuMemMap)(va, kSize, 0, a, 0);
  FOR_RANGE("half mapped", va, 2 * kSize, 0);
  D(cuMemMap)(va + kSize, kSize, 0, b, 0);
  allow(va, 2 * kSize, kBoth);
  FOR_RANGE("two mappings", va, 2 * kSize, 0);
  CUmemAllocationProp props = properties();
  props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  Handle c = 0;
  D(cuMemCreate)(&c, kSize, &props, 0);
  D(cuMemMap)(va + 2 * kSize, kSize, 0, c, 0);
  allow(va + 2 * kSize, kSize, kBoth);
  FOR_RANGE("two mappings of different properties", va + kSize, 2 * kSize, 0);
  size_t free0, free1, free2, total;
  FOR_RANGE("before it is freed", p, 2 * kSize, 0);
  D(cuMemGetInfo_v2)(&free0, &total);
  RESULT("cuMemFree while a descriptor is open", D(cuMemFree_v2)(p));
  D(cuMemGetInfo_v2)(&free1, &total);
  close(fd);
  D(cuMemGetInfo_v2)(&free2, &total);
  fact("free after cuMemFree", "%zu", free1 - free0);
  fact("free after close", "%zu", free2 - free1);
}

static void externalMemory(void) {
  start();
  CUmemAllocationProp p = properties();
  p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  Handle h = 0;
  int fd = -1;
  D(cuMemCreate)(&h, 2 * kSize, &p, 0);
  D(cuMemExportToShareableHandle)(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC d;
  memset(&d, 0, sizeof d);
  CUexternalMemory m = NULL;
  RESULT("NULL", D(cuImportExternalMemory)(NULL, &d));
  RESULT("no description", D(cuImportExternalMemory)(&m, NULL));
  for (int type = 0; type <= 10; ++type) {
    char name[64];
    if (type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD || type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF) continue;
    memset(&d, 0, sizeof d);
    d.type = (CUexternalMemoryHandleType)type;
    d.handle.win32.handle = NULL;
    d.size = kSize;
    if (type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD) d.handle.fd = -1;
    snprintf(name, sizeof name, "type %d", type);
    RESULT(name, D(cuImportExternalMemory)(&m, &d));
  }
  memset(&d, 0, sizeof d);
  d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  d.handle.fd = -1;
  d.size = kSize;
  RESULT("descriptor -1", D(cuImportExternalMemory)(&m, &d));
  d.handle.fd = open("/dev/zero", O_RDWR);
  RESULT("/dev/zero", D(cuImportExternalMemory)(&m, &d));
  d.handle.fd = memfd_create("probe", MFD_ALLOW_SEALING);
  if (ftruncate(d.handle.fd, kSize)) return;
  RESULT("a memfd", D(cuImportExternalMemory)(&m, &d));
  d.handle.fd = dup(fd);
  d.size = 0;
  RESULT("size 0", D(cuImportExternalMemory)(&m, &d));
  d.size = 2 * kSize;
  d.flags = 0x80;
  RESULT("flags 0x80", D(cuImportExternalMemory)(&m, &d));
  d.flags = 0;
  m = NULL;
  CUresult r = D(cuImportExternalMemory)(&m, &d);
  RESULT("our own export", r);
  if (!r) {
    fact("the descriptor now", "%s", fcntl(d.handle.fd, F_GETFD) < 0 ? "closed" : "open");
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC b;
    CUdeviceptr q = 0, q2 = 0, base;
    size_t n;
    memset(&b, 0, sizeof b);
    RESULT("buffer of size 0", D(cuExternalMemoryGetMappedBuffer)(&q, m, &b));
    b.size = 2 * kSize;
    b.flags = 1;
    RESULT("buffer flags 1", D(cuExternalMemoryGetMappedBuffer)(&q, m, &b));
    b.flags = 0;
    RESULT("buffer NULL", D(cuExternalMemoryGetMappedBuffer)(NULL, m, &b));
    RESULT("buffer no description", D(cuExternalMemoryGetMappedBuffer)(&q, m, NULL));
    RESULT("buffer", D(cuExternalMemoryGetMappedBuffer)(&q, m, &b));
    RESULT("its range", D(cuMemGetAddressRange_v2)(&base, &n, q + 8));
    fact("base and size", "%s %zu", YES(base == q), n);
    attributesOf("buffer", q + 100, q);
    b.offset = 4096;
    b.size = 4096;
    RESULT("another, inside", D(cuExternalMemoryGetMappedBuffer)(&q2, m, &b));
    fact("offset kept", "%s", YES(q2 == q + 4096));
    b.offset = kSize;
    b.size = 2 * kSize;
    RESULT("beyond the end", D(cuExternalMemoryGetMappedBuffer)(&q2, m, &b));
    unsigned word = 9, back = 0;
    RESULT("write", D(cuMemcpyHtoD_v2)(q, &word, 4));
    CUdeviceptr va = reserve(2 * kSize);
    D(cuMemMap)(va, 2 * kSize, 0, h, 0);
    allow(va, 2 * kSize, kBoth);
    D(cuMemcpyDtoH_v2)(&back, va, 4);
    fact("the same memory", "%s", YES(back == 9));
    RESULT("destroy before the buffer is freed", D(cuDestroyExternalMemory)(m));
    RESULT("read afterwards", D(cuMemcpyDtoH_v2)(&back, q, 4));
    RESULT("free the buffer", D(cuMemFree_v2)(q));
    RESULT("free it again", D(cuMemFree_v2)(q));
  }
  d.handle.fd = dup(fd);
  d.size = 4 * kSize;
  RESULT("more than it has", D(cuImportExternalMemory)(&m, &d));
}

static void externalGarbage(void) {
  start();
  RESULT("destroy NULL", D(cuDestroyExternalMemory)(NULL));
  RESULT("destroy semaphore NULL", D(cuDestroyExternalSemaphore)(NULL));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC b;
  CUdeviceptr q;
  memset(&b, 0, sizeof b);
  b.size = 4096;
  RESULT("buffer of NULL", D(cuExternalMemoryGetMappedBuffer)(&q, NULL, &b));
}

static void externalSemaphores(void) {
  start();
  CUexternalSemaphore s = NULL;
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d;
  memset(&d, 0, sizeof d);
  RESULT("NULL", D(cuImportExternalSemaphore)(NULL, &d));
  RESULT("no description", D(cuImportExternalSemaphore)(&s, NULL));
  for (int type = 0; type <= 11; ++type) {
    char name[64];
    if (type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC) continue;
    memset(&d, 0, sizeof d);
    d.type = (CUexternalSemaphoreHandleType)type;
    if (type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
        type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
      d.handle.fd = -1;
    snprintf(name, sizeof name, "type %d", type);
    RESULT(name, D(cuImportExternalSemaphore)(&s, &d));
  }
  memset(&d, 0, sizeof d);
  for (int type = 1; type <= 9; type += 8) {
    char name[64];
    d.type = (CUexternalSemaphoreHandleType)type;
    d.handle.fd = memfd_create("probe", MFD_ALLOW_SEALING);
    if (ftruncate(d.handle.fd, 4096)) return;
    snprintf(name, sizeof name, "type %d, a memfd", type);
    RESULT(name, D(cuImportExternalSemaphore)(&s, &d));
  }
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS g;
  memset(&g, 0, sizeof g);
  RESULT("signal none", D(cuSignalExternalSemaphoresAsync)(&s, &g, 0, 0));
  RESULT("signal NULL", D(cuSignalExternalSemaphoresAsync)(NULL, NULL, 1, 0));
}

static void multicast(void) {
  start();
  int value = -1;
  D(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device);
  fact("supported", "%d", value);
  CUmulticastObjectProp p;
  memset(&p, 0, sizeof p);
  p.numDevices = 1;
  p.size = kSize;
  size_t g = 0;
  RESULT("granularity", D(cuMulticastGetGranularity)(&g, &p, 0));
  RESULT("granularity NULL", D(cuMulticastGetGranularity)(NULL, &p, 0));
  RESULT("granularity of nothing", D(cuMulticastGetGranularity)(&g, NULL, 0));
  RESULT("create NULL", D(cuMulticastCreate)(NULL, NULL));
  RESULT("add to 0", D(cuMulticastAddDevice)(0, device));
  RESULT("bind to 0", D(cuMulticastBindMem)(0, 0, create(kSize), 0, kSize, 0));
  RESULT("bind an address to 0", D(cuMulticastBindAddr)(0, 0, mapped(kSize, kBoth), kSize, 0));
  RESULT("unbind from 0", D(cuMulticastUnbind)(0, device, 0, kSize));
  RESULT("add to a plain handle", D(cuMulticastAddDevice)(create(kSize), device));
}

const Group kVirtualGroups[] = {{"virtual.granularity", granularity},
                                {"virtual.reserving", reserving},
                                {"virtual.creating", creating},
                                {"virtual.mapping", mapping},
                                {"virtual.neighbours", neighbours},
                                {"virtual.access", accessing},
                                {"virtual.copies", copies},
                                {"virtual.aliases", aliases},
                                {"virtual.attributes", attributes},
                                {"virtual.host", hostMemory},
                                {"virtual.host-touch", hostTouch},
                                {"virtual.kernel-none", kernelNone},
                                {"virtual.kernel-reads-none", kernelReadNone},
                                {"virtual.kernel-read-only", kernelReadOnly},
                                {"virtual.kernel-reads", kernelReads},
                                {"virtual.kernel-both", kernelBoth},
                                {"virtual.kernel-reserved", kernelReserved},
                                {"virtual.kernel-unmapped", kernelUnmapped},
                                {"virtual.waiting", waiting},
                                {"virtual.unmap-queued", unmapQueued},
                                {"virtual.without-context", withoutContext},
                                {"virtual.before-init", beforeInit},
                                {"virtual.exporting", exporting},
                                {"virtual.fabric", fabric},
                                {"virtual.export-host", exportHost},
                                {"virtual.dma-buf", dmaBuf},
                                {"external.memory", externalMemory},
                                {"external.garbage", externalGarbage},
                                {"external.semaphores", externalSemaphores},
                                {"multicast", multicast},
                                {NULL, NULL}};
