// Contexts, streams, events, host functions, fork.
#include "probe.h"

#include <sys/wait.h>
#include <unistd.h>

static void contexts(void) {
  start();
  CUcontext other, c;
  unsigned v;
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("pop", D(cuCtxPopCurrent_v2)(&c));
  fact("popped", "%s", c == other ? "the newer" : "another");
  RESULT("push", D(cuCtxPushCurrent_v2)(other));
  RESULT("push NULL", D(cuCtxPushCurrent_v2)(NULL));
  RESULT("destroy current", D(cuCtxDestroy_v2)(other));
  D(cuCtxGetCurrent)(&c);
  fact("current after destroying it", "%s", c == context ? "the older" : c ? "another" : "NULL");
  RESULT("destroy again", D(cuCtxDestroy_v2)(other));
  RESULT("set destroyed", D(cuCtxSetCurrent)(other));
  RESULT("push destroyed", D(cuCtxPushCurrent_v2)(other));
  RESULT("api version of destroyed", D(cuCtxGetApiVersion)(other, &v));
  RESULT("destroy NULL", D(cuCtxDestroy_v2)(NULL));
}

static void contextStack(void) {
  start();
  CUcontext c;
  CUdevice d;
  unsigned v;
  RESULT("pop the only one", D(cuCtxPopCurrent_v2)(&c));
  RESULT("pop empty", D(cuCtxPopCurrent_v2)(&c));
  RESULT("device without context", D(cuCtxGetDevice)(&d));
  RESULT("push", D(cuCtxPushCurrent_v2)(context));
  RESULT("push the same again", D(cuCtxPushCurrent_v2)(context));
  RESULT("set NULL", D(cuCtxSetCurrent)(NULL));
  D(cuCtxGetCurrent)(&c);
  fact("current after set NULL", "%s", c ? "set" : "NULL");
  RESULT("pop into NULL", D(cuCtxPopCurrent_v2)(NULL));
  D(cuCtxSetCurrent)(context);
  D(cuCtxGetApiVersion)(context, &v);
  fact("api version", "%u", v);
  RESULT("flags 0x100", D(cuCtxCreate_v2)(&c, 0x100, device));
  RESULT("flags 3", D(cuCtxCreate_v2)(&c, 3, device));
  RESULT("device 99", D(cuCtxCreate_v2)(&c, 0, 99));
  RESULT("device -1", D(cuCtxCreate_v2)(&c, 0, -1));
  size_t value;
  RESULT("limit 99", D(cuCtxGetLimit)(&value, (CUlimit)99));
  RESULT("set stack 4096", D(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 4096));
  D(cuCtxGetLimit)(&value, CU_LIMIT_STACK_SIZE);
  fact("stack", "%zu", value);
  RESULT("set stack 1 GiB", D(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 1 << 30));
  RESULT("set printf fifo 1", D(cuCtxSetLimit)(CU_LIMIT_PRINTF_FIFO_SIZE, 1));
  D(cuCtxGetLimit)(&value, CU_LIMIT_PRINTF_FIFO_SIZE);
  fact("printf fifo after 1", "%zu", value);
  RESULT("set heap 1", D(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, 1));
  D(cuCtxGetLimit)(&value, CU_LIMIT_MALLOC_HEAP_SIZE);
  fact("heap after 1", "%zu", value);
  int least, greatest;
  D(cuCtxGetStreamPriorityRange)(&least, &greatest);
  fact("priorities", "%d %d", least, greatest);
  CUfunc_cache cache;
  D(cuCtxGetCacheConfig)(&cache);
  fact("cache config", "%d", (int)cache);
  RESULT("set cache config 99", D(cuCtxSetCacheConfig)((CUfunc_cache)99));
  unsigned flags;
  D(cuCtxGetFlags)(&flags);
  fact("flags of flags 0", "%u", flags);
}

