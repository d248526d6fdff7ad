// Graphs: numbers, parameters of any node, nodes with contexts, batches of copies, graphs that are captured again.
#include <cstring>
#include <fstream>
#include <sstream>

#include "device_test.h"
#include "scratch.h"

namespace {

class LaterGraphs : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cuGraphCreate(&graph, 0));
    memory = allocate(4096);
    ASSERT_OK(cuMemsetD8(memory, 0, 4096));
  }
  void TearDown() override {
    EXPECT_OK(cuGraphDestroy(graph));
    EXPECT_OK(cuStreamDestroy(stream));
    DeviceTest::TearDown();
  }

  static CUgraphNodeParams fillOf(CUdeviceptr to, unsigned value, size_t bytes) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset.dst = to;
    params.memset.value = value;
    params.memset.elementSize = 1;
    params.memset.width = bytes;
    params.memset.height = 1;
    return params;
  }
  CUgraphNode add(CUgraphNodeParams params, CUgraphNode after = nullptr) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddNode_v3(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, &params));
    return node;
  }
  void run() {
    CUgraphExec exec = nullptr;
    ASSERT_OK(cuGraphInstantiate(&exec, graph, 0));
    ASSERT_OK(cuGraphLaunch(exec, stream));
    ASSERT_OK(cuStreamSynchronize(stream));
    EXPECT_OK(cuGraphExecDestroy(exec));
  }
  std::vector<unsigned char> bytesAt(CUdeviceptr from, size_t count) {
    std::vector<unsigned char> bytes(count);
    EXPECT_OK(cuMemcpyDtoH(bytes.data(), from, count));
    return bytes;
  }

  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
};

TEST_F(LaterGraphs, NumbersAreThoseOfTheDotFile) {
  const CUgraphNode first = add(fillOf(memory, 1, 8)), second = add(fillOf(memory, 2, 8), first);
  unsigned id = 0, numbers[2] = {99, 99};
  ASSERT_OK(cuGraphGetId(graph, &id));
  ASSERT_OK(cuGraphNodeGetLocalId(first, &numbers[0]));
  ASSERT_OK(cuGraphNodeGetLocalId(second, &numbers[1]));
  const std::string path = vg::test::scratchFile("graph.dot");
  ASSERT_OK(cuGraphDebugDotPrint(graph, path.c_str(), 0));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  for (const unsigned number : numbers)
    EXPECT_NE(text.str().find("graph_" + std::to_string(id) + "_node_" + std::to_string(number)), std::string::npos)
        << text.str();
  unsigned long long tools[2] = {0, 0};
  ASSERT_OK(cuGraphNodeGetToolsId(first, &tools[0]));
  ASSERT_OK(cuGraphNodeGetToolsId(second, &tools[1]));
  EXPECT_NE(tools[0], tools[1]);
  CUgraph containing = nullptr;
  ASSERT_OK(cuGraphNodeGetContainingGraph(second, &containing));
  EXPECT_EQ(containing, graph);
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuGraphInstantiate(&exec, graph, 0));
  unsigned execId = id;
  EXPECT_OK(cuGraphExecGetId(exec, &execId));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphGetId(graph, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphGetId(nullptr, &id), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetLocalId(nullptr, &id), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetContainingGraph(first, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaterGraphs, ANodeOfAChildIsContainedInTheChild) {
  CUgraph inner = nullptr, held = nullptr, containing = nullptr;
  ASSERT_OK(cuGraphCreate(&inner, 0));
  CUgraphNode leaf = nullptr, child = nullptr;
  ASSERT_OK(cuGraphAddEmptyNode(&leaf, inner, nullptr, 0));
  ASSERT_OK(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, inner));
  ASSERT_OK(cuGraphChildGraphNodeGetGraph(child, &held));
  size_t count = 1;
  ASSERT_OK(cuGraphGetNodes(held, &leaf, &count));
  ASSERT_OK(cuGraphNodeGetContainingGraph(leaf, &containing));
  EXPECT_EQ(containing, held);
  EXPECT_OK(cuGraphDestroy(inner));
}

