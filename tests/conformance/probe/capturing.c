// Stream capture: what each call answers while a stream of the thread captures, in every mode, and what becomes of the
// capture; forks and joins, dependencies, threads, events, legacy streams: questions 84, 140, 188.
#include "probe.h"

#include <pthread.h>

static CUstream s, other, nonBlocking;  // s captures
static CUevent captured, plain, external;
static CUdeviceptr memory, managed, ordered;
static void* pinned;
static char pageable[4096];
static CUgraphExec inner;
static CUdeviceptr made;

static CUdeviceptr at(void* p) { return (CUdeviceptr)(uintptr_t)p; }

static void prepare(void) {
  start();
  D(cuStreamCreate)(&s, 0);
  D(cuStreamCreate)(&other, 0);
  D(cuStreamCreate)(&nonBlocking, CU_STREAM_NON_BLOCKING);
  D(cuEventCreate)(&captured, CU_EVENT_DISABLE_TIMING);
  D(cuEventCreate)(&plain, 0);
  D(cuEventCreate)(&external, 0);
  D(cuEventRecord)(plain, other);
  D(cuMemAlloc_v2)(&memory, 1 << 20);
  D(cuMemAllocManaged)(&managed, 65536, CU_MEM_ATTACH_GLOBAL);
  D(cuMemAllocAsync)(&ordered, 65536, other);
  D(cuMemHostAlloc)(&pinned, 65536, 0);
  kernel("nop");
  CUgraph graph;
  CUgraphNode node;
  D(cuGraphCreate)(&graph, 0);
  D(cuGraphAddEmptyNode)(&node, graph, NULL, 0);
  D(cuGraphInstantiateWithFlags)(&inner, graph, 0);
  D(cuCtxSynchronize)();
}

static const char* statusOf(CUstream stream) {
  CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
  CUresult result = D(cuStreamIsCapturing)(stream, &status);
  if (result) return resultName(result);
  static const char* const names[] = {"none", "active", "invalidated"};
  return (unsigned)status < 3 ? names[status] : "?";
}

// The types of a graph's nodes, in the order in which the driver lists them, and its number of edges.
static const char* shape(CUgraph graph) {
  static char text[256];
  static const char* const names[] = {"kernel", "memcpy", "memset",  "host",  "graph", "empty", "wait",
                                      "record", "signal", "semwait", "alloc", "free",  "memop", "conditional"};
  CUgraphNode nodes[32];
  size_t count = 32, edges = 0;
  if (!graph) return "no graph";
  if (D(cuGraphGetNodes)(graph, nodes, &count)) return "?";
  D(cuGraphGetEdges_v2)(graph, NULL, NULL, NULL, &edges);
  char* end = text;
  *end = 0;
  for (size_t i = 0; i < count; ++i) {
    CUgraphNodeType type = 0;
    D(cuGraphNodeGetType)(nodes[i], &type);
    end += sprintf(end, "%s ", (unsigned)type < 14 ? names[type] : "?");
  }
  sprintf(end, "edges %zu", edges);
  return text;
}

static const char* finish(CUstream stream) {
  static char text[320];
  CUgraph graph = NULL;
  CUresult result = D(cuStreamEndCapture)(stream, &graph);
  snprintf(text, sizeof text, "%s: %s", resultName(result), shape(graph));
  if (graph) D(cuGraphDestroy)(graph);
  return text;
}

static void CUDA_CB hostFunction(void* data) { (void)data; }
static void CUDA_CB callback(CUstream stream, CUresult status, void* data) { (void)stream, (void)status, (void)data; }

#define CALL(name, expression) \
  static CUresult name(void) { return expression; }
