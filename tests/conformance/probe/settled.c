// What the suites of contexts, streams and graphs took for granted until the vendor's driver was asked.
#include <sys/mman.h>

#include "graphs.h"

static unsigned flagsNow(void) {
  unsigned flags = ~0u;
  D(cuCtxGetFlags)(&flags);
  return flags;
}

static void contextFlags(void) {
  static const unsigned made[] = {0,
                                  CU_CTX_SCHED_SPIN,
                                  CU_CTX_MAP_HOST,
                                  CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST,
                                  CU_CTX_LMEM_RESIZE_TO_MAX,
                                  CU_CTX_COREDUMP_ENABLE,
                                  CU_CTX_USER_COREDUMP_ENABLE,
                                  CU_CTX_SYNC_MEMOPS,
                                  CU_CTX_COREDUMP_ENABLE | CU_CTX_MAP_HOST};
  static const unsigned set[] = {0,
                                 CU_CTX_SCHED_YIELD,
                                 CU_CTX_MAP_HOST,
                                 CU_CTX_LMEM_RESIZE_TO_MAX,
                                 CU_CTX_COREDUMP_ENABLE,
                                 CU_CTX_USER_COREDUMP_ENABLE,
                                 CU_CTX_SYNC_MEMOPS};
  char name[64];
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  for (size_t i = 0; i < sizeof made / sizeof *made; ++i) {
    CUcontext one = NULL;
    const CUresult result = D(cuCtxCreate_v4)(&one, NULL, made[i], device);
    snprintf(name, sizeof name, "made with %#x", made[i]);
    fact(name, "%s, %#x", resultName(result), flagsNow());
    for (size_t j = 0; j < sizeof set / sizeof *set; ++j) {
      snprintf(name, sizeof name, "made with %#x, set to %#x", made[i], set[j]);
      const CUresult changed = D(cuCtxSetFlags)(set[j]);
      fact(name, "%s, %#x", resultName(changed), flagsNow());
    }
    D(cuCtxDestroy_v2)(one);
  }
}

static void primaryState(const char* when) {
  unsigned flags = ~0u;
  int active = -1;
  D(cuDevicePrimaryCtxGetState)(device, &flags, &active);
  fact(when, "flags %#x, active %d", flags, active);
}

static void primaryFlags(void) {
  static const unsigned set[] = {CU_CTX_SCHED_SPIN,         CU_CTX_MAP_HOST,    CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST,
                                 CU_CTX_LMEM_RESIZE_TO_MAX, CU_CTX_SYNC_MEMOPS, CU_CTX_SCHED_BLOCKING_SYNC};
  char name[64];
  CUcontext primary = NULL;
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  for (size_t i = 0; i < sizeof set / sizeof *set; ++i) {
    snprintf(name, sizeof name, "set to %#x before", set[i]);
    RESULT(name, D(cuDevicePrimaryCtxSetFlags_v2)(device, set[i]));
  }
  primaryState("before");
  D(cuDevicePrimaryCtxRetain)(&primary, device);
  D(cuCtxSetCurrent)(primary);
  fact("flags of the context", "%#x", flagsNow());
  RESULT("set to MAP_HOST", D(cuDevicePrimaryCtxSetFlags_v2)(device, CU_CTX_MAP_HOST));
  RESULT("set to YIELD", D(cuDevicePrimaryCtxSetFlags_v2)(device, CU_CTX_SCHED_YIELD));
  fact("flags of the context then", "%#x", flagsNow());
  RESULT("cuCtxSetFlags", D(cuCtxSetFlags)(CU_CTX_SCHED_SPIN));
  primaryState("after it");
  D(cuDevicePrimaryCtxRelease_v2)(device);
  primaryState("released");
  D(cuDevicePrimaryCtxSetFlags_v2)(device, CU_CTX_SCHED_SPIN);
  D(cuDevicePrimaryCtxRetain)(&primary, device);
  D(cuDevicePrimaryCtxReset_v2)(device);
  primaryState("reset");
}

