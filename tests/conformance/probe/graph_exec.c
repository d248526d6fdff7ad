// Executable graphs: instantiation, launching, updating, memory nodes, DOT files.
#include "graphs.h"

#include <ctype.h>
#include <time.h>
#include <unistd.h>

static CUdeviceptr memory(size_t bytes) {
  CUdeviceptr p = 0;
  D(cuMemAlloc_v2)(&p, bytes);
  D(cuMemsetD8_v2)(p, 0, bytes);
  return p;
}

static unsigned byteAt(CUdeviceptr p) {
  unsigned char byte = 0;
  CUresult result = D(cuMemcpyDtoH_v2)(&byte, p, 1);
  return result ? 1000 + (unsigned)result : byte;
}

static CUgraphNode addFill(CUgraph g, CUgraphNode before, CUdeviceptr to, unsigned value, size_t bytes) {
  CUDA_MEMSET_NODE_PARAMS f = byteFill(to, value, bytes);
  CUgraphNode node = NULL;
  CUresult result = D(cuGraphAddMemsetNode)(&node, g, &before, before ? 1 : 0, &f, context);
  if (result) RESULT("add a fill", result);
  return node;
}

static CUgraphNode addCopy(CUgraph g, CUgraphNode before, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CUDA_MEMCPY3D c = linearCopy(to, from, bytes);
  CUgraphNode node = NULL;
  CUresult result = D(cuGraphAddMemcpyNode)(&node, g, &before, before ? 1 : 0, &c, context);
  if (result) RESULT("add a copy", result);
  return node;
}

static CUgraphNode addKernel(CUgraph g, CUgraphNode before, const char* name, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS k = kernelNode(kernel(name), arguments);
  CUgraphNode node = NULL;
  CUresult result = D(cuGraphAddKernelNode_v2)(&node, g, &before, before ? 1 : 0, &k);
  if (result) RESULT("add a kernel", result);
  return node;
}

static void CUDA_CB nothing(void* data) { (void)data; }
static void CUDA_CB slow(void* data) {
  usleep(100000);
  if (data) *(int*)data += 1;
}

static CUgraphNode addHost(CUgraph g, CUgraphNode before, CUhostFn function, void* data) {
  CUDA_HOST_NODE_PARAMS h = {function, data};
  CUgraphNode node = NULL;
  D(cuGraphAddHostNode)(&node, g, &before, before ? 1 : 0, &h);
  return node;
}

static void instantiation(void) {
  start();
  CUgraph g = newGraph();
  CUgraphExec e = NULL, e2 = NULL;
  cuuint64_t flags = 99;
  CUdeviceptr p = memory(4096);
  RESULT("an empty graph", D(cuGraphInstantiateWithFlags)(&e, g, 0));
  RESULT("launch of it", D(cuGraphLaunch)(e, 0));
  addFill(g, NULL, p, 3, 64);
  RESULT("into NULL", D(cuGraphInstantiateWithFlags)(NULL, g, 0));
  RESULT("of NULL", D(cuGraphInstantiateWithFlags)(&e, NULL, 0));
  RESULT("flags 0x10", D(cuGraphInstantiateWithFlags)(&e, g, 0x10));
  RESULT("flag upload", D(cuGraphInstantiateWithFlags)(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD));
  for (unsigned f = 1; f <= 8; f *= 2) {
    char name[32];
    snprintf(name, sizeof name, "with flags %u", f);
    e = NULL;
    RESULT(name, D(cuGraphInstantiateWithFlags)(&e, g, f));
    if (!e) continue;
    snprintf(name, sizeof name, "flags of %u", f);
    RESULT(name, D(cuGraphExecGetFlags)(e, &flags));
    fact("are", "%llu", (unsigned long long)flags);
  }
  CUDA_GRAPH_INSTANTIATE_PARAMS params;
  memset(&params, -1, sizeof params);
  params.flags = 0, params.hUploadStream = NULL;
  RESULT("with params", D(cuGraphInstantiateWithParams)(&e, g, &params));
  fact("result", "%d", (int)params.result_out);
  fact("error node", "%s", params.hErrNode_out == (CUgraphNode)-1 ? "untouched" : params.hErrNode_out ? "set" : "NULL");
  RESULT("params NULL", D(cuGraphInstantiateWithParams)(&e2, g, NULL));
  params.flags = 0x20;
  memset(&params.result_out, -1, 4);
  RESULT("params, flags 0x20", D(cuGraphInstantiateWithParams)(&e2, g, &params));
  fact("flags 0x20: result", "%d", (int)params.result_out);
  params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  RESULT("params, upload", D(cuGraphInstantiateWithParams)(&e2, g, &params));
  char log[64];
  memset(log, 'x', sizeof log);
  CUgraphNode errorNode = (CUgraphNode)-1;
  RESULT("the second form", D(cuGraphInstantiate_v2)(&e2, g, &errorNode, log, sizeof log));
  fact("second form: error node", "%s", errorNode == (CUgraphNode)-1 ? "untouched" : errorNode ? "set" : "NULL");
  fact("second form: log", "%s", log[0] == 'x' ? "untouched" : log[0] ? "text" : "empty");
  RESULT("the second form without outputs", D(cuGraphInstantiate_v2)(&e2, g, NULL, NULL, 0));
  RESULT("the first form", D(cuGraphInstantiate)(&e2, g, &errorNode, log, sizeof log));
  RESULT("flags into NULL", D(cuGraphExecGetFlags)(e, NULL));
  RESULT("flags of NULL", D(cuGraphExecGetFlags)(NULL, &flags));
  RESULT("upload", D(cuGraphUpload)(e, 0));
  RESULT("upload NULL", D(cuGraphUpload)(NULL, 0));
  RESULT("launch NULL", D(cuGraphLaunch)(NULL, 0));
  RESULT("launch", D(cuGraphLaunch)(e, 0));
  RESULT("destroy the graph", D(cuGraphDestroy)(g));
  D(cuMemsetD8_v2)(p, 0, 64);
  RESULT("launch after it", D(cuGraphLaunch)(e, 0));
  fact("filled with", "%u", byteAt(p));
  RESULT("destroy NULL", D(cuGraphExecDestroy)(NULL));
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  busy(s, 100);
  double t = now();
  RESULT("launch on a busy stream", D(cuGraphLaunch)(e, s));
  fact("launch on a busy stream", "%s", waited(t, 100));
  t = now();
  RESULT("destroy while queued", D(cuGraphExecDestroy)(e));
  fact("destroy while queued", "%s", waited(t, 100));
  RESULT("synchronize", D(cuStreamSynchronize)(s));
  CUcontext c;
  g = newGraph();
  addFill(g, NULL, p, 4, 64);
  D(cuCtxPopCurrent_v2)(&c);
  RESULT("instantiate without a context", D(cuGraphInstantiateWithFlags)(&e, g, 0));
  RESULT("launch without a context", D(cuGraphLaunch)(e, 0));
  RESULT("launch without a context in a stream", D(cuGraphLaunch)(e, s));
  D(cuCtxPushCurrent_v2)(c);
  RESULT("instantiate with it", D(cuGraphInstantiateWithFlags)(&e, g, 0));
  CUcontext second;
  CUstream s2;
  D(cuCtxPopCurrent_v2)(&c);
  RESULT("launch a living one without a context in a stream", D(cuGraphLaunch)(e, s));
  D(cuCtxPushCurrent_v2)(c);
  D(cuStreamSynchronize)(s);
  D(cuCtxCreate_v2)(&second, 0, device);
  D(cuStreamCreate)(&s2, 0);
  RESULT("launch in a stream of another context", D(cuGraphLaunch)(e, s2));
  RESULT("synchronize it", D(cuStreamSynchronize)(s2));
  D(cuCtxPopCurrent_v2)(&c);
  catchCrashes();
  D(cuGraphExecDestroy)(e);
  RISKY("launch the destroyed", D(cuGraphLaunch)(e, 0));
  RISKY("destroy the destroyed", D(cuGraphExecDestroy)(e));
  RISKY("launch garbage", D(cuGraphLaunch)((CUgraphExec)(uintptr_t)0x1000, 0));
}

