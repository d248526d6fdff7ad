// Question 84: what each call does to a capture of its own stream.
#include "questions.h"

static CUdeviceptr p, freed;
static void *h, *spare;
static char m[4096];
static char* registrable;
static CUarray line;
static CUstream s;

static CUresult perform(int which) {
  CUdeviceptr q;
  void* made;
  size_t f, t;
  CUarray a;
  CUDA_ARRAY_DESCRIPTOR_v2 d = {64, 64, CU_AD_FORMAT_FLOAT, 1};
  switch (which) {
    case 0:
      return D(cuMemAlloc_v2)(&q, 64);
    case 1:
      return D(cuMemFree_v2)(freed);
    case 2:
      return D(cuMemHostAlloc)(&made, 64, 0);
    case 3:
      return D(cuMemFreeHost)(spare);
    case 4:
      return D(cuMemHostRegister_v2)(registrable, 4096, 0);
    case 5:
      return D(cuMemHostUnregister)(registrable);
    case 6:
      return D(cuMemcpyHtoD_v2)(p, m, 4);
    case 7:
      return D(cuMemcpyDtoH_v2)(m, p, 4);
    case 8:
      return D(cuMemcpyDtoD_v2)(p, p + 64, 4);
    case 9:
      return D(cuMemcpyHtoDAsync_v2)(p, m, 4, s);
    case 10:
      return D(cuMemcpyHtoDAsync_v2)(p, h, 4, s);
    case 11:
      return D(cuMemcpyDtoHAsync_v2)(m, p, 4, s);
    case 12:
      return D(cuMemcpyAsync)(p, at(m), 4, s);
    case 13:
      return D(cuMemsetD8_v2)(p, 0, 4);
    case 14:
      return D(cuMemsetD8Async)(p, 0, 4, s);
    case 15:
      return D(cuMemAllocManaged)(&q, 4096, CU_MEM_ATTACH_GLOBAL);
    case 16:
      return D(cuMemGetInfo_v2)(&f, &t);
    case 17:
      return D(cuMemGetAddressRange_v2)(&q, &f, p);
    case 18:
      return D(cuArrayCreate_v2)(&a, &d);
    case 19:
      return D(cuMemcpyHtoA_v2)(line, 0, m, 4);
    case 20:
      return D(cuMemcpyHtoAAsync_v2)(line, 0, h, 4, s);
    case 21:
      return D(cuMemAllocAsync)(&q, 64, s);
    case 22:
      return D(cuMemHostGetDevicePointer_v2)(&q, h, 0);
    case 23:
      return D(cuMemcpyHtoDAsync_v2)(p, h, 4, 0);
    case 24:
      return D(cuMemcpyHtoDAsync_v2)(0, m, 4, s);
    case 25:
      return D(cuMemAlloc_v2)(NULL, 0);
    default:
      return CUDA_ERROR_UNKNOWN;
  }
}

static const char* const kNames[] = {"cuMemAlloc",
                                     "cuMemFree",
                                     "cuMemHostAlloc",
                                     "cuMemFreeHost",
                                     "cuMemHostRegister",
                                     "cuMemHostUnregister",
                                     "cuMemcpyHtoD",
                                     "cuMemcpyDtoH",
                                     "cuMemcpyDtoD",
                                     "cuMemcpyHtoDAsync pageable",
                                     "cuMemcpyHtoDAsync pinned",
                                     "cuMemcpyDtoHAsync pageable",
                                     "cuMemcpyAsync pageable to device",
                                     "cuMemsetD8",
                                     "cuMemsetD8Async",
                                     "cuMemAllocManaged",
                                     "cuMemGetInfo",
                                     "cuMemGetAddressRange",
                                     "cuArrayCreate",
                                     "cuMemcpyHtoA",
                                     "cuMemcpyHtoAAsync pinned",
                                     "cuMemAllocAsync",
                                     "cuMemHostGetDevicePointer",
                                     "cuMemcpyHtoDAsync on the legacy stream",
                                     "cuMemcpyHtoDAsync to NULL",
                                     "cuMemAlloc of 0 bytes to NULL"};

static void each(CUstreamCaptureMode mode, const char* modeName) {
  start();
  p = deviceBytes(4096);
  D(cuMemHostAlloc)(&h, 4096, 0);
  makeArray(&line, 64, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  char name[96];
  for (int i = 0; i < (int)(sizeof kNames / sizeof *kNames); ++i) {
    freed = deviceBytes(64);
    D(cuMemHostAlloc)(&spare, 64, 0);
    if (i < 5 || i > 5) registrable = hostPages(1);
    if (i == 5) D(cuMemHostRegister_v2)(registrable, 4096, 0);
    D(cuStreamCreate)(&s, 0);
    D(cuStreamBeginCapture_v2)(s, mode);
    CUresult r = perform(i);
    CUgraph graph = NULL;
    size_t nodes = 0;
    CUresult end = D(cuStreamEndCapture)(s, &graph);
    if (graph) D(cuGraphGetNodes)(graph, NULL, &nodes);
    snprintf(name, sizeof name, "Q84: %s in a %s capture", kNames[i], modeName);
    char call[64];
    snprintf(call, sizeof call, "%s", resultName(r));
    fact(name, "%s, end %s, %zu nodes", call, resultName(end), nodes);
  }
}

static void global_(void) { each(CU_STREAM_CAPTURE_MODE_GLOBAL, "global"); }
static void threadLocal(void) { each(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread-local"); }
static void relaxed(void) { each(CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed"); }

const Group kQuestionCaptureGroups[] = {{"questions.capture.global", global_},
                                        {"questions.capture.thread-local", threadLocal},
                                        {"questions.capture.relaxed", relaxed},
                                        {NULL, NULL}};
