// Which graphs may be instantiated for launches from kernels.
#include <cstdlib>
#include <cstring>

#include "host.h"

namespace {

constexpr uint64_t kForDevice = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;

void ask(const char* fact, CUgraph graph, CUgraphNode suspect = nullptr, uint64_t flags = kForDevice) {
  say(fact, "%s", refusal(graph, flags, suspect).c_str());
}

CUgraph withKernel() { return graphOf(add, sum, 1); }

void nodes(int) {
  CUgraphNode node;
  CUgraph graph = newGraph();
  ask("empty", graph);
  MUST(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, newGraph()));
  ask("empty child", graph, node);
  graph = newGraph();
  MUST(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  ask("empty node alone", graph, node);
  addKernel(graph, {}, add, sum, 1);
  ask("empty node and kernel", graph, node);
  ask("kernel", withKernel());
  const CUgraph withHost = withKernel();
  const CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
  MUST(cuGraphAddHostNode(&node, withHost, nullptr, 0, &host));
  ask("host node", withHost, node);
  graph = withKernel();
  MUST(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, withHost));
  ask("child with host node", graph, node);
  graph = newGraph();
  MUST(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, withKernel()));
  ask("child with kernel", graph);
  CUevent event;
  MUST(cuEventCreate(&event, 0));
  graph = withKernel();
  MUST(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event));
  ask("event record", graph, node);
  graph = withKernel();
  MUST(cuGraphAddEventWaitNode(&node, graph, nullptr, 0, event));
  ask("event wait", graph, node);
  graph = withKernel();
  CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
  alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  alloc.bytesize = 4096;
  MUST(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &alloc));
  ask("allocation", graph, node);
  CUgraphNode freed;
  MUST(cuGraphAddMemFreeNode(&freed, graph, &node, 1, alloc.dptr));
  ask("allocation and free", graph, node);
  graph = withKernel();
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = at(sum);
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch{context, 1, &operation, 0};
  MUST(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &batch));
  ask("memory operations", graph, node);
}

void copies(int) {
  void *pinned, *combined;
  CUdeviceptr managed;
  CUarray array;
  MUST(cuMemHostAlloc(&pinned, 4096, 0));
  MUST(cuMemHostAlloc(&combined, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED));
  MUST(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  const CUDA_ARRAY_DESCRIPTOR descriptor{16, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  MUST(cuArrayCreate(&array, &descriptor));
  void *const pageable = std::calloc(1, 4096), *const registered = std::aligned_alloc(4096, 4096);
  std::memset(registered, 0, 4096);
  MUST(cuMemHostRegister(registered, 4096, 0));
  const auto copy = [&](const std::string& fact, const CUDA_MEMCPY3D& params) {
    const CUgraph graph = newGraph();
    CUgraphNode node;
    MUST(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &params, context));
    ask(fact.c_str(), graph, node);
  };
  const CUDA_MEMCPY3D plain = copyOf(sum, sum + 64, 64);
  copy("copy on the device", plain);
  CUDA_MEMCPY3D now = plain;
  now.Height = 4;
  now.srcPitch = now.dstPitch = 512;
  copy("copy of rows", now);
  const auto host = [&](const std::string& name, void* memory) {
    CUDA_MEMCPY3D from = plain, to = plain;
    from.srcMemoryType = to.dstMemoryType = CU_MEMORYTYPE_HOST;
    from.srcHost = to.dstHost = memory;
    copy("copy from " + name, from);
    copy("copy to " + name, to);
  };
  host("page-locked", pinned);
  host("write-combined", combined);
  host("registered", registered);
  host("pageable", pageable);
  host("managed as host", reinterpret_cast<void*>(managed));
  const auto from = [&](const std::string& name, CUmemorytype type, CUdeviceptr memory) {
    CUDA_MEMCPY3D params = plain;
    params.srcMemoryType = type;
    params.srcDevice = memory;
    copy("copy from " + name, params);
  };
  from("managed", CU_MEMORYTYPE_DEVICE, managed);
  from("pageable, unified", CU_MEMORYTYPE_UNIFIED, at(pageable));
  from("page-locked, unified", CU_MEMORYTYPE_UNIFIED, at(pinned));
  from("page-locked as device", CU_MEMORYTYPE_DEVICE, at(pinned));
  now = plain;
  now.srcMemoryType = now.dstMemoryType = CU_MEMORYTYPE_HOST;
  now.srcHost = pinned;
  now.dstHost = static_cast<char*>(pinned) + 64;
  copy("copy within page-locked", now);
  now = plain;
  now.WidthInBytes = 16;
  now.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  now.srcArray = array;
  copy("copy from an array", now);
  now = plain;
  now.WidthInBytes = 16;
  now.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  now.dstArray = array;
  copy("copy to an array", now);
  const auto fill = [&](const char* fact, const CUDA_MEMSET_NODE_PARAMS& params) {
    const CUgraph graph = newGraph();
    CUgraphNode node;
    MUST(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, context));
    ask(fact, graph, node);
  };
  fill("fill", fillOf(sum, 64));
  fill("fill of rows", fillOf(sum, 64, 4));
  fill("fill of page-locked", fillOf(pinned, 64));
  fill("fill of managed", fillOf(reinterpret_cast<void*>(managed), 64));
}