static void devices(void) {
  int n = 0;
  CUdevice d;
  char text[64];
  RESULT("init", D(cuInit)(0));
  D(cuDeviceGetCount)(&n);
  RESULT("get -1", D(cuDeviceGet)(&d, -1));
  RESULT("get count", D(cuDeviceGet)(&d, n));
  D(cuDeviceGet)(&d, 0);
  int v;
  RESULT("attribute 0", D(cuDeviceGetAttribute)(&v, (CUdevice_attribute)0, d));
  RESULT("attribute 999", D(cuDeviceGetAttribute)(&v, (CUdevice_attribute)999, d));
  RESULT("attribute of device 99", D(cuDeviceGetAttribute)(&v, (CUdevice_attribute)1, 99));
  RESULT("name into 4 bytes", D(cuDeviceGetName)(text, 4, d));
  fact("its length", "%zu", strlen(text));
  for (int length = 0; length <= 14; length += 1) {
    char name[64];
    memset(text, 'x', sizeof text);
    CUresult r = D(cuDeviceGetPCIBusId)(text, length, d);
    snprintf(name, sizeof name, "PCI id into %d bytes", length);
    fact(name, "%s %d", resultName(r), r ? -1 : (int)strnlen(text, sizeof text));
  }
  RESULT("by PCI zz", D(cuDeviceGetByPCIBusId)(&d, "zz"));
  RESULT("by PCI empty", D(cuDeviceGetByPCIBusId)(&d, ""));
  RESULT("by PCI NULL", D(cuDeviceGetByPCIBusId)(&d, NULL));
  RESULT("by PCI absent", D(cuDeviceGetByPCIBusId)(&d, "0000:fe:1f.0"));
  D(cuDeviceGetPCIBusId)(text, sizeof text, d);
  RESULT("by PCI own", D(cuDeviceGetByPCIBusId)(&d, text));
  RESULT("by PCI own without domain", D(cuDeviceGetByPCIBusId)(&d, text + 5));
  CUuuid a, b;
  D(cuDeviceGetUuid)(&a, d);
  D(cuDeviceGetUuid_v2)(&b, d);
  fact("both UUIDs equal", "%s", YES(!memcmp(&a, &b, 16)));
  unsigned mask;
  RESULT("LUID", D(cuDeviceGetLuid)(text, &mask, d));
}

static void streams(void) {
  start();
  CUstream s;
  unsigned flags;
  int priority;
  CUcontext c;
  RESULT("flags 2", D(cuStreamCreate)(&s, 2));
  RESULT("flags 0x80", D(cuStreamCreate)(&s, 0x80));
  RESULT("priority -100", D(cuStreamCreateWithPriority)(&s, 0, -100));
  D(cuStreamGetPriority)(s, &priority);
  fact("clamped", "%d", priority);
  RESULT("priority 100", D(cuStreamCreateWithPriority)(&s, 1, 100));
  D(cuStreamGetPriority)(s, &priority);
  D(cuStreamGetFlags)(s, &flags);
  fact("clamped, flags", "%d %u", priority, flags);
  RESULT("flags of NULL", D(cuStreamGetFlags)(0, &flags));
  fact("they", "%u", flags);
  RESULT("flags of LEGACY", D(cuStreamGetFlags)(CU_STREAM_LEGACY, &flags));
  fact("they", "%u", flags);
  RESULT("flags of PER_THREAD", D(cuStreamGetFlags)(CU_STREAM_PER_THREAD, &flags));
  fact("they", "%u", flags);
  RESULT("priority of NULL", D(cuStreamGetPriority)(0, &priority));
  RESULT("context of NULL", D(cuStreamGetCtx)(0, &c));
  fact("is current", "%s", YES(c == context));
  RESULT("destroy NULL", D(cuStreamDestroy_v2)(0));
  RESULT("destroy LEGACY", D(cuStreamDestroy_v2)(CU_STREAM_LEGACY));
  RESULT("destroy PER_THREAD", D(cuStreamDestroy_v2)(CU_STREAM_PER_THREAD));
  unsigned long long id0, id1, id2;
  D(cuStreamGetId)(0, &id0);
  D(cuStreamGetId)(CU_STREAM_LEGACY, &id1);
  D(cuStreamGetId)(CU_STREAM_PER_THREAD, &id2);
  fact("ids of NULL and LEGACY equal", "%s", YES(id0 == id1));
  fact("ids of NULL and PER_THREAD equal", "%s", YES(id0 == id2));
  CUstreamCaptureStatus status;
  RESULT("capturing NULL", D(cuStreamIsCapturing)(0, &status));
  CUstreamAttrValue value;
  RESULT("attribute 99", D(cuStreamGetAttribute)(s, (CUstreamAttrID)99, &value));
}

