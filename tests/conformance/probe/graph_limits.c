// Graphs where the manual says little: graphs that move into themselves or are captured into, nodes in the bodies of
// conditional nodes, addresses of graph memory, memory of graphs that are gone.
#include "graphs.h"

static CUresult addMemory(CUgraph graph, CUgraphNode before, CUgraphNode* node, CUdeviceptr* address) {
  CUDA_MEM_ALLOC_NODE_PARAMS params;
  memset(&params, 0, sizeof params);
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.poolProps.location.id = device;
  params.bytesize = 4096;
  CUresult result = D(cuGraphAddMemAllocNode)(node, graph, &before, before ? 1 : 0, &params);
  *address = params.dptr;
  return result;
}

static CUresult moveInto(CUgraph parent, CUgraph child) {
  CUgraphNode node;
  CUgraphNodeParams any;
  memset(&any, 0, sizeof any);
  any.type = CU_GRAPH_NODE_TYPE_GRAPH;
  any.graph.graph = child;
  any.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  return D(cuGraphAddNode_v2)(&node, parent, NULL, NULL, 0, &any);
}

static void bodies(void) {
  start();
  CUgraph graph = newGraph();
  CUgraphConditionalHandle handle = 0;
  CUgraphNodeParams any;
  CUgraphNode node, fill, alloc;
  CUdeviceptr p = 0, q;
  CUgraphExec exec = NULL;
  D(cuMemAlloc_v2)(&p, 64);
  memset(&any, 0, sizeof any);
  any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  D(cuGraphConditionalHandleCreate)(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  any.conditional.handle = handle;
  any.conditional.type = CU_GRAPH_COND_TYPE_IF;
  any.conditional.size = 1;
  any.conditional.ctx = context;
  RESULT("conditional", D(cuGraphAddNode_v2)(&node, graph, NULL, NULL, 0, &any));
  CUgraph body = any.conditional.phGraph_out[0];
  CUDA_MEMSET_NODE_PARAMS f = byteFill(p, 1, 64);
  D(cuGraphAddMemsetNode)(&fill, body, NULL, 0, &f, context);
  RESULT("allocation in a body", addMemory(body, NULL, &alloc, &q));
  RESULT("free in a body", D(cuGraphAddMemFreeNode)(&alloc, body, NULL, 0, p));
  RESULT("instantiate", D(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  f = byteFill(p, 2, 64);
  RESULT("parameters of a node in a body", D(cuGraphExecMemsetNodeSetParams)(exec, fill, &f, context));
  RESULT("switch off a node in a body", D(cuGraphNodeSetEnabled)(exec, fill, 0));
  RESULT("switch on a node in a body", D(cuGraphNodeSetEnabled)(exec, fill, 1));
  RESULT("launch", D(cuGraphLaunch)(exec, 0));
  RESULT("synchronize", D(cuCtxSynchronize)());
  unsigned char byte = 0;
  D(cuMemcpyDtoH_v2)(&byte, p, 1);
  fact("filled with", "%d", byte);
}

static void moves(void) {
  start();
  catchCrashes();
  CUgraph graph = newGraph(), child = newGraph(), other = newGraph(), embedded = NULL;
  CUgraphNode node;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  D(cuGraphAddChildGraphNode)(&node, graph, NULL, 0, child);
  D(cuGraphChildGraphNodeGetGraph)(node, &embedded);
  RISKY("a graph into the graph of its node", moveInto(embedded, graph));
  D(cuStreamBeginCaptureToGraph)(s, other, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
  RISKY("a graph that is captured into", moveInto(newGraph(), other));
  RISKY("a clone of it", D(cuGraphAddChildGraphNode)(&node, newGraph(), NULL, 0, other));
  RISKY("end", D(cuStreamEndCapture)(s, &other));
}

static void addresses(void) {
  start();
  CUgraph graph = newGraph(), user = newGraph();
  CUgraphNode a, b, f1, f2, n;
  CUdeviceptr p, q, r;
  CUgraphExec exec;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  addMemory(graph, NULL, &a, &p);
  D(cuGraphAddMemFreeNode)(&f1, graph, &a, 1, p);
  addMemory(graph, f1, &b, &q);
  fact("after its free", "%s", YES(p == q));
  D(cuGraphAddMemFreeNode)(&f2, graph, NULL, 0, q);
  addMemory(graph, f1, &n, &r);
  fact("after the first free only", "%s", YES(r == p));
  addMemory(graph, f2, &n, &r);
  fact("after the second free only", "%s", YES(r == p));

  graph = newGraph();
  addMemory(graph, NULL, &a, &p);
  exec = instantiated(graph);
  RESULT("launch", D(cuGraphLaunch)(exec, s));
  RESULT("destroy the executable", D(cuGraphExecDestroy)(exec));
  RESULT("destroy the graph", D(cuGraphDestroy)(graph));
  CUDA_MEMSET_NODE_PARAMS f = byteFill(p, 5, 4096);
  RESULT("fill of memory whose graph is gone", D(cuGraphAddMemsetNode)(&n, user, NULL, 0, &f, context));
  RESULT("free of it", D(cuGraphAddMemFreeNode)(&f1, user, &n, 1, p));
  exec = instantiated(user);
  fact("instantiated", "%s", YES(exec));
  RESULT("launch", D(cuGraphLaunch)(exec, s));
  RESULT("free it again", D(cuMemFreeAsync)(p, s));
  RESULT("synchronize", D(cuStreamSynchronize)(s));
}

const Group kGraphLimitGroups[] = {
    {"graph-bodies", bodies}, {"graph-moves", moves}, {"graph-addresses", addresses}, {NULL, NULL}};