static void affinity(void) {
  CUexecAffinityParam value;
  int multiprocessors = 0;
  start();
  memset(&value, 0x55, sizeof value);
  D(cuDeviceGetAttribute)(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  RESULT("get", D(cuCtxGetExecAffinity)(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  fact("type", "%d", value.type);
  fact("all multiprocessors", "%s", YES(value.param.smCount.val == (unsigned)multiprocessors));
  RESULT("NULL", D(cuCtxGetExecAffinity)(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  RESULT("type 7", D(cuCtxGetExecAffinity)(&value, (CUexecAffinityType)7));
  D(cuCtxSetCurrent)(NULL);
  RESULT("no context", D(cuCtxGetExecAffinity)(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
}

static CUgreenCtx part(CUcontext* as) {
  CUdevResource all, some;
  CUdevResourceDesc description = NULL;
  CUgreenCtx green = NULL;
  unsigned count = 1;
  D(cuDeviceGetDevResource)(device, &all, CU_DEV_RESOURCE_TYPE_SM);
  D(cuDevSmResourceSplitByCount)(&some, &count, &all, NULL, 0, 16);
  D(cuDevResourceGenerateDesc)(&description, &some, 1);
  D(cuGreenCtxCreate)(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM);
  D(cuCtxFromGreenCtx)(as, green);
  return green;
}

static void nothing(void* data) { (void)data; }

static void greenStreams(void) {
  CUcontext as = NULL, primary = NULL;
  CUstream blocking = NULL;
  CUgraph graph = NULL;
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  D(cuDevicePrimaryCtxRetain)(&primary, device);
  const CUgreenCtx green = part(&as);
  D(cuCtxSetCurrent)(as);
  RESULT("NULL", D(cuStreamSynchronize)(NULL));
  RESULT("legacy", D(cuStreamSynchronize)(CU_STREAM_LEGACY));
  RESULT("per thread", D(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
  RESULT("query per thread", D(cuStreamQuery)(CU_STREAM_PER_THREAD));
  D(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT);
  RESULT("capture", D(cuStreamBeginCapture_v2)(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  RESULT("NULL meanwhile", D(cuStreamQuery)(NULL));
  RESULT("legacy meanwhile", D(cuStreamQuery)(CU_STREAM_LEGACY));
  RESULT("host function in NULL meanwhile", D(cuLaunchHostFunc)(NULL, nothing, NULL));
  RESULT("end of capture", D(cuStreamEndCapture)(blocking, &graph));
  RESULT("reset of the primary context", D(cuDevicePrimaryCtxReset_v2)(device));
  RESULT("cuGreenCtxDestroy", D(cuGreenCtxDestroy)(green));
  D(cuCtxSetCurrent)(NULL);
  RESULT("reset afterwards", D(cuDevicePrimaryCtxReset_v2)(device));
}

static void sayEdges(const char* name, CUresult result, CUgraph graph, const CUgraphNode* nodes) {
  CUgraphNode from[16], to[16];
  size_t count = 16;
  char text[128] = "";
  D(cuGraphGetEdges_v2)(graph, from, to, NULL, &count);
  for (size_t i = 0; i < count && i < 16; ++i) {
    strcat(text, " ");
    strcat(text, letters(&from[i], 1, nodes, 4));
    strcat(text, letters(&to[i], 1, nodes, 4));
  }
  fact(name, "%s,%s", resultName(result), text);
}

static void edges(void) {
  // Pairs of nodes, as letters; there is an edge from a to b before.
  static const char* const cases[] = {"bc ab", "ab bc", "bc cc", "cc bc", "bc cd ab ad", "bc bc", "bc a-"};
  start();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    for (int removed = 0; removed < 2; ++removed) {
      const CUgraph graph = newGraph();
      CUgraphNode nodes[4], from[8], to[8];
      char name[64];
      size_t count = 0;
      for (int n = 0; n < 4; ++n) nodes[n] = emptyAfter(graph, NULL);
      D(cuGraphAddDependencies_v2)(graph, &nodes[0], &nodes[1], NULL, 1);
      if (removed) D(cuGraphAddDependencies_v2)(graph, &nodes[1], &nodes[2], NULL, 1);
      for (const char* at = cases[i]; *at; at += at[2] ? 3 : 2, ++count) {
        from[count] = nodes[at[0] - 'a'];
        to[count] = at[1] == '-' ? NULL : nodes[at[1] - 'a'];
      }
      snprintf(name, sizeof name, "%s %s", removed ? "removed" : "added", cases[i]);
      const CUresult result = removed ? D(cuGraphRemoveDependencies_v2)(graph, from, to, NULL, count)
                                      : D(cuGraphAddDependencies_v2)(graph, from, to, NULL, count);
      sayEdges(name, result, graph, nodes);
    }
}

static void lateBoxes(void) {
  CUdeviceptr memory = 0;
  size_t pitch = 0;
  CUgraphNode node = NULL;
  CUgraphExec exec = NULL;
  start();
  D(cuMemAllocPitch_v2)(&memory, &pitch, 200, 20, 4);
  CUDA_MEMCPY3D box;
  memset(&box, 0, sizeof box);
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = memory;
  box.dstDevice = memory + 10 * pitch;
  box.srcPitch = box.dstPitch = pitch;
  box.srcHeight = box.dstHeight = 4;
  box.WidthInBytes = 100;
  box.Height = 4;
  box.Depth = 1;
  CUgraph graph = newGraph();
  D(cuGraphAddMemcpyNode)(&node, graph, NULL, 0, &box, context);
  exec = instantiated(graph);
#define CHANGED(name, member, value)                                              \
  do {                                                                            \
    CUDA_MEMCPY3D other = box;                                                    \
    other.member = value;                                                         \
    RESULT(name, D(cuGraphExecMemcpyNodeSetParams)(exec, node, &other, context)); \
    D(cuGraphExecMemcpyNodeSetParams)(exec, node, &box, context);                 \
  } while (0)
  CHANGED("copy: the same", Depth, 1);
  CHANGED("copy: address", srcDevice, memory + 8);
  CHANGED("copy: width", WidthInBytes, 96);
  CHANGED("copy: height", Height, 3);
  CHANGED("copy: one row", Height, 1);
  CHANGED("copy: pitch", srcPitch, pitch * 2);
  CHANGED("copy: x", srcXInBytes, 4);
  CHANGED("copy: y", srcY, 1);
  CHANGED("copy: height of the source", srcHeight, 5);
#undef CHANGED
  CUDA_MEMSET_NODE_PARAMS fill;
  memset(&fill, 0, sizeof fill);
  fill.dst = memory;
  fill.pitch = pitch;
  fill.value = 7;
  fill.elementSize = 4;
  fill.width = 10;
  fill.height = 5;
  graph = newGraph();
  D(cuGraphAddMemsetNode)(&node, graph, NULL, 0, &fill, context);
  exec = instantiated(graph);
#define CHANGED(name, member, value_)                                             \
  do {                                                                            \
    CUDA_MEMSET_NODE_PARAMS other = fill;                                         \
    other.member = value_;                                                        \
    RESULT(name, D(cuGraphExecMemsetNodeSetParams)(exec, node, &other, context)); \
    D(cuGraphExecMemsetNodeSetParams)(exec, node, &fill, context);                \
  } while (0)
  CHANGED("fill: the same", height, 5);
  CHANGED("fill: value", value, 8);
  CHANGED("fill: address", dst, memory + 4);
  CHANGED("fill: width", width, 9);
  CHANGED("fill: height", height, 4);
  CHANGED("fill: one row", height, 1);
  CHANGED("fill: element size", elementSize, 2);
  CHANGED("fill: pitch", pitch, pitch * 2);
#undef CHANGED
}

static CUgraph bodyOf(CUgraph graph) {
  CUgraphConditionalHandle handle = 0;
  CUgraphNodeParams params;
  CUgraphNode node = NULL;
  memset(&params, 0, sizeof params);
  D(cuGraphConditionalHandleCreate)(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 1;
  params.conditional.ctx = context;
  D(cuGraphAddNode_v2)(&node, graph, NULL, NULL, 0, &params);
  return params.conditional.phGraph_out[0];
}

static void bodies(void) {
  static const char* const kinds[] = {"nothing",
                                      "a fill",
                                      "a host function",
                                      "memory that is freed",
                                      "an event",
                                      "a memory operation",
                                      "a child graph with a host function"};
  CUdeviceptr memory = 0;
  CUevent event = NULL;
  start();
  D(cuMemAlloc_v2)(&memory, 4096);
  D(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);
  for (int kind = 0; kind < 7; ++kind) {
    const CUgraph graph = newGraph(), body = bodyOf(graph);
    CUgraphNode node = NULL, after = NULL;
    CUresult added = CUDA_SUCCESS;
    const CUDA_HOST_NODE_PARAMS host = {nothing, NULL};
    if (kind == 1) {
      const CUDA_MEMSET_NODE_PARAMS fill = byteFill(memory, 1, 16);
      added = D(cuGraphAddMemsetNode)(&node, body, NULL, 0, &fill, context);
    } else if (kind == 2) {
      added = D(cuGraphAddHostNode)(&node, body, NULL, 0, &host);
    } else if (kind == 3) {
      CUDA_MEM_ALLOC_NODE_PARAMS alloc;
      memset(&alloc, 0, sizeof alloc);
      alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      alloc.bytesize = 5000;
      added = D(cuGraphAddMemAllocNode)(&node, body, NULL, 0, &alloc);
      if (!added) added = D(cuGraphAddMemFreeNode)(&after, body, &node, 1, alloc.dptr);
    } else if (kind == 4) {
      added = D(cuGraphAddEventRecordNode)(&node, body, NULL, 0, event);
    } else if (kind == 5) {
      CUstreamBatchMemOpParams operation;
      CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {context, 1, &operation, 0};
      memset(&operation, 0, sizeof operation);
      operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      operation.writeValue.address = memory;
      added = D(cuGraphAddBatchMemOpNode)(&node, body, NULL, 0, &batch);
    } else if (kind == 6) {
      const CUgraph child = newGraph();
      D(cuGraphAddHostNode)(&node, child, NULL, 0, &host);
      added = D(cuGraphAddChildGraphNode)(&node, body, NULL, 0, child);
    }
    CUgraphExec exec = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    memset(&how, 0, sizeof how);
    const CUresult result = D(cuGraphInstantiateWithParams)(&exec, graph, &how);
    fact(kinds[kind], "%s, instantiated %s %d", resultName(added), resultName(result), how.result_out);
  }
}

static void libraryUse(void) {
  static const char text[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry two(.param .u64 p, .param .u32 q) { ret; }\n";
  CUlibrary lib = NULL;
  CUkernel two = NULL;
  CUmodule module = NULL;
  size_t offset = 0, bytes = 0;
  start();
  D(cuLibraryLoadData)(&lib, text, NULL, NULL, 0, NULL, NULL, 0);
  D(cuLibraryGetKernel)(&two, lib, "two");
  D(cuLibraryGetModule)(&module, lib);
  RESULT("cuModuleUnload of its module", D(cuModuleUnload)(module));
  RESULT("cuKernelGetParamInfo", D(cuKernelGetParamInfo)(two, 1, &offset, &bytes));
  D(cuCtxSetCurrent)(NULL);
  RESULT("cuKernelGetParamInfo without a context", D(cuKernelGetParamInfo)(two, 1, &offset, &bytes));
  D(cuCtxSetCurrent)(context);
  CUlinkState link = NULL;
  char noPtx[16] = "nothing";
  D(cuLinkCreate_v2)(0, NULL, NULL, &link);
  RESULT("cuLinkAddData of what is no PTX",
         D(cuLinkAddData_v2)(link, CU_JIT_INPUT_PTX, noPtx, sizeof noPtx, "n", 0, NULL, NULL));
  RESULT("cuLinkAddData of no bytes", D(cuLinkAddData_v2)(link, CU_JIT_INPUT_CUBIN, noPtx, 0, "n", 0, NULL, NULL));
  RESULT("cuLinkAddData of NULL", D(cuLinkAddData_v2)(link, CU_JIT_INPUT_OBJECT, NULL, 8, "n", 0, NULL, NULL));
}

static void streamAttributes(void) {
  static const int priorities[] = {0, -1, -5, -9, 3};
  CUstream stream = NULL;
  CUstreamAttrValue value;
  char name[64];
  start();
  D(cuStreamCreate)(&stream, CU_STREAM_DEFAULT);
  memset(&value, 0x55, sizeof value);
  RESULT("policy", D(cuStreamGetAttribute)(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  fact("policy at first", "%d", value.syncPolicy);
  for (size_t i = 0; i < sizeof priorities / sizeof *priorities; ++i) {
    int priority = 99;
    memset(&value, 0, sizeof value);
    value.priority = priorities[i];
    snprintf(name, sizeof name, "priority %d", priorities[i]);
    const CUresult result = D(cuStreamSetAttribute)(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value);
    D(cuStreamGetPriority)(stream, &priority);
    fact(name, "%s, then %d", resultName(result), priority);
  }
  CUdeviceptr word = 0;
  D(cuMemAlloc_v2)(&word, 64);
  for (unsigned flags = 0; flags < 4; ++flags) {
    snprintf(name, sizeof name, "write with flags %u", flags);
    fact(name, "%s, %s", resultName(D(cuStreamWriteValue32_v2)(stream, word, 1, flags)),
         resultName(D(cuStreamWriteValue64_v2)(stream, word + 8, 1, flags)));
  }
}

static void partlyRegistered(void) {
  CUdeviceptr memory = 0;
  start();
  D(cuMemAlloc_v2)(&memory, 1 << 16);
  char* const page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(page, 1, 1 << 16);
  RESULT("the second page registered", D(cuMemHostRegister_v2)(page + 4096, 4096, 0));
  RESULT("in, from inside to behind", D(cuMemcpyHtoD_v2)(memory, page + 4096, 8192));
  RESULT("in, from before to inside", D(cuMemcpyHtoD_v2)(memory, page, 8192));
  RESULT("in, all around", D(cuMemcpyHtoD_v2)(memory, page, 12288));
  RESULT("in, from before to inside, asynchronous", D(cuMemcpyHtoDAsync_v2)(memory, page, 8192, NULL));
  RESULT("out, from inside to behind", D(cuMemcpyDtoH_v2)(page + 4096, memory, 8192));
  RESULT("out, from before to inside", D(cuMemcpyDtoH_v2)(page, memory, 4097));
  RESULT("out, all around, asynchronous", D(cuMemcpyDtoHAsync_v2)(page, memory, 12288, NULL));
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
}

static void synchrony(void) {
  CUdeviceptr asks = 0, plain = 0;
  CUstream stream = NULL;
  unsigned on = 1;
  start();
  D(cuMemAlloc_v2)(&asks, 1 << 20);
  D(cuMemAlloc_v2)(&plain, 1 << 20);
  D(cuStreamCreate)(&stream, CU_STREAM_DEFAULT);
  RESULT("set", D(cuPointerSetAttribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, asks));
  kernel("spin");
#define BEHIND(name, call)                                          \
  do {                                                              \
    busy(stream, 100);                                              \
    const double started = now();                                   \
    const CUresult result = call;                                   \
    fact(name, "%s, %s", resultName(result), waited(started, 100)); \
    D(cuStreamSynchronize)(stream);                                 \
  } while (0)
  BEHIND("asynchronous copy into it", D(cuMemcpyDtoDAsync_v2)(asks, plain, 100, stream));
  BEHIND("asynchronous fill of it", D(cuMemsetD8Async)(asks, 1, 100, stream));
  BEHIND("copy into it", D(cuMemcpyDtoD_v2)(asks, plain, 100));
  BEHIND("copy beside it", D(cuMemcpyDtoD_v2)(plain, plain + 4096, 100));
#undef BEHIND
}

const Group kSettledGroups[] = {{"context.flags", contextFlags},
                                {"primary.flags", primaryFlags},
                                {"context.affinity", affinity},
                                {"green.streams", greenStreams},
                                {"graphs.edge-lists", edges},
                                {"graphs.late-boxes", lateBoxes},
                                {"graphs.bodies", bodies},
                                {"library.use", libraryUse},
                                {"streams.attributes", streamAttributes},
                                {"memory.partly-registered", partlyRegistered},
                                {"memory.synchrony", synchrony},
                                {NULL, NULL}};