static void events(void) {
  start();
  CUevent a, b, untimed;
  CUstream s;
  float ms = -1;
  RESULT("flags 0x80", D(cuEventCreate)(&a, 0x80));
  RESULT("INTERPROCESS alone", D(cuEventCreate)(&a, CU_EVENT_INTERPROCESS));
  D(cuEventCreate)(&a, 0);
  D(cuEventCreate)(&b, CU_EVENT_BLOCKING_SYNC);
  D(cuEventCreate)(&untimed, CU_EVENT_DISABLE_TIMING);
  D(cuStreamCreate)(&s, 0);
  RESULT("query never recorded", D(cuEventQuery)(a));
  RESULT("synchronise never recorded", D(cuEventSynchronize)(a));
  RESULT("wait for never recorded", D(cuStreamWaitEvent)(s, a, 0));
  RESULT("elapsed never recorded", D(cuEventElapsedTime_v2)(&ms, a, b));
  D(cuEventRecord)(a, s);
  RESULT("elapsed end never recorded", D(cuEventElapsedTime_v2)(&ms, a, b));
  D(cuEventRecord)(untimed, s);
  RESULT("elapsed of untimed", D(cuEventElapsedTime_v2)(&ms, a, untimed));
  busy(s, 100);
  D(cuEventRecord)(b, s);
  RESULT("query busy", D(cuEventQuery)(b));
  RESULT("stream query busy", D(cuStreamQuery)(s));
  RESULT("elapsed not ready", D(cuEventElapsedTime_v2)(&ms, a, b));
  D(cuEventSynchronize)(b);
  RESULT("elapsed", D(cuEventElapsedTime_v2)(&ms, a, b));
  fact("about 100 ms", "%s", YES(ms > 90 && ms < 1000));
  RESULT("elapsed backwards", D(cuEventElapsedTime_v2)(&ms, b, a));
  fact("negative", "%s", YES(ms < 0));
  RESULT("elapsed NULL output", D(cuEventElapsedTime_v2)(NULL, a, b));
  RESULT("wait flags 2", D(cuStreamWaitEvent)(s, a, 2));
  RESULT("record flags 2", D(cuEventRecordWithFlags)(a, s, 2));
  RESULT("record external outside capture", D(cuEventRecordWithFlags)(a, s, 1));
  RESULT("record NULL event", D(cuEventRecord)(NULL, s));
  RESULT("destroy", D(cuEventDestroy_v2)(a));
  RESULT("destroy NULL", D(cuEventDestroy_v2)(NULL));
  CUcontext other;
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("record on a stream from another context's event", D(cuEventRecord)(b, 0));
  RESULT("wait across contexts", D(cuStreamWaitEvent)(0, b, 0));
  RESULT("query across contexts", D(cuEventQuery)(b));
}

static void destroyedEvent(void) {
  start();
  CUevent a;
  D(cuEventCreate)(&a, 0);
  D(cuEventDestroy_v2)(a);
  RESULT("query", D(cuEventQuery)(a));
}

