// Graphs that are asked for what cannot be: bad arguments, stale handles, too much memory, things that went away
// between instantiating and launching. Nothing crashes or hangs, and what was there before stays usable.
#include <atomic>
#include <thread>

#include "fixture.h"

namespace {

class GraphFailures : public GraphTest {
 protected:
  static void wait(void* gate) {
    while (!*static_cast<std::atomic<bool>*>(gate)) std::this_thread::yield();
  }
  static size_t nodesOf(CUgraph of) {
    size_t count = 0;
    EXPECT_OK(cuGraphGetNodes(of, nullptr, &count));
    return count;
  }
  CUgraphNode addEmpty(CUgraph to, const Nodes& after = {}) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddEmptyNode(&node, to, after.data(), after.size()));
    return node;
  }
  size_t freeMemory() {
    size_t free = 0, total = 0;
    EXPECT_OK(cuMemGetInfo(&free, &total));
    return free;
  }
};

TEST_F(GraphFailures, NodesThatCannotBeAddedChangeNothing) {
  const CUdeviceptr a = allocate(64);
  CUgraph other;
  ASSERT_OK(cuGraphCreate(&other, 0));
  CUgraphNode mine = addEmpty(graph), foreign = addEmpty(other), node = nullptr;
  const CUDA_MEMSET_NODE_PARAMS good = fillOf(a, 1, 64), tooLong = fillOf(a, 1, 65);
  CUDA_MEMSET_NODE_PARAMS wideElement = good;
  wideElement.elementSize = 3;
  const CUDA_MEMCPY3D tooMuch = copyOf(a, a + 32, 33);
  const CUgraphNode twice[] = {mine, mine};
  const CUDA_HOST_NODE_PARAMS nothing{nullptr, nullptr};

  EXPECT_INVALID(cuGraphAddMemsetNode(&node, graph, &foreign, 1, &good, context));
  EXPECT_INVALID(cuGraphAddMemsetNode(&node, graph, twice, 2, &good, context));
  EXPECT_INVALID(cuGraphAddMemsetNode(&node, graph, nullptr, 1, &good, context));
  EXPECT_INVALID(cuGraphAddMemsetNode(nullptr, graph, nullptr, 0, &good, context));
  EXPECT_INVALID(cuGraphAddMemsetNode(&node, nullptr, nullptr, 0, &good, context));
  EXPECT_INVALID(cuGraphAddMemsetNode(&node, graph, &mine, 1, &tooLong, context));
  EXPECT_INVALID(cuGraphAddMemsetNode(&node, graph, &mine, 1, &wideElement, context));
  EXPECT_INVALID(cuGraphAddMemcpyNode(&node, graph, &mine, 1, &tooMuch, context));
  EXPECT_INVALID(cuGraphAddHostNode(&node, graph, &mine, 1, &nothing));
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph, &mine, 1, graph), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(node, nullptr);
  EXPECT_EQ(nodesOf(graph), 1u);
  size_t dependents = 9;
  EXPECT_OK(cuGraphNodeGetDependentNodes(mine, nullptr, nullptr, &dependents));
  EXPECT_EQ(dependents, 0u);
  EXPECT_OK(cuGraphDestroy(other));
}

TEST_F(GraphFailures, HandlesOfWhatIsGoneAreRefused) {
  CUgraph gone;
  ASSERT_OK(cuGraphCreate(&gone, 0));
  CUgraphNode node = addEmpty(gone), removed = addEmpty(gone), out = nullptr;
  ASSERT_OK(cuGraphDestroyNode(removed));
  EXPECT_INVALID(cuGraphDestroyNode(removed));
  CUgraphExec exec = instantiate(gone);
  ASSERT_OK(cuGraphDestroy(gone));
  EXPECT_INVALID(cuGraphDestroy(gone));
  EXPECT_INVALID(cuGraphAddEmptyNode(&out, graph, &node, 1));
  EXPECT_INVALID(cuGraphClone(&gone, gone));
  run(exec);  // needs neither
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_INVALID(cuGraphExecDestroy(exec));
  EXPECT_INVALID(cuGraphLaunch(exec, stream));
  EXPECT_INVALID(cuGraphUpload(exec, stream));
}