void kernels(int) {
  Play play;
  play.note(1);
  const auto kernel = [](const char* fact, const KernelParams& params, uint64_t flags) {
    const CUgraph graph = newGraph();
    ask(fact, graph, addKernel(graph, {}, params), flags);
  };
  kernel("launches kernels", kernelOf(parent, sum), kForDevice);
  kernel("launches kernels, for the host", kernelOf(parent, sum), 0);
  kernel("launches graphs", kernelOf(follow, play.put()), kForDevice);
  kernel("launches kernels and graphs", kernelOf(parentAndLauncher, play.put(), sum), kForDevice);
  kernel("launches kernels and graphs, for the host", kernelOf(parentAndLauncher, play.put(), sum), 0);
  kernel("launches kernels that launch graphs, for the host", kernelOf(parentOfFollower, play.put()), 0);
  kernel("prints", kernelOf(prints, 1), kForDevice);
  kernel("takes memory", kernelOf(takesMemory, reinterpret_cast<int**>(sum)), kForDevice);
  CUgraph graph = newGraph();
  CUgraphNode node = addKernel(graph, {}, add, sum, 1);
  CUkernelNodeAttrValue value{};
  value.cooperative = 1;
  MUST(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  ask("cooperative", graph, node);
  graph = newGraph();
  node = addKernel(graph, {}, add, sum, 1);
  updatable(node);
  ask("updatable", graph, node);
}

void contexts(int) {
  CUcontext second;
  CUdeviceptr there;
  MUST(cuCtxCreate(&second, nullptr, 0, device));
  MUST(cuMemAlloc(&there, 64));
  MUST(cuCtxSetCurrent(context));
  CUgraphNode node;
  CUgraph graph = newGraph();
  CUDA_MEMSET_NODE_PARAMS fill = fillOf(sum, 64);
  MUST(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context));
  fill = fillOf(reinterpret_cast<void*>(there), 64);
  MUST(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, second));
  ask("fills in two contexts", graph, node);
  ask("fills in two contexts, for the host", graph, node, 0);
  graph = newGraph();
  MUST(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, second));
  ask("fill in another context than the current", graph, node);
  graph = newGraph();
  const CUDA_MEMCPY3D copy = copyOf(sum, reinterpret_cast<void*>(there), 64);
  MUST(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
  ask("copy from another context", graph, node);
}

void bodies(int) {
  Play play;
  play.note(1);
  CUgraphNode node;
  CUgraph graph = withKernel();
  addBody(graph, &node);
  ask("without a node", graph, node);
  const auto body = [&](const char* fact, const KernelParams& params, uint64_t flags) {
    graph = withKernel();
    addKernel(addBody(graph, &node), {}, params);
    ask(fact, graph, node, flags);
  };
  body("kernel", kernelOf(add, sum, 1), kForDevice);
  body("launches graphs, for the host", kernelOf(follow, play.put()), 0);
  body("launches kernels, for the host", kernelOf(parent, sum), 0);
  graph = withKernel();
  updatable(addKernel(addBody(graph, &node), {}, add, sum, 1));
  ask("updatable, for the host", graph, node, 0);
}

void flags(int) {
  for (uint64_t flags = 0; flags <= 17; ++flags) {
    CUgraphExec exec = nullptr;
    const CUgraph graph = withKernel();
    const auto kept = [&](CUresult made) {
      cuuint64_t found = 99;
      return made || cuGraphExecGetFlags(exec, &found) ? 99 : int(found);
    };
    CUresult result = cuGraphInstantiate(&exec, graph, flags);
    say("cuGraphInstantiate " + std::to_string(flags), "%s %d", nameOf(result), kept(result));
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    params.flags = flags;
    result = cuGraphInstantiateWithParams(&exec, graph, &params);
    say("cuGraphInstantiateWithParams " + std::to_string(flags), "%s %d %d", nameOf(result), int(params.result_out),
        kept(result));
  }
}

}  // namespace

const std::vector<Group> kMaking = {{"nodes", 1, nodes},       {"copies", 1, copies}, {"kernels", 1, kernels},
                                    {"contexts", 1, contexts}, {"bodies", 1, bodies}, {"flags", 1, flags}};