CALL(memAlloc, D(cuMemAlloc_v2)(&made, 64))
CALL(memAllocTooMuch, D(cuMemAlloc_v2)(&made, 1ull << 50))
CALL(memAllocNothing, D(cuMemAlloc_v2)(&made, 0))
CALL(memFree, D(cuMemFree_v2)(0))
CALL(memAllocPitch, D(cuMemAllocPitch_v2)(&made, &(size_t){0}, 64, 4, 4))
CALL(memAllocManaged, D(cuMemAllocManaged)(&made, 64, 1))
CALL(memHostAlloc, D(cuMemHostAlloc)(&(void*){0}, 64, 0))
CALL(memAllocHost, D(cuMemAllocHost_v2)(&(void*){0}, 64))
CALL(memHostRegister, D(cuMemHostRegister_v2)(pageable, sizeof pageable, 0))
CALL(memHostUnregister, D(cuMemHostUnregister)(pageable))
CALL(arrayCreate, D(cuArrayCreate_v2)(&(CUarray){0}, &(CUDA_ARRAY_DESCRIPTOR){16, 16, CU_AD_FORMAT_FLOAT, 1}))
CALL(memGetInfo, D(cuMemGetInfo_v2)(&(size_t){0}, &(size_t){0}))
CALL(memGetAddressRange, D(cuMemGetAddressRange_v2)(&(CUdeviceptr){0}, &(size_t){0}, memory))
CALL(pointerAttribute, D(cuPointerGetAttribute)(&(int){0}, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory))
CALL(copyHtoD, D(cuMemcpyHtoD_v2)(memory, pageable, 64))
CALL(copyHtoDNothing, D(cuMemcpyHtoD_v2)(memory, pageable, 0))
CALL(copyDtoD, D(cuMemcpyDtoD_v2)(memory, memory + 4096, 64))
CALL(copyPlain, D(cuMemcpy)(memory, memory + 4096, 64))
CALL(copyPlainPerThread, D(cuMemcpy_ptds)(memory, memory + 4096, 64))
CALL(copyPeer, D(cuMemcpyPeer)(memory, context, memory + 4096, context, 64))
CALL(fillPlain, D(cuMemsetD8_v2)(memory, 0, 64))
CALL(fillPlainPerThread, D(cuMemsetD8_v2_ptds)(memory, 0, 64))
CALL(copyPageable, D(cuMemcpyHtoDAsync_v2)(memory, pageable, 64, s))
CALL(copyToPageable, D(cuMemcpyDtoHAsync_v2)(pageable, memory, 64, s))
CALL(copyPinned, D(cuMemcpyHtoDAsync_v2)(memory, pinned, 64, s))
CALL(copyDevice, D(cuMemcpyDtoDAsync_v2)(memory, memory + 4096, 64, s))
CALL(copyNothing, D(cuMemcpyDtoDAsync_v2)(memory, memory + 4096, 0, s))
CALL(copyBad, D(cuMemcpyDtoDAsync_v2)(memory, 0x123456789000ull, 64, s))
CALL(copyPeerAsync, D(cuMemcpyPeerAsync)(memory, context, memory + 4096, context, 64, s))
CALL(copyHostHost, D(cuMemcpyAsync)(at(pageable), at(pageable + 64), 64, s))
CALL(copyLegacy, D(cuMemcpyDtoDAsync_v2)(memory, memory + 4096, 64, 0))
CALL(copyPerThread, D(cuMemcpyDtoDAsync_v2)(memory, memory + 4096, 64, CU_STREAM_PER_THREAD))
CALL(copyOther, D(cuMemcpyDtoDAsync_v2)(memory, memory + 4096, 64, other))
CALL(copyOtherPageable, D(cuMemcpyHtoDAsync_v2)(memory, pageable, 64, other))
CALL(copyNonBlocking, D(cuMemcpyDtoDAsync_v2)(memory, memory + 4096, 64, nonBlocking))
static CUresult copyBox(void) {
  CUDA_MEMCPY2D box;
  memset(&box, 0, sizeof box);
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = memory + 65536;
  box.dstDevice = memory;
  box.srcPitch = box.dstPitch = 512;
  box.WidthInBytes = 64;
  box.Height = 4;
  return D(cuMemcpy2DAsync_v2)(&box, s);
}
CALL(fill8, D(cuMemsetD8Async)(memory, 1, 64, s))
CALL(fill2D, D(cuMemsetD2D32Async)(memory, 512, 1, 16, 4, s))
CALL(fillNothing, D(cuMemsetD8Async)(memory, 1, 0, s))
CALL(fillLegacy, D(cuMemsetD8Async)(memory, 1, 64, 0))
static CUresult batch(void) {
  CUdeviceptr to[2] = {memory, memory + 256}, from[2] = {memory + 4096, memory + 8192};
  size_t sizes[2] = {64, 64}, index = 0;
  CUmemcpyAttributes attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return D(cuMemcpyBatchAsync_v2)(to, from, sizes, 2, &attributes, &index, 1, s);
}
static CUresult batchPageable(void) {
  CUdeviceptr to[2] = {memory, memory + 256}, from[2] = {at(pageable), at(pageable + 256)};
  size_t sizes[2] = {64, 64}, index = 0;
  CUmemcpyAttributes attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  return D(cuMemcpyBatchAsync_v2)(to, from, sizes, 2, &attributes, &index, 1, s);
}
static CUresult batch3D(void) {
  CUDA_MEMCPY3D_BATCH_OP op;
  memset(&op, 0, sizeof op);
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = memory + 4096;
  op.dst.op.ptr.ptr = memory;
  op.extent.width = op.extent.height = op.extent.depth = 2;
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, s);
}
CALL(allocAsync, D(cuMemAllocAsync)(&made, 64, s))
CALL(allocAsyncNothing, D(cuMemAllocAsync)(&made, 0, s))
static CUresult allocAndFree(void) {
  CUresult result = D(cuMemAllocAsync)(&made, 64, s);
  return result ? result : D(cuMemFreeAsync)(made, s);
}
static CUresult allocAndUse(void) {
  CUresult result = D(cuMemAllocAsync)(&made, 64, s);
  return result ? result : D(cuMemsetD8Async)(made, 1, 64, s);
}
static CUresult allocAndQuery(void) {
  int type = 0;
  CUresult result = D(cuMemAllocAsync)(&made, 64, s);
  return result ? result : D(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, made);
}
static CUresult allocAndFreePlainly(void) {
  CUresult result = D(cuMemAllocAsync)(&made, 64, s);
  return result ? result : D(cuMemFree_v2)(made);
}
CALL(freeAsyncOfBefore, D(cuMemFreeAsync)(ordered, s))
CALL(freeAsyncPlain, D(cuMemFreeAsync)(memory, s))
CALL(freeAsyncLegacy, D(cuMemFreeAsync)(0x123456789000ull, 0))
CALL(allocAsyncLegacy, D(cuMemAllocAsync)(&made, 64, 0))
CALL(allocAsyncOther, D(cuMemAllocAsync)(&made, 64, other))
CALL(launchKernel, D(cuLaunchKernel)(kernel("nop"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL))
CALL(launchBad, D(cuLaunchKernel)(kernel("nop"), 1, 1, 1, 5000, 1, 1, 0, s, NULL, NULL))
CALL(launchLegacy, D(cuLaunchKernel)(kernel("nop"), 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL))
CALL(hostFunc, D(cuLaunchHostFunc)(s, hostFunction, NULL))
CALL(addCallback, D(cuStreamAddCallback)(s, callback, NULL, 0))
CALL(addCallbackOther, D(cuStreamAddCallback)(other, callback, NULL, 0))
CALL(graphLaunch, D(cuGraphLaunch)(inner, s))
CALL(graphLaunchOther, D(cuGraphLaunch)(inner, other))
CALL(graphUpload, D(cuGraphUpload)(inner, s))
CALL(eventRecord, D(cuEventRecord)(captured, s))
CALL(eventRecordTwice, D(cuEventRecord)(captured, s) ? CUDA_ERROR_UNKNOWN : D(cuEventRecord)(captured, s))
CALL(eventRecordExternal, D(cuEventRecordWithFlags)(external, s, CU_EVENT_RECORD_EXTERNAL))
CALL(eventRecordExternalOther, D(cuEventRecordWithFlags)(external, other, CU_EVENT_RECORD_EXTERNAL))
CALL(eventRecordLegacy, D(cuEventRecord)(external, 0))
CALL(eventRecordOther, D(cuEventRecord)(external, other))
CALL(eventQuery, D(cuEventRecord)(captured, s) ? CUDA_ERROR_UNKNOWN : D(cuEventQuery)(captured))
CALL(eventSynchronize, D(cuEventRecord)(captured, s) ? CUDA_ERROR_UNKNOWN : D(cuEventSynchronize)(captured))
CALL(eventElapsed,
     D(cuEventRecord)(external, s) ? CUDA_ERROR_UNKNOWN : D(cuEventElapsedTime)(&(float){0}, external, external))
CALL(eventDestroy, D(cuEventRecord)(captured, s)    ? CUDA_ERROR_UNKNOWN
                   : D(cuEventDestroy_v2)(captured) ? CUDA_ERROR_UNKNOWN
                                                    : D(cuEventCreate)(&captured, CU_EVENT_DISABLE_TIMING))
CALL(eventQueryPlain, D(cuEventQuery)(plain))
CALL(eventSynchronizePlain, D(cuEventSynchronize)(plain))
CALL(eventCreate, D(cuEventCreate)(&(CUevent){0}, 0))
CALL(waitPlain, D(cuStreamWaitEvent)(s, plain, 0))
CALL(waitExternal, D(cuStreamWaitEvent)(s, plain, CU_EVENT_WAIT_EXTERNAL))
CALL(waitNeverRecorded, D(cuStreamWaitEvent)(s, external, 0))
CALL(waitOtherForPlain, D(cuStreamWaitEvent)(other, plain, 0))
CALL(waitOtherExternal, D(cuStreamWaitEvent)(other, plain, CU_EVENT_WAIT_EXTERNAL))
CALL(waitLegacyForCaptured, D(cuEventRecord)(captured, s) ? CUDA_ERROR_UNKNOWN : D(cuStreamWaitEvent)(0, captured, 0))
CALL(waitSelf, D(cuEventRecord)(captured, s) ? CUDA_ERROR_UNKNOWN : D(cuStreamWaitEvent)(s, captured, 0))
CALL(streamQuery, D(cuStreamQuery)(s))
CALL(streamQueryOther, D(cuStreamQuery)(other))
CALL(streamQueryLegacy, D(cuStreamQuery)(0))
CALL(streamSynchronize, D(cuStreamSynchronize)(s))
CALL(streamSynchronizeOther, D(cuStreamSynchronize)(other))
CALL(streamSynchronizeLegacy, D(cuStreamSynchronize)(0))
CALL(streamSynchronizeNonBlocking, D(cuStreamSynchronize)(nonBlocking))
CALL(contextSynchronize, D(cuCtxSynchronize)())
CALL(streamCreate, D(cuStreamCreate)(&(CUstream){0}, 0))
static CUresult streamDestroyOther(void) {
  CUstream gone;
  CUresult result = D(cuStreamCreate)(&gone, 0);
  return result ? result : D(cuStreamDestroy_v2)(gone);
}
CALL(streamFlags, D(cuStreamGetFlags)(s, &(unsigned){0}))
CALL(streamAttribute, D(cuStreamSetAttribute)(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                                              &(CUstreamAttrValue){.syncPolicy = CU_SYNC_POLICY_SPIN}))
CALL(streamAttributeCopy, D(cuStreamCopyAttributes)(other, s))
CALL(attach, D(cuStreamAttachMemAsync)(s, managed, 0, CU_MEM_ATTACH_SINGLE))
CALL(prefetch, D(cuMemPrefetchAsync_v2)(managed, 4096, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, s))
CALL(advise,
     D(cuMemAdvise_v2)(managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}))