TEST_F(GraphFailures, CyclesAreFoundWhenInstantiating) {
  CUgraphNode nodes[3] = {addEmpty(graph), addEmpty(graph), addEmpty(graph)};
  const CUgraphNode from[] = {nodes[0], nodes[1], nodes[2]}, to[] = {nodes[1], nodes[2], nodes[0]};
  EXPECT_OK(cuGraphAddDependencies(graph, from, to, nullptr, 3));
  CUgraphExec exec = nullptr;
  EXPECT_INVALID(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_EQ(exec, nullptr);
  CUgraph parent;
  CUgraphNode child;
  ASSERT_OK(cuGraphCreate(&parent, 0));
  EXPECT_OK(cuGraphAddChildGraphNode(&child, parent, nullptr, 0, graph));
  EXPECT_INVALID(cuGraphInstantiate(&exec, parent, 0));
  EXPECT_OK(cuGraphDestroy(parent));
  EXPECT_OK(cuGraphRemoveDependencies(graph, from, to, nullptr, 1));
  exec = instantiate(graph);
  run(exec);
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphFailures, NoGraphMovesIntoItself) {
  CUgraph inner, embedded;
  CUgraphNode child, node = nullptr;
  ASSERT_OK(cuGraphCreate(&inner, 0));
  ASSERT_OK(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, inner));
  ASSERT_OK(cuGraphChildGraphNodeGetGraph(child, &embedded));
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = graph;
  params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  EXPECT_INVALID(cuGraphAddNode(&node, embedded, nullptr, nullptr, 0, &params));
  params.graph.graph = inner;
  EXPECT_OK(cuGraphAddNode(&node, embedded, nullptr, nullptr, 0, &params));
  EXPECT_INVALID(cuGraphDestroy(inner));
  CUgraphExec exec = instantiate(graph);
  run(exec);
  EXPECT_OK(cuGraphExecDestroy(exec));
}

