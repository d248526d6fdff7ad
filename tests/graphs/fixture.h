// What the tests of graphs share: a current context, a stream, and short forms of the calls that add nodes.
#pragma once

#include "device_test.h"

class GraphTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (HasFatalFailure()) return;
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cuGraphCreate(&graph, 0));
  }
  void TearDown() override {
    EXPECT_OK(cuGraphDestroy(graph));
    EXPECT_OK(cuStreamDestroy(stream));
    for (CUdeviceptr address : allocated) EXPECT_OK(cuMemFree(address));
    allocated.clear();
    DeviceTest::TearDown();
  }

  // Zeroes.
  CUdeviceptr allocate(size_t bytes) {
    const CUdeviceptr address = DeviceTest::allocate(bytes);
    EXPECT_OK(cuMemsetD8(address, 0, bytes));
    return address;
  }

  using Nodes = std::vector<CUgraphNode>;
  static CUDA_MEMSET_NODE_PARAMS fillOf(CUdeviceptr to, unsigned value, size_t bytes) {
    return {to, 0, value, 1, bytes, 1};
  }
  static CUDA_MEMCPY3D copyOf(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return copy;
  }
  CUgraphNode addFill(CUgraph to, const Nodes& after, const CUDA_MEMSET_NODE_PARAMS& fill) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemsetNode(&node, to, after.data(), after.size(), &fill, context));
    return node;
  }
  CUgraphNode addCopy(CUgraph to, const Nodes& after, const CUDA_MEMCPY3D& copy) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemcpyNode(&node, to, after.data(), after.size(), &copy, context));
    return node;
  }
  CUgraphNode addHost(CUgraph to, const Nodes& after, CUhostFn function, void* data) {
    CUgraphNode node = nullptr;
    const CUDA_HOST_NODE_PARAMS host{function, data};
    EXPECT_OK(cuGraphAddHostNode(&node, to, after.data(), after.size(), &host));
    return node;
  }
  CUgraphExec instantiate(CUgraph of) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(cuGraphInstantiate(&exec, of, 0));
    return exec;
  }
  void run(CUgraphExec exec) {
    EXPECT_OK(cuGraphLaunch(exec, stream));
    EXPECT_OK(cuStreamSynchronize(stream));
  }
  // The body of a new conditional node that runs it once.
  CUgraph addBody(CUgraph to) {
    CUgraphConditionalHandle handle;
    EXPECT_OK(cuGraphConditionalHandleCreate(&handle, to, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.handle = handle;
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    params.conditional.ctx = context;
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddNode(&node, to, nullptr, nullptr, 0, &params));
    return params.conditional.phGraph_out ? params.conditional.phGraph_out[0] : nullptr;
  }

  CUstream stream = nullptr;
  CUgraph graph = nullptr;
};
