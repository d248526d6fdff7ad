// A launch reaches the GPU with its attributes whichever way it becomes part of a graph.
#include <tuple>
#include <vector>

#include "gpu_api/fake_devices.h"
#include "unit/cubin/cubin_files.h"

namespace vg::testing {
namespace {

namespace qmd = backend::nvidia::qmd;

CUlaunchAttribute clusterOf(unsigned width) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {width, 1, 1};
  return attribute;
}

CUlaunchAttribute priorityOf(int priority) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attribute.value.priority = priority;
  return attribute;
}

// What attributes decide in a grid's descriptor: kind of grid, cluster, and the group that blocks are placed with.
using Told = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
Told toldOf(const backend::nvidia::Qmd& d) {
  return {d.get(qmd::kType), d.get(qmd::kClusterWidth), d.get(qmd::kClusterHeight), d.get(qmd::kGroup)};
}

struct LaunchAttributes : ApiTest {
  void SetUp() override {
    ApiTest::SetUp();
    const std::string image = cubin::testing::fileOf("kernels.90.cubin");
    SKIP_WITHOUT(image);
    OK(cuModuleLoadData(&module, image.data()));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    if (stream) {
      OK(cuStreamDestroy(stream));
      OK(cuModuleUnload(module));
    }
  }
  static constexpr unsigned kGrid = 8;
  CUDA_KERNEL_NODE_PARAMS_v2 params() const {
    CUDA_KERNEL_NODE_PARAMS_v2 params{};
    params.func = function;
    params.gridDimX = kGrid;
    params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = 1;
    params.blockDimZ = kForeignDepth;
    return params;
  }
  CUresult launch(CUlaunchAttribute attribute, unsigned count) {
    const CUlaunchConfig config{kGrid, 1, 1, 1, 1, kForeignDepth, 0, stream, &attribute, count};
    return cuLaunchKernelEx(&config, function, nullptr, nullptr);
  }
  // What the GPU is told of the one grid that `give` gives it.
  template <class Give>
  Told toldBy(Give give) {
    foreignGrids().clear();
    give();
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(foreignGrids().size(), 1u);
    return foreignGrids().empty() ? Told{} : toldOf(foreignGrids().back());
  }
  void run(CUgraph graph, const CUDA_KERNEL_NODE_PARAMS_v2* changed = nullptr, CUgraphNode node = nullptr) {
    CUgraphExec exec = nullptr;
    OK(cuGraphInstantiateWithFlags(&exec, graph, flags));
    if (changed) {
      OK(cuGraphExecKernelNodeSetParams_v2(exec, node, changed));
    }
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
  }
  void captured(const CUlaunchAttribute& attribute) {
    CUgraph graph = nullptr;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(launch(attribute, 1));
    OK(cuStreamEndCapture(stream, &graph));
    run(graph);
  }
  void added(const CUlaunchAttribute& attribute, bool changed) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    const CUDA_KERNEL_NODE_PARAMS_v2 wanted = params();
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &wanted));
    OK(cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value));
    run(graph, changed ? &wanted : nullptr, node);
  }
  void cloned(const CUlaunchAttribute& attribute) {
    CUgraph graph = nullptr, copy = nullptr;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(launch(attribute, 1));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphClone(&copy, graph));
    OK(cuGraphDestroy(graph));
    run(copy);
  }

  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  unsigned long long flags = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
};

TEST_F(LaunchAttributes, ReachTheGpuFromGraphsAsFromStreams) {
  const Told plain = toldBy([&] { OK(launch({}, 0)); });
  for (const CUlaunchAttribute& attribute : {clusterOf(1), clusterOf(2), clusterOf(4), priorityOf(-2)}) {
    const Told wanted = toldBy([&] { OK(launch(attribute, 1)); });
    SCOPED_TRACE(::testing::Message() << "attribute " << attribute.id << ", " << attribute.value.clusterDim.x);
    EXPECT_NE(wanted, plain);
    EXPECT_EQ(toldBy([&] { captured(attribute); }), wanted);
    EXPECT_EQ(toldBy([&] { cloned(attribute); }), wanted);
    EXPECT_EQ(toldBy([&] { added(attribute, false); }), wanted);
    EXPECT_EQ(toldBy([&] { added(attribute, true); }), wanted);
  }
  flags = 0;  // without the flag a graph has the priority of its stream
  EXPECT_EQ(toldBy([&] { captured(priorityOf(-2)); }), plain);
  EXPECT_EQ(toldBy([&] { added(priorityOf(-2), true); }), plain);
}

}  // namespace
}  // namespace vg::testing