CALL(writeValue, D(cuStreamWriteValue32_v2)(s, memory, 1, 0))
CALL(waitValue, D(cuStreamWaitValue32_v2)(s, memory, 1, 0))
static CUresult memOps(void) {
  CUstreamBatchMemOpParams operations[2];
  memset(operations, 0, sizeof operations);
  operations[0].operation = operations[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = memory;
  operations[1].writeValue.address = memory + 4;
  return D(cuStreamBatchMemOp_v2)(s, 2, operations, 0);
}
CALL(moduleLoad, D(cuModuleLoadData)(&(CUmodule){0},
                                     ".version 6.5\n.target sm_50\n.address_size 64\n"
                                     ".visible .entry k() { ret; }\n"))
CALL(functionAttribute, D(cuFuncGetAttribute)(&(int){0}, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel("nop")))
CALL(setLimit, D(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 2048))
CALL(poolTrim, D(cuMemPoolTrimTo)(NULL, 0))
CALL(defaultPool, D(cuDeviceGetDefaultMemPool)(&(CUmemoryPool){0}, device))
CALL(addressReserve, D(cuMemAddressReserve)(&made, 2 << 20, 0, 0, 0))
CALL(ipcHandle, D(cuIpcGetMemHandle)(&(CUipcMemHandle){{0}}, memory))
CALL(beginAgain, D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED))
CALL(endOther, D(cuStreamEndCapture)(nonBlocking, &(CUgraph){0}))
CALL(graphCreate, D(cuGraphCreate)(&(CUgraph){0}, 0))
CALL(recordContext, D(cuCtxRecordEvent)(context, external))
CALL(waitContext, D(cuCtxWaitEvent)(context, plain))
CALL(memcpyToPinnedArray, D(cuMemcpyDtoHAsync_v2)(pinned, memory, 64, s))

typedef struct {
  const char* name;
  CUresult (*call)(void);
} Question;
#define ASK(name, call) \
  { name, call }
static const Question kQuestions[] = {ASK("cuMemAlloc", memAlloc),
                                      ASK("cuMemAlloc too much", memAllocTooMuch),
                                      ASK("cuMemAlloc 0", memAllocNothing),
                                      ASK("cuMemFree 0", memFree),
                                      ASK("cuMemAllocPitch", memAllocPitch),
                                      ASK("cuMemAllocManaged", memAllocManaged),
                                      ASK("cuMemHostAlloc", memHostAlloc),
                                      ASK("cuMemAllocHost", memAllocHost),
                                      ASK("cuMemHostRegister", memHostRegister),
                                      ASK("cuMemHostUnregister", memHostUnregister),
                                      ASK("cuArrayCreate", arrayCreate),
                                      ASK("cuMemGetInfo", memGetInfo),
                                      ASK("cuMemGetAddressRange", memGetAddressRange),
                                      ASK("cuPointerGetAttribute", pointerAttribute),
                                      ASK("cuMemcpyHtoD", copyHtoD),
                                      ASK("cuMemcpyHtoD 0 bytes", copyHtoDNothing),
                                      ASK("cuMemcpyDtoD", copyDtoD),
                                      ASK("cuMemcpy", copyPlain),
                                      ASK("cuMemcpy_ptds", copyPlainPerThread),
                                      ASK("cuMemcpyPeer", copyPeer),
                                      ASK("cuMemsetD8", fillPlain),
                                      ASK("cuMemsetD8_v2_ptds", fillPlainPerThread),
                                      ASK("HtoDAsync pageable", copyPageable),
                                      ASK("DtoHAsync pageable", copyToPageable),
                                      ASK("HtoDAsync pinned", copyPinned),
                                      ASK("DtoHAsync pinned", memcpyToPinnedArray),
                                      ASK("DtoDAsync", copyDevice),
                                      ASK("DtoDAsync 0 bytes", copyNothing),
                                      ASK("DtoDAsync wild", copyBad),
                                      ASK("cuMemcpyPeerAsync", copyPeerAsync),
                                      ASK("cuMemcpyAsync host to host", copyHostHost),
                                      ASK("DtoDAsync on legacy", copyLegacy),
                                      ASK("DtoDAsync on per-thread", copyPerThread),
                                      ASK("DtoDAsync on other", copyOther),
                                      ASK("HtoDAsync pageable on other", copyOtherPageable),
                                      ASK("DtoDAsync on non-blocking", copyNonBlocking),
                                      ASK("cuMemcpy2DAsync", copyBox),
                                      ASK("cuMemsetD8Async", fill8),
                                      ASK("cuMemsetD2D32Async", fill2D),
                                      ASK("cuMemsetD8Async 0", fillNothing),
                                      ASK("cuMemsetD8Async on legacy", fillLegacy),
                                      ASK("cuMemcpyBatchAsync", batch),
                                      ASK("cuMemcpyBatchAsync pageable", batchPageable),
                                      ASK("cuMemcpy3DBatchAsync", batch3D),
                                      ASK("cuMemAllocAsync", allocAsync),
                                      ASK("cuMemAllocAsync 0", allocAsyncNothing),
                                      ASK("alloc and free", allocAndFree),
                                      ASK("alloc and use", allocAndUse),
                                      ASK("alloc and query", allocAndQuery),
                                      ASK("alloc and cuMemFree", allocAndFreePlainly),
                                      ASK("cuMemFreeAsync of memory from before", freeAsyncOfBefore),
                                      ASK("cuMemFreeAsync of cuMemAlloc memory", freeAsyncPlain),
                                      ASK("cuMemFreeAsync on legacy", freeAsyncLegacy),
                                      ASK("cuMemAllocAsync on legacy", allocAsyncLegacy),
                                      ASK("cuMemAllocAsync on other", allocAsyncOther),
                                      ASK("cuLaunchKernel", launchKernel),
                                      ASK("cuLaunchKernel too large", launchBad),
                                      ASK("cuLaunchKernel on legacy", launchLegacy),
                                      ASK("cuLaunchHostFunc", hostFunc),
                                      ASK("cuStreamAddCallback", addCallback),
                                      ASK("cuStreamAddCallback on other", addCallbackOther),
                                      ASK("cuGraphLaunch", graphLaunch),
                                      ASK("cuGraphLaunch on other", graphLaunchOther),
                                      ASK("cuGraphUpload", graphUpload),
                                      ASK("cuEventRecord", eventRecord),
                                      ASK("cuEventRecord twice", eventRecordTwice),
                                      ASK("cuEventRecord external", eventRecordExternal),
                                      ASK("external on other", eventRecordExternalOther),
                                      ASK("cuEventRecord on legacy", eventRecordLegacy),
                                      ASK("cuEventRecord on other", eventRecordOther),
                                      ASK("cuEventQuery of captured", eventQuery),
                                      ASK("cuEventSynchronize of captured", eventSynchronize),
                                      ASK("cuEventElapsedTime of captured", eventElapsed),
                                      ASK("cuEventDestroy of captured", eventDestroy),
                                      ASK("cuEventQuery of another", eventQueryPlain),
                                      ASK("cuEventSynchronize of another", eventSynchronizePlain),
                                      ASK("cuEventCreate", eventCreate),
                                      ASK("wait for an event from before", waitPlain),
                                      ASK("external wait", waitExternal),
                                      ASK("wait for what was recorded in nothing", waitNeverRecorded),
                                      ASK("other waits for an event from before", waitOtherForPlain),
                                      ASK("external wait of other", waitOtherExternal),
                                      ASK("legacy waits for a captured event", waitLegacyForCaptured),
                                      ASK("wait for oneself", waitSelf),
                                      ASK("cuStreamQuery", streamQuery),
                                      ASK("cuStreamQuery of other", streamQueryOther),
                                      ASK("cuStreamQuery of legacy", streamQueryLegacy),
                                      ASK("cuStreamSynchronize", streamSynchronize),
                                      ASK("cuStreamSynchronize of other", streamSynchronizeOther),
                                      ASK("cuStreamSynchronize of legacy", streamSynchronizeLegacy),
                                      ASK("cuStreamSynchronize of non-blocking", streamSynchronizeNonBlocking),
                                      ASK("cuCtxSynchronize", contextSynchronize),
                                      ASK("cuStreamCreate", streamCreate),
                                      ASK("create and destroy a stream", streamDestroyOther),
                                      ASK("cuStreamGetFlags", streamFlags),
                                      ASK("cuStreamSetAttribute", streamAttribute),
                                      ASK("cuStreamCopyAttributes", streamAttributeCopy),
                                      ASK("cuStreamAttachMemAsync", attach),
                                      ASK("cuMemPrefetchAsync", prefetch),
                                      ASK("cuMemAdvise", advise),
                                      ASK("cuStreamWriteValue32", writeValue),
                                      ASK("cuStreamWaitValue32", waitValue),
                                      ASK("cuStreamBatchMemOp", memOps),
                                      ASK("cuModuleLoadData", moduleLoad),
                                      ASK("cuFuncGetAttribute", functionAttribute),
                                      ASK("cuCtxSetLimit", setLimit),
                                      ASK("cuMemPoolTrimTo NULL", poolTrim),
                                      ASK("cuDeviceGetDefaultMemPool", defaultPool),
                                      ASK("cuMemAddressReserve", addressReserve),
                                      ASK("cuIpcGetMemHandle", ipcHandle),
                                      ASK("begin again", beginAgain),
                                      ASK("end of a stream that does not capture", endOther),
                                      ASK("cuGraphCreate", graphCreate),
                                      ASK("cuCtxRecordEvent", recordContext),
                                      ASK("cuCtxWaitEvent", waitContext)};

