// Nodes: added, asked and changed.
#include <cstring>

#include "families.h"
#include "graphs.h"
#include "launches.h"

namespace calls {
namespace {

using Graph = Named<CUgraph>;

// The node is read when the call has been made.
CUresult keepNode(const Graph& graph, CUresult result, const CUgraphNode& node) {
  if (result == CUDA_SUCCESS && node) NodesOf(graph).all().push_back(node);
  return result;
}

// --- added

void addEmpty(const Graph& graph) {
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddEmptyNode, out("node", &node, 3), given("graph", graph), after.nodes, after.count),
           node);
}

void addKernel(const Graph& graph) {
  const Named<CUfunction> function = functions.any();
  if (!function) return;
  KernelArguments arguments(nameOf(function));
  if (!arguments.possible()) return;
  CUDA_KERNEL_NODE_PARAMS kernel = drawKernel(function);
  kernel.kernelParams = !arguments.stores() && wrong("no arguments", 4) ? nullptr : arguments.list();
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddKernelNode, &node, given("graph", graph), after.nodes, after.count, &kernel), node);
}

void addFill(const Graph& graph) {
  const CUDA_MEMSET_NODE_PARAMS fill = drawFill();
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph,
           RECORD(cuGraphAddMemsetNode, &node, given("graph", graph), after.nodes, after.count, &fill,
                  wrong("no context", 5) ? nullptr : primary),
           node);
}

void addCopy(const Graph& graph) {
  CUDA_MEMCPY3D copy;
  if (!drawCopy(copy)) return;
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddMemcpyNode, &node, given("graph", graph), after.nodes, after.count, &copy, primary),
           node);
}

void addHost(const Graph& graph) {
  const CUDA_HOST_NODE_PARAMS host{wrong("no function", 5) ? nullptr : doNothing, nullptr};
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddHostNode, &node, given("graph", graph), after.nodes, after.count, &host), node);
}

void addChild(const Graph& graph) {  // a graph in itself ends the vendor's library
  const Graph child = graphs.any();
  if (child.slot == graph.slot) return;
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(
      graph,
      RECORD(cuGraphAddChildGraphNode, &node, given("graph", graph), after.nodes, after.count, given("child", child)),
      node);
}

void addEvent(const Graph& graph) {
  const Named<CUevent> event = events.any();
  if (!event) return createEvent();
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  const CUresult result = chance(50) ? RECORD(cuGraphAddEventWaitNode, &node, given("graph", graph), after.nodes,
                                              after.count, given("event", event))
                                     : RECORD(cuGraphAddEventRecordNode, &node, given("graph", graph), after.nodes,
                                              after.count, given("event", event));
  keepNode(graph, result, node);
}

void addAllocation(const Graph& graph) {
  CUDA_MEM_ALLOC_NODE_PARAMS memory{};
  memory.poolProps.allocType = static_cast<CUmemAllocationType>(mostly(93, {1}, {0, 2}));
  memory.poolProps.location.type = static_cast<CUmemLocationType>(mostly(92, {1}, {0, 2, 3, 4}));
  memory.poolProps.location.id = mostly(95, {0}, {1});
  memory.poolProps.handleTypes = static_cast<CUmemAllocationHandleType>(mostly(93, {0}, {1}));
  memory.bytesize = wrong("no bytes", 7) ? 0 : 1 + anySize();
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, mostly(90, {0}, {1})},
                               static_cast<CUmemAccess_flags>(oneOf({3, 3, 1, 0}))};
  describe("memory", list(memory.poolProps.allocType, memory.poolProps.handleTypes, memory.bytesize) + "," +
                         text(memory.poolProps.location));
  if (chance(30)) {
    memory.accessDescs = &access;
    memory.accessDescCount = 1;
    describe("access", text(access.location) + "=" + text(access.flags));
  }
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  if (keepNode(graph, RECORD(cuGraphAddMemAllocNode, &node, given("graph", graph), after.nodes, after.count, &memory),
               node))
    return;
  allocationOf(graph) = memory.dptr;
  uint64_t value[4] = {};
  const auto attribute = static_cast<CUpointer_attribute>(oneOf({2, 8, 9, 12, 13, 14, 16}));
  output("attribute", attribute);
  output("answer", CALL(cuPointerGetAttribute, value, attribute, memory.dptr));
  output("value", pointerAttribute(attribute, value));
}

void addFree(const Graph& graph) {
  CUdeviceptr address = allocationOf(graph);
  if (!address || chance(10)) address = given("memory", pointerOf(Kind::Device, 20));
  if (wrong("inside", 5)) address += 1;
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddMemFreeNode, &node, given("graph", graph), after.nodes, after.count, address), node);
}

