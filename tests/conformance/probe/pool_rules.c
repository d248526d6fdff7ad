// Memory pools in detail: attributes, what they may be made of, who reaches them, when memory is used again, what
// another process may do with them.
#include "pool_probe.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

CUmemPoolProps devicePool(void) {
  CUmemPoolProps props;
  memset(&props, 0, sizeof props);
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  return props;
}

static unsigned long long ask(CUmemoryPool pool, CUmemPool_attribute which) {
  cuuint64_t value = 0;
  CUresult result = D(cuMemPoolGetAttribute)(pool, which, &value);
  return result ? 0xE000 + result : value;
}
static unsigned long long reserved(CUmemoryPool pool) { return ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
static unsigned long long used(CUmemoryPool pool) { return ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
static void account(const char* name, CUmemoryPool pool) {
  fact(name, "reserved %llu high %llu, used %llu high %llu", reserved(pool),
       ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), used(pool), ask(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
}
static CUresult set(CUmemoryPool pool, CUmemPool_attribute which, cuuint64_t value) {
  return D(cuMemPoolSetAttribute)(pool, which, &value);
}

static void attributes(void) {
  start();
  CUmemPoolProps props = devicePool();
  CUmemoryPool pool;
  CUstream s;
  CUdeviceptr p, q, r;
  char name[64];
  D(cuStreamCreate)(&s, 0);
  D(cuMemPoolCreate)(&pool, &props);
  for (int i = 1; i <= 8; ++i) {
    snprintf(name, sizeof name, "attribute %d of a fresh pool", i);
    fact(name, "%llu", ask(pool, (CUmemPool_attribute)i));
  }
  for (int i = 1; i <= 3; ++i) {
    int two = 2, minus = -1, got = 99;
    snprintf(name, sizeof name, "set %d to 2", i);
    RESULT(name, D(cuMemPoolSetAttribute)(pool, (CUmemPool_attribute)i, &two));
    D(cuMemPoolGetAttribute)(pool, (CUmemPool_attribute)i, &got);
    fact("then", "%d", got);
    snprintf(name, sizeof name, "set %d to -1", i);
    RESULT(name, D(cuMemPoolSetAttribute)(pool, (CUmemPool_attribute)i, &minus));
    D(cuMemPoolGetAttribute)(pool, (CUmemPool_attribute)i, &got);
    fact("then", "%d", got);
  }
  RESULT("set attribute 0", set(pool, (CUmemPool_attribute)0, 0));
  RESULT("get attribute 0", D(cuMemPoolGetAttribute)(pool, (CUmemPool_attribute)0, &p));
  for (int i = 5; i <= 8; ++i) {
    snprintf(name, sizeof name, "set %d to 0", i);
    RESULT(name, set(pool, (CUmemPool_attribute)i, 0));
    snprintf(name, sizeof name, "set %d to 1", i);
    RESULT(name, set(pool, (CUmemPool_attribute)i, 1));
  }

  D(cuMemAllocFromPoolAsync)(&p, 1000, pool, s);
  account("1000 bytes", pool);
  D(cuMemAllocFromPoolAsync)(&q, 33 << 20, pool, s);
  account("and 33 MiB", pool);
  D(cuMemAllocFromPoolAsync)(&r, 20 << 20, pool, s);
  account("and 20 MiB", pool);
  D(cuMemFreeAsync)(q, s);
  account("33 MiB freed", pool);
  RESULT("trim to 0 before the stream is synchronised", D(cuMemPoolTrimTo)(pool, 0));
  account("then", pool);
  D(cuStreamSynchronize)(s);
  account("synchronised", pool);
  RESULT("set the marks to 0", set(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0));
  set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
  account("then", pool);
  RESULT("threshold 64 MiB", set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 64 << 20));
  D(cuMemAllocFromPoolAsync)(&q, 200 << 20, pool, s);
  account("200 MiB", pool);
  D(cuMemFreeAsync)(q, s);
  D(cuStreamSynchronize)(s);
  account("freed and synchronised, threshold 64 MiB", pool);
  RESULT("trim to 100 MiB", D(cuMemPoolTrimTo)(pool, 100 << 20));
  account("then", pool);
  set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~0ull);
  fact("largest threshold", "%llu", ask(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
  D(cuMemAllocFromPoolAsync)(&q, 200 << 20, pool, s);
  D(cuMemFreeAsync)(q, s);
  D(cuStreamSynchronize)(s);
  account("200 MiB freed and synchronised, largest threshold", pool);
  D(cuMemPoolTrimTo)(pool, 100 << 20);
  account("trimmed to 100 MiB", pool);
  D(cuMemPoolTrimTo)(pool, 0);
  account("trimmed to 0", pool);
  D(cuMemFreeAsync)(p, s);
  D(cuMemFreeAsync)(r, s);
  D(cuStreamSynchronize)(s);
  account("all freed", pool);
  set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0);
  account("threshold 0", pool);
  D(cuCtxSynchronize)();
  account("context synchronised", pool);
  D(cuMemPoolTrimTo)(pool, 0);
  account("trimmed", pool);
  D(cuMemAllocFromPoolAsync)(&p, 1000, pool, s);
  D(cuMemFree_v2)(p);
  account("freed by cuMemFree", pool);
  D(cuStreamSynchronize)(s);
  account("and synchronised", pool);
  D(cuMemAllocFromPoolAsync)(&p, 1000, pool, s);
  D(cuMemFreeAsync)(p, s);
  CUevent e;
  D(cuEventCreate)(&e, 0);
  D(cuEventRecord)(e, s);
  D(cuEventSynchronize)(e);
  account("freed, an event waited for", pool);
  D(cuStreamQuery)(s);
  account("stream asked", pool);
  D(cuDeviceGetDefaultMemPool)(&pool, device);
  size_t before, after, total;
  D(cuMemGetInfo_v2)(&before, &total);
  D(cuMemAllocAsync)(&p, 1, s);
  D(cuMemGetInfo_v2)(&after, &total);
  fact("free falls after 1 byte", "%zu", before - after);
  D(cuMemFreeAsync)(p, s);
  D(cuStreamSynchronize)(s);
  D(cuMemGetInfo_v2)(&after, &total);
  fact("free short of the start after its free", "%zu", before - after);
  CUdeviceptr many[16];
  uint64_t lowest = 0, spacing = ~0ull;
  for (int i = 0; i < 16; ++i) D(cuMemAllocAsync)(&many[i], 1, s), lowest |= many[i];
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k)
      if (many[k] > many[i] && many[k] - many[i] < spacing) spacing = many[k] - many[i];
  fact("alignment of 1-byte allocations", "%llu", (unsigned long long)(lowest & -lowest));
  fact("their spacing", "%llu", (unsigned long long)spacing);
}

static void creation(void) {
  start();
  CUmemoryPool pool, other;
  char name[80];
  CUmemPoolProps props;
  memset(&props, 0, sizeof props);
  RESULT("all zero", D(cuMemPoolCreate)(&pool, &props));
  props = devicePool();
  RESULT("NULL output", D(cuMemPoolCreate)(NULL, &props));
  RESULT("NULL properties", D(cuMemPoolCreate)(&pool, NULL));
  for (int type = 0; type <= 3; ++type)
    for (int location = 0; location <= 5; ++location) {
      props = devicePool();
      props.allocType = (CUmemAllocationType)type;
      props.location.type = (CUmemLocationType)location;
      props.location.id = 0;
      snprintf(name, sizeof name, "allocation type %d location type %d id 0", type, location);
      CUresult result = D(cuMemPoolCreate)(&pool, &props);
      RESULT(name, result);
      if (!result) RESULT("its end", D(cuMemPoolDestroy)(pool));
    }
  for (int location = 1; location <= 4; ++location) {
    const int ids[] = {-1, 1, 64};
    for (int i = 0; i < 3; ++i) {
      props = devicePool();
      props.location.type = (CUmemLocationType)location;
      props.location.id = ids[i];
      snprintf(name, sizeof name, "location type %d id %d", location, ids[i]);
      RESULT(name, D(cuMemPoolCreate)(&pool, &props));
    }
  }
  for (int location = 1; location <= 3; ++location) {
    const int handles[] = {1, 2, 3, 4, 8, 9, 16};
    for (int i = 0; i < 7; ++i) {
      props = devicePool();
      props.location.type = (CUmemLocationType)location;
      props.location.id = 0;
      props.handleTypes = (CUmemAllocationHandleType)handles[i];
      snprintf(name, sizeof name, "location type %d handle types %d", location, handles[i]);
      RESULT(name, D(cuMemPoolCreate)(&pool, &props));
    }
  }
  for (int usage = 1; usage <= 4; ++usage) {
    props = devicePool();
    props.usage = (unsigned short)usage;
    snprintf(name, sizeof name, "usage %d", usage);
    RESULT(name, D(cuMemPoolCreate)(&pool, &props));
  }
  props = devicePool();
  props.reserved[3] = 1;
  RESULT("reserved byte set", D(cuMemPoolCreate)(&pool, &props));
  props = devicePool();
  props.win32SecurityAttributes = &props;
  RESULT("security attributes set", D(cuMemPoolCreate)(&pool, &props));
  const size_t maxima[] = {1, 1 << 20, 33 << 20, (size_t)1 << 50};
  const size_t sizes[] = {1, 1 << 20, (1 << 20) + 1, 2 << 20, 32 << 20, (32 << 20) + 1, 33 << 20, 64 << 20};
  for (int i = 0; i < 4; ++i) {
    props = devicePool();
    props.maxSize = maxima[i];
    snprintf(name, sizeof name, "maximum %zu", maxima[i]);
    CUresult made = D(cuMemPoolCreate)(&pool, &props);
    RESULT(name, made);
    for (int k = 0; !made && k < 8; ++k) {
      CUdeviceptr p;
      snprintf(name, sizeof name, "maximum %zu: %zu bytes", maxima[i], sizes[k]);
      CUresult result = D(cuMemAllocFromPoolAsync)(&p, sizes[k], pool, 0);
      RESULT(name, result);
      if (!result) D(cuMemFreeAsync)(p, 0);
      D(cuStreamSynchronize)(0);
    }
  }
  props = devicePool();
  D(cuMemPoolCreate)(&pool, &props);
  RESULT("make it current", D(cuDeviceSetMemPool)(device, pool));
  D(cuDeviceGetMemPool)(&other, device);
  fact("is current", "%s", YES(other == pool));
  RESULT("destroy the current pool", D(cuMemPoolDestroy)(pool));
  D(cuDeviceGetMemPool)(&other, device);
  D(cuDeviceGetDefaultMemPool)(&pool, device);
  fact("the default is current", "%s", YES(other == pool));
  RESULT("device 99", D(cuDeviceGetMemPool)(&other, 99));
  RESULT("default of device 99", D(cuDeviceGetDefaultMemPool)(&other, 99));
  RESULT("set of device 99", D(cuDeviceSetMemPool)(99, pool));
  RESULT("get NULL", D(cuDeviceGetMemPool)(NULL, device));
  props = devicePool();
  props.location.type = CU_MEM_LOCATION_TYPE_HOST;
  D(cuMemPoolCreate)(&pool, &props);
  RESULT("host pool as the device's", D(cuDeviceSetMemPool)(device, pool));
}

static void locations(void) {
  start();
  char name[80];
  CUmemoryPool pool, again, made;
  for (int type = 0; type <= 3; ++type)
    for (int location = 0; location <= 5; ++location) {
      CUmemLocation where;
      memset(&where, 0, sizeof where);
      where.type = (CUmemLocationType)location;
      pool = NULL;
      CUresult result = D(cuMemGetDefaultMemPool)(&pool, &where, (CUmemAllocationType)type);
      snprintf(name, sizeof name, "default pool, allocation type %d location type %d", type, location);
      fact(name, "%s %s", resultName(result), pool ? "set" : "NULL");
      again = NULL;
      result = D(cuMemGetMemPool)(&again, &where, (CUmemAllocationType)type);
      snprintf(name, sizeof name, "pool, allocation type %d location type %d", type, location);
      fact(name, "%s %s", resultName(result), again == pool ? "the same" : "another");
      if (result) continue;
      CUmemPoolProps props = devicePool();
      props.allocType = (CUmemAllocationType)type;
      props.location = where;
      result = D(cuMemPoolCreate)(&made, &props);
      RESULT("another pool of it", result);
      if (!result) {
        RESULT("set it", D(cuMemSetMemPool)(&where, (CUmemAllocationType)type, made));
        D(cuMemGetMemPool)(&again, &where, (CUmemAllocationType)type);
        fact("it is set", "%s", YES(again == made));
      }
      CUdeviceptr p = 0;
      RESULT("allocation", D(cuMemAllocFromPoolAsync)(&p, 4096, pool, 0));
      unsigned char bytes[4] = {1, 2, 3, 4};
      if (p) {
        RESULT("copy", D(cuMemcpyHtoD_v2)(p, bytes, 4));
        RESULT("memset", D(cuMemsetD8_v2)(p, 7, 16));
        D(cuCtxSynchronize)();
        if (type == CU_MEM_ALLOCATION_TYPE_MANAGED || location > 1)
          fact("host reads", "%d", *(volatile unsigned char*)(uintptr_t)p);
        pointerFacts("pointer", p + 8);
        RESULT("free", D(cuMemFreeAsync)(p, 0));
      }
    }
  CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
  RESULT("device 99", D(cuMemGetMemPool)(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED));
  where.id = device;
  RESULT("NULL output", D(cuMemGetMemPool)(NULL, &where, CU_MEM_ALLOCATION_TYPE_PINNED));
  RESULT("NULL location", D(cuMemGetMemPool)(&pool, NULL, CU_MEM_ALLOCATION_TYPE_PINNED));
  D(cuDeviceGetDefaultMemPool)(&pool, device);
  where.type = CU_MEM_LOCATION_TYPE_HOST;
  RESULT("a device's pool for the host", D(cuMemSetMemPool)(&where, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
}

static void accessOf(const char* name, CUmemoryPool pool, int type, int id) {
  CUmemLocation where;
  memset(&where, 0, sizeof where);
  where.type = (CUmemLocationType)type;
  where.id = id;
  CUmemAccess_flags flags = (CUmemAccess_flags)99;
  CUresult result = D(cuMemPoolGetAccess)(&flags, pool, &where);
  fact(name, "%s %d", resultName(result), (int)flags);
}
static CUresult allow(CUmemoryPool pool, int type, int id, int flags) {
  CUmemAccessDesc desc;
  memset(&desc, 0, sizeof desc);
  desc.location.type = (CUmemLocationType)type;
  desc.location.id = id;
  desc.flags = (CUmemAccess_flags)flags;
  return D(cuMemPoolSetAccess)(pool, &desc, 1);
}

static void access_(void) {
  start();
  char name[80];
  for (int location = 1; location <= 3; ++location) {
    CUmemPoolProps props = devicePool();
    props.location.type = (CUmemLocationType)location;
    props.location.id = 0;
    CUmemoryPool pool;
    if (D(cuMemPoolCreate)(&pool, &props)) continue;
    for (int type = 0; type <= 5; ++type) {
      snprintf(name, sizeof name, "pool at %d: access of type %d", location, type);
      accessOf(name, pool, type, 0);
      for (int flags = 0; flags <= 3; ++flags) {
        snprintf(name, sizeof name, "pool at %d: set type %d to %d", location, type, flags);
        RESULT(name, allow(pool, type, 0, flags));
      }
      snprintf(name, sizeof name, "pool at %d: then access of type %d", location, type);
      accessOf(name, pool, type, 0);
    }
    snprintf(name, sizeof name, "pool at %d: device 99", location);
    accessOf(name, pool, CU_MEM_LOCATION_TYPE_DEVICE, 99);
    RESULT(name, allow(pool, CU_MEM_LOCATION_TYPE_DEVICE, 99, 3));
    RESULT("flags 7", allow(pool, CU_MEM_LOCATION_TYPE_DEVICE, 0, 7));
    RESULT("no entries", D(cuMemPoolSetAccess)(pool, NULL, 0));
  }
  CUmemoryPool pool;
  CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUmemAccess_flags flags;
  D(cuDeviceGetDefaultMemPool)(&pool, device);
  RESULT("NULL flags", D(cuMemPoolGetAccess)(NULL, pool, &where));
  RESULT("NULL location", D(cuMemPoolGetAccess)(&flags, pool, NULL));
}

// Whether memory that s1 freed is what s2 is given, and whether s2 then waits for s1.
static void reuseCase(const char* what, int follow, int opportunistic, int internal, int dependency) {
  CUmemPoolProps props = devicePool();
  CUmemoryPool pool;
  CUstream s1, s2;
  CUevent e;
  CUdeviceptr p = 0, q = 0;
  char name[80];
  D(cuMemPoolCreate)(&pool, &props);
  const int flags[] = {follow, opportunistic, internal};
  for (int i = 0; i < 3; ++i) D(cuMemPoolSetAttribute)(pool, (CUmemPool_attribute)(i + 1), (void*)&flags[i]);
  set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~0ull);
  D(cuStreamCreate)(&s1, CU_STREAM_NON_BLOCKING);
  D(cuStreamCreate)(&s2, CU_STREAM_NON_BLOCKING);
  D(cuEventCreate)(&e, CU_EVENT_DISABLE_TIMING);
  kernel("spin");
  D(cuMemAllocFromPoolAsync)(&p, 32 << 20, pool, s1);
  D(cuStreamSynchronize)(s1);
  busy(s1, 300);
  D(cuMemFreeAsync)(p, s1);
  if (dependency == 1) {
    D(cuEventRecord)(e, s1);
    D(cuStreamWaitEvent)(s2, e, 0);
  }
  if (dependency == 2) D(cuStreamSynchronize)(s1);
  if (dependency == 3) usleep(600000);
  if (dependency == 4) {
    D(cuEventRecord)(e, s1);
    D(cuEventSynchronize)(e);
  }
  double t = now();
  D(cuMemAllocFromPoolAsync)(&q, 32 << 20, pool, dependency == 5 ? s1 : s2);
  const char* call = waited(t, 300);
  D(cuStreamSynchronize)(dependency == 5 ? s1 : s2);
  snprintf(name, sizeof name, "%s %d%d%d", what, follow, opportunistic, internal);
  fact(name, "%s memory, the call %s, the stream %s", p == q ? "the same" : "other", call, waited(t, 300));
  D(cuCtxSynchronize)();
}

static void reuse(void) {
  start();
  const char* const names[] = {"unrelated streams", "event between them", "first stream synchronised",
                               "time passed",       "event synchronised", "same stream"};
  for (int dependency = 0; dependency < 6; ++dependency)
    for (int flags = 0; flags < 8; ++flags)
      if (dependency < 2 || flags == 0 || flags == 7 || (flags == 2 && dependency < 5))
        reuseCase(names[dependency], flags & 1, flags >> 1 & 1, flags >> 2 & 1, dependency);
}

static void freeing(void) {
  start();
  CUstream s, s2;
  CUdeviceptr p, v;
  void* h;
  CUcontext other;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  D(cuStreamCreate)(&s2, CU_STREAM_NON_BLOCKING);
  D(cuMemAllocManaged)(&v, 4096, 1);
  D(cuMemHostAlloc)(&h, 4096, 0);
  D(cuMemAllocAsync)(&p, 4096, s);
  RESULT("interior", D(cuMemFreeAsync)(p + 256, s));
  RESULT("pinned", D(cuMemFreeAsync)((CUdeviceptr)(uintptr_t)h, s));
  RESULT("malloc", D(cuMemFreeAsync)((CUdeviceptr)(uintptr_t)malloc(64), s));
  RESULT("wild", D(cuMemFreeAsync)(0x123456789000ull, s));
  RESULT("managed", D(cuMemFreeAsync)(v, s));
  RESULT("in another stream", D(cuMemFreeAsync)(p, s2));
  kernel("spin");
  D(cuMemAllocAsync)(&p, 4096, s);
  busy(s, 300);
  RESULT("freed in a busy stream", D(cuMemFreeAsync)(p, s));
  RESULT("cuMemFree after that", D(cuMemFree_v2)(p));
  RESULT("cuMemFreeAsync after that in another stream", D(cuMemFreeAsync)(p, s2));
  RESULT("copy from it", D(cuMemcpyDtoHAsync_v2)(h, p, 4, s));
  RESULT("its range", D(cuMemGetAddressRange_v2)(NULL, NULL, p));
  D(cuStreamSynchronize)(s);
  D(cuMemAllocAsync)(&p, 4096, s);
  D(cuStreamSynchronize)(s);
  busy(s, 300);
  double t = now();
  RESULT("cuMemFree in a busy stream", D(cuMemFree_v2)(p));
  fact("it", "%s", waited(t, 300));
  D(cuStreamSynchronize)(s);
  busy(s, 300);
  t = now();
  RESULT("alloc in a busy stream", D(cuMemAllocAsync)(&p, 64 << 20, s));
  fact("it", "%s", waited(t, 300));
  D(cuStreamSynchronize)(s);
  D(cuMemFreeAsync)(p, s);
  D(cuMemAlloc_v2)(&p, 4096);
  busy(s, 300);
  t = now();
  RESULT("cuMemFreeAsync of cuMemAlloc memory in a busy stream", D(cuMemFreeAsync)(p, s));
  fact("it", "%s", waited(t, 300));
  D(cuStreamSynchronize)(s);
  D(cuMemAllocAsync)(&p, 4096, s);
  D(cuCtxCreate_v2)(&other, 0, device);
  CUstream foreign;
  D(cuStreamCreate)(&foreign, 0);
  RESULT("in a stream of another context", D(cuMemFreeAsync)(p, foreign));
  D(cuMemAllocAsync)(&p, 4096, foreign);
  D(cuCtxSynchronize)();
  D(cuCtxDestroy_v2)(other);
  D(cuCtxSetCurrent)(context);
  RESULT("copy to memory of a destroyed context's stream", D(cuMemcpyDtoH_v2)(h, p, 4));
  RESULT("free of it", D(cuMemFreeAsync)(p, s));
  RESULT("alloc in the legacy stream", D(cuMemAllocAsync)(&p, 64, CU_STREAM_LEGACY));
  RESULT("free in the per-thread stream", D(cuMemFreeAsync)(p, CU_STREAM_PER_THREAD));
  D(cuCtxSetCurrent)(NULL);
  RESULT("alloc without a context", D(cuMemAllocAsync)(&p, 64, s));
  RESULT("free without a context", D(cuMemFreeAsync)(p, s));
  RESULT("alloc without a context in NULL", D(cuMemAllocAsync)(&p, 64, 0));
}

static void pointers(void) {
  start();
  CUmemPoolProps props = devicePool();
  CUmemoryPool pool;
  CUdeviceptr p;
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  D(cuMemAllocAsync)(&p, 1000, 0);
  pointerFacts("default pool", p + 8);
  D(cuMemPoolCreate)(&pool, &props);
  D(cuMemAllocFromPoolAsync)(&p, 1000, pool, 0);
  pointerFacts("exportable pool", p + 8);
  props.handleTypes = 0;
  props.location.type = CU_MEM_LOCATION_TYPE_HOST;
  if (D(cuMemPoolCreate)(&pool, &props)) return;
  D(cuMemAllocFromPoolAsync)(&p, 1000, pool, 0);
  pointerFacts("host pool", p + 8);
  unsigned flags = 99;
  RESULT("host pool: cuMemHostGetFlags", D(cuMemHostGetFlags)(&flags, (void*)(uintptr_t)p));
  CUdeviceptr d;
  RESULT("host pool: cuMemHostGetDevicePointer", D(cuMemHostGetDevicePointer_v2)(&d, (void*)(uintptr_t)p, 0));
  RESULT("host pool: cuMemFreeHost", D(cuMemFreeHost)((void*)(uintptr_t)p));
}

static void sendDescriptor(int socket, int fd) {
  char byte = 1, room[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec data = {&byte, 1};
  struct msghdr message = {0};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(socket, &message, 0) < 0) _exit(1);
}
static int receiveDescriptor(int socket) {
  char byte, room[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec data = {&byte, 1};
  struct msghdr message = {0};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  int fd = -1;
  if (recvmsg(socket, &message, 0) <= 0 || !CMSG_FIRSTHDR(&message)) _exit(1);
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

static void importer(int socket) {
  const int fd = receiveDescriptor(socket);
  CUmemPoolPtrExportData shared[2];
  if (read(socket, shared, sizeof shared) != sizeof shared) _exit(1);
  start();
  void* const handle = (void*)(uintptr_t)fd;
  const CUmemAllocationHandleType posix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool pool = NULL, second = NULL;
  CUdeviceptr p = 0, again = 0, q = 0, b = 0;
  size_t n = 0;
  unsigned word = 0;
  RESULT("import: type 0", D(cuMemPoolImportFromShareableHandle)(&pool, handle, 0, 0));
  RESULT("import: flags 1", D(cuMemPoolImportFromShareableHandle)(&pool, handle, posix, 1));
  RESULT("import: descriptor -1", D(cuMemPoolImportFromShareableHandle)(&pool, (void*)(intptr_t)-1, posix, 0));
  RESULT("import: standard error", D(cuMemPoolImportFromShareableHandle)(&pool, (void*)(intptr_t)2, posix, 0));
  RESULT("import", D(cuMemPoolImportFromShareableHandle)(&pool, handle, posix, 0));
  RESULT("import again", D(cuMemPoolImportFromShareableHandle)(&second, handle, posix, 0));
  fact("the same pool", "%s", YES(pool == second));
  account("imported pool", pool);
  accessOf("access of the device", pool, CU_MEM_LOCATION_TYPE_DEVICE, 0);
  RESULT("alloc from it", D(cuMemAllocFromPoolAsync)(&q, 64, pool, 0));
  RESULT("make it current", D(cuDeviceSetMemPool)(device, pool));
  RESULT("set its threshold", set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 1));
  RESULT("trim it", D(cuMemPoolTrimTo)(pool, 0));
  int exported = -1;
  RESULT("export it", D(cuMemPoolExportToShareableHandle)(&exported, pool, posix, 0));
  RESULT("import pointer", D(cuMemPoolImportPointer)(&p, pool, &shared[0]));
  if (p) {
    RESULT("import pointer again", D(cuMemPoolImportPointer)(&again, pool, &shared[0]));
    fact("same pointer", "%s", YES(p == again));
    RESULT("read", D(cuMemcpyDtoH_v2)(&word, p, 4));
    fact("what the exporter wrote", "%s", YES(word == 0x12345678));
    RESULT("write", D(cuMemsetD32_v2)(p + 4, 0xCAFE, 1));
    D(cuCtxSynchronize)();
    RESULT("range", D(cuMemGetAddressRange_v2)(&b, &n, p + 8));
    fact("base and size", "%s %zu", YES(b == p), n);
    pointerFacts("imported", p + 8);
    CUmemPoolPtrExportData out;
    RESULT("export imported pointer", D(cuMemPoolExportPointer)(&out, p));
    CUipcMemHandle ipc;
    RESULT("ipc handle of imported pointer", D(cuIpcGetMemHandle)(&ipc, p));
  }
  RESULT("import interior pointer", D(cuMemPoolImportPointer)(&q, pool, &shared[1]));
  account("with imported pointers", pool);
  CUmemPoolPtrExportData wrong;
  memset(&wrong, 0x5a, sizeof wrong);
  RESULT("import wrong data", D(cuMemPoolImportPointer)(&q, pool, &wrong));
  RESULT("NULL output", D(cuMemPoolImportPointer)(NULL, pool, &shared[0]));
  CUmemoryPool own;
  CUmemPoolProps props = devicePool();
  props.handleTypes = posix;
  D(cuMemPoolCreate)(&own, &props);
  RESULT("into a pool of our own", D(cuMemPoolImportPointer)(&q, own, &shared[0]));
  if (p) {
    RESULT("free", D(cuMemFreeAsync)(p, 0));
    D(cuStreamSynchronize)(0);
    RESULT("read after one free", D(cuMemcpyDtoH_v2)(&word, p, 4));
    if (again) RESULT("free the second", D(cuMemFreeAsync)(again, 0));
    D(cuStreamSynchronize)(0);
    RESULT("free once more", D(cuMemFreeAsync)(p, 0));
    p = 0;
    RESULT("import pointer after free", D(cuMemPoolImportPointer)(&p, pool, &shared[0]));
    if (p) RESULT("cuMemFree", D(cuMemFree_v2)(p));
  }
  RESULT("destroy", D(cuMemPoolDestroy)(pool));
  RESULT("destroy the second", D(cuMemPoolDestroy)(second));
  if (write(socket, "x", 1) != 1) _exit(1);
  _exit(0);
}

static void sharing(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) importer(ends[1]);
  start();
  const CUmemAllocationHandleType posix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemPoolProps props = devicePool();
  CUmemoryPool plain, pool;
  CUdeviceptr p, q, d;
  int fd = -1, fd2 = -1;
  char byte;
  CUmemPoolPtrExportData shared[2], equal;
  D(cuMemPoolCreate)(&plain, &props);
  props.handleTypes = posix;
  D(cuMemPoolCreate)(&pool, &props);
  D(cuDeviceGetDefaultMemPool)(&plain, device);
  RESULT("export the default pool", D(cuMemPoolExportToShareableHandle)(&fd, plain, posix, 0));
  D(cuMemPoolCreate)(&plain, &(CUmemPoolProps){.allocType = props.allocType, .location = props.location});
  RESULT("export a plain pool", D(cuMemPoolExportToShareableHandle)(&fd, plain, posix, 0));
  RESULT("export as type 0", D(cuMemPoolExportToShareableHandle)(&fd, pool, 0, 0));
  RESULT("export as type 8", D(cuMemPoolExportToShareableHandle)(&fd, pool, CU_MEM_HANDLE_TYPE_FABRIC, 0));
  RESULT("export flags 1", D(cuMemPoolExportToShareableHandle)(&fd, pool, posix, 1));
  RESULT("export NULL", D(cuMemPoolExportToShareableHandle)(NULL, pool, posix, 0));
  RESULT("export", D(cuMemPoolExportToShareableHandle)(&fd, pool, posix, 0));
  RESULT("export again", D(cuMemPoolExportToShareableHandle)(&fd2, pool, posix, 0));
  fact("another descriptor", "%s", YES(fd != fd2));
  CUmemoryPool home = NULL;
  RESULT("import at home", D(cuMemPoolImportFromShareableHandle)(&home, (void*)(uintptr_t)fd2, posix, 0));
  fact("home is the pool itself", "%s", YES(home == pool));
  D(cuMemAllocFromPoolAsync)(&q, 512, pool, 0);
  D(cuMemAllocFromPoolAsync)(&p, 4096, pool, 0);
  D(cuMemsetD32_v2)(p, 0x12345678, 1024);
  D(cuCtxSynchronize)();
  D(cuMemAlloc_v2)(&d, 4096);
  RESULT("export pointer of cuMemAlloc", D(cuMemPoolExportPointer)(&equal, d));
  D(cuMemAllocAsync)(&d, 4096, 0);
  RESULT("export pointer of the default pool", D(cuMemPoolExportPointer)(&equal, d));
  RESULT("export pointer NULL", D(cuMemPoolExportPointer)(NULL, p));
  RESULT("export wild pointer", D(cuMemPoolExportPointer)(&equal, 0x123456789000ull));
  memset(shared, 0, sizeof shared);
  RESULT("export pointer", D(cuMemPoolExportPointer)(&shared[0], p));
  RESULT("export pointer again", D(cuMemPoolExportPointer)(&equal, p));
  fact("equal", "%s", YES(!memcmp(&equal, &shared[0], sizeof equal)));
  RESULT("export interior pointer", D(cuMemPoolExportPointer)(&shared[1], p + 512));
  if (home && home != pool) {
    CUdeviceptr there = 0;
    RESULT("import pointer at home", D(cuMemPoolImportPointer)(&there, home, &shared[0]));
  }
  sendDescriptor(ends[0], fd);
  if (write(ends[0], shared, sizeof shared) != sizeof shared || read(ends[0], &byte, 1) != 1) fact("child", "failed");
  int status;
  waitpid(child, &status, 0);
  unsigned word = 0;
  D(cuMemcpyDtoH_v2)(&word, p + 4, 4);
  fact("what the importer wrote", "%s", YES(word == 0xCAFE));
  RESULT("exporter frees", D(cuMemFreeAsync)(p, 0));
  RESULT("exporter destroys", D(cuMemPoolDestroy)(pool));
}

static void stalePool(void) {
  start();
  CUmemPoolProps props = devicePool();
  CUmemoryPool pool;
  CUdeviceptr p;
  D(cuMemPoolCreate)(&pool, &props);
  D(cuMemAllocFromPoolAsync)(&p, 64, pool, 0);
  D(cuMemPoolDestroy)(pool);
  CUmemoryPool asked = NULL;
  D(cuPointerGetAttribute)(&asked, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
  fact("handle of memory whose pool is destroyed", "%s", asked == pool ? "the pool's" : asked ? "another" : "NULL");
  RESULT("memory of a destroyed pool", D(cuMemsetD8_v2)(p, 0, 64));
  RESULT("alloc from a destroyed pool", D(cuMemAllocFromPoolAsync)(&p, 64, pool, 0));
}

// Calls that a driver may not survive, each in a process of its own.
static CUmemoryPool aPool(void) {
  CUmemPoolProps props = devicePool();
  CUmemoryPool pool;
  start();
  D(cuMemPoolCreate)(&pool, &props);
  return pool;
}
static void nullGet(void) {
  cuuint64_t value;
  start();
  RESULT("get of pool NULL", D(cuMemPoolGetAttribute)(NULL, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
}
static void nullSet(void) {
  start();
  RESULT("set of pool NULL", set(NULL, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0));
}
static void nullValue(void) {
  CUmemoryPool pool = aPool();
  RESULT("get into NULL", D(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL));
}
static void nullNewValue(void) {
  CUmemoryPool pool = aPool();
  RESULT("set from NULL", D(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL));
}
static void nullMap(void) {
  CUmemoryPool pool = aPool();
  RESULT("access from NULL", D(cuMemPoolSetAccess)(pool, NULL, 1));
}
static void nullAccess(void) {
  CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccess_flags flags;
  start();
  RESULT("access of pool NULL", D(cuMemPoolGetAccess)(&flags, NULL, &where));
}
static void nullAlloc(void) {
  CUdeviceptr p;
  start();
  RESULT("alloc from pool NULL", D(cuMemAllocFromPoolAsync)(&p, 64, NULL, 0));
}
static void nullTrim(void) {
  start();
  RESULT("trim of pool NULL", D(cuMemPoolTrimTo)(NULL, 0));
}
static void nullDestroy(void) {
  start();
  RESULT("destroy NULL", D(cuMemPoolDestroy)(NULL));
}
static void nullCurrent(void) {
  start();
  RESULT("make NULL current", D(cuDeviceSetMemPool)(device, NULL));
}
static void nullExport(void) {
  int fd;
  start();
  RESULT("export pool NULL",
         D(cuMemPoolExportToShareableHandle)(&fd, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

const Group kPoolRuleGroups[] = {{"pools.attributes", attributes},
                                 {"pools.creation", creation},
                                 {"pools.locations", locations},
                                 {"pools.access", access_},
                                 {"pools.reuse", reuse},
                                 {"pools.freeing", freeing},
                                 {"pools.pointers", pointers},
                                 {"pools.sharing", sharing},
                                 {"pools.stale", stalePool},
                                 {"pools.null-get", nullGet},
                                 {"pools.null-set", nullSet},
                                 {"pools.null-value", nullValue},
                                 {"pools.null-new-value", nullNewValue},
                                 {"pools.null-map", nullMap},
                                 {"pools.null-access", nullAccess},
                                 {"pools.null-alloc", nullAlloc},
                                 {"pools.null-trim", nullTrim},
                                 {"pools.null-destroy", nullDestroy},
                                 {"pools.null-current", nullCurrent},
                                 {"pools.null-export", nullExport},
                                 {NULL, NULL}};
