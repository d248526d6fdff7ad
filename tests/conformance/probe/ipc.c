// Memory and events between processes: what handles cover, who may open them, what happens when a side ends.
#include "probe.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// Two processes that take turns. Forked before either uses the driver.
typedef struct {
  int in, out;
} Side;
static pid_t split(Side* mine) {
  int down[2], up[2];
  if (pipe(down) || pipe(up)) _exit(1);
  const pid_t child = fork();
  alarm(50);  // a child does not inherit the alarm
  *mine = child ? (Side){up[0], down[1]} : (Side){down[0], up[1]};
  close(child ? up[1] : down[1]);
  close(child ? down[0] : up[0]);
  return child;
}
static void tell(Side side, const void* bytes, size_t count) {
  if (write(side.out, bytes, count) != (ssize_t)count) _exit(0);
}
static void hear(Side side, void* bytes, size_t count) {
  if (read(side.in, bytes, count) != (ssize_t)count) _exit(0);
}
static void go(Side side) { tell(side, "x", 1); }
static void await(Side side) {
  char byte;
  hear(side, &byte, 1);
}
static void end(pid_t child) {
  fflush(stdout);
  if (!child) _exit(0);
  waitpid(child, NULL, 0);
}

static CUdeviceptr filled(size_t bytes, unsigned value) {
  CUdeviceptr p = 0;
  D(cuMemAlloc_v2)(&p, bytes);
  D(cuMemsetD32_v2)(p, value, bytes / 4);
  D(cuCtxSynchronize)();
  return p;
}
static unsigned wordAt(CUdeviceptr p) {
  unsigned word = 0;
  const CUresult result = D(cuMemcpyDtoH_v2)(&word, p, sizeof word);
  return result ? 0xdead0000u + (unsigned)result : word;
}