void addConditional(const Graph& graph) {  // never one that repeats
  CUgraphConditionalHandle handle = 0;
  if (RECORD(cuGraphConditionalHandleCreate, &handle, given("graph", graph), primary, static_cast<unsigned>(below(3)),
             given("flags", static_cast<unsigned>(below(3)))))
    return;
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.handle = handle;
  parameters.conditional.type = static_cast<CUgraphConditionalNodeType>(mostly(93, {0, 2}, {3}));
  parameters.conditional.size = mostly(80, {1u}, {0u, 2u, 3u});
  parameters.conditional.ctx = primary;
  describe("conditional", list(parameters.conditional.type, parameters.conditional.size));
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddNode, &node, given("graph", graph), after.nodes, nullptr, after.count, &parameters),
           node);
  output("body", parameters.conditional.phGraph_out != nullptr);
}

void addBatch(const Graph& graph) {
  Pointer pointer = pointerOf(Kind::Device, 3);
  pointer.alignTo(8);
  if (!pointer.null() && pointer.room < 16) return;
  CUstreamBatchMemOpParams operation;
  std::memset(&operation, 0, sizeof operation);
  operation.operation = static_cast<CUstreamBatchMemOpType>(mostly(90, {2, 5}, {0, 6, 3}));
  if (operation.operation == CU_STREAM_MEM_OP_BARRIER)
    operation.memoryBarrier.flags = static_cast<unsigned>(below(2));
  else
    operation.writeValue.address = pointer.address;
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch{};
  batch.ctx = wrong("no context", 7) ? nullptr : primary;
  batch.count = mostly(93, {1u}, {0u});
  batch.flags = mostly(93, {0u}, {1u});
  batch.paramArray = &operation;
  describe("batch", text(operation.operation) + "," + pointer.name + "," + list(batch.count, batch.flags));
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddBatchMemOpNode, &node, given("graph", graph), after.nodes, after.count, &batch),
           node);
}

// --- by the structure of all kinds

bool drawParameters(CUgraphNodeParams& parameters) {
  parameters = {};
  parameters.type = static_cast<CUgraphNodeType>(mostly(92, {1, 2, 3, 5, 6, 7}, {14, -1, 100, 12}));
  describe("kind", text(parameters.type));
  const bool noContext = wrong("no context", 20);
  const CUcontext context = noContext ? nullptr : primary;
  const Named<CUevent> event = events.any();
  switch (parameters.type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (!drawCopy(parameters.memcpy.copyParams)) return false;
      parameters.memcpy.copyCtx = context;
      parameters.memcpy.flags = mostly(90, {0}, {1});
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS fill = drawFill();
      parameters.memset = {fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height, context};
      break;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      parameters.host.fn = doNothing;
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      if (!event) return false;
      parameters.eventRecord.event = given("event", event);
      break;
    default:
      break;
  }
  if (wrong("reserved", 4)) parameters.reserved2 = 1;
  if (wrong("reserved at first", 3)) parameters.reserved0[1] = 1;
  return true;
}

void addAny(const Graph& graph) {
  CUgraphNodeParams parameters;
  if (!drawParameters(parameters)) return;
  CUgraphNode node = nullptr;
  const Dependencies after = givenDependencies(NodesOf(graph));
  keepNode(graph, RECORD(cuGraphAddNode, &node, given("graph", graph), after.nodes, nullptr, after.count, &parameters),
           node);
}

void setAny(const Graph& graph) {
  CUgraphNodeParams parameters;
  const Node node = NodesOf(graph).any();
  const Named<CUgraphExec> executable = executables.any();
  if (!node || !drawParameters(parameters)) return;
  if (executable && chance(50))
    RECORD(cuGraphExecNodeSetParams, given("executable", executable), given("node", node), &parameters);
  else
    RECORD(cuGraphNodeSetParams, given("node", node), &parameters);
}

// --- asked