// One capture a question: what the call answers, what the capture is afterwards, how it ends and what it holds.
static void ask(CUstreamCaptureMode mode) {
  prepare();
  for (size_t i = 0; i < sizeof kQuestions / sizeof *kQuestions; ++i) {
    CUresult begun = D(cuStreamBeginCapture_v2)(s, mode);
    if (begun) {
      fact(kQuestions[i].name, "no capture: %s", resultName(begun));
      continue;
    }
    char answer[64];
    snprintf(answer, sizeof answer, "%s", resultName(kQuestions[i].call()));
    const char* status = statusOf(s);
    fact(kQuestions[i].name, "%s, %s, %s", answer, status, finish(s));
    D(cuStreamSynchronize)(other);
    D(cuStreamSynchronize)(CU_STREAM_LEGACY);
  }
}
static void askGlobal(void) { ask(CU_STREAM_CAPTURE_MODE_GLOBAL); }
static void askThreadLocal(void) { ask(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); }
static void askRelaxed(void) { ask(CU_STREAM_CAPTURE_MODE_RELAXED); }

// The same for a non-blocking stream: whether the legacy stream is still forbidden.
static void askNonBlocking(void) {
  prepare();
  CUstream blocking = s;
  s = nonBlocking;
  nonBlocking = blocking;
  static const Question few[] = {ASK("cuMemcpyHtoD", copyHtoD),
                                 ASK("DtoDAsync on legacy", copyLegacy),
                                 ASK("cuStreamSynchronize of legacy", streamSynchronizeLegacy),
                                 ASK("cuEventRecord on legacy", eventRecordLegacy),
                                 ASK("cuMemAlloc", memAlloc),
                                 ASK("cuStreamQuery of legacy", streamQueryLegacy),
                                 ASK("cuLaunchKernel on legacy", launchLegacy),
                                 ASK("cuMemsetD8", fillPlain),
                                 ASK("legacy waits for a captured event", waitLegacyForCaptured)};
  for (size_t i = 0; i < sizeof few / sizeof *few; ++i) {
    D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    char answer[64];
    snprintf(answer, sizeof answer, "%s", resultName(few[i].call()));
    const char* status = statusOf(s);
    fact(few[i].name, "%s, %s, %s", answer, status, finish(s));
  }
}

static void fill(CUstream stream) { D(cuMemsetD8Async)(memory, 1, 64, stream); }

