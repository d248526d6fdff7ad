// Graphs as structures: nodes, edges, clones, child graphs, user objects.
#include "graphs.h"

#include <signal.h>
#include <time.h>

sigjmp_buf afterCrash;

static void jumpBack(int signal) {
  (void)signal;
  siglongjmp(afterCrash, 1);
}

void catchCrashes(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = jumpBack;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

CUgraph newGraph(void) {
  CUgraph graph = NULL;
  CUresult result = D(cuGraphCreate)(&graph, 0);
  if (result) RESULT("create", result);
  return graph;
}

CUgraphNode emptyAfter(CUgraph graph, CUgraphNode before) {
  CUgraphNode node = NULL;
  CUresult result = D(cuGraphAddEmptyNode)(&node, graph, &before, before ? 1 : 0);
  if (result) RESULT("add an empty node", result);
  return node;
}

const char* letters(const CUgraphNode* nodes, size_t count, const CUgraphNode* names, size_t known) {
  static char text[2][65];
  static int which;
  char* out = text[which = !which];
  size_t i = 0;
  for (; i < count && i < 64; ++i) {
    out[i] = nodes[i] ? '?' : '-';
    for (size_t k = 0; k < known; ++k)
      if (nodes[i] && nodes[i] == names[k]) out[i] = (char)('a' + k);
  }
  out[i] = 0;
  return out;
}

CUDA_MEMCPY3D linearCopy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CUDA_MEMCPY3D copy;
  memset(&copy, 0, sizeof copy);
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_MEMSET_NODE_PARAMS byteFill(CUdeviceptr to, unsigned value, size_t bytes) {
  CUDA_MEMSET_NODE_PARAMS fill;
  memset(&fill, 0, sizeof fill);
  fill.dst = to;
  fill.value = value;
  fill.elementSize = 1;
  fill.width = bytes;
  fill.height = 1;
  return fill;
}

CUDA_KERNEL_NODE_PARAMS kernelNode(CUfunction function, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS node;
  memset(&node, 0, sizeof node);
  node.func = function;
  node.gridDimX = node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;
  return node;
}

CUgraphExec instantiated(CUgraph graph) {
  CUgraphExec exec = NULL;
  CUresult result = D(cuGraphInstantiateWithFlags)(&exec, graph, 0);
  if (result) RESULT("instantiate", result);
  return exec;
}

static void structure(void) {
  start();
  CUgraph g = NULL, other;
  CUgraphNode n[8] = {0}, out[16], out2[16], deps[4];
  size_t count;
  CUgraphNodeType type;
  RESULT("create with flags 1", D(cuGraphCreate)(&g, 1));
  RESULT("create into NULL", D(cuGraphCreate)(NULL, 0));
  RESULT("create", D(cuGraphCreate)(&g, 0));
  other = newGraph();
  RESULT("add into NULL", D(cuGraphAddEmptyNode)(NULL, g, NULL, 0));
  RESULT("add to NULL", D(cuGraphAddEmptyNode)(&n[0], NULL, NULL, 0));
  RESULT("add a", D(cuGraphAddEmptyNode)(&n[0], g, NULL, 0));
  RESULT("dependencies NULL, 1", D(cuGraphAddEmptyNode)(&n[1], g, NULL, 1));
  n[1] = NULL;
  RESULT("dependency NULL", D(cuGraphAddEmptyNode)(&n[2], g, &n[1], 1));
  deps[0] = deps[1] = n[0];
  RESULT("the same dependency twice", D(cuGraphAddEmptyNode)(&n[1], g, deps, 2));
  D(cuGraphGetEdges)(g, NULL, NULL, &count);
  fact("edges after it", "%zu", count);
  if (!n[1]) n[1] = emptyAfter(g, n[0]);
  CUgraphNode foreign = emptyAfter(other, NULL);
  RESULT("dependency of another graph", D(cuGraphAddEmptyNode)(&n[2], g, &foreign, 1));
  n[2] = emptyAfter(g, n[0]);
  deps[0] = n[2], deps[1] = n[1];
  D(cuGraphAddEmptyNode)(&n[3], g, deps, 2);
  n[4] = emptyAfter(g, NULL);
  count = 99;
  RESULT("count nodes", D(cuGraphGetNodes)(g, NULL, &count));
  fact("nodes", "%zu", count);
  RESULT("nodes, no count", D(cuGraphGetNodes)(g, out, NULL));
  memset(out, -1, sizeof out);
  count = 8;
  RESULT("more room than nodes", D(cuGraphGetNodes)(g, out, &count));
  fact("more room than nodes: count", "%zu", count);
  fact("more room than nodes: order", "%s", letters(out, 8, n, 5));
  memset(out, -1, sizeof out);
  count = 2;
  RESULT("less room than nodes", D(cuGraphGetNodes)(g, out, &count));
  fact("less room than nodes: count", "%zu", count);
  fact("less room than nodes: order", "%s", letters(out, 3, n, 5));
  count = 0;
  RESULT("no room for nodes", D(cuGraphGetNodes)(g, out, &count));
  fact("no room for nodes: count", "%zu", count);
  count = 8;
  memset(out, -1, sizeof out);
  RESULT("roots", D(cuGraphGetRootNodes)(g, out, &count));
  fact("roots: order", "%zu %s", count, letters(out, 3, n, 5));
  count = 1;
  RESULT("less room than roots", D(cuGraphGetRootNodes)(g, out, &count));
  fact("less room than roots: count", "%zu", count);
  RESULT("roots, no count", D(cuGraphGetRootNodes)(g, NULL, NULL));
  count = 8;
  memset(out, -1, sizeof out);
  memset(out2, -1, sizeof out2);
  RESULT("edges", D(cuGraphGetEdges)(g, out, out2, &count));
  fact("edges: from", "%zu %s", count, letters(out, 6, n, 5));
  fact("edges: to", "%s", letters(out2, 6, n, 5));
  count = 2;
  RESULT("less room than edges", D(cuGraphGetEdges)(g, out, out2, &count));
  fact("less room than edges: count", "%zu", count);
  count = 8;
  RESULT("edges, from only", D(cuGraphGetEdges)(g, out, NULL, &count));
  RESULT("edges, to only", D(cuGraphGetEdges)(g, NULL, out, &count));
  RESULT("edges, no count", D(cuGraphGetEdges)(g, NULL, NULL, NULL));
  count = 8;
  memset(out, -1, sizeof out);
  RESULT("dependencies of d", D(cuGraphNodeGetDependencies)(n[3], out, &count));
  fact("dependencies of d: order", "%zu %s", count, letters(out, 4, n, 5));
  count = 1;
  RESULT("less room than dependencies", D(cuGraphNodeGetDependencies)(n[3], out, &count));
  fact("less room than dependencies: count", "%zu", count);
  RESULT("dependencies, no count", D(cuGraphNodeGetDependencies)(n[3], out, NULL));
  RESULT("dependencies of NULL", D(cuGraphNodeGetDependencies)(NULL, out, &count));
  count = 8;
  memset(out, -1, sizeof out);
  RESULT("dependents of a", D(cuGraphNodeGetDependentNodes)(n[0], out, &count));
  fact("dependents of a: order", "%zu %s", count, letters(out, 4, n, 5));
  RESULT("type", D(cuGraphNodeGetType)(n[0], &type));
  fact("type of an empty node", "%d", (int)type);
  RESULT("type into NULL", D(cuGraphNodeGetType)(n[0], NULL));
  RESULT("type of NULL", D(cuGraphNodeGetType)(NULL, &type));
  RESULT("nodes of NULL", D(cuGraphGetNodes)(NULL, NULL, &count));
  RESULT("edges of NULL", D(cuGraphGetEdges)(NULL, NULL, NULL, &count));
  RESULT("roots of NULL", D(cuGraphGetRootNodes)(NULL, NULL, &count));
  RESULT("destroy NULL", D(cuGraphDestroy)(NULL));
  RESULT("destroy node NULL", D(cuGraphDestroyNode)(NULL));
  RESULT("destroy node b", D(cuGraphDestroyNode)(n[1]));
  count = 8;
  memset(out, -1, sizeof out);
  D(cuGraphGetNodes)(g, out, &count);
  fact("nodes after it", "%zu %s", count, letters(out, 5, n, 5));
  D(cuGraphGetEdges)(g, NULL, NULL, &count);
  fact("edges after destroying a node", "%zu", count);
  RESULT("destroy", D(cuGraphDestroy)(g));
  catchCrashes();
  RISKY("destroy again", D(cuGraphDestroy)(g));
  RISKY("type of a destroyed node", D(cuGraphNodeGetType)(n[1], &type));
  RISKY("destroy a destroyed node", D(cuGraphDestroyNode)(n[1]));
  RISKY("type of a node of a destroyed graph", D(cuGraphNodeGetType)(n[0], &type));
  RISKY("nodes of a destroyed graph", D(cuGraphGetNodes)(g, NULL, &count));
  RISKY("add to a destroyed graph", D(cuGraphAddEmptyNode)(&n[0], g, NULL, 0));
  RISKY("add to a garbage handle", D(cuGraphAddEmptyNode)(&n[0], (CUgraph)(uintptr_t)0x12345678, NULL, 0));
}

static void edges(void) {
  start();
  CUgraph g = newGraph(), other = newGraph();
  CUgraphNode a = emptyAfter(g, NULL), b = emptyAfter(g, NULL), c = emptyAfter(g, NULL), d = emptyAfter(other, NULL);
  CUgraphNode from[4] = {a, b, c, NULL}, to[4] = {b, c, a, NULL}, n[3] = {a, b, c}, out[8], out2[8];
  size_t count;
  RESULT("none, NULL", D(cuGraphAddDependencies)(g, NULL, NULL, 0));
  RESULT("one, from NULL", D(cuGraphAddDependencies)(g, NULL, to, 1));
  RESULT("one, to NULL", D(cuGraphAddDependencies)(g, from, NULL, 1));
  RESULT("graph NULL", D(cuGraphAddDependencies)(NULL, from, to, 1));
  RESULT("graph NULL, none", D(cuGraphAddDependencies)(NULL, NULL, NULL, 0));
  RESULT("a to b", D(cuGraphAddDependencies)(g, from, to, 1));
  RESULT("a to b again", D(cuGraphAddDependencies)(g, from, to, 1));
  D(cuGraphGetEdges)(g, NULL, NULL, &count);
  fact("edges after again", "%zu", count);
  RESULT("a to a", D(cuGraphAddDependencies)(g, &a, &a, 1));
  RESULT("to another graph", D(cuGraphAddDependencies)(g, &a, &d, 1));
  RESULT("from another graph", D(cuGraphAddDependencies)(g, &d, &a, 1));
  RESULT("nodes of another graph than named", D(cuGraphAddDependencies)(other, &b, &c, 1));
  RESULT("to NULL node", D(cuGraphAddDependencies)(g, &a, &to[3], 1));
  CUgraphNode from2[2] = {b, a}, to2[2] = {c, a};
  RESULT("a good one and a bad one", D(cuGraphAddDependencies)(g, from2, to2, 2));
  D(cuGraphGetEdges)(g, NULL, NULL, &count);
  fact("edges after a good one and a bad one", "%zu", count);
  (void)D(cuGraphAddDependencies)(g, &b, &c, 1);
  RESULT("a cycle", D(cuGraphAddDependencies)(g, &c, &a, 1));
  D(cuGraphGetEdges)(g, NULL, NULL, &count);
  fact("edges after a cycle", "%zu", count);
  count = 8;
  memset(out, -1, sizeof out);
  D(cuGraphGetEdges)(g, out, out2, &count);
  fact("edges: from", "%s", letters(out, count, n, 3));
  fact("edges: to", "%s", letters(out2, count, n, 3));
  CUgraphExec e = NULL;
  CUDA_GRAPH_INSTANTIATE_PARAMS params;
  memset(&params, 0, sizeof params);
  RESULT("instantiate the cycle", D(cuGraphInstantiateWithParams)(&e, g, &params));
  fact("its result", "%d", (int)params.result_out);
  fact("its error node", "%s", letters(&params.hErrNode_out, 1, n, 3));
  RESULT("remove the missing", D(cuGraphRemoveDependencies)(g, &b, &a, 1));
  RESULT("remove a to b", D(cuGraphRemoveDependencies)(g, &a, &b, 1));
  RESULT("remove a to b again", D(cuGraphRemoveDependencies)(g, &a, &b, 1));
  RESULT("remove none", D(cuGraphRemoveDependencies)(g, NULL, NULL, 0));
  RESULT("remove NULL arrays", D(cuGraphRemoveDependencies)(g, NULL, NULL, 1));
  CUgraphNode from3[2] = {b, b}, to3[2] = {c, a};
  RESULT("remove a good one and a bad one", D(cuGraphRemoveDependencies)(g, from3, to3, 2));
  D(cuGraphGetEdges)(g, NULL, NULL, &count);
  fact("edges after removing a good one and a bad one", "%zu", count);
}

static CUgraphNode addKernel(CUgraph g, CUgraphNode before) {
  CUDA_KERNEL_NODE_PARAMS params = kernelNode(kernel("nop"), NULL);
  CUgraphNode node = NULL;
  CUresult result = D(cuGraphAddKernelNode_v2)(&node, g, &before, before ? 1 : 0, &params);
  if (result) RESULT("add a kernel node", result);
  return node;
}

static void edgeData(void) {
  start();
  CUgraph g = newGraph();
  CUgraphNode k = addKernel(g, NULL), k2 = addKernel(g, NULL), e = emptyAfter(g, NULL), out[8], out2[8];
  CUgraphEdgeData data, got[8];
  size_t count;
  memset(&data, 0, sizeof data);
  RESULT("default", D(cuGraphAddDependencies_v2)(g, &k, &e, &data, 1));
  RESULT("remove default by no data", D(cuGraphRemoveDependencies_v2)(g, &k, &e, NULL, 1));
  RESULT("no data", D(cuGraphAddDependencies_v2)(g, &k, &e, NULL, 1));
  data.type = 2;
  RESULT("type 2", D(cuGraphAddDependencies_v2)(g, &k, &k2, &data, 1));
  data.type = 0, data.from_port = 1;
  RESULT("port 1, type 0", D(cuGraphAddDependencies_v2)(g, &k, &k2, &data, 1));
  (void)D(cuGraphRemoveDependencies_v2)(g, &k, &k2, &data, 1);
  data.from_port = 3;
  RESULT("port 3", D(cuGraphAddDependencies_v2)(g, &k, &k2, &data, 1));
  data.from_port = 0, data.to_port = 1;
  RESULT("to port 1", D(cuGraphAddDependencies_v2)(g, &k, &k2, &data, 1));
  data.to_port = 0, data.reserved[2] = 1;
  RESULT("reserved", D(cuGraphAddDependencies_v2)(g, &k, &k2, &data, 1));
  data.reserved[2] = 0, data.from_port = 1, data.type = 1;
  RESULT("programmatic from an empty node", D(cuGraphAddDependencies_v2)(g, &e, &k2, &data, 1));
  RESULT("programmatic from kernel to kernel", D(cuGraphAddDependencies_v2)(g, &k, &k2, &data, 1));
  CUgraphEdgeData plain;
  memset(&plain, 0, sizeof plain);
  RESULT("the default beside it", D(cuGraphAddDependencies_v2)(g, &k, &k2, &plain, 1));
  D(cuGraphGetEdges_v2)(g, NULL, NULL, NULL, &count);
  fact("edges", "%zu", count);
  RESULT("remove with other data", D(cuGraphRemoveDependencies_v2)(g, &k, &k2, &plain, 1));
  D(cuGraphGetEdges_v2)(g, NULL, NULL, NULL, &count);
  fact("edges after it", "%zu", count);
  count = 8;
  RESULT("edges without data", D(cuGraphGetEdges)(g, out, out2, &count));
  count = 8;
  RESULT("edges_v2 without data", D(cuGraphGetEdges_v2)(g, out, out2, NULL, &count));
  count = 8;
  memset(got, -1, sizeof got);
  RESULT("edges with data", D(cuGraphGetEdges_v2)(g, out, out2, got, &count));
  for (size_t i = 0; i < count && i < 4; ++i)
    fact("data of an edge", "%d %d %d", got[i].from_port, got[i].to_port, got[i].type);
  count = 8;
  RESULT("dependencies without data", D(cuGraphNodeGetDependencies)(k2, out, &count));
  count = 8;
  RESULT("dependents without data", D(cuGraphNodeGetDependentNodes)(k, out, &count));
  count = 8;
  RESULT("dependents with data", D(cuGraphNodeGetDependentNodes_v2)(k, out, got, &count));
  count = 8;
  RESULT("dependents with data, no nodes", D(cuGraphNodeGetDependentNodes_v2)(k, NULL, got, &count));
  fact("its count", "%zu", count);
  count = 0;
  RESULT("count only", D(cuGraphNodeGetDependentNodes)(k, NULL, &count));
  fact("count only: count", "%zu", count);
  CUgraphExec exec = NULL;
  RESULT("instantiate", D(cuGraphInstantiateWithFlags)(&exec, g, 0));
  if (exec) RESULT("launch", D(cuGraphLaunch)(exec, 0));
  RESULT("synchronize", D(cuCtxSynchronize)());
}

static void clones(void) {
  start();
  CUgraph g = newGraph(), child = newGraph(), c = NULL, cc = NULL, embedded = NULL;
  CUgraphNode inner = emptyAfter(child, NULL), a = emptyAfter(g, NULL), b, found, childNode, out[8], n[4];
  size_t count = 8;
  b = emptyAfter(g, a);
  D(cuGraphAddChildGraphNode)(&childNode, g, &b, 1, child);
  RESULT("clone", D(cuGraphClone)(&c, g));
  RESULT("clone into NULL", D(cuGraphClone)(NULL, g));
  RESULT("clone NULL", D(cuGraphClone)(&cc, NULL));
  RESULT("find a", D(cuGraphNodeFindInClone)(&found, a, c));
  fact("found is", "%s", found == a ? "the same" : "another");
  n[0] = found;
  D(cuGraphNodeFindInClone)(&n[1], b, c);
  D(cuGraphNodeFindInClone)(&n[2], childNode, c);
  D(cuGraphGetNodes)(c, out, &count);
  fact("nodes of the clone", "%s", letters(out, count, n, 3));
  RESULT("find into NULL", D(cuGraphNodeFindInClone)(NULL, a, c));
  RESULT("find NULL", D(cuGraphNodeFindInClone)(&found, NULL, c));
  RESULT("find in NULL", D(cuGraphNodeFindInClone)(&found, a, NULL));
  found = (CUgraphNode)&count;
  RESULT("find in the original", D(cuGraphNodeFindInClone)(&found, a, g));
  fact("out after it", "%s", found == (CUgraphNode)&count ? "untouched" : found ? "set" : "NULL");
  RESULT("find a node of the child graph given", D(cuGraphNodeFindInClone)(&found, inner, c));
  D(cuGraphChildGraphNodeGetGraph)(childNode, &embedded);
  CUgraphNode inside = NULL;
  count = 1;
  D(cuGraphGetNodes)(embedded, &inside, &count);
  RESULT("find a node of the embedded graph in the whole clone", D(cuGraphNodeFindInClone)(&found, inside, c));
  CUgraph embeddedClone = NULL;
  RESULT("graph of the cloned child node", D(cuGraphChildGraphNodeGetGraph)(n[2], &embeddedClone));
  fact("the embedded graph is", "%s", embeddedClone == embedded ? "the same" : "another");
  RESULT("find it in the embedded clone", D(cuGraphNodeFindInClone)(&found, inside, embeddedClone));
  RESULT("find the given in the embedded graph", D(cuGraphNodeFindInClone)(&found, inner, embedded));
  D(cuGraphClone)(&cc, c);
  RESULT("find the original in a clone of the clone", D(cuGraphNodeFindInClone)(&found, a, cc));
  RESULT("find the clone's in it", D(cuGraphNodeFindInClone)(&found, n[0], cc));
  CUgraphNode late = emptyAfter(g, NULL);
  RESULT("find a node added later", D(cuGraphNodeFindInClone)(&found, late, c));
  RESULT("remove the node from the clone", D(cuGraphDestroyNode)(n[1]));
  RESULT("find what was removed from the clone", D(cuGraphNodeFindInClone)(&found, b, c));
  RESULT("destroy the original", D(cuGraphDestroy)(g));
  catchCrashes();
  RISKY("find a node of the destroyed original", D(cuGraphNodeFindInClone)(&found, a, c));
}

static void children(void) {
  start();
  CUgraph g = newGraph(), child = newGraph(), embedded = NULL, again = NULL;
  CUgraphNode inner = emptyAfter(child, NULL), node = NULL, extra = NULL;
  size_t count;
  RESULT("NULL", D(cuGraphAddChildGraphNode)(&node, g, NULL, 0, NULL));
  RESULT("add", D(cuGraphAddChildGraphNode)(&node, g, NULL, 0, child));
  RESULT("get", D(cuGraphChildGraphNodeGetGraph)(node, &embedded));
  fact("the graph is", "%s", embedded == child ? "the same" : "another");
  RESULT("get into NULL", D(cuGraphChildGraphNodeGetGraph)(node, NULL));
  D(cuGraphChildGraphNodeGetGraph)(node, &again);
  fact("asked again", "%s", YES(again == embedded));
  extra = emptyAfter(g, NULL);
  RESULT("get of an empty node", D(cuGraphChildGraphNodeGetGraph)(extra, &again));
  RESULT("add to the graph given", D(cuGraphAddEmptyNode)(&extra, child, &inner, 1));
  D(cuGraphGetNodes)(embedded, NULL, &count);
  fact("nodes of the embedded graph", "%zu", count);
  RESULT("add to the embedded graph", D(cuGraphAddEmptyNode)(&extra, embedded, NULL, 0));
  RESULT("destroy the graph given", D(cuGraphDestroy)(child));
  D(cuGraphGetNodes)(embedded, NULL, &count);
  fact("nodes of the embedded graph after it", "%zu", count);
  RESULT("destroy the embedded graph", D(cuGraphDestroy)(embedded));
  RESULT("the embedded graph as child elsewhere", D(cuGraphAddChildGraphNode)(&extra, newGraph(), NULL, 0, embedded));
  RESULT("the embedded graph as child of its parent", D(cuGraphAddChildGraphNode)(&extra, g, NULL, 0, embedded));
  CUgraphExec exec = NULL;
  RESULT("instantiate the embedded graph", D(cuGraphInstantiateWithFlags)(&exec, embedded, 0));
  RESULT("clone the embedded graph", D(cuGraphClone)(&again, embedded));
  CUgraphNodeParams generic;
  memset(&generic, 0, sizeof generic);
  generic.type = CU_GRAPH_NODE_TYPE_GRAPH;
  generic.graph.graph = newGraph();
  CUgraph mine = generic.graph.graph;
  generic.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  RESULT("add by moving", D(cuGraphAddNode)(&node, g, NULL, 0, &generic));
  fact("the graph given back", "%s",
       generic.graph.graph == mine ? "the same"
       : generic.graph.graph       ? "another"
                                   : "NULL");
  if (node) D(cuGraphChildGraphNodeGetGraph)(node, &again);
  fact("the moved graph is", "%s", again == mine ? "the same" : "another");
  RESULT("destroy the moved graph", D(cuGraphDestroy)(mine));
  memset(&generic, 0, sizeof generic);
  generic.type = CU_GRAPH_NODE_TYPE_GRAPH;
  generic.graph.graph = newGraph();
  generic.graph.ownership = (CUgraphChildGraphNodeOwnership)2;
  RESULT("ownership 2", D(cuGraphAddNode)(&node, g, NULL, 0, &generic));
  generic.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
  mine = generic.graph.graph;
  RESULT("ownership clone", D(cuGraphAddNode)(&node, g, NULL, 0, &generic));
  fact("after clone: the graph given back", "%s", generic.graph.graph == mine ? "the same" : "another");
  catchCrashes();
  RISKY("itself", D(cuGraphAddChildGraphNode)(&node, mine, NULL, 0, mine));
}

static int destroyed;
static void CUDA_CB destroyObject(void* data) { destroyed += *(int*)data; }
static int settled(void) {
  for (int i = 0; i < 200 && !destroyed; ++i) {
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
  return destroyed;
}

static void userObjects(void) {
  start();
  CUuserObject o = NULL;
  CUgraph g = newGraph(), c;
  int one = 1;
  RESULT("no sync flag", D(cuUserObjectCreate)(&o, &one, destroyObject, 1, 0));
  RESULT("flags 3", D(cuUserObjectCreate)(&o, &one, destroyObject, 1, 3));
  RESULT("into NULL", D(cuUserObjectCreate)(NULL, &one, destroyObject, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  RESULT("no destructor", D(cuUserObjectCreate)(&o, &one, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  RESULT("no pointer", D(cuUserObjectCreate)(&o, NULL, destroyObject, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  RESULT("count 0", D(cuUserObjectCreate)(&o, &one, destroyObject, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  RESULT("count INT_MAX + 1", D(cuUserObjectCreate)(&o, &one, destroyObject, 0x80000000u, 1));
  RESULT("create 2", D(cuUserObjectCreate)(&o, &one, destroyObject, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  RESULT("retain 0", D(cuUserObjectRetain)(o, 0));
  RESULT("retain 1", D(cuUserObjectRetain)(o, 1));
  RESULT("retain INT_MAX + 1", D(cuUserObjectRetain)(o, 0x80000000u));
  RESULT("retain NULL", D(cuUserObjectRetain)(NULL, 1));
  RESULT("release 0", D(cuUserObjectRelease)(o, 0));
  RESULT("release 2", D(cuUserObjectRelease)(o, 2));
  RESULT("graph retains 0", D(cuGraphRetainUserObject)(g, o, 0, 0));
  RESULT("graph retains NULL", D(cuGraphRetainUserObject)(g, NULL, 1, 0));
  RESULT("NULL graph retains", D(cuGraphRetainUserObject)(NULL, o, 1, 0));
  RESULT("graph retains, flags 2", D(cuGraphRetainUserObject)(g, o, 1, 2));
  RESULT("graph retains 1", D(cuGraphRetainUserObject)(g, o, 1, 0));
  RESULT("graph takes 1", D(cuGraphRetainUserObject)(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
  RESULT("graph releases 0", D(cuGraphReleaseUserObject)(g, o, 0));
  RESULT("graph releases 3", D(cuGraphReleaseUserObject)(g, o, 3));
  RESULT("graph releases 1", D(cuGraphReleaseUserObject)(g, o, 1));
  fact("destroyed", "%d", destroyed);
  RESULT("clone", D(cuGraphClone)(&c, g));
  D(cuGraphDestroy)(g);
  fact("destroyed with the original", "%d", destroyed);
  CUgraphExec e = instantiated(c);
  D(cuGraphDestroy)(c);
  fact("destroyed with the clone", "%d", destroyed);
  RESULT("destroy the executable", D(cuGraphExecDestroy)(e));
  fact("destroyed with the executable", "%d", settled());
  destroyed = 0;
  D(cuUserObjectCreate)(&o, &one, destroyObject, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  RESULT("release the last", D(cuUserObjectRelease)(o, 1));
  fact("destroyed by releasing", "%d", settled());
  catchCrashes();
  D(cuUserObjectCreate)(&o, &one, destroyObject, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  g = newGraph();
  RISKY("graph takes 5 of 1", D(cuGraphRetainUserObject)(g, o, 5, CU_GRAPH_USER_OBJECT_MOVE));
  RISKY("release 5 of 1", D(cuUserObjectRelease)(o, 5));
  RISKY("release what is gone", D(cuUserObjectRelease)(o, 1));
  RISKY("release garbage", D(cuUserObjectRelease)((CUuserObject)(uintptr_t)0x1000, 1));
}

const Group kGraphGroups[] = {{"graphs.structure", structure},
                              {"graphs.edges", edges},
                              {"graphs.edge-data", edgeData},
                              {"graphs.clones", clones},
                              {"graphs.children", children},
                              {"graphs.user-objects", userObjects},
                              {NULL, NULL}};