void askParameters(const Graph& graph) {
  const auto kind = static_cast<CUgraphNodeType>(oneOf({0, 1, 2, 3, 4, 6, 7, 10}));
  const Node node = NodesOf(graph).likely(kind);
  if (!node) return;
  const CUgraphNode object = given("node", node);
  switch (kind) {
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS fill{};
      RECORD(cuGraphMemsetNodeGetParams, object, &fill);
      return output("fill",
                    where(fill.dst) + "," + list(fill.pitch, fill.value, fill.elementSize, fill.width, fill.height));
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      CUDA_MEMCPY3D copy{};
      RECORD(cuGraphMemcpyNodeGetParams, object, &copy);
      output("source", where(copy.srcDevice) + "," + list(copy.srcMemoryType, copy.srcPitch, copy.srcHeight));
      output("target", where(copy.dstDevice) + "," + list(copy.dstMemoryType, copy.dstPitch, copy.dstHeight));
      return output("box", list(copy.WidthInBytes, copy.Height, copy.Depth));
    }
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS kernel{};
      RECORD(cuGraphKernelNodeGetParams, object, &kernel);
      output("grid", list(kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ));
      output("block", list(kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ));
      return output("some", list(kernel.sharedMemBytes, int{kernel.kernelParams != nullptr},
                                 int{kernel.extra != nullptr}, int{kernel.kern != nullptr}));
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      RECORD(cuGraphChildGraphNodeGetGraph, object, &child);
      return output("some", child != nullptr);
    }
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      CUevent event = nullptr;
      RECORD(cuGraphEventRecordNodeGetEvent, object, &event);
      return output("event", events.nameOf(event));
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
      CUevent event = nullptr;
      RECORD(cuGraphEventWaitNodeGetEvent, object, &event);
      return output("event", events.nameOf(event));
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS memory{};
      RECORD(cuGraphMemAllocNodeGetParams, object, &memory);
      return output("memory", list(memory.bytesize, memory.accessDescCount, memory.poolProps.allocType,
                                   memory.poolProps.handleTypes, memory.poolProps.maxSize));
    }
    default: {
      CUDA_HOST_NODE_PARAMS host{};
      RECORD(cuGraphHostNodeGetParams, object, &host);
      return output("same", host.fn == doNothing);
    }
  }
}

void useAttribute(const Graph& graph) {
  const Node node = NodesOf(graph).likely(CU_GRAPH_NODE_TYPE_KERNEL);
  if (!node) return;
  const int attribute = mostly(95, {0, 2, 3, 4, 5, 6, 8, 9, 10, 11, 14, 15, 16}, {18});
  CUkernelNodeAttrValue value{};
  if (chance(50)) {
    RECORD(cuGraphKernelNodeGetAttribute, given("node", node), givenAs<CUkernelNodeAttrID>("attribute", attribute),
           &value);
    return output("value", text(attribute, value));
  }
  std::string drawn;
  drawAttribute(attribute, value, drawn);
  describe("value", drawn);
  RECORD(cuGraphKernelNodeSetAttribute, given("node", node), givenAs<CUkernelNodeAttrID>("attribute", attribute),
         &value);
}

// --- changed, in a graph or in an executable one

void setFill(const Graph& graph) {
  const Node node = NodesOf(graph).likely(CU_GRAPH_NODE_TYPE_MEMSET);
  const Named<CUgraphExec> executable = executables.any();
  if (!node) return;
  const CUDA_MEMSET_NODE_PARAMS fill = drawFill();
  if (executable && chance(50))
    RECORD(cuGraphExecMemsetNodeSetParams, given("executable", executable), given("node", node), &fill, primary);
  else
    RECORD(cuGraphMemsetNodeSetParams, given("node", node), &fill);
}

void setCopy(const Graph& graph) {
  const Node node = NodesOf(graph).likely(CU_GRAPH_NODE_TYPE_MEMCPY);
  const Named<CUgraphExec> executable = executables.any();
  CUDA_MEMCPY3D copy;
  if (!node || !drawCopy(copy)) return;
  if (executable && chance(50))
    RECORD(cuGraphExecMemcpyNodeSetParams, given("executable", executable), given("node", node), &copy, primary);
  else
    RECORD(cuGraphMemcpyNodeSetParams, given("node", node), &copy);
}

void setKernel(const Graph& graph) {
  const Node node = NodesOf(graph).likely(CU_GRAPH_NODE_TYPE_KERNEL);
  const Named<CUgraphExec> executable = executables.any();
  const Named<CUfunction> function = functions.any();
  if (!node || !function) return;
  KernelArguments arguments(nameOf(function));
  if (!arguments.possible()) return;
  CUDA_KERNEL_NODE_PARAMS kernel = drawKernel(function);
  kernel.kernelParams = arguments.list();
  if (executable && chance(50))
    RECORD(cuGraphExecKernelNodeSetParams, given("executable", executable), given("node", node), &kernel);
  else
    RECORD(cuGraphKernelNodeSetParams, given("node", node), &kernel);
}

}  // namespace

void callGraphNodes() {
  const Graph graph = graphs.any();
  if (!graph) return callGraphs();
  using Use = void (*)(const Graph&);
  oneOf<Use>({addEmpty,       addEmpty,      addKernel,    addKernel, addFill,  addFill,       addCopy,
              addCopy,        addHost,       addChild,     addEvent,  addEvent, addAllocation, addFree,
              addConditional, addBatch,      addAny,       addAny,    setAny,   setAny,        askParameters,
              askParameters,  askParameters, useAttribute, setFill,   setCopy,  setKernel})(graph);
}

}  // namespace calls