static CUresult inside[8];
static void hostFunction(void* data) {
  CUdeviceptr p;
  CUstream s = data;
  CUcontext c;
  size_t f, t;
  inside[0] = D(cuMemAlloc_v2)(&p, 64);
  inside[1] = D(cuMemcpyDtoD_v2)(0, 0, 4);
  inside[2] = D(cuCtxGetCurrent)(&c);
  inside[3] = D(cuMemGetInfo_v2)(&f, &t);
  inside[4] = D(cuStreamQuery)(s);
  inside[5] = D(cuStreamCreate)(&s, 0);
  inside[6] = D(cuMemFreeHost)(NULL);
  inside[7] = c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
static void callback(CUstream s, CUresult status, void* data) {
  (void)data;
  hostFunction(s);
  fact("callback status", "%s", resultName(status));
}

static void hostFunctions(void) {
  start();
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("cuLaunchHostFunc", D(cuLaunchHostFunc)(s, hostFunction, s));
  D(cuStreamSynchronize)(s);
  const char* names[] = {"cuMemAlloc",    "cuMemcpyDtoD",   "cuCtxGetCurrent", "cuMemGetInfo",
                         "cuStreamQuery", "cuStreamCreate", "cuMemFreeHost",   "context current"};
  for (int i = 0; i < 8; ++i) RESULT(names[i], inside[i]);
  RESULT("cuStreamAddCallback", D(cuStreamAddCallback)(s, callback, NULL, 0));
  D(cuStreamSynchronize)(s);
  char name[64];
  for (int i = 0; i < 8; ++i) {
    snprintf(name, sizeof name, "callback %s", names[i]);
    RESULT(name, inside[i]);
  }
  RESULT("cuStreamAddCallback flags 1", D(cuStreamAddCallback)(s, callback, NULL, 1));
  RESULT("cuLaunchHostFunc NULL", D(cuLaunchHostFunc)(s, NULL, NULL));
}

static void forked(void) {
  start();
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 64);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int n;
    char m[4];
    CUcontext c;
    RESULT("child cuMemAlloc", D(cuMemAlloc_v2)(&p, 64));
    RESULT("child cuMemcpyDtoH", D(cuMemcpyDtoH_v2)(m, p, 4));
    RESULT("child cuDeviceGetCount", D(cuDeviceGetCount)(&n));
    RESULT("child cuCtxGetCurrent", D(cuCtxGetCurrent)(&c));
    RESULT("child cuInit", D(cuInit)(0));
    RESULT("child cuDriverGetVersion", D(cuDriverGetVersion)(&n));
    RESULT("child cuMemFree", D(cuMemFree_v2)(p));
    _exit(0);
  }
  waitpid(child, NULL, 0);
  RESULT("parent cuMemAlloc", D(cuMemAlloc_v2)(&p, 64));
}

static void atExit(void) {
  CUdeviceptr p;
  RESULT("cuMemAlloc in atexit", D(cuMemAlloc_v2)(&p, 64));
  RESULT("cuMemFree in atexit", D(cuMemFree_v2)(p));
}
static void exiting(void) {
  atexit(atExit);
  start();
  exit(0);
}
static void exitingLate(void) {
  start();
  atexit(atExit);
  exit(0);
}

static void twoCopies(void) {
  CUresult (*get)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*) = D(cuGetProcAddress_v2);
  CUdriverProcAddressQueryResult status = 99;
  void* p = NULL;
  RESULT("empty name", get("", &p, 0, 0, NULL));
  RESULT("unknown name", get("cuNoSuch", &p, 13000, 0, &status));
  fact("status, pointer", "%d %s", (int)status, p ? "set" : "NULL");
  RESULT("too old", get("cuMemAllocAsync", &p, 10000, 0, &status));
  fact("status, pointer", "%d %s", (int)status, p ? "set" : "NULL");
  RESULT("found", get("cuMemAlloc", &p, 13000, 0, &status));
  fact("status, same as dlsym", "%d %s", (int)status, YES(p == symbol("cuMemAlloc_v2")));
  RESULT("suffixed name", get("cuMemAlloc_v2", &p, 13000, 0, &status));
  RESULT("flags 3", get("cuMemAlloc", &p, 13000, 3, &status));
  RESULT("flags 4", get("cuMemAlloc", &p, 13000, 4, &status));
  RESULT("version 99000", get("cuMemAlloc", &p, 99000, 0, &status));
}

const Group kLifeGroups[] = {{"contexts", contexts},
                             {"context.stack", contextStack},
                             {"devices", devices},
                             {"streams", streams},
                             {"events", events},
                             {"event.destroyed", destroyedEvent},
                             {"host-functions", hostFunctions},
                             {"fork", forked},
                             {"exit.early-handler", exiting},
                             {"exit.late-handler", exitingLate},
                             {"proc-address", twoCopies},
                             {NULL, NULL}};
