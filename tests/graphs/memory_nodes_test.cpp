// Nodes that allocate and free, and nodes of events: addresses, lives, and what other graphs and streams see of them.
#include "fixture.h"

namespace {

class MemoryNodes : public GraphTest {
 protected:
  CUgraphNode addAlloc(CUgraph to, const Nodes& after, size_t bytes, CUdeviceptr* address) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemAllocNode(&node, to, after.data(), after.size(), &params));
    *address = params.dptr;
    return node;
  }
  CUgraphNode addFree(CUgraph to, const Nodes& after, CUdeviceptr address) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemFreeNode(&node, to, after.data(), after.size(), address));
    return node;
  }
};

// Scratch memory used and freed within the graph, a thousand times one after the other: one address does.
TEST_F(MemoryNodes, ChainsOfAllocationsAndFreesUseOneAddress) {
  constexpr size_t kBytes = 5000;
  const CUdeviceptr out = allocate(1000);
  Nodes last;
  CUdeviceptr first = 0;
  for (size_t i = 0; i < 1000; ++i) {
    CUdeviceptr scratch;
    CUgraphNode node = addAlloc(graph, last, kBytes, &scratch);
    if (!first) first = scratch;
    EXPECT_EQ(scratch, first);
    node = addFill(graph, {node}, fillOf(scratch, static_cast<unsigned>(i), kBytes));
    node = addCopy(graph, {node}, copyOf(out + i, scratch + kBytes - 1, 1));
    last = {addFree(graph, {node}, scratch)};
  }
  CUgraphExec exec = instantiate(graph);
  for (int round = 0; round < 2; ++round) {
    run(exec);
    const std::vector<uint8_t> seen = read(out, 1000);
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(seen[i], static_cast<uint8_t>(i));
  }
  EXPECT_OK(cuGraphExecDestroy(exec));
}

// As with the vendor's driver (H200, 580.159.04), though each frees what it allocates.
TEST_F(MemoryNodes, BodiesOfConditionalsHaveNone) {
  CUdeviceptr scratch = 0;
  CUgraphExec exec = nullptr;
  const CUgraph body = addBody(graph);
  const CUgraphNode alloc = addAlloc(body, {}, 5000, &scratch);
  addFree(body, {alloc}, scratch);
  EXPECT_INVALID(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_EQ(exec, nullptr);
}

TEST_F(MemoryNodes, AllocationsBesideEachOtherHaveTheirOwnAddresses) {
  CUdeviceptr a, b, c, d;
  const CUgraphNode first = addAlloc(graph, {}, 1 << 20, &a);
  addAlloc(graph, {first}, 1 << 20, &b);
  const CUgraphNode freed = addFree(graph, {first}, a);
  addAlloc(graph, {first}, 1 << 20, &c);  // not after the free
  addAlloc(graph, {freed}, 1 << 20, &d);
  EXPECT_NE(a, b);
  EXPECT_NE(c, a);
  EXPECT_NE(c, b);
  EXPECT_EQ(d, a);
  CUdeviceptr e;
  addAlloc(graph, {freed}, 1 << 20, &e);  // d has it now
  EXPECT_NE(e, a);
}

TEST_F(MemoryNodes, OneGraphAllocatesAndAnotherFrees) {
  CUdeviceptr p, base = 0;
  size_t size = 0;
  const CUgraphNode alloc = addAlloc(graph, {}, 4096, &p);
  addFill(graph, {alloc}, fillOf(p, 3, 4096));
  CUgraph other;
  ASSERT_OK(cuGraphCreate(&other, 0));
  const CUdeviceptr out = allocate(4096);
  addFree(other, {addCopy(other, {}, copyOf(out, p, 4096))}, p);
  CUgraphExec allocates = instantiate(graph), frees = instantiate(other);
  EXPECT_INVALID(cuGraphLaunch(frees, stream));
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, p), CUDA_ERROR_NOT_FOUND);
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(cuMemsetD8(out, 0, 4096));
    EXPECT_OK(cuGraphLaunch(allocates, stream));
    EXPECT_INVALID(cuGraphLaunch(allocates, stream));
    EXPECT_OK(cuMemGetAddressRange(&base, &size, p));
    EXPECT_EQ(base, p);
    EXPECT_EQ(size, 4096u);
    EXPECT_OK(cuGraphLaunch(frees, stream));
    EXPECT_INVALID(cuGraphLaunch(frees, stream));
    EXPECT_OK(cuStreamSynchronize(stream));
    EXPECT_EQ(read(out, 4096), std::vector<uint8_t>(4096, 3));
  }
  EXPECT_OK(cuGraphExecDestroy(allocates));
  EXPECT_OK(cuGraphExecDestroy(frees));
  EXPECT_OK(cuGraphDestroy(other));
}

TEST_F(MemoryNodes, EventsOfNodesAndOfStreamsWaitForEachOther) {
  CUevent before, after;
  ASSERT_OK(cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr a = allocate(1 << 20), b = allocate(1 << 20);
  CUgraphNode wait, record;
  ASSERT_OK(cuGraphAddEventWaitNode(&wait, graph, nullptr, 0, before));
  const CUgraphNode copy = addCopy(graph, {wait}, copyOf(b, a, 1 << 20));
  ASSERT_OK(cuGraphAddEventRecordNode(&record, graph, &copy, 1, after));
  CUevent seen = nullptr;
  EXPECT_OK(cuGraphEventWaitNodeGetEvent(wait, &seen));
  EXPECT_EQ(seen, before);
  EXPECT_OK(cuGraphEventRecordNodeGetEvent(record, &seen));
  EXPECT_EQ(seen, after);
  CUgraphExec exec = instantiate(graph);
  CUstream other;
  ASSERT_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  for (unsigned char round = 1; round < 20; ++round) {
    EXPECT_OK(cuMemsetD8Async(a, round, 1 << 20, other));
    EXPECT_OK(cuEventRecord(before, other));
    EXPECT_OK(cuGraphLaunch(exec, stream));
    EXPECT_OK(cuStreamWaitEvent(other, after, 0));
    EXPECT_OK(cuMemsetD8Async(a, 0, 1 << 20, other));
    EXPECT_OK(cuEventSynchronize(after));
    ASSERT_EQ(read(b, 1 << 20), std::vector<uint8_t>(1 << 20, round));
  }
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_OK(cuStreamDestroy(other));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuEventDestroy(before));
  EXPECT_OK(cuEventDestroy(after));
}

}  // namespace
