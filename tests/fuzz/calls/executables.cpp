// What nodes of graphs do, and graphs made executable: instantiated, launched, updated.
#include "families.h"
#include "graphs.h"
#include "launches.h"

namespace calls {
namespace {

void instantiate() {
  const Named<CUgraph> graph = graphs.any();
  const int slot = executables.unused();
  if (!graph || slot < 0) return;
  const unsigned long long flags = given("flags", chance(75) ? 0 : below(chance(90) ? 16 : 40));
  CUgraphExec executable = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  CUresult result;
  const bool explained = chance(40);
  if (explained) {
    parameters.flags = flags;
    parameters.hUploadStream = given("stream", anyStream());
    result = RECORD(cuGraphInstantiateWithParams, &executable, given("graph", graph), &parameters);
  } else {
    result = RECORD(cuGraphInstantiateWithFlags, &executable, given("graph", graph), flags);
  }
  if (result == CUDA_SUCCESS) {
    cuuint64_t now = 0;
    CALL(cuGraphExecGetFlags, executable, &now);
    output("flags", now);
    executables.put(slot, executable);
  }
  if (explained)
    outputAlways("because", text(parameters.result_out) + "," + NodesOf(graph).nameOf(parameters.hErrNode_out));
  settle();
}

void launch(const Named<CUgraphExec>& executable) {
  RECORD(cuGraphLaunch, given("executable", executable), given("stream", anyStream()));
  settle();
}

void upload(const Named<CUgraphExec>& executable) {
  RECORD(cuGraphUpload, given("executable", executable), given("stream", anyStream()));
  settle();
}

void update(const Named<CUgraphExec>& executable) {
  const Named<CUgraph> graph = graphs.any();
  if (!graph) return;
  CUgraphExecUpdateResultInfo info{};
  RECORD(cuGraphExecUpdate, given("executable", executable), given("graph", graph), &info);
  const NodesOf nodes(graph);
  outputAlways("because",
               text(info.result) + "," + nodes.nameOf(info.errorNode) + "," + nodes.nameOf(info.errorFromNode));
}

void destroy(const Named<CUgraphExec>& executable) {
  if (chance(60)) return;
  settle();
  if (RECORD(cuGraphExecDestroy, given("executable", executable)) == CUDA_SUCCESS) executables.remove(executable);
}

void useSwitch(const Named<CUgraphExec>& executable) {
  const Named<CUgraph> graph = graphs.any();
  const Node node = graph ? NodesOf(graph).likely(CU_GRAPH_NODE_TYPE_KERNEL) : Node{};
  if (!node) return;
  if (chance(50)) {
    unsigned enabled = 0;
    RECORD(cuGraphNodeGetEnabled, given("executable", executable), given("node", node), &enabled);
    return output("enabled", enabled);
  }
  RECORD(cuGraphNodeSetEnabled, given("executable", executable), given("node", node),
         given("enabled", static_cast<unsigned>(below(3))));
}

}  // namespace

CUDA_MEMSET_NODE_PARAMS drawFill() {
  CUDA_MEMSET_NODE_PARAMS fill{};
  Pointer target = devicePointer(3);
  fill.elementSize = mostly(90, {1u, 2u, 4u}, {0u, 3u, 8u});
  fill.height = chance(60) ? 1 : below(5);
  fill.width = below(30);
  fill.pitch = chance(70) ? fill.width * fill.elementSize + 4 * below(4) : below(50);
  fill.value = static_cast<unsigned>(below(chance(70) ? 200 : 100000));
  if (chance(85)) target.alignTo(4);
  fill.dst = target.address;
  if (!target.null() && target.room < 400) tag("short memory");
  describe("target", target.name);
  describe("fill", list(fill.pitch, fill.elementSize, fill.width, fill.height, fill.value));
  return fill;
}

bool drawCopy(CUDA_MEMCPY3D& copy) {
  const Pointer source = anyPointer(1), target = anyPointer(1);
  if (source.slot == target.slot || source.room < 1000 || target.room < 1000) return false;
  const auto typeOf = [](const Pointer& pointer) {
    return pointer.onHost() ? CU_MEMORYTYPE_HOST : chance(85) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
  };
  copy = {};
  copy.WidthInBytes = 1 + below(60);
  copy.Height = chance(60) ? 1 : below(4);
  copy.Depth = chance(70) ? 1 : below(3);
  copy.srcMemoryType = typeOf(source);
  copy.srcHost = source.host();
  copy.srcDevice = source.address;
  copy.srcPitch = copy.WidthInBytes + oneOf<size_t>({0, 0, 4, ~size_t{0}});
  copy.srcHeight = copy.Height + mostly<size_t>(90, {0}, {1});
  copy.dstMemoryType = typeOf(target);
  copy.dstHost = target.host();
  copy.dstDevice = target.address;
  copy.dstPitch = copy.WidthInBytes + oneOf<size_t>({0, 0, 4});
  copy.dstHeight = copy.Height;
  if (wrong("memory type", 3)) copy.srcMemoryType = static_cast<CUmemorytype>(0);
  describe("source", source.name + "," + list(copy.srcMemoryType, copy.srcPitch, copy.srcHeight));
  describe("target", target.name + "," + list(copy.dstMemoryType, copy.dstPitch, copy.dstHeight));
  describe("box", list(copy.WidthInBytes, copy.Height, copy.Depth));
  return true;
}

CUDA_KERNEL_NODE_PARAMS drawKernel(const Named<CUfunction>& function) {
  const Shape shape = anyShape();
  describe("function", nameOf(function));
  describe("shape", text(shape));
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = function.object;
  kernel.gridDimX = shape.grid[0];
  kernel.gridDimY = shape.grid[1];
  kernel.gridDimZ = shape.grid[2];
  kernel.blockDimX = shape.block[0];
  kernel.blockDimY = shape.block[1];
  kernel.blockDimZ = shape.block[2];
  kernel.sharedMemBytes = shape.shared;
  return kernel;
}

void callExecutables() {
  const Named<CUgraphExec> executable = executables.any();
  if (!executable || chance(25)) return instantiate();
  using Use = void (*)(const Named<CUgraphExec>&);
  oneOf<Use>({launch, launch, launch, upload, update, update, destroy, useSwitch, useSwitch})(executable);
}

}  // namespace calls