static void settings(void) {
  start();
  CUgraph g = newGraph(), child = newGraph();
  CUdeviceptr p = memory(4096), q = memory(4096), small = memory(16);
  static char host[4096];
  unsigned one = 1, two = 2;
  void* arguments[] = {&p, &one};
  void* arguments2[] = {&p, &two};
  CUgraphNode fill = addFill(g, NULL, p, 1, 64), copy = addCopy(g, fill, q, p, 64);
  CUgraphNode k = addKernel(g, copy, "store", arguments), h = addHost(g, k, nothing, NULL), empty = emptyAfter(g, h);
  CUgraphNode inner = addFill(child, NULL, q + 1024, 6, 64), node, later, embeddedNode = NULL;
  D(cuGraphAddChildGraphNode)(&node, g, &empty, 1, child);
  CUgraph embedded = NULL;
  D(cuGraphChildGraphNodeGetGraph)(node, &embedded);
  size_t count = 1;
  D(cuGraphGetNodes)(embedded, &embeddedNode, &count);
  CUevent event;
  D(cuEventCreate)(&event, 0);
  CUgraphNode record, wait;
  D(cuGraphAddEventRecordNode)(&record, g, &node, 1, event);
  D(cuGraphAddEventWaitNode)(&wait, g, &record, 1, event);
  CUgraphExec e = instantiated(g);
  later = emptyAfter(g, NULL);
  CUDA_MEMSET_NODE_PARAMS f = byteFill(p, 9, 64);
  RESULT("fill", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
  CUDA_MEMSET_NODE_PARAMS gotFill;
  D(cuGraphMemsetNodeGetParams)(fill, &gotFill);
  fact("the graph's fill then", "%u", gotFill.value);
  f = byteFill(p, 9, 128);
  RESULT("fill, other width", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
  f.height = 2, f.pitch = 256;
  RESULT("fill, two rows", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
  f = byteFill(p, 9, 16), f.elementSize = 4;
  RESULT("fill, other element", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
  f = byteFill(q, 9, 64);
  RESULT("fill, other memory", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
  f = byteFill(p, 9, 1 << 24);
  RESULT("fill, too long", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
  f = byteFill(p, 9, 64);
  RESULT("fill, context NULL", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, NULL));
  RESULT("fill, NULL", D(cuGraphExecMemsetNodeSetParams)(e, fill, NULL, context));
  RESULT("fill, executable NULL", D(cuGraphExecMemsetNodeSetParams)(NULL, fill, &f, context));
  RESULT("fill, node NULL", D(cuGraphExecMemsetNodeSetParams)(e, NULL, &f, context));
  RESULT("fill on the copy", D(cuGraphExecMemsetNodeSetParams)(e, copy, &f, context));
  f = byteFill(q + 1024, 8, 64);
  RESULT("fill in the embedded graph", D(cuGraphExecMemsetNodeSetParams)(e, embeddedNode, &f, context));
  RESULT("fill in the graph given as child", D(cuGraphExecMemsetNodeSetParams)(e, inner, &f, context));
  CUDA_MEMCPY3D c = linearCopy(q, p, 32);
  RESULT("copy, shorter", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, context));
  c = linearCopy(small, p, 16);
  RESULT("copy, other memory", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, context));
  c = linearCopy(p, q, 64);
  RESULT("copy, the other way", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, context));
  c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = host;
  RESULT("copy, from the host now", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, context));
  c = linearCopy(q, p, 64);
  c.Height = 2, c.srcPitch = c.dstPitch = 128;
  RESULT("copy, two rows", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, context));
  c = linearCopy(q, p, 0);
  RESULT("copy, width 0", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, context));
  c = linearCopy(q, p, 64);
  RESULT("copy, context NULL", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, NULL));
  RESULT("copy, as it was", D(cuGraphExecMemcpyNodeSetParams)(e, copy, &c, context));
  RESULT("copy, a node added later", D(cuGraphExecMemcpyNodeSetParams)(e, later, &c, context));
  CUDA_KERNEL_NODE_PARAMS kp = kernelNode(kernel("store"), arguments2);
  RESULT("kernel", D(cuGraphExecKernelNodeSetParams_v2)(e, k, &kp));
  kp = kernelNode(kernel("nop"), NULL);
  RESULT("kernel, other function", D(cuGraphExecKernelNodeSetParams_v2)(e, k, &kp));
  kp.gridDimX = 0;
  RESULT("kernel, grid 0", D(cuGraphExecKernelNodeSetParams_v2)(e, k, &kp));
  kp = kernelNode(kernel("store"), arguments2);
  RESULT("kernel, back", D(cuGraphExecKernelNodeSetParams_v2)(e, k, &kp));
  RESULT("kernel, NULL", D(cuGraphExecKernelNodeSetParams_v2)(e, k, NULL));
  CUDA_HOST_NODE_PARAMS hp = {nothing, &p};
  RESULT("host", D(cuGraphExecHostNodeSetParams)(e, h, &hp));
  hp.fn = NULL;
  RESULT("host, function NULL", D(cuGraphExecHostNodeSetParams)(e, h, &hp));
  CUevent event2;
  D(cuEventCreate)(&event2, 0);
  RESULT("record", D(cuGraphExecEventRecordNodeSetEvent)(e, record, event2));
  RESULT("record NULL", D(cuGraphExecEventRecordNodeSetEvent)(e, record, NULL));
  RESULT("record on the wait", D(cuGraphExecEventRecordNodeSetEvent)(e, wait, event2));
  RESULT("wait", D(cuGraphExecEventWaitNodeSetEvent)(e, wait, event2));
  RESULT("child", D(cuGraphExecChildGraphNodeSetParams)(e, node, child));
  CUgraph larger = newGraph();
  addFill(larger, addFill(larger, NULL, q + 1024, 6, 64), q + 1024, 7, 64);
  RESULT("child, other shape", D(cuGraphExecChildGraphNodeSetParams)(e, node, larger));
  CUgraph changed = newGraph();
  addFill(changed, NULL, q + 1024, 7, 64);
  RESULT("child, other value", D(cuGraphExecChildGraphNodeSetParams)(e, node, changed));
  RESULT("child NULL", D(cuGraphExecChildGraphNodeSetParams)(e, node, NULL));
  unsigned enabled = 9;
  RESULT("enabled", D(cuGraphNodeGetEnabled)(e, fill, &enabled));
  fact("enabled is", "%u", enabled);
  RESULT("disable the fill", D(cuGraphNodeSetEnabled)(e, fill, 0));
  RESULT("disable the copy", D(cuGraphNodeSetEnabled)(e, copy, 0));
  RESULT("disable the kernel", D(cuGraphNodeSetEnabled)(e, k, 0));
  RESULT("disable the host node", D(cuGraphNodeSetEnabled)(e, h, 0));
  RESULT("disable the empty node", D(cuGraphNodeSetEnabled)(e, empty, 0));
  RESULT("disable the child", D(cuGraphNodeSetEnabled)(e, node, 0));
  RESULT("disable the record", D(cuGraphNodeSetEnabled)(e, record, 0));
  RESULT("disable the embedded fill", D(cuGraphNodeSetEnabled)(e, embeddedNode, 0));
  RESULT("enable with 2", D(cuGraphNodeSetEnabled)(e, k, 2));
  D(cuGraphNodeGetEnabled)(e, k, &enabled);
  fact("enabled with 2 is", "%u", enabled);
  D(cuGraphNodeGetEnabled)(e, fill, &enabled);
  fact("disabled is", "%u", enabled);
  RESULT("enabled of the host node", D(cuGraphNodeGetEnabled)(e, h, &enabled));
  RESULT("enabled of the empty node", D(cuGraphNodeGetEnabled)(e, empty, &enabled));
  RESULT("enabled of a node added later", D(cuGraphNodeGetEnabled)(e, later, &enabled));
  RESULT("enabled into NULL", D(cuGraphNodeGetEnabled)(e, fill, NULL));
  D(cuMemsetD8_v2)(p, 77, 64);
  RESULT("launch", D(cuGraphLaunch)(e, 0));
  D(cuCtxSynchronize)();
  fact("after disabling: first byte", "%u", byteAt(p));
  fact("after disabling: other byte", "%u", byteAt(p + 32));
  f = byteFill(p, 12, 64);
  RESULT("set the disabled fill", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
  RESULT("enable the fill", D(cuGraphNodeSetEnabled)(e, fill, 1));
  D(cuGraphLaunch)(e, 0);
  D(cuCtxSynchronize)();
  fact("after enabling: other byte", "%u", byteAt(p + 32));
  CUgraphNodeParams any;
  memset(&any, 0, sizeof any);
  any.type = CU_GRAPH_NODE_TYPE_MEMSET;
  any.memset.dst = p, any.memset.width = 64, any.memset.height = 1, any.memset.elementSize = 1,
  any.memset.ctx = context;
  RESULT("generic fill", D(cuGraphExecNodeSetParams)(e, fill, &any));
  any.memset.ctx = NULL;
  RESULT("generic fill, context NULL", D(cuGraphExecNodeSetParams)(e, fill, &any));
  RESULT("generic fill on the copy", D(cuGraphExecNodeSetParams)(e, copy, &any));
  any.type = CU_GRAPH_NODE_TYPE_EMPTY;
  RESULT("generic empty", D(cuGraphExecNodeSetParams)(e, empty, &any));
  RESULT("generic NULL", D(cuGraphExecNodeSetParams)(e, empty, NULL));
  RESULT("destroy the node of the graph", D(cuGraphDestroyNode)(fill));
  catchCrashes();
  f = byteFill(p, 13, 64);
  RISKY("set the destroyed node", D(cuGraphExecMemsetNodeSetParams)(e, fill, &f, context));
}