static void details(void) {
  start();
  CUdeviceptr p = filled(4 << 20, 1), q = 0;
  CUipcMemHandle base, k;
  CUipcEventHandle ek, ek2;
  CUevent e, timed = NULL, opened;
  memset(&base, 0, sizeof base);
  memset(&k, 0, sizeof k);
  D(cuIpcGetMemHandle)(&base, p);
  D(cuIpcGetMemHandle)(&k, p + 4096);
  fact("interior handle equals base handle", "%s", YES(!memcmp(&k, &base, sizeof k)));
  RESULT("last byte", D(cuIpcGetMemHandle)(&k, p + (4 << 20) - 1));
  RESULT("address 0", D(cuIpcGetMemHandle)(&k, 0));
  D(cuMemFree_v2)(p);
  RESULT("freed", D(cuIpcGetMemHandle)(&k, p));
  CUdeviceptr again = filled(4 << 20, 2);
  fact("same address again", "%s", YES(again == p));
  RESULT("handle of the new memory", D(cuIpcGetMemHandle)(&k, again));
  fact("differs from the old one", "%s", YES(memcmp(&k, &base, sizeof k)));
  size_t pitch;
  D(cuMemAllocPitch_v2)(&q, &pitch, 100, 100, 4);
  RESULT("pitched", D(cuIpcGetMemHandle)(&k, q));
  static char page[8192] __attribute__((aligned(4096)));
  D(cuMemHostRegister_v2)(page, 4096, 0);
  RESULT("registered", D(cuIpcGetMemHandle)(&k, (CUdeviceptr)(uintptr_t)page));
  RESULT("pageable", D(cuIpcGetMemHandle)(&k, (CUdeviceptr)(uintptr_t)&page[4096]));
  CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle physical;
  CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (!D(cuMemCreate)(&physical, 2 << 20, &prop, 0) && !D(cuMemAddressReserve)(&q, 2 << 20, 0, 0, 0) &&
      !D(cuMemMap)(q, 2 << 20, 0, physical, 0) && !D(cuMemSetAccess)(q, 2 << 20, &access, 1))
    RESULT("mapped by cuMemMap", D(cuIpcGetMemHandle)(&k, q));
  CUcontext other;
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("memory of another context", D(cuIpcGetMemHandle)(&k, again));
  D(cuCtxSetCurrent)(context);
  RESULT("close of a wild address", D(cuIpcCloseMemHandle)(0x123456789000ull));
  RESULT("close of 0", D(cuIpcCloseMemHandle)(0));
  RESULT("interprocess event with timing", D(cuEventCreate)(&timed, CU_EVENT_INTERPROCESS));
  D(cuEventCreate)(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  memset(&ek, 0, sizeof ek);
  memset(&ek2, 0, sizeof ek2);
  RESULT("event handle", D(cuIpcGetEventHandle)(&ek, e));
  RESULT("event handle again", D(cuIpcGetEventHandle)(&ek2, e));
  fact("event handles equal", "%s", YES(!memcmp(&ek, &ek2, sizeof ek)));
  memset(&ek2, 0x5a, sizeof ek2);
  RESULT("random event handle", D(cuIpcOpenEventHandle)(&opened, ek2));
  memset(&ek2, 0, sizeof ek2);
  RESULT("zero event handle", D(cuIpcOpenEventHandle)(&opened, ek2));
  memset(&k, 0, sizeof k);
  RESULT("zero memory handle", D(cuIpcOpenMemHandle_v2)(&q, k, 1));
  memcpy(&ek2, &base, sizeof ek2);
  RESULT("memory handle as event", D(cuIpcOpenEventHandle)(&opened, ek2));
  memcpy(&k, &ek, sizeof k);
  RESULT("event handle as memory", D(cuIpcOpenMemHandle_v2)(&q, k, 1));
  D(cuEventDestroy_v2)(e);
  RESULT("handle of a destroyed event", D(cuIpcGetEventHandle)(&ek2, e));
  D(cuCtxSetCurrent)(NULL);
  RESULT("handle without a context", D(cuIpcGetMemHandle)(&k, again));
  RESULT("open without a context", D(cuIpcOpenMemHandle_v2)(&q, base, 1));
  RESULT("close without a context", D(cuIpcCloseMemHandle)(again));
  D(cuCtxSetCurrent)(context);
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    RESULT("in a forked child", D(cuIpcGetMemHandle)(&k, again));
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

// Each of these may end the process.
static void nullMemory(void) {
  start();
  RESULT("memory handle to NULL", D(cuIpcGetMemHandle)(NULL, filled(4096, 1)));
}
static void nullOpen(void) {
  Side side;
  const pid_t child = split(&side);
  CUipcMemHandle k;
  start();
  if (child) {
    D(cuIpcGetMemHandle)(&k, filled(4096, 1));
    tell(side, &k, sizeof k);
    await(side);
  } else {
    hear(side, &k, sizeof k);
    RESULT("open to NULL", D(cuIpcOpenMemHandle_v2)(NULL, k, 1));
    go(side);
  }
  end(child);
}
static void nullEvent(void) {
  start();
  CUevent e;
  CUipcEventHandle k;
  D(cuEventCreate)(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  RESULT("handle of event NULL", D(cuIpcGetEventHandle)(&k, NULL));
  RESULT("event handle to NULL", D(cuIpcGetEventHandle)(NULL, e));
}

static void importerDetails(Side side) {
  CUipcMemHandle k[4];  // base, interior of the same, another, small
  CUipcMemHandle again;
  CUdeviceptr q, interior = 0, another = 0, b = 0, v1 = 0, own = 0, late = 0;
  size_t n = 0;
  unsigned u = 0;
  int i = 0;
  CUcontext owner = NULL, other;
  unsigned long long id = 0;
  hear(side, k, sizeof k);
  start();
  RESULT("open", D(cuIpcOpenMemHandle_v2)(&q, k[0], 1));
  RESULT("open interior", D(cuIpcOpenMemHandle_v2)(&interior, k[1], 1));
  fact("interior", "%s", interior == q ? "is the base" : interior == q + 4096 ? "is inside" : "is elsewhere");
  fact("word at interior", "%u", wordAt(interior));
  RESULT("open by the older symbol", D(cuIpcOpenMemHandle)(&v1, k[0], 1));
  fact("the older symbol's pointer", "%s", YES(v1 == q));
  RESULT("older symbol, flags 0", D(cuIpcOpenMemHandle)(&v1, k[0], 0));
  D(cuIpcCloseMemHandle)(q);
  RESULT("memory type", D(cuPointerGetAttribute)(&u, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q));
  fact("type", "%u", u);
  RESULT("context", D(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, q));
  fact("is the importer's", "%s", YES(owner == context));
  RESULT("ordinal", D(cuPointerGetAttribute)(&i, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, q));
  fact("number", "%d", i);
  RESULT("ipc capable", D(cuPointerGetAttribute)(&i, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, q));
  fact("capable", "%d", i);
  RESULT("mapped", D(cuPointerGetAttribute)(&i, CU_POINTER_ATTRIBUTE_MAPPED, q));
  fact("is mapped", "%d", i);
  RESULT("managed", D(cuPointerGetAttribute)(&i, CU_POINTER_ATTRIBUTE_IS_MANAGED, q));
  RESULT("range start", D(cuPointerGetAttribute)(&b, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, q + 100));
  fact("starts at the pointer", "%s", YES(b == q));
  RESULT("mapping size", D(cuPointerGetAttribute)(&n, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, q));
  fact("mapping bytes", "%zu", n);
  RESULT("host pointer", D(cuPointerGetAttribute)(&own, CU_POINTER_ATTRIBUTE_HOST_POINTER, q));
  RESULT("device pointer", D(cuPointerGetAttribute)(&own, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, q));
  RESULT("buffer id", D(cuPointerGetAttribute)(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, q));
  fact("has an id", "%s", YES(id != 0));
  RESULT("access flags", D(cuPointerGetAttribute)(&u, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, q));
  fact("access", "%u", u);
  RESULT("read past the end", D(cuMemcpyDtoH_v2)(&id, q + (4 << 20) - 4, 8));
  CUdeviceptr target = q + 64;
  unsigned what = 77;
  void* arguments[] = {&target, &what};
  launch(kernel("store"), 0, arguments);
  RESULT("kernel stored", D(cuCtxSynchronize)());
  RESULT("fill", D(cuMemsetD32_v2)(q + 128, 88, 1));
  D(cuCtxSynchronize)();
  go(side);
  RESULT("cuMemFreeAsync of imported", D(cuMemFreeAsync)(q, 0));
  RESULT("cuMemFreeHost of imported", D(cuMemFreeHost)((void*)(uintptr_t)q));
  RESULT("re-export of interior", D(cuIpcGetMemHandle)(&again, q + 4096));
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("other memory in another context", D(cuIpcOpenMemHandle_v2)(&another, k[2], 1));
  RESULT("close in another context", D(cuIpcCloseMemHandle)(q));
  D(cuCtxSetCurrent)(context);
  CUresult closed = CUDA_SUCCESS;
  for (n = 0; n < 9 && !closed; ++n) closed = D(cuIpcCloseMemHandle)(q);
  fact("closes until refused", "%zu", n);
  RESULT("read after close", D(cuMemcpyDtoH_v2)(&u, q, 4));
  RESULT("attribute after close", D(cuPointerGetAttribute)(&u, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q));
  D(cuCtxSetCurrent)(other);
  RESULT("other context after close", D(cuIpcOpenMemHandle_v2)(&late, k[0], 1));
  RESULT("destroy context with an import", D(cuCtxDestroy_v2)(other));
  D(cuCtxSetCurrent)(context);
  RESULT("close after its context", D(cuIpcCloseMemHandle)(late));
  RESULT("open after that", D(cuIpcOpenMemHandle_v2)(&late, k[0], 1));
  go(side);
}
static void between(void) {
  Side side;
  const pid_t child = split(&side);
  if (!child) {
    importerDetails(side);
    end(child);
  }
  start();
  CUipcMemHandle k[4];
  CUdeviceptr p = filled(4 << 20, 1), second = filled(4 << 20, 3), small = filled(256, 4);
  D(cuMemsetD32_v2)(p + 4096, 2, 1);
  D(cuCtxSynchronize)();
  D(cuIpcGetMemHandle)(&k[0], p);
  D(cuIpcGetMemHandle)(&k[1], p + 4096);
  D(cuIpcGetMemHandle)(&k[2], second);
  D(cuIpcGetMemHandle)(&k[3], small);
  tell(side, k, sizeof k);
  await(side);
  fact("exporter sees the kernel's store", "%u", wordAt(p + 64));
  fact("exporter sees the fill", "%u", wordAt(p + 128));
  await(side);
  end(child);
}

// The exporter frees, then ends; the importer holds on.
static void lifetimes(void) {
  Side side;
  const pid_t child = split(&side);
  CUipcMemHandle k[3];
  if (!child) {
    start();
    CUdeviceptr p = filled(4 << 20, 11), kept = filled(4 << 20, 12), unopened = filled(4 << 20, 13);
    D(cuIpcGetMemHandle)(&k[0], p);
    D(cuIpcGetMemHandle)(&k[1], kept);
    D(cuIpcGetMemHandle)(&k[2], unopened);
    tell(side, k, sizeof k);
    await(side);
    RESULT("exporter frees", D(cuMemFree_v2)(p));
    CUdeviceptr reused = filled(4 << 20, 14);
    fact("exporter gets the address again", "%s", YES(reused == p));
    go(side);
    await(side);
    kill(getpid(), SIGKILL);
  }
  hear(side, k, sizeof k);
  start();
  CUdeviceptr q = 0, kept = 0, x = 0;
  D(cuIpcOpenMemHandle_v2)(&q, k[0], 1);
  D(cuIpcOpenMemHandle_v2)(&kept, k[1], 1);
  go(side);
  await(side);
  fact("word after the exporter freed", "%u", wordAt(q));
  RESULT("open again while open", D(cuIpcOpenMemHandle_v2)(&x, k[0], 1));
  RESULT("close", D(cuIpcCloseMemHandle)(q));
  RESULT("close again", D(cuIpcCloseMemHandle)(q));
  RESULT("open what was freed", D(cuIpcOpenMemHandle_v2)(&x, k[0], 1));
  go(side);
  char byte;
  while (read(side.in, &byte, 1) > 0) {
  }
  usleep(300000);
  fact("word after the exporter was killed", "%u", wordAt(kept));
  RESULT("fill after the exporter was killed", D(cuMemsetD32_v2)(kept, 15, 1));
  fact("word then", "%u", wordAt(kept));
  RESULT("open again after death", D(cuIpcOpenMemHandle_v2)(&x, k[1], 1));
  RESULT("first open after death", D(cuIpcOpenMemHandle_v2)(&x, k[2], 1));
  RESULT("close after death", D(cuIpcCloseMemHandle)(kept));
  end(child);
}

// The importer ends without closing.
static void importerEnds(void) {
  Side side;
  const pid_t child = split(&side);
  CUipcMemHandle k;
  if (!child) {
    hear(side, &k, sizeof k);
    start();
    CUdeviceptr q = 0;
    D(cuIpcOpenMemHandle_v2)(&q, k, 1);
    go(side);
    kill(getpid(), SIGKILL);
  }
  start();
  size_t before = 0, after = 0, total;
  CUdeviceptr p = filled(512 << 20, 1);
  D(cuIpcGetMemHandle)(&k, p);
  tell(side, &k, sizeof k);
  await(side);
  waitpid(child, NULL, 0);
  usleep(300000);
  D(cuMemGetInfo_v2)(&before, &total);
  RESULT("free", D(cuMemFree_v2)(p));
  D(cuMemGetInfo_v2)(&after, &total);
  fact("memory is free again", "%s", YES(after >= before + (500 << 20)));
}

static void opensEvents(Side side) {
  CUipcEventHandle k[2], again;
  CUevent e = NULL, twin = NULL, late = NULL, elsewhere = NULL, timed = NULL;
  float ms;
  hear(side, k, sizeof k);
  start();
  CUstream s;
  CUcontext other;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  RESULT("open", D(cuIpcOpenEventHandle)(&e, k[0]));
  RESULT("open again", D(cuIpcOpenEventHandle)(&twin, k[0]));
  fact("the same event", "%s", YES(e == twin));
  RESULT("query before any record", D(cuEventQuery)(e));
  RESULT("wait before any record", D(cuStreamWaitEvent)(s, e, 0));
  D(cuEventCreate)(&timed, 0);
  D(cuEventRecord)(timed, s);
  D(cuEventSynchronize)(timed);
  RESULT("elapsed", D(cuEventElapsedTime)(&ms, timed, e));
  RESULT("re-export", D(cuIpcGetEventHandle)(&again, e));
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("open in another context", D(cuIpcOpenEventHandle)(&elsewhere, k[0]));
  D(cuCtxSetCurrent)(context);
  kernel("spin");
  go(side);
  await(side);
  // The exporter has recorded behind 500 ms of work.
  RESULT("query while the exporter works", D(cuEventQuery)(e));
  RESULT("wait while the exporter works", D(cuStreamWaitEvent)(s, e, 0));
  RESULT("stream that waits", D(cuStreamQuery)(s));
  double started = now();
  RESULT("synchronize", D(cuEventSynchronize)(e));
  fact("synchronize waited", "%s", waited(started, 500));
  RESULT("stream afterwards", D(cuStreamSynchronize)(s));
  RESULT("query afterwards", D(cuEventQuery)(e));
  busy(s, 500);
  RESULT("importer records", D(cuEventRecord)(e, s));
  go(side);
  await(side);
  RESULT("destroy one", D(cuEventDestroy_v2)(twin == e ? elsewhere : twin));
  RESULT("query the other", D(cuEventQuery)(e));
  go(side);
  await(side);
  // The exporter has destroyed its event.
  RESULT("query after the exporter's destroy", D(cuEventQuery)(e));
  RESULT("record after the exporter's destroy", D(cuEventRecord)(e, s));
  RESULT("synchronize after the exporter's destroy", D(cuEventSynchronize)(e));
  RESULT("open after the exporter's destroy", D(cuIpcOpenEventHandle)(&late, k[0]));
  RESULT("destroy", D(cuEventDestroy_v2)(e));
  go(side);
}
static void eventSides(void) {
  Side side;
  const pid_t child = split(&side);
  if (!child) {
    opensEvents(side);
    end(child);
  }
  start();
  CUipcEventHandle k[2];
  CUevent e;
  CUstream s;
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  D(cuEventCreate)(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  D(cuIpcGetEventHandle)(&k[0], e);
  D(cuIpcGetEventHandle)(&k[1], e);
  kernel("spin");
  tell(side, k, sizeof k);
  await(side);
  busy(s, 500);
  RESULT("exporter records", D(cuEventRecord)(e, s));
  go(side);
  await(side);
  RESULT("exporter's query while the importer works", D(cuEventQuery)(e));
  double started = now();
  RESULT("exporter's synchronize", D(cuEventSynchronize)(e));
  fact("exporter's synchronize waited", "%s", waited(started, 500));
  go(side);
  await(side);
  RESULT("exporter destroys", D(cuEventDestroy_v2)(e));
  go(side);
  await(side);
  end(child);
}

// The exporter is killed with an unfinished record, or with a finished one.
static void eventDeath(void) {
  Side side;
  const pid_t child = split(&side);
  CUipcEventHandle k[3];
  CUevent e[3] = {NULL, NULL, NULL};
  CUstream s;
  if (!child) {
    start();
    D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 3; ++i) {
      D(cuEventCreate)(&e[i], CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
      D(cuIpcGetEventHandle)(&k[i], e[i]);
    }
    D(cuEventRecord)(e[1], s);
    D(cuStreamSynchronize)(s);
    tell(side, k, sizeof k);
    await(side);
    busy(s, 3000);
    D(cuEventRecord)(e[0], s);
    go(side);
    await(side);
    kill(getpid(), SIGKILL);
  }
  hear(side, k, sizeof k);
  start();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  D(cuIpcOpenEventHandle)(&e[0], k[0]);
  D(cuIpcOpenEventHandle)(&e[1], k[1]);
  go(side);
  await(side);
  RESULT("query", D(cuEventQuery)(e[0]));
  RESULT("stream waits", D(cuStreamWaitEvent)(s, e[0], 0));
  go(side);
  char byte;
  while (read(side.in, &byte, 1) > 0) {
  }
  usleep(500000);
  RESULT("finished record: query", D(cuEventQuery)(e[1]));
  RESULT("finished record: synchronize", D(cuEventSynchronize)(e[1]));
  RESULT("open after death", D(cuIpcOpenEventHandle)(&e[2], k[2]));
  CUresult result = CUDA_ERROR_NOT_READY;
  const double started = now();
  while ((result = D(cuEventQuery)(e[0])) == CUDA_ERROR_NOT_READY && now() - started < 6) usleep(10000);
  RESULT("unfinished record: query within 6 s", result);
  if (result != CUDA_ERROR_NOT_READY) RESULT("unfinished record: synchronize", D(cuEventSynchronize)(e[0]));
  RESULT("waiting stream", D(cuStreamQuery)(s));
  RESULT("record after death", D(cuEventRecord)(e[1], 0));
  RESULT("context after death", D(cuMemAlloc_v2)(&(CUdeviceptr){0}, 4096));
  end(child);
}

const Group kIpcGroups[] = {{"ipc.details", details},
                            {"ipc.null.memory", nullMemory},
                            {"ipc.null.open", nullOpen},
                            {"ipc.null.event", nullEvent},
                            {"ipc.importer", between},
                            {"ipc.lifetimes", lifetimes},
                            {"ipc.importer-ends", importerEnds},
                            {"ipc.events", eventSides},
                            {"ipc.event-death", eventDeath},
                            {NULL, NULL}};