static void forks(void) {
  prepare();
  CUevent back, third;
  D(cuEventCreate)(&back, CU_EVENT_DISABLE_TIMING);
  D(cuEventCreate)(&third, CU_EVENT_DISABLE_TIMING);
#define BEGIN(stream) D(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED)
  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  RESULT("other joins", D(cuStreamWaitEvent)(other, captured, 0));
  fact("other then", "%s", statusOf(other));
  fill(other);
  RESULT("end at other", D(cuStreamEndCapture)(other, &(CUgraph){0}));
  fact("s then", "%s", statusOf(s));
  fact("joined or not", "%s", finish(s));
  fact("other then", "%s", statusOf(other));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  fill(other);
  fact("unjoined", "%s", finish(s));
  fact("other after an unjoined end", "%s", statusOf(other));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  fact("forked without work", "%s", finish(s));
  fact("other after that", "%s", statusOf(other));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  fill(other);
  D(cuEventRecord)(back, other);
  fill(s);
  RESULT("join", D(cuStreamWaitEvent)(s, back, 0));
  fill(s);
  fact("forked and joined", "%s", finish(s));
  fact("other after the end", "%s", statusOf(other));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  fill(other);
  D(cuEventRecord)(back, other);
  D(cuStreamWaitEvent)(s, back, 0);
  fill(other);
  fact("joined and then more work", "%s", finish(s));

  BEGIN(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  fill(other);
  D(cuEventRecord)(back, other);
  D(cuStreamWaitEvent)(s, back, 0);
  fact("fork at the root", "%s", finish(s));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  fill(other);
  D(cuEventRecord)(back, other);
  D(cuStreamWaitEvent)(nonBlocking, back, 0);
  fill(nonBlocking);
  D(cuEventRecord)(third, nonBlocking);
  D(cuStreamWaitEvent)(s, third, 0);
  fact("chain of three", "%s", finish(s));

  BEGIN(s);
  fill(s);
  BEGIN(other);
  fill(other);
  D(cuEventRecord)(captured, s);
  RESULT("merge of two captures", D(cuStreamWaitEvent)(other, captured, 0));
  fact("s after a merge", "%s", statusOf(s));
  fact("other after a merge", "%s", statusOf(other));
  fact("end of s", "%s", finish(s));
  fact("end of other", "%s", finish(other));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  RESULT("begin at a forked stream", BEGIN(other));
  RESULT("query of a forked stream", D(cuStreamQuery)(other));
  fact("s then", "%s", statusOf(s));
  fact("end after that", "%s", finish(s));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  fact("end", "%s", finish(s));
  RESULT("wait for an event of an ended capture", D(cuStreamWaitEvent)(other, captured, 0));
  RESULT("query of it", D(cuEventQuery)(captured));
  RESULT("synchronise with it", D(cuEventSynchronize)(captured));
  RESULT("record it plainly", D(cuEventRecord)(captured, other));
  RESULT("synchronise with it then", D(cuEventSynchronize)(captured));

  BEGIN(s);
  D(cuEventRecord)(captured, s);
  RESULT("record outside an event of a capture", D(cuEventRecord)(captured, other));
  RESULT("wait for it in the capture", D(cuStreamWaitEvent)(s, captured, 0));
  fact("end then", "%s", finish(s));

  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(other, captured, 0);
  fill(other);
  D(cuStreamQuery)(s);
  fact("s invalidated", "%s", statusOf(s));
  fact("other with it", "%s", statusOf(other));
  RESULT("fill on other", D(cuMemsetD8Async)(memory, 1, 64, other));
  RESULT("record on other", D(cuEventRecord)(back, other));
  RESULT("s waits for it", D(cuStreamWaitEvent)(s, back, 0));
  RESULT("nonBlocking waits for captured", D(cuStreamWaitEvent)(nonBlocking, captured, 0));
  fact("end of the invalidated", "%s", finish(s));
  fact("other at last", "%s", statusOf(other));

  BEGIN(s);
  fact("empty", "%s", finish(s));
  BEGIN(s);
  fill(s);
  fact("kept graph", "%s", finish(s));
  RESULT("end with NULL", BEGIN(s) ? CUDA_ERROR_UNKNOWN : D(cuStreamEndCapture)(s, NULL));
  fact("then", "%s", statusOf(s));
  fact("end", "%s", finish(s));
  RESULT("end of nothing", D(cuStreamEndCapture)(s, &(CUgraph){0}));
}

static void info(void) {
  prepare();
  CUstreamCaptureStatus status = 9;
  cuuint64_t id = 77, id2 = 77;
  CUgraph graph = (CUgraph)(intptr_t)7;
  const CUgraphNode* nodes = (const CUgraphNode*)(intptr_t)7;
  const CUgraphEdgeData* edges = (const CUgraphEdgeData*)(intptr_t)7;
  size_t count = 77;
  RESULT("v3 of no capture", D(cuStreamGetCaptureInfo_v3)(s, &status, &id, &graph, &nodes, &edges, &count));
  fact("its answers", "status %d id %s graph %s nodes %s edges %s count %zu", (int)status, id == 77 ? "kept" : "set",
       graph == (CUgraph)(intptr_t)7 ? "kept" : "set", nodes == (const CUgraphNode*)(intptr_t)7 ? "kept" : "set",
       edges == (const CUgraphEdgeData*)(intptr_t)7 ? "kept" : "set", count);
  RESULT("status NULL", D(cuStreamGetCaptureInfo_v3)(s, NULL, &id, &graph, &nodes, &edges, &count));
  RESULT("IsCapturing NULL", D(cuStreamIsCapturing)(s, NULL));
  RESULT("v1 of legacy", D(cuStreamGetCaptureInfo)(0, &status, &id));
  RESULT("IsCapturing of legacy", D(cuStreamIsCapturing)(0, &status));
  BEGIN(s);
  RESULT("v3 of an empty capture", D(cuStreamGetCaptureInfo_v3)(s, &status, &id, &graph, &nodes, &edges, &count));
  fact("its answers", "status %d id %s graph %s nodes %s edges %s count %zu", (int)status, id ? "set" : "0",
       graph ? "set" : "NULL", nodes ? "set" : "NULL", edges ? "set" : "NULL", count);
  fill(s);
  RESULT("only the status", D(cuStreamGetCaptureInfo_v3)(s, &status, NULL, NULL, NULL, NULL, NULL));
  RESULT("v3 of one node", D(cuStreamGetCaptureInfo_v3)(s, &status, &id, &graph, &nodes, &edges, &count));
  fact("its answers", "status %d count %zu edges %s", (int)status, count, edges ? "set" : "NULL");
  RESULT("nodes without count", D(cuStreamGetCaptureInfo_v3)(s, &status, NULL, NULL, &nodes, NULL, NULL));
  RESULT("v2", D(cuStreamGetCaptureInfo_v2)(s, &status, &id2, &graph, &nodes, &count));
  fact("the same id", "%s", YES(id == id2));
  RESULT("v1", D(cuStreamGetCaptureInfo)(s, &status, &id2));
  RESULT("IsCapturing of legacy beside it", D(cuStreamIsCapturing)(0, &status));
  RESULT("v1 of legacy beside it", D(cuStreamGetCaptureInfo)(0, &status, &id2));
  fact("s then", "%s", statusOf(s));
  CUgraphNode first = nodes ? nodes[0] : NULL;
  fill(s);
  RESULT("set dependencies back", D(cuStreamUpdateCaptureDependencies_v2)(s, &first, NULL, 1, 1));
  fill(s);
  RESULT("add a dependency", D(cuStreamUpdateCaptureDependencies_v2)(s, &first, NULL, 1, 0));
  D(cuStreamGetCaptureInfo_v2)(s, &status, NULL, NULL, &nodes, &count);
  fact("dependencies then", "%zu", count);
  RESULT("add it again", D(cuStreamUpdateCaptureDependencies)(s, &first, 1, 0));
  D(cuStreamGetCaptureInfo_v2)(s, &status, NULL, NULL, &nodes, &count);
  fact("dependencies then", "%zu", count);
  RESULT("flags 2", D(cuStreamUpdateCaptureDependencies_v2)(s, &first, NULL, 1, 2));
  RESULT("NULL nodes", D(cuStreamUpdateCaptureDependencies_v2)(s, NULL, NULL, 1, 0));
  RESULT("none set", D(cuStreamUpdateCaptureDependencies_v2)(s, NULL, NULL, 0, 1));
  D(cuStreamGetCaptureInfo_v2)(s, &status, NULL, NULL, &nodes, &count);
  fact("dependencies then", "%zu", count);
  RESULT("on a stream that does not capture", D(cuStreamUpdateCaptureDependencies_v2)(other, &first, NULL, 1, 0));
  fill(s);
  fact("end", "%s", finish(s));
  BEGIN(s);
  fill(s);
  D(cuStreamGetCaptureInfo_v2)(s, &status, &id2, &graph, &nodes, &count);
  fact("another id", "%s", YES(id != id2));
  CUgraphNode added = NULL;
  RESULT("add a node by hand", D(cuGraphAddEmptyNode)(&added, graph, nodes, count));
  RESULT("make it the dependency", D(cuStreamUpdateCaptureDependencies_v2)(s, &added, NULL, 1, 1));
  fill(s);
  fact("end with a node by hand", "%s", finish(s));
  BEGIN(s);
  fill(s);
  D(cuStreamGetCaptureInfo_v2)(s, &status, &id2, &graph, &nodes, &count);
  D(cuStreamUpdateCaptureDependencies_v2)(s, NULL, NULL, 0, 1);
  fact("end with a node that nobody follows", "%s", finish(s));
  BEGIN(s);
  D(cuStreamQuery)(s);
  RESULT("v3 of an invalidated one", D(cuStreamGetCaptureInfo_v3)(s, &status, &id, &graph, &nodes, &edges, &count));
  fact("its status", "%d", (int)status);
  RESULT("update of an invalidated one", D(cuStreamUpdateCaptureDependencies_v2)(s, NULL, NULL, 0, 1));
  RESULT("begin at an invalidated one", BEGIN(s));
  fact("end", "%s", finish(s));
  RESULT("mode 3", D(cuStreamBeginCapture_v2)(s, (CUstreamCaptureMode)3));
  RESULT("v1 begin", D(cuStreamBeginCapture)(s));
  fact("end", "%s", finish(s));
  RESULT("begin at legacy", BEGIN(CU_STREAM_LEGACY));
  RESULT("begin at per-thread", BEGIN(CU_STREAM_PER_THREAD));
  fact("end", "%s", finish(CU_STREAM_PER_THREAD));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  RESULT("exchange", D(cuThreadExchangeStreamCaptureMode)(&mode));
  fact("the mode before", "%d", (int)mode);
  D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
  fact("cuMemAlloc, thread relaxed, capture global", "%s", resultName(D(cuMemAlloc_v2)(&made, 64)));
  fact("cuStreamQuery of other, thread relaxed", "%s", resultName(D(cuStreamQuery)(other)));
  fact("cuMemcpyHtoD, thread relaxed", "%s", resultName(D(cuMemcpyHtoD_v2)(memory, pageable, 64)));
  fact("end", "%s", finish(s));
  mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  D(cuThreadExchangeStreamCaptureMode)(&mode);
  D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
  fact("cuMemAlloc, thread thread-local, capture global", "%s", resultName(D(cuMemAlloc_v2)(&made, 64)));
  fact("end", "%s", finish(s));
  D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED);
  fact("cuMemAlloc, thread thread-local, capture relaxed", "%s", resultName(D(cuMemAlloc_v2)(&made, 64)));
  fact("end", "%s", finish(s));
}