// The names of a graph's own nodes, for the error nodes.
static const char* nameOf(CUgraphNode node, CUgraph g) {
  CUgraphNode nodes[16];
  size_t count = 16;
  D(cuGraphGetNodes)(g, nodes, &count);
  return letters(&node, 1, nodes, count);
}

static void tryUpdate(const char* name, CUgraphExec e, CUgraph g) {
  char text[64];
  CUgraphExecUpdateResultInfo info;
  memset(&info, -1, sizeof info);
  RESULT(name, D(cuGraphExecUpdate_v2)(e, g, &info));
  snprintf(text, sizeof text, "%s: result", name);
  fact(text, "%d", (int)info.result);
  snprintf(text, sizeof text, "%s: error node", name);
  fact(text, "%s", nameOf(info.errorNode, g));
  snprintf(text, sizeof text, "%s: error from", name);
  fact(text, "%s", nameOf(info.errorFromNode, g));
}

static void updates(void) {
  start();
  CUdeviceptr p = memory(4096), q = memory(4096);
  unsigned one = 1, two = 2;
  void* arguments[] = {&p, &one};
  void* arguments2[] = {&p, &two};
  CUgraph g = newGraph(), u;
  CUgraphNode a = addFill(g, NULL, p, 1, 64), b = addCopy(g, a, q, p, 64), k = addKernel(g, b, "store", arguments);
  CUgraphNode h = addHost(g, k, nothing, NULL), m = emptyAfter(g, h);
  CUgraphExec e = instantiated(g);
  tryUpdate("the same graph", e, g);
  D(cuGraphClone)(&u, g);
  tryUpdate("a clone", e, u);
#define BUILD(fillTo, fillValue, fillBytes, copyBytes, kernelArguments, function)         \
  u = newGraph();                                                                         \
  a = addFill(u, NULL, fillTo, fillValue, fillBytes), b = addCopy(u, a, q, p, copyBytes); \
  k = addKernel(u, b, "store", kernelArguments), h = addHost(u, k, function, NULL), m = emptyAfter(u, h)
  BUILD(p, 2, 64, 64, arguments, nothing);
  tryUpdate("other value", e, u);
  BUILD(q, 2, 64, 64, arguments, nothing);
  tryUpdate("other memory", e, u);
  BUILD(p, 2, 128, 64, arguments, nothing);
  tryUpdate("other width of the fill", e, u);
  BUILD(p, 2, 64, 32, arguments, nothing);
  tryUpdate("other width of the copy", e, u);
  BUILD(p, 2, 64, 64, arguments2, nothing);
  tryUpdate("other argument", e, u);
  BUILD(p, 2, 64, 64, arguments, slow);
  tryUpdate("other host function", e, u);
  BUILD(p, 2, 64, 64, arguments, nothing);
  emptyAfter(u, m);
  tryUpdate("one node more", e, u);
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = addCopy(u, a, q, p, 64), k = addKernel(u, b, "store", arguments),
  h = addHost(u, k, nothing, NULL);
  tryUpdate("one node less", e, u);
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = addCopy(u, a, q, p, 64), k = addKernel(u, b, "store", arguments),
  h = addHost(u, k, nothing, NULL), m = emptyAfter(u, k);
  tryUpdate("another edge", e, u);
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = addCopy(u, a, q, p, 64), k = addKernel(u, b, "store", arguments),
  h = addHost(u, k, nothing, NULL), m = emptyAfter(u, h);
  (void)D(cuGraphAddDependencies)(u, &k, &m, 1);
  tryUpdate("one edge more", e, u);
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = addFill(u, a, q, 1, 64), k = addKernel(u, b, "store", arguments),
  h = addHost(u, k, nothing, NULL), m = emptyAfter(u, h);
  tryUpdate("another type", e, u);
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = addCopy(u, a, q, p, 64), k = addKernel(u, b, "nop", NULL),
  h = addHost(u, k, nothing, NULL), m = emptyAfter(u, h);
  tryUpdate("another kernel", e, u);
  static char host[64];
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64);
  CUDA_MEMCPY3D c = linearCopy(q, 0, 64);
  c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = host;
  D(cuGraphAddMemcpyNode)(&b, u, &a, 1, &c, context);
  k = addKernel(u, b, "store", arguments), h = addHost(u, k, nothing, NULL), m = emptyAfter(u, h);
  tryUpdate("a copy from the host", e, u);
  u = newGraph();
  m = emptyAfter(u, NULL), a = addFill(u, NULL, p, 1, 64);
  D(cuGraphDestroyNode)(m);
  b = addCopy(u, a, q, p, 64), k = addKernel(u, b, "store", arguments), h = addHost(u, k, nothing, NULL),
  m = emptyAfter(u, h);
  tryUpdate("a node added and removed before", e, u);
  u = newGraph();
  b = addCopy(u, NULL, q, p, 64), a = addFill(u, NULL, p, 1, 64), k = addKernel(u, b, "store", arguments),
  h = addHost(u, k, nothing, NULL), m = emptyAfter(u, h);
  (void)D(cuGraphAddDependencies)(u, &a, &b, 1);
  tryUpdate("nodes added in another order", e, u);
  CUgraph two1 = newGraph(), two2 = newGraph();
  CUgraphNode x = addFill(two1, NULL, p, 1, 64), y = addFill(two1, NULL, q, 2, 64), z;
  z = emptyAfter(two1, x);
  (void)D(cuGraphAddDependencies)(two1, &y, &z, 1);
  CUgraphExec e2 = instantiated(two1);
  x = addFill(two2, NULL, p, 1, 64), y = addFill(two2, NULL, q, 2, 64);
  z = emptyAfter(two2, y);
  (void)D(cuGraphAddDependencies)(two2, &x, &z, 1);
  tryUpdate("edges in another order", e2, two2);
  RESULT("info NULL", D(cuGraphExecUpdate_v2)(e, g, NULL));
  CUgraphExecUpdateResultInfo info;
  RESULT("executable NULL", D(cuGraphExecUpdate_v2)(NULL, g, &info));
  RESULT("graph NULL", D(cuGraphExecUpdate_v2)(e, NULL, &info));
  CUgraphExecUpdateResult result = (CUgraphExecUpdateResult)-1;
  CUgraphNode errorNode = (CUgraphNode)-1;
  RESULT("the first form", D(cuGraphExecUpdate)(e, two1, &errorNode, &result));
  fact("the first form: result", "%d", (int)result);
  fact("the first form: error node", "%s", errorNode == (CUgraphNode)-1 ? "untouched" : errorNode ? "set" : "NULL");
  static const char* const olds[] = {"the first form, another type", "the first form, another edge",
                                     "the first form, a copy from the host"};
  for (int i = 0; i < 3; ++i) {
    u = newGraph();
    a = addFill(u, NULL, p, 1, 64);
    b = i == 0 ? addFill(u, a, q, 1, 64) : i == 1 ? addCopy(u, NULL, q, p, 64) : NULL;
    if (i == 2) D(cuGraphAddMemcpyNode)(&b, u, &a, 1, &c, context);
    k = addKernel(u, b, "store", arguments), h = addHost(u, k, nothing, NULL), m = emptyAfter(u, h);
    result = (CUgraphExecUpdateResult)-1, errorNode = (CUgraphNode)-1;
    RESULT(olds[i], D(cuGraphExecUpdate)(e, u, &errorNode, &result));
    fact(olds[i], "%d %s", (int)result, errorNode == (CUgraphNode)-1 ? "untouched" : nameOf(errorNode, u));
  }
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = emptyAfter(u, a), k = emptyAfter(u, a), h = emptyAfter(u, k);
  m = emptyAfter(u, NULL);
  tryUpdate("three ends for one", e, u);
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = emptyAfter(u, NULL), k = emptyAfter(u, NULL), h = emptyAfter(u, NULL);
  m = emptyAfter(u, NULL);
  tryUpdate("no edges", e, u);
  u = newGraph();
  a = addFill(u, NULL, p, 1, 64), b = addCopy(u, a, q, p, 64), k = addKernel(u, a, "store", arguments),
  h = addHost(u, k, nothing, NULL), m = emptyAfter(u, h);
  tryUpdate("the copy at an end", e, u);
  u = newGraph();
  CUDA_MEMSET_NODE_PARAMS rows = byteFill(p, 1, 16);
  rows.height = 2, rows.pitch = 64;
  D(cuGraphAddMemsetNode)(&a, u, NULL, 0, &rows, context);
  b = addCopy(u, a, q, p, 64), k = addKernel(u, b, "store", arguments), h = addHost(u, k, nothing, NULL),
  m = emptyAfter(u, h);
  tryUpdate("a fill of rows", e, u);
  RESULT("after an update that failed: launch", D(cuGraphLaunch)(e, 0));
  RESULT("synchronize", D(cuCtxSynchronize)());
  // Attributes, child graphs, events.
  u = newGraph(), g = newGraph();
  k = addKernel(g, NULL, "nop", NULL);
  e = instantiated(g);
  k = addKernel(u, NULL, "nop", NULL);
  CUkernelNodeAttrValue v;
  memset(&v, 0, sizeof v);
  v.cooperative = 1;
  D(cuGraphKernelNodeSetAttribute)(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
  tryUpdate("cooperative now", e, u);
  memset(&v, 0, sizeof v);
  D(cuGraphKernelNodeSetAttribute)(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
  v.priority = -2;
  D(cuGraphKernelNodeSetAttribute)(k, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v);
  tryUpdate("other priority", e, u);
  CUgraph inner = newGraph(), inner2 = newGraph();
  addFill(inner, NULL, p, 1, 64);
  addFill(inner2, NULL, p, 2, 64);
  g = newGraph(), u = newGraph();
  D(cuGraphAddChildGraphNode)(&x, g, NULL, 0, inner);
  D(cuGraphAddChildGraphNode)(&x, u, NULL, 0, inner2);
  e = instantiated(g);
  tryUpdate("child with another value", e, u);
  emptyAfter(inner2, NULL);
  u = newGraph();
  D(cuGraphAddChildGraphNode)(&x, u, NULL, 0, inner2);
  tryUpdate("child with a node more", e, u);
  CUevent event, event2;
  D(cuEventCreate)(&event, 0), D(cuEventCreate)(&event2, 0);
  g = newGraph(), u = newGraph();
  D(cuGraphAddEventRecordNode)(&x, g, NULL, 0, event);
  D(cuGraphAddEventRecordNode)(&x, u, NULL, 0, event2);
  e = instantiated(g);
  tryUpdate("another event", e, u);
}

static void running(void) {
  start();
  CUgraph g = newGraph();
  CUdeviceptr p = memory(4096), q = memory(4096);
  int calls = 0;
  CUevent event, before;
  CUstream s, t;
  D(cuEventCreate)(&event, 0);
  D(cuEventCreate)(&before, CU_EVENT_DISABLE_TIMING);
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  D(cuStreamCreate)(&t, CU_STREAM_NON_BLOCKING);
  CUgraphNode h = addHost(g, NULL, slow, &calls), r;
  D(cuGraphAddEventRecordNode)(&r, g, &h, 1, event);
  addFill(g, r, p, 5, 64);
  CUgraphExec e = instantiated(g);
  RESULT("launch", D(cuGraphLaunch)(e, s));
  RESULT("event query at once", D(cuEventQuery)(event));
  RESULT("stream query at once", D(cuStreamQuery)(s));
  double started = now();
  RESULT("launch again in another stream", D(cuGraphLaunch)(e, t));
  fact("launch again in another stream", "%s", waited(started, 100));
  RESULT("event synchronize", D(cuEventSynchronize)(event));
  fact("calls when the event is done", "%d", calls);
  D(cuStreamSynchronize)(s);
  fact("calls when the first stream is done", "%d", calls);
  D(cuStreamSynchronize)(t);
  fact("calls when both are done", "%d", calls);
  fact("filled with", "%u", byteAt(p));
  // What is set while it runs.
  D(cuGraphLaunch)(e, s);
  CUDA_HOST_NODE_PARAMS hp = {nothing, NULL};
  started = now();
  RESULT("set while running", D(cuGraphExecHostNodeSetParams)(e, h, &hp));
  fact("set while running", "%s", waited(started, 100));
  D(cuStreamSynchronize)(s);
  fact("calls after it", "%d", calls);
  started = now();
  D(cuGraphLaunch)(e, s);
  D(cuStreamSynchronize)(s);
  fact("calls after the next launch", "%d", calls);
  // A wait for an event that was recorded before the launch, and one recorded after instantiation.
  CUgraph w = newGraph();
  CUgraphNode wn;
  D(cuGraphAddEventWaitNode)(&wn, w, NULL, 0, before);
  addFill(w, wn, q, 6, 64);
  CUgraphExec we = instantiated(w);
  busy(t, 100);
  D(cuEventRecord)(before, t);
  started = now();
  D(cuGraphLaunch)(we, s);
  D(cuStreamSynchronize)(s);
  fact("a wait for an event recorded before the launch", "%s", waited(started, 100));
  D(cuStreamSynchronize)(t);
  // The legacy stream and graphs.
  started = now();
  busy(0, 100);
  CUstream blocking;
  D(cuStreamCreate)(&blocking, 0);
  D(cuGraphLaunch)(we, blocking);
  D(cuStreamSynchronize)(blocking);
  fact("a launch behind the legacy stream", "%s", waited(started, 100));
  started = now();
  busy(0, 100);
  D(cuGraphLaunch)(we, s);
  D(cuStreamSynchronize)(s);
  fact("a launch in a non-blocking stream beside the legacy one", "%s", waited(started, 100));
  D(cuCtxSynchronize)();
  // Freed memory.
  CUgraph freed = newGraph();
  CUdeviceptr gone = memory(1 << 22);
  addFill(freed, NULL, gone, 6, 64);
  CUgraphExec fe = instantiated(freed);
  D(cuMemFree_v2)(gone);
  RESULT("launch with freed memory", D(cuGraphLaunch)(fe, s));
  RESULT("synchronize", D(cuStreamSynchronize)(s));
  RESULT("afterwards", D(cuCtxSynchronize)());
}

static CUresult addAlloc(CUgraph g, CUgraphNode before, size_t bytes, CUgraphNode* node, CUdeviceptr* p) {
  CUDA_MEM_ALLOC_NODE_PARAMS a;
  memset(&a, 0, sizeof a);
  a.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  a.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  a.poolProps.location.id = device;
  a.bytesize = bytes;
  CUresult result = D(cuGraphAddMemAllocNode)(node, g, &before, before ? 1 : 0, &a);
  *p = a.dptr;
  return result;
}

static void memoryNodes(void) {
  start();
  CUgraph g = newGraph(), c = NULL;
  CUgraphNode a, b, f, fill, n = NULL;
  CUdeviceptr p, q, got, plain = memory(64);
  CUDA_MEM_ALLOC_NODE_PARAMS params;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("alloc NULL", D(cuGraphAddMemAllocNode)(&n, g, NULL, 0, NULL));
  memset(&params, 0, sizeof params);
  RESULT("alloc zeros", D(cuGraphAddMemAllocNode)(&n, g, NULL, 0, &params));
  RESULT("alloc 0 bytes", addAlloc(g, NULL, 0, &n, &p));
  RESULT("alloc too much", addAlloc(g, NULL, (size_t)1 << 50, &n, &p));
  memset(&params, 0, sizeof params);
  params.bytesize = 64;
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.poolProps.location.id = 99;
  RESULT("alloc on device 99", D(cuGraphAddMemAllocNode)(&n, g, NULL, 0, &params));
  params.poolProps.location.id = device;
  params.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  RESULT("alloc with a handle type", D(cuGraphAddMemAllocNode)(&n, g, NULL, 0, &params));
  params.poolProps.handleTypes = 0;
  params.accessDescCount = 1;
  CUmemAccessDesc access;
  memset(&access, 0, sizeof access);
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE, access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  params.accessDescs = &access;
  RESULT("alloc, access of its own device", D(cuGraphAddMemAllocNode)(&n, g, NULL, 0, &params));
  g = newGraph();
  RESULT("alloc 1000", addAlloc(g, NULL, 1000, &a, &p));
  fact("its alignment", "%s", p % (2 << 20) == 0 ? "2 MiB" : p % 512 == 0 ? "512" : "less");
  memset(&params, 0, sizeof params);
  RESULT("get", D(cuGraphMemAllocNodeGetParams)(a, &params));
  fact("get", "%zu %s %zu %d", params.bytesize, YES(params.dptr == p), params.accessDescCount,
       (int)params.poolProps.location.type);
  fact("get: maxSize", "%zu", params.poolProps.maxSize);
  unsigned type = 99;
  RESULT("memory type before any launch", D(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  fact("is", "%u", type);
  CUdeviceptr base = 0;
  size_t size = 0;
  RESULT("range before any launch", D(cuMemGetAddressRange_v2)(&base, &size, p));
  fact("range", "%s %zu", YES(base == p), size);
  int mapped = 9;
  RESULT("mapped", D(cuPointerGetAttribute)(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p));
  fact("mapped is", "%d", mapped);
  RESULT("cuMemFree before any launch", D(cuMemFree_v2)(p));
  RESULT("copy from it before any launch", D(cuMemcpyDtoD_v2)(plain, p, 4));
  fill = NULL;
  CUDA_MEMSET_NODE_PARAMS fp = byteFill(p, 7, 1000);
  RESULT("fill of it", D(cuGraphAddMemsetNode)(&fill, g, &a, 1, &fp, context));
  fp.width = 1001;
  RESULT("fill of one byte more", D(cuGraphAddMemsetNode)(&n, g, &a, 1, &fp, context));
  RESULT("alloc another", addAlloc(g, NULL, 1000, &b, &q));
  fact("the distance", "%lld", (long long)(q - p));
  RESULT("free NULL address", D(cuGraphAddMemFreeNode)(&f, g, NULL, 0, 0));
  RESULT("free plain memory", D(cuGraphAddMemFreeNode)(&f, g, NULL, 0, plain));
  RESULT("free p + 8", D(cuGraphAddMemFreeNode)(&f, g, &fill, 1, p + 8));
  RESULT("free without being after the alloc", D(cuGraphAddMemFreeNode)(&f, g, NULL, 0, p));
  RESULT("free", D(cuGraphAddMemFreeNode)(&f, g, &fill, 1, p));
  RESULT("free: get", D(cuGraphMemFreeNodeGetParams)(f, &got));
  fact("free: get", "%s", YES(got == p));
  RESULT("free again", D(cuGraphAddMemFreeNode)(&n, g, &f, 1, p));
  RESULT("alloc after the free", addAlloc(g, f, 1000, &n, &got));
  fact("reuses the address", "%s", YES(got == p));
  RESULT("alloc beside the free", addAlloc(g, a, 1000, &n, &got));
  fact("reuses the freed address", "%s", YES(got == p));
  RESULT("remove the fill", D(cuGraphDestroyNode)(fill));
  RESULT("remove an edge", D(cuGraphRemoveDependencies)(g, &fill, &f, 1));
  RESULT("add an edge", D(cuGraphAddDependencies)(g, &a, &b, 1));
  RESULT("clone", D(cuGraphClone)(&c, g));
  RESULT("as a child", D(cuGraphAddChildGraphNode)(&n, newGraph(), NULL, 0, g));
  CUgraphNodeParams any;
  memset(&any, 0, sizeof any);
  any.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  any.free.dptr = p;
  RESULT("set of a free node", D(cuGraphNodeSetParams)(f, &any));
  // Life.
  g = newGraph();
  addAlloc(g, NULL, 1000, &a, &p);
  addFill(g, a, p, 7, 1000);
  CUgraphExec e = NULL, e2 = NULL;
  RESULT("instantiate", D(cuGraphInstantiateWithFlags)(&e, g, 0));
  RESULT("instantiate twice", D(cuGraphInstantiateWithFlags)(&e2, g, 0));
  RESULT("launch", D(cuGraphLaunch)(e, s));
  RESULT("synchronize", D(cuStreamSynchronize)(s));
  fact("filled with", "%u", byteAt(p + 999));
  RESULT("launch without freeing", D(cuGraphLaunch)(e, s));
  RESULT("range", D(cuMemGetAddressRange_v2)(&base, &size, p));
  fact("range when allocated", "%s %zu", YES(base == p), size);
  RESULT("cuMemFreeAsync", D(cuMemFreeAsync)(p, s));
  RESULT("cuMemFreeAsync again", D(cuMemFreeAsync)(p, s));
  RESULT("launch after freeing", D(cuGraphLaunch)(e, s));
  RESULT("cuMemFree", D(cuMemFree_v2)(p));
  RESULT("launch after cuMemFree", D(cuGraphLaunch)(e, s));
  D(cuStreamSynchronize)(s);
  CUgraph fg = newGraph();
  RESULT("free node in another graph", D(cuGraphAddMemFreeNode)(&f, fg, NULL, 0, p));
  CUgraphExec fe = NULL;
  RESULT("instantiate it", D(cuGraphInstantiateWithFlags)(&fe, fg, 0));
  RESULT("launch it", D(cuGraphLaunch)(fe, s));
  RESULT("launch it again", D(cuGraphLaunch)(fe, s));
  RESULT("launch after the other graph freed", D(cuGraphLaunch)(e, s));
  D(cuStreamSynchronize)(s);
  RESULT("destroy the executable with a live allocation", D(cuGraphExecDestroy)(e));
  fact("still there", "%u", byteAt(p));
  RESULT("instantiate again", D(cuGraphInstantiateWithFlags)(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  RESULT("launch with the old allocation live", D(cuGraphLaunch)(e, s));
  RESULT("launch with auto free", D(cuGraphLaunch)(e, s));
  RESULT("update with itself", D(cuGraphExecUpdate_v2)(e, g, &(CUgraphExecUpdateResultInfo){0}));
  RESULT("synchronize at the end", D(cuStreamSynchronize)(s));
  RESULT("destroy the graph", D(cuGraphDestroy)(g));
  fact("the memory then", "%u", byteAt(p));
  RESULT("destroy the executable", D(cuGraphExecDestroy)(e));
  fact("the memory at the end", "%u", byteAt(p));
  RESULT("free it at the end", D(cuMemFree_v2)(p));
  catchCrashes();
  memset(&params, 0, sizeof params);
  params.bytesize = 64, params.accessDescCount = 1;
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.poolProps.location.id = device;
  RISKY("alloc, access NULL", D(cuGraphAddMemAllocNode)(&n, newGraph(), NULL, 0, &params));
}

static void memoryAttributes(void) {
  start();
  CUgraph g = newGraph();
  CUgraphNode a, f;
  CUdeviceptr p;
  cuuint64_t v = 99;
  static const char* const names[] = {"used", "used high", "reserved", "reserved high"};
#define SHOW(when)                                                                       \
  for (int i = 0; i < 4; ++i) {                                                          \
    char name[64];                                                                       \
    v = 99;                                                                              \
    snprintf(name, sizeof name, "%s: %s", when, names[i]);                               \
    if (D(cuDeviceGetGraphMemAttribute)(device, (CUgraphMem_attribute)i, &v)) v = 12345; \
    fact(name, "%llu", (unsigned long long)v);                                           \
  }
  SHOW("at first");
  RESULT("attribute 4", D(cuDeviceGetGraphMemAttribute)(device, (CUgraphMem_attribute)4, &v));
  RESULT("into NULL", D(cuDeviceGetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, NULL));
  RESULT("device 99", D(cuDeviceGetGraphMemAttribute)(99, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
  RESULT("set current", D(cuDeviceSetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
  v = 5;
  RESULT("set high to 5", D(cuDeviceSetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &v));
  RESULT("set NULL", D(cuDeviceSetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, NULL));
  RESULT("trim device 99", D(cuDeviceGraphMemTrim)(99));
  addAlloc(g, NULL, 3 << 20, &a, &p);
  SHOW("after adding");
  D(cuGraphAddMemFreeNode)(&f, g, &a, 1, p);
  CUgraphExec e = instantiated(g);
  SHOW("after instantiating");
  D(cuGraphLaunch)(e, 0);
  D(cuCtxSynchronize)();
  SHOW("after launching");
  RESULT("trim", D(cuDeviceGraphMemTrim)(device));
  SHOW("after trimming");
  CUgraph g2 = newGraph();
  addAlloc(g2, NULL, 1000, &a, &p);
  CUgraphExec e2 = instantiated(g2);
  D(cuGraphLaunch)(e2, 0);
  D(cuCtxSynchronize)();
  SHOW("with a live allocation");
  D(cuGraphExecDestroy)(e);
  D(cuGraphDestroy)(g);
  D(cuMemFree_v2)(p);
  SHOW("after freeing");
  D(cuGraphExecDestroy)(e2);
  SHOW("after destroying");
  D(cuDeviceGraphMemTrim)(device);
  SHOW("after trimming at the end");
  v = 0;
  RESULT("reset high", D(cuDeviceSetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &v));
  RESULT("reset reserved high", D(cuDeviceSetGraphMemAttribute)(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &v));
  SHOW("after resetting");
}

// Long hexadecimal numbers are addresses.
static void maskedLine(const char* name, char* line) {
  char out[1024];
  size_t o = 0;
  for (char* c = line; *c && *c != '\n' && o < sizeof out - 8;) {
    size_t digits = c[0] == '0' && c[1] == 'x' ? strspn(c + 2, "0123456789abcdefABCDEF") : 0;
    if (digits >= 5) {
      memcpy(out + o, "0x#", 3), o += 3, c += 2 + digits;
    } else {
      out[o++] = *c == '\t' ? ' ' : *c, ++c;
    }
  }
  out[o] = 0;
  fact(name, "|%s", out);
}

static void dotFile(const char* name, CUgraph g, unsigned flags) {
  char path[] = "/tmp/graphXXXXXX", line[1024], label[64];
  int file = mkstemp(path);
  close(file);
  RESULT(name, D(cuGraphDebugDotPrint)(g, path, flags));
  FILE* f = fopen(path, "r");
  for (int i = 1; f && fgets(line, sizeof line, f); ++i) {
    snprintf(label, sizeof label, "%s: line %02d", name, i);
    maskedLine(label, line);
  }
  if (f) fclose(f);
  unlink(path);
}

static void dot(void) {
  start();
  CUgraph g = newGraph(), child = newGraph();
  CUdeviceptr p = memory(4096), q = memory(4096), r;
  unsigned one = 1;
  void* arguments[] = {&p, &one};
  CUgraphNode a = addFill(g, NULL, p, 1, 64), b = addCopy(g, a, q, p, 64), k = addKernel(g, b, "store", arguments);
  CUgraphNode h = addHost(g, k, nothing, NULL), m = emptyAfter(g, h), x;
  (void)D(cuGraphAddDependencies)(g, &a, &m, 1);
  emptyAfter(child, NULL);
  D(cuGraphAddChildGraphNode)(&x, g, &m, 1, child);
  CUevent event;
  D(cuEventCreate)(&event, 0);
  D(cuGraphAddEventRecordNode)(&x, g, &x, 1, event);
  D(cuGraphAddEventWaitNode)(&x, g, &x, 1, event);
  CUstreamBatchMemOpParams op;
  memset(&op, 0, sizeof op);
  op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  op.writeValue.address = p;
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch;
  memset(&batch, 0, sizeof batch);
  batch.ctx = context, batch.count = 1, batch.paramArray = &op;
  D(cuGraphAddBatchMemOpNode)(&x, g, &x, 1, &batch);
  dotFile("plain", g, 0);
  dotFile("verbose", g, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
  for (unsigned f = 2; f <= 0x10000; f *= 2) {
    char name[32];
    snprintf(name, sizeof name, "flags %#x", f);
    dotFile(name, g, f);
  }
  CUgraph mem = newGraph();
  CUgraphNode al, fr;
  addAlloc(mem, NULL, 1000, &al, &r);
  D(cuGraphAddMemFreeNode)(&fr, mem, &al, 1, r);
  dotFile("memory nodes", mem, 0);
  dotFile("memory nodes verbose", mem, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
  CUgraph pair = newGraph();
  CUgraphNode k1 = addKernel(pair, NULL, "nop", NULL), k2 = addKernel(pair, NULL, "nop", NULL);
  CUgraphEdgeData data;
  memset(&data, 0, sizeof data);
  data.from_port = 1, data.type = 1;
  (void)D(cuGraphAddDependencies_v2)(pair, &k1, &k2, &data, 1);
  dotFile("programmatic", pair, 0);
  dotFile("programmatic verbose", pair, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
  dotFile("empty graph", newGraph(), 0);
  RESULT("path NULL", D(cuGraphDebugDotPrint)(g, NULL, 0));
  RESULT("a path that cannot be", D(cuGraphDebugDotPrint)(g, "/nonexistent/x.dot", 0));
  RESULT("graph NULL", D(cuGraphDebugDotPrint)(NULL, "/tmp/x.dot", 0));
  CUgraph c;
  D(cuGraphClone)(&c, child);
  dotFile("a clone", c, 0);
}

const Group kGraphExecGroups[] = {{"graphs.instantiation", instantiation},
                                  {"graphs.settings", settings},
                                  {"graphs.updates", updates},
                                  {"graphs.running", running},
                                  {"graphs.memory-nodes", memoryNodes},
                                  {"graphs.memory-attributes", memoryAttributes},
                                  {"graphs.dot", dot},
                                  {NULL, NULL}};