// As with the vendor's driver (H200, 580.159.04), here and below.
TEST_F(GraphFailures, MemoryOperationsWithoutMemoryAreToldByTheLaunch) {
  CUstreamBatchMemOpParams write{};
  write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  CUDA_BATCH_MEM_OP_NODE_PARAMS params{context, 1, &write, 0};
  CUgraphNode node = nullptr;
  ASSERT_OK(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &params));
  CUgraphExec exec = instantiate(graph);
  EXPECT_OK(cuGraphUpload(exec, stream));
  EXPECT_INVALID(cuGraphLaunch(exec, stream));
  write.writeValue.address = allocate(8);
  write.writeValue.value64 = 7;
  EXPECT_OK(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
  run(exec);
  EXPECT_EQ(read(write.writeValue.address, 1), std::vector<uint8_t>(1, 7));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphFailures, AGraphWithConditionalNodesHasOneExecutableGraphAtATime) {
  CUgraphExec before = instantiate(graph), second = nullptr;
  const CUgraph body = addBody(graph);
  const CUdeviceptr a = allocate(4);
  addFill(body, {}, fillOf(a, 1, 4));
  CUgraphExec first = instantiate(graph);  // those of before it had any do not count
  EXPECT_EQ(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_OK(cuGraphExecDestroy(first));
  second = instantiate(graph);
  EXPECT_OK(cuGraphExecDestroy(second));
  EXPECT_OK(cuGraphExecDestroy(before));
}

TEST_F(GraphFailures, AnUpdateMakesAnExecutableGraphTheLastOfItsSource) {
  CUgraph other;
  ASSERT_OK(cuGraphCreate(&other, 0));
  CUgraphExec exec = instantiate(graph), second = nullptr;
  CUgraphExecUpdateResultInfo info;
  EXPECT_OK(cuGraphExecUpdate(exec, other, &info));
  const CUgraph body = addBody(other);
  const CUdeviceptr a = allocate(4);
  addFill(body, {}, fillOf(a, 1, 4));
  EXPECT_EQ(cuGraphInstantiate(&second, other, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_OK(cuGraphExecDestroy(exec));
  second = instantiate(other);
  EXPECT_OK(cuGraphExecDestroy(second));
  EXPECT_OK(cuGraphDestroy(other));
}

TEST_F(GraphFailures, GraphsWithConditionalNodesAreNotCopied) {
  CUgraph with, clone;
  CUgraphNode child;
  ASSERT_OK(cuGraphCreate(&with, 0));
  addBody(with);
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, with), CUDA_ERROR_NOT_SUPPORTED);
  size_t count = 1;
  CUgraphNode conditional = nullptr;
  ASSERT_OK(cuGraphGetNodes(with, &conditional, &count));
  EXPECT_OK(cuGraphDestroyNode(conditional));
  EXPECT_EQ(cuGraphClone(&clone, with), CUDA_ERROR_NOT_SUPPORTED);  // it had one
  EXPECT_OK(cuGraphDestroy(with));
}

TEST_F(GraphFailures, AnUpdateThatDoesNotFitChangesNothing) {
  const CUdeviceptr a = allocate(64);
  CUgraphNode fill = addFill(graph, {}, fillOf(a, 1, 64));
  addFill(graph, {fill}, fillOf(a + 32, 2, 32));
  CUgraphExec exec = instantiate(graph);
  CUgraph other;
  ASSERT_OK(cuGraphCreate(&other, 0));
  fill = addFill(other, {}, fillOf(a, 7, 64));
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  addEmpty(other, {fill});
  EXPECT_EQ(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  run(exec);
  std::vector<uint8_t> expected(64, 1);
  std::fill(expected.begin() + 32, expected.end(), 2);
  EXPECT_EQ(read(a, 64), expected);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(other));
}

// The record node comes before the kernel whose function is gone: a point that nobody will reach must not stay behind.
TEST_F(GraphFailures, LaunchesThatFailLeaveEventsAlone) {
  const char ptx[] = ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry nop() { ret; }\n";
  CUmodule module;
  CUfunction function;
  CUevent event;
  ASSERT_OK(cuModuleLoadData(&module, ptx));
  ASSERT_OK(cuModuleGetFunction(&function, module, "nop"));
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = function;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  CUgraphNode record, launch;
  ASSERT_OK(cuGraphAddEventRecordNode(&record, graph, nullptr, 0, event));
  ASSERT_OK(cuGraphAddKernelNode(&launch, graph, &record, 1, &kernel));
  CUgraphExec exec = instantiate(graph);
  run(exec);
  ASSERT_OK(cuModuleUnload(module));
  EXPECT_NE(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_OK(cuEventSynchronize(event));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuEventDestroy(event));
}

TEST_F(GraphFailures, AllocationsBeyondTheDeviceAreRefusedAndWhatThereIsComesBack) {
  ASSERT_OK(cuDeviceGraphMemTrim(device));
  const size_t before = freeMemory(), piece = before / 8;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUgraph large;
  ASSERT_OK(cuGraphCreate(&large, 0));
  CUgraphNode node = nullptr;
  params.bytesize = size_t{1} << 50;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, large, nullptr, 0, &params), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(nodesOf(large), 0u);
  params.bytesize = piece;
  size_t added = 0;
  CUresult result = CUDA_SUCCESS;
  while (added < 100 && result == CUDA_SUCCESS) {
    result = cuGraphAddMemAllocNode(&node, large, nullptr, 0, &params);
    if (result == CUDA_SUCCESS) ++added;
  }
  EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_GE(added, 7u);
  EXPECT_EQ(nodesOf(large), added);
  EXPECT_OK(cuGraphDestroy(large));
  EXPECT_EQ(freeMemory(), before);
  CUdeviceptr again = 0;
  EXPECT_OK(cuMemAlloc(&again, piece));
  EXPECT_OK(cuMemFree(again));
}