TEST_F(LaterGraphs, ParametersOfEveryKindCanBeAsked) {
  CUgraphNodeParams got{};
  const CUgraphNode fill = add(fillOf(memory, 7, 16));
  ASSERT_OK(cuGraphNodeGetParams(fill, &got));
  EXPECT_EQ(got.type, CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(got.memset.dst, memory);
  EXPECT_EQ(got.memset.value, 7u);
  EXPECT_EQ(got.memset.width, 16u);

  CUgraphNodeParams host{};
  host.type = CU_GRAPH_NODE_TYPE_HOST;
  host.host.fn = [](void*) {};
  host.host.userData = &host;
  host.host.syncMode = CU_HOST_TASK_SPINWAIT;
  host.host.ctx = context;
  ASSERT_OK(cuGraphNodeGetParams(add(host), &got));
  EXPECT_EQ(got.type, CU_GRAPH_NODE_TYPE_HOST);
  EXPECT_EQ(got.host.fn, host.host.fn);
  EXPECT_EQ(got.host.userData, &host);
  EXPECT_EQ(got.host.syncMode, unsigned{CU_HOST_TASK_SPINWAIT});
  EXPECT_EQ(got.host.ctx, context);

  CUevent event = nullptr;
  ASSERT_OK(cuEventCreate(&event, 0));
  CUgraphNodeParams record{};
  record.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  record.eventRecord.event = event;
  ASSERT_OK(cuGraphNodeGetParams(add(record), &got));
  EXPECT_EQ(got.type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  EXPECT_EQ(got.eventRecord.event, event);

  CUgraphNode empty = nullptr;
  ASSERT_OK(cuGraphAddEmptyNode(&empty, graph, nullptr, 0));
  ASSERT_OK(cuGraphNodeGetParams(empty, &got));
  EXPECT_EQ(got.type, CU_GRAPH_NODE_TYPE_EMPTY);
  EXPECT_EQ(cuGraphNodeGetParams(empty, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetParams(nullptr, &got), CUDA_ERROR_INVALID_VALUE);
  run();
  EXPECT_OK(cuEventDestroy(event));
}

TEST_F(LaterGraphs, WhatWasAskedCanBeSetAgain) {
  const CUgraphNode fill = add(fillOf(memory, 7, 16));
  CUgraphNodeParams params{};
  ASSERT_OK(cuGraphNodeGetParams(fill, &params));
  params.memset.value = 9;
  ASSERT_OK(cuGraphNodeSetParams_v2(fill, &params));
  run();
  EXPECT_EQ(bytesAt(memory, 16), std::vector<unsigned char>(16, 9));
}

TEST_F(LaterGraphs, ContextsOfNodesMustBeThere) {
  CUgraphNodeParams host{};
  host.type = CU_GRAPH_NODE_TYPE_HOST;
  host.host.fn = [](void*) {};
  host.host.ctx = reinterpret_cast<CUcontext>(&host);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddNode_v3(&node, graph, nullptr, nullptr, 0, &host), CUDA_ERROR_INVALID_CONTEXT);
  host.host.ctx = nullptr;
  host.host.syncMode = 2;
  EXPECT_EQ(cuGraphAddNode_v3(&node, graph, nullptr, nullptr, 0, &host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddNode_v3(&node, graph, nullptr, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

class Batch : public LaterGraphs {
 protected:
  void SetUp() override {
    LaterGraphs::SetUp();
    ASSERT_OK(cuMemsetD8(memory, 1, 512));
    ASSERT_OK(cuMemsetD8(memory + 512, 2, 512));
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY_BATCH;
    params.memcpyBatch.count = 2;
    params.memcpyBatch.dsts = to;
    params.memcpyBatch.srcs = from;
    params.memcpyBatch.sizes = sizes;
    params.memcpyBatch.attrs = &attributes;
    params.memcpyBatch.attrsIdxs = &start;
    params.memcpyBatch.numAttrs = 1;
    to[0] = memory + 1024;
    to[1] = memory + 2048;
    from[0] = memory;
    from[1] = memory + 512;
  }
  CUdeviceptr to[2] = {}, from[2] = {};
  size_t sizes[2] = {512, 100}, start = 0;
  CUmemcpyAttributes attributes{};
  CUgraphNodeParams params{};
};

TEST_F(Batch, NodesCopy) {
  const CUgraphNode node = add(params);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  ASSERT_OK(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY_BATCH);
  CUgraphNodeParams got{};
  ASSERT_OK(cuGraphNodeGetParams(node, &got));
  ASSERT_EQ(got.memcpyBatch.count, 2u);
  EXPECT_EQ(got.memcpyBatch.dsts[1], to[1]);
  EXPECT_EQ(got.memcpyBatch.sizes[1], 100u);
  EXPECT_NE(got.memcpyBatch.dsts, to);  // the node has its own
  to[0] = to[1] = 0;                    // which stays
  run();
  EXPECT_EQ(bytesAt(memory + 1024, 512), std::vector<unsigned char>(512, 1));
  EXPECT_EQ(bytesAt(memory + 2048, 100), std::vector<unsigned char>(100, 2));
  EXPECT_EQ(bytesAt(memory + 2148, 100), std::vector<unsigned char>(100, 0));
  const std::string path = vg::test::scratchFile("batch.dot");
  EXPECT_OK(cuGraphDebugDotPrint(graph, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
}

TEST_F(Batch, NodesOfExecutableGraphsChange) {
  const CUgraphNode node = add(params);
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuGraphInstantiate(&exec, graph, 0));
  std::swap(from[0], from[1]);
  sizes[0] = 100;
  ASSERT_OK(cuGraphExecNodeSetParams(exec, node, &params));
  ASSERT_OK(cuGraphLaunch(exec, stream));
  ASSERT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(bytesAt(memory + 1024, 100), std::vector<unsigned char>(100, 2));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(Batch, BadOnesAreRefused) {
  CUgraphNode node = nullptr;
  const auto tried = [&] { return cuGraphAddNode_v3(&node, graph, nullptr, nullptr, 0, &params); };
  sizes[1] = 0;
  EXPECT_EQ(tried(), CUDA_ERROR_INVALID_VALUE);
  sizes[1] = 100;
  start = 1;
  EXPECT_EQ(tried(), CUDA_ERROR_INVALID_VALUE);
  start = 0;
  params.memcpyBatch.dsts = nullptr;
  EXPECT_EQ(tried(), CUDA_ERROR_INVALID_VALUE);
  params.memcpyBatch.dsts = to;
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_EQ(tried(), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams fabric{};
  fabric.type = CU_GRAPH_NODE_TYPE_FABRIC_CPY_BATCH;
  EXPECT_EQ(cuGraphAddNode_v3(&node, graph, nullptr, nullptr, 0, &fabric), CUDA_ERROR_INVALID_VALUE);
}

// What the application was told while a graph was captured again.
struct Told {
  int calls = 0;
  CUgraphNode node = nullptr;
  unsigned before = 0, after = 0;
  CUgraphRecaptureStatus status = CU_GRAPH_RECAPTURE_ERROR;
  CUresult answer = CUDA_SUCCESS;
};
CUresult tell(void* data, CUgraphNode node, const CUgraphNodeParams* original, const CUgraphNodeParams* again,
              CUgraphRecaptureStatus status) {
  Told& told = *static_cast<Told*>(data);
  ++told.calls;
  told.node = node;
  told.before = original->memset.value;
  told.after = again->memset.value;
  told.status = status;
  return told.answer;
}

class Recapture : public LaterGraphs {
 protected:
  void fillTwice(unsigned first, unsigned second) {
    EXPECT_OK(cuMemsetD8Async(memory, static_cast<unsigned char>(first), 64, stream));
    EXPECT_OK(cuMemsetD8Async(memory + 64, static_cast<unsigned char>(second), 64, stream));
  }
  void SetUp() override {
    LaterGraphs::SetUp();
    EXPECT_OK(cuGraphDestroy(graph));
    ASSERT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    fillTwice(1, 2);
    ASSERT_OK(cuStreamEndCapture(stream, &graph));
  }
  void begin() { ASSERT_OK(cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_RELAXED, graph, tell, &told)); }
  Told told;
};

TEST_F(Recapture, TheSameAgainChangesNothing) {
  begin();
  fillTwice(1, 2);
  CUgraph ended = nullptr;
  ASSERT_OK(cuStreamEndCapture(stream, &ended));
  EXPECT_EQ(ended, graph);
  EXPECT_EQ(told.calls, 0);
  size_t count = 0;
  ASSERT_OK(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
}

TEST_F(Recapture, AnotherValueIsToldAndTaken) {
  CUgraphNode nodes[2];
  size_t count = 2;
  ASSERT_OK(cuGraphGetNodes(graph, nodes, &count));
  begin();
  fillTwice(1, 5);
  CUgraph ended = nullptr;
  ASSERT_OK(cuStreamEndCapture(stream, &ended));
  EXPECT_EQ(told.calls, 1);
  EXPECT_EQ(told.node, nodes[1]);
  EXPECT_EQ(told.before, 2u);
  EXPECT_EQ(told.after, 5u);
  EXPECT_EQ(told.status, CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE);
  run();
  EXPECT_EQ(bytesAt(memory + 64, 64), std::vector<unsigned char>(64, 5));
}

TEST_F(Recapture, TheApplicationMayRefuse) {
  told.answer = CUDA_ERROR_NOT_PERMITTED;
  begin();
  EXPECT_OK(cuMemsetD8Async(memory, 1, 64, stream));
  EXPECT_EQ(cuMemsetD8Async(memory + 64, 5, 64, stream), CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
  CUgraph ended = nullptr;
  EXPECT_NE(cuStreamEndCapture(stream, &ended), CUDA_SUCCESS);
}

TEST_F(Recapture, AnotherShapeFails) {
  begin();
  EXPECT_OK(cuMemsetD8Async(memory, 1, 64, stream));
  EXPECT_EQ(cuMemcpyDtoDAsync(memory + 64, memory, 64, stream), CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
  CUgraph ended = nullptr;
  EXPECT_NE(cuStreamEndCapture(stream, &ended), CUDA_SUCCESS);
}

TEST_F(Recapture, TooFewOrTooManyNodesFail) {
  begin();
  EXPECT_OK(cuMemsetD8Async(memory, 1, 64, stream));
  CUgraph ended = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &ended), CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
  begin();
  fillTwice(1, 2);
  EXPECT_EQ(cuMemsetD8Async(memory, 1, 64, stream), CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
  EXPECT_NE(cuStreamEndCapture(stream, &ended), CUDA_SUCCESS);
}

TEST_F(Recapture, WhatIsNoGraphIsRefused) {
  EXPECT_EQ(cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_RELAXED, nullptr, tell, &told),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBeginRecaptureToGraph(stream, static_cast<CUstreamCaptureMode>(9), graph, tell, &told),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