static void toGraph(void) {
  prepare();
  CUgraph graph, foreign, got = NULL;
  CUgraphNode a, b, outside;
  D(cuGraphCreate)(&graph, 0);
  D(cuGraphCreate)(&foreign, 0);
  D(cuGraphAddEmptyNode)(&a, graph, NULL, 0);
  D(cuGraphAddEmptyNode)(&b, graph, NULL, 0);
  D(cuGraphAddEmptyNode)(&outside, foreign, NULL, 0);
  CUgraphNode both[2] = {a, b};
  RESULT("NULL graph", D(cuStreamBeginCaptureToGraph)(s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  RESULT("NULL dependencies", D(cuStreamBeginCaptureToGraph)(s, graph, NULL, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
  RESULT("foreign dependency",
         D(cuStreamBeginCaptureToGraph)(s, graph, &outside, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
  if (strcmp(statusOf(s), "none")) fact("ends as", "%s", finish(s));
  RESULT("begin", D(cuStreamBeginCaptureToGraph)(s, graph, both, NULL, 2, CU_STREAM_CAPTURE_MODE_RELAXED));
  fill(s);
  RESULT("a second stream into it",
         D(cuStreamBeginCaptureToGraph)(other, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  if (!strcmp(statusOf(other), "active")) fact("which ends as", "%s", finish(other));
  RESULT("end", D(cuStreamEndCapture)(s, &got));
  fact("the same graph", "%s", YES(got == graph));
  fact("shape", "%s", shape(graph));
  RESULT("begin again", D(cuStreamBeginCaptureToGraph)(s, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  fill(s);
  D(cuStreamQuery)(s);
  got = NULL;
  RESULT("end of an invalidated one", D(cuStreamEndCapture)(s, &got));
  fact("its graph", "%s", got ? "set" : "NULL");
  fact("shape", "%s", shape(graph));
  RESULT("instantiate while captured into",
         D(cuStreamBeginCaptureToGraph)(s, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED)
             ? CUDA_ERROR_UNKNOWN
             : D(cuGraphInstantiateWithFlags)(&(CUgraphExec){0}, graph, 0));
  RESULT("destroy while captured into", D(cuGraphDestroy)(graph));
  fact("end", "%s", resultName(D(cuStreamEndCapture)(s, &got)));
}

static void destroyed(void) {
  prepare();
  CUstream gone;
  D(cuStreamCreate)(&gone, 0);
  BEGIN(gone);
  fill(gone);
  RESULT("destroy a capturing stream", D(cuStreamDestroy_v2)(gone));
  RESULT("cuMemAlloc then", D(cuMemAlloc_v2)(&made, 64));
  RESULT("cuMemcpyHtoD then", D(cuMemcpyHtoD_v2)(memory, pageable, 4));
}

static void destroyedFork(void) {
  prepare();
  CUstream gone;
  D(cuStreamCreate)(&gone, 0);
  BEGIN(s);
  fill(s);
  D(cuEventRecord)(captured, s);
  D(cuStreamWaitEvent)(gone, captured, 0);
  fill(gone);
  RESULT("destroy a forked stream", D(cuStreamDestroy_v2)(gone));
  fact("the origin", "%s", statusOf(s));
  fact("end", "%s", finish(s));
}

static void capturedGraphDestroyed(void) {
  prepare();
  CUstreamCaptureStatus status;
  CUgraph graph;
  BEGIN(s);
  fill(s);
  D(cuStreamGetCaptureInfo_v2)(s, &status, NULL, &graph, NULL, NULL);
  RESULT("destroy the graph of a capture", D(cuGraphDestroy)(graph));
  fact("the stream", "%s", statusOf(s));
}

static CUstreamCaptureMode threadMode;
static CUresult threadAnswers[6];
static void* inThread(void* data) {
  (void)data;
  D(cuCtxSetCurrent)(context);
  CUstreamCaptureMode mode = threadMode;
  D(cuThreadExchangeStreamCaptureMode)(&mode);
  threadAnswers[0] = D(cuMemAlloc_v2)(&made, 64);
  threadAnswers[1] = D(cuStreamSynchronize)(other);
  threadAnswers[2] = D(cuMemsetD8Async)(memory, 1, 64, s);
  threadAnswers[3] = D(cuMemcpyHtoD_v2)(memory, pageable, 4);
  threadAnswers[4] = D(cuEventQuery)(plain);
  threadAnswers[5] = D(cuStreamEndCapture)(s, &(CUgraph){0});
  return NULL;
}

static void threads(void) {
  prepare();
  static const char* const names[] = {"global", "thread-local", "relaxed"};
  for (int captureMode = 0; captureMode < 3; ++captureMode)
    for (int mode = 0; mode < 3; ++mode) {
      D(cuStreamBeginCapture_v2)(nonBlocking, (CUstreamCaptureMode)captureMode);
      CUstream blocking = s;
      s = nonBlocking;
      threadMode = (CUstreamCaptureMode)mode;
      pthread_t thread;
      pthread_create(&thread, NULL, inThread, NULL);
      pthread_join(thread, NULL);
      char name[64];
      snprintf(name, sizeof name, "capture %s, thread %s", names[captureMode], names[mode]);
      char text[512] = "";
      for (int i = 0; i < 6; ++i) {
        strcat(text, resultName(threadAnswers[i]));
        strcat(text, " ");
      }
      fact(name, "%s", text);
      const char* status = statusOf(s);
      fact("then", "%s, %s", status, strcmp(status, "none") ? finish(s) : "");
      s = blocking;
    }
}

// Memory that a capture allocates: its address, and the graph's launches.
static void allocations(void) {
  prepare();
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUdeviceptr p = 0, base = 0;
  size_t size = 0;
  unsigned out = 0;
  BEGIN(s);
  D(cuMemAllocAsync)(&p, 1000, s);
  D(cuMemsetD32Async)(p, 0x12345678, 16, s);
  RESULT("range of captured memory", D(cuMemGetAddressRange_v2)(&base, &size, p));
  fact("size", "%zu", size);
  RESULT("synchronous copy from it", D(cuMemcpyDtoH_v2)(&out, p, 4));
  D(cuStreamEndCapture)(s, &graph);
  fact("shape", "%s", shape(graph));
  RESULT("instantiate", D(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  RESULT("launch", D(cuGraphLaunch)(exec, s));
  D(cuStreamSynchronize)(s);
  RESULT("copy from it", D(cuMemcpyDtoH_v2)(&out, p, 4));
  fact("what the graph wrote", "%s", YES(out == 0x12345678));
  RESULT("launch again without freeing", D(cuGraphLaunch)(exec, s));
  RESULT("free in the stream", D(cuMemFreeAsync)(p, s));
  RESULT("launch after freeing", D(cuGraphLaunch)(exec, s));
  D(cuStreamSynchronize)(s);
  RESULT("cuMemFree of it", D(cuMemFree_v2)(p));
  RESULT("a second graph of it", D(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  BEGIN(s);
  D(cuMemAllocAsync)(&p, 1000, s);
  D(cuStreamQuery)(s);
  fact("invalidated", "%s", finish(s));
  RESULT("free of its memory", D(cuMemFreeAsync)(p, s));
  BEGIN(s);
  fact("free of memory from before", "%s", resultName(D(cuMemFreeAsync)(ordered, s)));
  D(cuStreamEndCapture)(s, &graph);
  fact("shape", "%s", shape(graph));
  RESULT("instantiate it", D(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  RESULT("launch it", D(cuGraphLaunch)(exec, s));
  RESULT("its stream", D(cuStreamSynchronize)(s));
  RESULT("launch it again", D(cuGraphLaunch)(exec, s));
  RESULT("its stream", D(cuStreamSynchronize)(s));
}

// The same without a call that ends the capture.
static void allocationsKept(void) {
  prepare();
  CUgraph graph = NULL;
  CUgraphExec exec = NULL, second = NULL;
  CUdeviceptr p = 0, base = 0, other1 = 0;
  size_t size = 0;
  unsigned out = 0;
  BEGIN(s);
  D(cuMemAllocAsync)(&p, 1000, s);
  D(cuMemsetD32Async)(p, 0x12345678, 16, s);
  RESULT("free in another stream", D(cuMemFreeAsync)(p, nonBlocking));
  fact("status", "%s", statusOf(s));
  D(cuStreamEndCapture)(s, &graph);
  fact("shape", "%s", shape(graph));
  RESULT("range before a launch", D(cuMemGetAddressRange_v2)(&base, &size, p));
  RESULT("instantiate", D(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  RESULT("launch", D(cuGraphLaunch)(exec, s));
  D(cuStreamSynchronize)(s);
  RESULT("copy from it", D(cuMemcpyDtoH_v2)(&out, p, 4));
  fact("what the graph wrote", "%s", YES(out == 0x12345678));
  RESULT("range after it", D(cuMemGetAddressRange_v2)(&base, &size, p));
  fact("size", "%zu", size);
  RESULT("launch again without freeing", D(cuGraphLaunch)(exec, s));
  RESULT("free in the stream", D(cuMemFreeAsync)(p, s));
  RESULT("launch after freeing", D(cuGraphLaunch)(exec, s));
  D(cuStreamSynchronize)(s);
  RESULT("cuMemFree of it", D(cuMemFree_v2)(p));
  RESULT("a second executable of it", D(cuGraphInstantiateWithFlags)(&second, graph, 0));
  BEGIN(s);
  D(cuMemAllocAsync)(&other1, 1000, s);
  fact("another address", "%s", YES(other1 != p));
  RESULT("free of the first graph's memory", D(cuMemFreeAsync)(p, s));
  fact("end", "%s", finish(s));
}

CALL(getPriority, D(cuStreamGetPriority)(s, &(int){0}))
CALL(getId, D(cuStreamGetId)(s, &(unsigned long long){0}))
CALL(getContext, D(cuStreamGetCtx)(s, &(CUcontext){0}))
CALL(getDevice, D(cuStreamGetDevice)(s, &(CUdevice){0}))
CALL(getAttribute, D(cuStreamGetAttribute)(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &(CUstreamAttrValue){0}))
CALL(getFlagsOther, D(cuStreamGetFlags)(other, &(unsigned){0}))
CALL(getFlagsLegacy, D(cuStreamGetFlags)(0, &(unsigned){0}))
CALL(getPriorityLegacy, D(cuStreamGetPriority)(0, &(int){0}))
static CUresult waitFresh(void) {
  CUevent fresh;
  CUresult result = D(cuEventCreate)(&fresh, 0);
  return result ? result : D(cuStreamWaitEvent)(s, fresh, 0);
}
CALL(freeOther, D(cuMemFreeAsync)(0x123456789000ull, other))
CALL(freeHost, D(cuMemFreeHost)(pinned))
CALL(freeHostNull, D(cuMemFreeHost)(NULL))
CALL(freeNothing, D(cuMemFreeAsync)(0, s))
CALL(copyPeerLegacy, D(cuMemcpyPeerAsync)(memory, context, memory + 4096, context, 64, other))
static CUresult copyPeerBox(void) {
  CUDA_MEMCPY3D_PEER box;
  memset(&box, 0, sizeof box);
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = memory + 65536;
  box.dstDevice = memory;
  box.srcContext = box.dstContext = context;
  box.WidthInBytes = 64;
  box.Height = box.Depth = 1;
  return D(cuMemcpy3DPeerAsync)(&box, s);
}
CALL(launchWild, D(cuLaunchKernel)(NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL))
CALL(hostNull, D(cuLaunchHostFunc)(s, NULL, NULL))
CALL(fillBad, D(cuMemsetD8Async)(0x123456789000ull, 1, 64, s))
CALL(writeBad, D(cuStreamWriteValue32_v2)(s, 0x123456789000ull, 1, 0))
CALL(recordForeign, D(cuEventRecord)((CUevent)NULL, s))
CALL(poolCreate,
     D(cuMemPoolCreate)(&(CUmemoryPool){0},
                        &(CUmemPoolProps){CU_MEM_ALLOCATION_TYPE_PINNED, 0, {CU_MEM_LOCATION_TYPE_DEVICE, 0}}))
CALL(registerNothing, D(cuMemHostRegister_v2)(NULL, 0, 0))
CALL(instantiate, D(cuGraphInstantiateWithFlags)(&(CUgraphExec){0}, NULL, 0))
CALL(contextSynchronize2, D(cuCtxSynchronize_v2)(context))
static CUresult launchAttributes(void) {
  CUlaunchAttribute attributes[2];
  memset(attributes, 0, sizeof attributes);
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[0].value.priority = 0;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[1].value.cooperative = 1;
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, s, attributes, 2};
  return D(cuLaunchKernelEx)(&config, kernel("nop"), NULL, NULL);
}

static void askMore(void) {
  prepare();
  static const Question more[] = {ASK("cuStreamGetPriority", getPriority),
                                  ASK("cuStreamGetId", getId),
                                  ASK("cuStreamGetCtx", getContext),
                                  ASK("cuStreamGetDevice", getDevice),
                                  ASK("cuStreamGetAttribute", getAttribute),
                                  ASK("cuStreamGetFlags of other", getFlagsOther),
                                  ASK("cuStreamGetFlags of legacy", getFlagsLegacy),
                                  ASK("cuStreamGetPriority of legacy", getPriorityLegacy),
                                  ASK("wait for what was never recorded", waitFresh),
                                  ASK("cuMemFreeAsync on other", freeOther),
                                  ASK("cuMemFreeHost NULL", freeHostNull),
                                  ASK("cuMemFreeAsync 0", freeNothing),
                                  ASK("cuMemcpyPeerAsync on other", copyPeerLegacy),
                                  ASK("cuMemcpy3DPeerAsync", copyPeerBox),
                                  ASK("cuLaunchKernel NULL", launchWild),
                                  ASK("cuLaunchHostFunc NULL", hostNull),
                                  ASK("cuMemsetD8Async wild", fillBad),
                                  ASK("cuStreamWriteValue32 wild", writeBad),
                                  ASK("cuEventRecord NULL", recordForeign),
                                  ASK("cuMemPoolCreate", poolCreate),
                                  ASK("cuMemHostRegister NULL", registerNothing),
                                  ASK("cuGraphInstantiate NULL", instantiate),
                                  ASK("cuCtxSynchronize_v2", contextSynchronize2),
                                  ASK("cuLaunchKernelEx with attributes", launchAttributes),
                                  ASK("cuMemFreeHost", freeHost)};
  for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
    if (D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_GLOBAL)) continue;
    char answer[64];
    snprintf(answer, sizeof answer, "%s", resultName(more[i].call()));
    const char* status = statusOf(s);
    fact(more[i].name, "%s, %s, %s", answer, status, finish(s));
  }
  D(cuStreamBeginCapture_v2)(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED);
  RESULT("cuMemcpy_ptds beside its own capture", copyPlainPerThread());
  fact("status", "%s", statusOf(CU_STREAM_PER_THREAD));
  fact("end", "%s", finish(CU_STREAM_PER_THREAD));
}

// What becomes of parameters: the nodes of captured copies and fills.
static void nodes(void) {
  prepare();
  CUgraph graph = NULL;
  CUgraphNode list[8];
  size_t count = 8;
  BEGIN(s);
  D(cuMemcpyHtoDAsync_v2)(memory, pageable, 64, s);
  D(cuMemcpyDtoDAsync_v2)(memory, memory + 4096, 64, s);
  copyBox();
  D(cuMemsetD16Async)(memory, 0x1234, 33, s);
  D(cuMemsetD2D8Async)(memory, 512, 7, 100, 3, s);
  D(cuStreamEndCapture)(s, &graph);
  D(cuGraphGetNodes)(graph, list, &count);
  for (size_t i = 0; i < count; ++i) {
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    CUgraphNodeType type;
    D(cuGraphNodeGetType)(list[i], &type);
    char name[32];
    snprintf(name, sizeof name, "node %zu", i);
    if (type == CU_GRAPH_NODE_TYPE_MEMCPY && !D(cuGraphMemcpyNodeGetParams)(list[i], &copy))
      fact(name, "copy types %d %d pitch %zu %zu height %zu %zu extent %zu %zu %zu", (int)copy.srcMemoryType,
           (int)copy.dstMemoryType, copy.srcPitch, copy.dstPitch, copy.srcHeight, copy.dstHeight, copy.WidthInBytes,
           copy.Height, copy.Depth);
    if (type == CU_GRAPH_NODE_TYPE_MEMSET && !D(cuGraphMemsetNodeGetParams)(list[i], &set))
      fact(name, "fill pitch %zu value %u element %u width %zu height %zu", set.pitch, set.value, set.elementSize,
           set.width, set.height);
  }
}

// A pageable source behind a capture: read when the graph runs, not when it is captured.
static void pageableSource(void) {
  prepare();
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  unsigned out = 0;
  unsigned* source = (unsigned*)pageable;
  *source = 1;
  BEGIN(s);
  D(cuMemcpyHtoDAsync_v2)(memory, source, 4, s);
  *source = 2;
  D(cuStreamEndCapture)(s, &graph);
  *source = 3;
  D(cuGraphInstantiateWithFlags)(&exec, graph, 0);
  *source = 4;
  D(cuGraphLaunch)(exec, s);
  D(cuStreamSynchronize)(s);
  D(cuMemcpyDtoH_v2)(&out, memory, 4);
  fact("the copy saw", "%u", out);
  BEGIN(s);
  *source = 5;
  fact("batch", "%s", resultName(batchPageable()));
  *source = 6;
  D(cuStreamEndCapture)(s, &graph);
  if (graph && !D(cuGraphInstantiateWithFlags)(&exec, graph, 0)) {
    D(cuGraphLaunch)(exec, s);
    D(cuStreamSynchronize)(s);
    D(cuMemcpyDtoH_v2)(&out, memory, 4);
    fact("the batch saw", "%u", out);
  }
}

// Launches of graphs that do something, and of what is none, in a capturing stream.
static void launches(void) {
  prepare();
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec = NULL;
  CUDA_MEMSET_NODE_PARAMS fillOfMemory = {memory, 0, 1, 1, 64, 1};
  D(cuGraphCreate)(&graph, 0);
  D(cuGraphAddMemsetNode)(&node, graph, NULL, 0, &fillOfMemory, context);
  D(cuGraphInstantiateWithFlags)(&exec, graph, 0);
#define CAPTURED(name, call)                                 \
  do {                                                       \
    char answer[64];                                         \
    BEGIN(s);                                                \
    fill(s);                                                 \
    snprintf(answer, sizeof answer, "%s", resultName(call)); \
    const char* status = statusOf(s);                        \
    fact(name, "%s, %s, %s", answer, status, finish(s));     \
  } while (0)
  CAPTURED("a graph with a fill", D(cuGraphLaunch)(exec, s));
  CAPTURED("upload of it", D(cuGraphUpload)(exec, s));
  CAPTURED("launch NULL", D(cuGraphLaunch)(NULL, s));
  CAPTURED("upload NULL", D(cuGraphUpload)(NULL, s));
  CAPTURED("launch in the legacy stream", D(cuGraphLaunch)(exec, 0));
  CAPTURED("upload in the legacy stream", D(cuGraphUpload)(exec, 0));
  CAPTURED("update", D(cuGraphExecUpdate_v2)(exec, graph, &(CUgraphExecUpdateResultInfo){0}));
  CAPTURED("instantiate", D(cuGraphInstantiateWithFlags)(&(CUgraphExec){0}, graph, 0));
  CAPTURED("destroy", D(cuGraphExecDestroy)(exec));
}

const Group kCapturingGroups[] = {{"capturing.global", askGlobal},
                                  {"capturing.thread-local", askThreadLocal},
                                  {"capturing.relaxed", askRelaxed},
                                  {"capturing.non-blocking", askNonBlocking},
                                  {"capturing.forks", forks},
                                  {"capturing.info", info},
                                  {"capturing.to-graph", toGraph},
                                  {"capturing.destroyed", destroyed},
                                  {"capturing.fork-destroyed", destroyedFork},
                                  {"capturing.graph-destroyed", capturedGraphDestroyed},
                                  {"capturing.threads", threads},
                                  {"capturing.allocations", allocations},
                                  {"capturing.allocations-kept", allocationsKept},
                                  {"capturing.more", askMore},
                                  {"capturing.nodes", nodes},
                                  {"capturing.pageable", pageableSource},
                                  {"graph-captures", launches},
                                  {NULL, NULL}};