// Nobody else may get memory that queued work still uses, though its graph is gone and it is freed in stream order.
TEST_F(GraphFailures, FreedMemoryOfAGraphThatIsGoneStaysUntilQueuedWorkIsDone) {
  constexpr size_t kBytes = size_t{3} << 20;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  params.bytesize = kBytes;
  CUgraph owner;
  CUgraphNode node;
  ASSERT_OK(cuGraphCreate(&owner, 0));
  ASSERT_OK(cuGraphAddMemAllocNode(&node, owner, nullptr, 0, &params));
  CUgraphExec exec = instantiate(owner);
  run(exec);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(owner));
  const CUdeviceptr p = params.dptr;

  // A graph that uses and frees it, and is gone too before it runs.
  CUgraph user;
  ASSERT_OK(cuGraphCreate(&user, 0));
  CUgraphNode fill = addFill(user, {}, fillOf(p, 5, kBytes));
  ASSERT_OK(cuGraphAddMemFreeNode(&node, user, &fill, 1, p));
  exec = instantiate(user);
  std::atomic<bool> open{false};
  ASSERT_OK(cuLaunchHostFunc(stream, wait, &open));
  EXPECT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(user));
  EXPECT_INVALID(cuMemFreeAsync(p, stream));
  std::vector<CUdeviceptr> others(8);
  for (CUdeviceptr& other : others) {
    EXPECT_OK(cuMemAlloc(&other, kBytes));
    EXPECT_OK(cuMemsetD8(other, 1, kBytes));
    EXPECT_NE(other, p);
  }
  open = true;
  EXPECT_OK(cuStreamSynchronize(stream));
  for (CUdeviceptr other : others) {
    EXPECT_EQ(read(other, kBytes), std::vector<uint8_t>(kBytes, 1));
    EXPECT_OK(cuMemFree(other));
  }
}

TEST_F(GraphFailures, NodesInBodiesOfConditionalsCanBeChangedAndSwitchedOff) {
  const CUdeviceptr a = allocate(64);
  const CUgraph body = addBody(graph);
  CUgraphNode fill = addFill(body, {}, fillOf(a, 1, 64));
  CUgraphExec exec = instantiate(graph);
  run(exec);
  EXPECT_EQ(read(a, 64), std::vector<uint8_t>(64, 1));
  const CUDA_MEMSET_NODE_PARAMS other = fillOf(a, 2, 64);
  EXPECT_OK(cuGraphExecMemsetNodeSetParams(exec, fill, &other, context));
  run(exec);
  EXPECT_EQ(read(a, 64), std::vector<uint8_t>(64, 2));
  EXPECT_OK(cuGraphNodeSetEnabled(exec, fill, 0));
  EXPECT_OK(cuMemsetD8(a, 3, 64));
  run(exec);
  EXPECT_EQ(read(a, 64), std::vector<uint8_t>(64, 3));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphFailures, QueriesFillTheRoomTheyAreGivenAndNoMore) {
  CUgraphNode nodes[3] = {addEmpty(graph), addEmpty(graph), addEmpty(graph)};
  CUgraphNode found[5];
  std::fill(found, found + 5, nodes[0]);
  size_t count = 2;
  EXPECT_OK(cuGraphGetNodes(graph, found, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(found[1], nodes[1]);
  EXPECT_EQ(found[2], nodes[0]);  // as it was
  count = 5;
  EXPECT_OK(cuGraphGetNodes(graph, found, &count));
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(found[3], nullptr);
  EXPECT_INVALID(cuGraphGetNodes(graph, found, nullptr));
  EXPECT_INVALID(cuGraphGetEdges(graph, found, nullptr, nullptr, &count));
}

}  // namespace
