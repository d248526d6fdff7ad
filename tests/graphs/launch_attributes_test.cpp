// Attributes of launches keep their values whichever way a launch becomes a node, and are checked alike in all of them.
#include <cstring>
#include <string>
#include <vector>

#include "fixture.h"

namespace {

constexpr char kText[] = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n";

CUlaunchAttribute attributeOf(CUlaunchAttributeID id) {
  CUlaunchAttribute attribute{};
  attribute.id = id;
  return attribute;
}

// One attribute with a value that is none a new node has.
std::vector<CUlaunchAttribute> samples() {
  std::vector<CUlaunchAttribute> all;
  const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    all.push_back(attributeOf(id));
    return all.back().value;
  };
  add(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow = {
      reinterpret_cast<void*>(0x10000), 0, 0.5F, CU_ACCESS_PROPERTY_PERSISTING, CU_ACCESS_PROPERTY_STREAMING};
  add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {2, 1, 1};
  add(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE).clusterSchedulingPolicyPreference =
      CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
  add(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = -3;
  add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap = {1, 0};
  add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  add(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT).sharedMemCarveout = 50;
  return all;
}

// Values that are refused in every way.
std::vector<CUlaunchAttribute> wrong() {
  std::vector<CUlaunchAttribute> all;
  const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    all.push_back(attributeOf(id));
    return all.back().value;
  };
  add(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow.hitRatio = 2;
  add(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_PERSISTING;
  add(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy = CU_SYNC_POLICY_SPIN;
  add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {2, 0, 0};
  add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {3, 1, 1};
  add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap = {200, 0};
  add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain = static_cast<CUlaunchMemSyncDomain>(2);
  add(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT).sharedMemCarveout = 101;
  add(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING).nvlinkUtilCentricScheduling = 2;
  add(static_cast<CUlaunchAttributeID>(99)).priority = 0;
  return all;
}

class LaunchAttributesTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    ASSERT_OK(cuModuleLoadData(&module_, kText));
    ASSERT_OK(cuModuleGetFunction(&function_, module_, "nothing"));
  }
  void TearDown() override {
    EXPECT_OK(cuModuleUnload(module_));
    GraphTest::TearDown();
  }

  CUDA_KERNEL_NODE_PARAMS params() const {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = function_;
    params.gridDimX = 8;
    params.blockDimX = 32;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    return params;
  }
  CUgraphNode addKernel(CUgraph to) {
    CUgraphNode node = nullptr;
    const CUDA_KERNEL_NODE_PARAMS wanted = params();
    EXPECT_OK(cuGraphAddKernelNode(&node, to, nullptr, 0, &wanted));
    return node;
  }
  CUgraphNode addKernel(CUgraph to, const CUlaunchAttribute& attribute) {
    const CUgraphNode node = addKernel(to);
    EXPECT_OK(cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value)) << attribute.id;
    return node;
  }
  CUresult launch(std::vector<CUlaunchAttribute> attributes) {
    const CUlaunchConfig config{8, 1, 1, 32, 1, 1, 0, stream, attributes.data(), unsigned(attributes.size())};
    return cuLaunchKernelEx(&config, function_, nullptr, nullptr);
  }
  // The graph of a captured launch, whose node is `node`.
  CUgraph capture(std::vector<CUlaunchAttribute> attributes, CUgraphNode* node, CUstream in) {
    CUgraph captured = nullptr;
    EXPECT_OK(cuStreamBeginCapture(in, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    const CUlaunchConfig config{8, 1, 1, 32, 1, 1, 0, in, attributes.data(), unsigned(attributes.size())};
    EXPECT_OK(cuLaunchKernelEx(&config, function_, nullptr, nullptr));
    EXPECT_OK(cuStreamEndCapture(in, &captured));
    size_t count = 1;
    EXPECT_OK(cuGraphGetNodes(captured, node, &count));
    EXPECT_EQ(count, 1u);
    return captured;
  }
  CUgraph capture(const CUlaunchAttribute& attribute, CUgraphNode* node) {
    return capture(std::vector{attribute}, node, stream);
  }
  static CUlaunchAttributeValue told(CUgraphNode node, CUlaunchAttributeID id) {
    CUlaunchAttributeValue value{};
    EXPECT_OK(cuGraphKernelNodeGetAttribute(node, id, &value)) << id;
    return value;
  }
  void expectTells(CUgraphNode node, const CUlaunchAttribute& attribute, const char* way) {
    const CUlaunchAttributeValue value = told(node, attribute.id);
    EXPECT_EQ(std::memcmp(&value, &attribute.value, sizeof(CUaccessPolicyWindow)), 0)
        << "attribute " << attribute.id << ", " << way;
  }
  void expectRuns(CUgraph what) {
    const CUgraphExec exec = instantiate(what);
    run(exec);
    EXPECT_OK(cuGraphExecDestroy(exec));
  }

  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

TEST_F(LaunchAttributesTest, ACapturedLaunchTellsWhatItWasGiven) {
  for (const CUlaunchAttribute& attribute : samples()) {
    CUgraphNode node = nullptr;
    const CUgraph captured = capture(attribute, &node);
    expectTells(node, attribute, "captured");
    expectRuns(captured);
    EXPECT_OK(cuGraphDestroy(captured));
  }
}

TEST_F(LaunchAttributesTest, SeveralAreKeptTogetherAndTheLastCounts) {
  std::vector<CUlaunchAttribute> all = samples();
  CUlaunchAttribute first = attributeOf(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  first.value.priority = -1;
  all.insert(all.begin(), first);
  CUgraphNode node = nullptr;
  const CUgraph captured = capture(all, &node, stream);
  for (size_t i = 1; i < all.size(); ++i) expectTells(node, all[i], "captured with others");
  EXPECT_OK(cuGraphDestroy(captured));
}

TEST_F(LaunchAttributesTest, ANodeTellsWhatWasSetThroughEveryChange) {
  for (const CUlaunchAttribute& attribute : samples()) {
    const CUgraphNode node = addKernel(graph, attribute), other = addKernel(graph);
    expectTells(node, attribute, "set");
    CUDA_KERNEL_NODE_PARAMS changed = params();
    changed.blockDimX = 64;
    EXPECT_OK(cuGraphKernelNodeSetParams(node, &changed));
    expectTells(node, attribute, "set, then other parameters");
    EXPECT_OK(cuGraphKernelNodeCopyAttributes(other, node));
    expectTells(other, attribute, "copied");
    CUgraph copy = nullptr;
    CUgraphNode twin = nullptr;
    EXPECT_OK(cuGraphClone(&copy, graph));
    EXPECT_OK(cuGraphNodeFindInClone(&twin, node, copy));
    expectTells(twin, attribute, "cloned");
    EXPECT_OK(cuGraphDestroy(copy));
    EXPECT_OK(cuGraphDestroyNode(node));
    EXPECT_OK(cuGraphDestroyNode(other));
  }
}

TEST_F(LaunchAttributesTest, AnExecutableGraphTakesTheParametersOfANodeWithAnyOfThem) {
  for (const CUlaunchAttribute& attribute : samples()) {
    const CUgraphNode node = addKernel(graph, attribute);
    const CUgraphExec exec = instantiate(graph);
    CUDA_KERNEL_NODE_PARAMS changed = params();
    changed.blockDimX = 64;
    EXPECT_OK(cuGraphExecKernelNodeSetParams(exec, node, &changed)) << attribute.id;
    run(exec);
    EXPECT_OK(cuGraphExecDestroy(exec));
    EXPECT_OK(cuGraphDestroyNode(node));
  }
}

TEST_F(LaunchAttributesTest, AnUpdateMayChangeAllButTheKindOfLaunch) {
  std::vector<CUlaunchAttribute> all = samples();
  all.push_back(attributeOf(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING));
  all.back().value.nvlinkUtilCentricScheduling = 1;
  for (const CUlaunchAttribute& attribute : all) {
    const bool kept = attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE ||
                      attribute.id == CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING;
    CUgraph with = nullptr, without = nullptr;
    EXPECT_OK(cuGraphCreate(&with, 0));
    EXPECT_OK(cuGraphCreate(&without, 0));
    addKernel(with, attribute);
    addKernel(without);
    for (const auto& [from, to] : {std::pair(with, without), std::pair(without, with)}) {
      const CUgraphExec exec = instantiate(from);
      CUgraphExecUpdateResultInfo info{};
      EXPECT_EQ(cuGraphExecUpdate(exec, to, &info), kept ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS)
          << attribute.id;
      EXPECT_EQ(info.result, kept ? CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED : CU_GRAPH_EXEC_UPDATE_SUCCESS);
      EXPECT_OK(cuGraphExecDestroy(exec));
    }
    EXPECT_OK(cuGraphDestroy(with));
    EXPECT_OK(cuGraphDestroy(without));
  }
}

TEST_F(LaunchAttributesTest, WrongValuesAreRefusedAlikeInEveryWay) {
  const CUgraphNode node = addKernel(graph);
  for (const CUlaunchAttribute& attribute : wrong()) {
    const CUresult launched = launch({attribute});
    EXPECT_NE(launched, CUDA_SUCCESS) << attribute.id;
    EXPECT_EQ(cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value), launched) << attribute.id;
    CUgraph captured = nullptr;
    EXPECT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_EQ(launch({attribute}), launched) << attribute.id;
    (void)cuStreamEndCapture(stream, &captured);
    if (captured) {
      EXPECT_OK(cuGraphDestroy(captured));
    }
  }
  EXPECT_OK(cuStreamSynchronize(stream));
}

// A value that is wrong in itself leaves the capture alone; what does not fit the kernel ends it.
TEST_F(LaunchAttributesTest, OnlyALaunchThatDoesNotFitSpoilsItsCapture) {
  CUlaunchAttribute incomplete = attributeOf(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION), odd = incomplete;
  incomplete.value.clusterDim = {0, 1, 1};
  odd.value.clusterDim = {3, 1, 1};
  for (const auto& [attribute, ended] :
       {std::pair(incomplete, CUDA_SUCCESS), std::pair(odd, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)}) {
    CUgraph captured = nullptr;
    EXPECT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_EQ(launch({attribute}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(cuStreamEndCapture(stream, &captured), ended);
    if (captured) {
      EXPECT_OK(cuGraphDestroy(captured));
    }
  }
}

TEST_F(LaunchAttributesTest, ACapturedLaunchHasThoseOfItsStreamWhereItNamesNone) {
  CUstream urgent = nullptr;
  EXPECT_OK(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, -2));
  CUstreamAttrValue value{};
  value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  EXPECT_OK(cuStreamSetAttribute(urgent, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value));
  CUgraphNode node = nullptr;
  CUgraph captured = capture({}, &node, urgent);
  EXPECT_EQ(told(node, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, -2);
  EXPECT_EQ(told(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
  EXPECT_OK(cuGraphDestroy(captured));
  CUlaunchAttribute own = attributeOf(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  captured = capture({own}, &node, urgent);
  EXPECT_EQ(told(node, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, 0);
  EXPECT_OK(cuGraphDestroy(captured));
  EXPECT_OK(cuStreamDestroy(urgent));
}

TEST_F(LaunchAttributesTest, ProgrammaticLaunchesDependOnKernelsProgrammatically) {
  CUlaunchAttribute programmatic = attributeOf(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  programmatic.value.programmaticStreamSerializationAllowed = 1;
  CUgraph captured = nullptr;
  EXPECT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_OK(launch({}));
  EXPECT_OK(launch({programmatic}));
  EXPECT_OK(launch({}));
  EXPECT_OK(cuStreamEndCapture(stream, &captured));
  CUgraphNode from[2], to[2];
  CUgraphEdgeData data[2];
  size_t count = 2;
  EXPECT_OK(cuGraphGetEdges_v2(captured, from, to, data, &count));
  ASSERT_EQ(count, 2u);
  int programmaticEdges = 0;
  for (const CUgraphEdgeData& one : data) {
    programmaticEdges += one.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    EXPECT_EQ(one.from_port, one.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ? 1 : 0);
  }
  EXPECT_EQ(programmaticEdges, 1);
  expectRuns(captured);
  EXPECT_OK(cuGraphDestroy(captured));
}

TEST_F(LaunchAttributesTest, EventsOfLaunchesKeepNoTimeAndMayBeCaptured) {
  CUevent timed = nullptr, plain = nullptr;
  EXPECT_OK(cuEventCreate(&timed, 0));
  EXPECT_OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
  CUlaunchAttribute attribute = attributeOf(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
  EXPECT_EQ(launch({attribute}), CUDA_ERROR_INVALID_HANDLE);
  attribute.value.launchCompletionEvent.event = timed;
  EXPECT_EQ(launch({attribute}), CUDA_ERROR_NOT_SUPPORTED);
  attribute.value.launchCompletionEvent.event = plain;
  attribute.value.launchCompletionEvent.flags = 1;
  EXPECT_EQ(launch({attribute}), CUDA_ERROR_ILLEGAL_STATE);
  attribute.value.launchCompletionEvent.flags = 0;
  EXPECT_OK(launch({attribute}));
  CUgraphNode node = nullptr;
  const CUgraph captured = capture(attribute, &node);
  expectRuns(captured);
  EXPECT_OK(cuGraphDestroy(captured));
  EXPECT_OK(cuEventDestroy(timed));
  EXPECT_OK(cuEventDestroy(plain));
}

}  // namespace
