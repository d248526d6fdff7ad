// What the tests of graphs share: a current context, a stream, and short forms of the calls that add nodes.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_INVALID(call) EXPECT_EQ(call, CUDA_ERROR_INVALID_VALUE)

class GraphTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cuInit(0));
    ASSERT_OK(cuDeviceGet(&device, 0));
    ASSERT_OK(cuDevicePrimaryCtxRetain(&context, device));
    ASSERT_OK(cuCtxSetCurrent(context));
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cuGraphCreate(&graph, 0));
  }
  void TearDown() override {
    EXPECT_OK(cuGraphDestroy(graph));
    EXPECT_OK(cuStreamDestroy(stream));
    for (CUdeviceptr address : allocated) EXPECT_OK(cuMemFree(address));
    EXPECT_OK(cuDevicePrimaryCtxRelease(device));
  }

  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_OK(cuMemAlloc(&address, bytes));
    EXPECT_OK(cuMemsetD8(address, 0, bytes));
    allocated.push_back(address);
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
  static std::vector<uint8_t> read(CUdeviceptr from, size_t bytes) {
    std::vector<uint8_t> content(bytes);
    EXPECT_OK(cuMemcpyDtoH(content.data(), from, bytes));
    return content;
  }

  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  std::vector<CUdeviceptr> allocated;
};
