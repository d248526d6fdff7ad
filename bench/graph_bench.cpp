// Graphs of a thousand nodes: launched, beside the same work given to a stream call by call; made, instantiated,
// changed, updated and captured. A time is that of the thousand; a launch includes the wait for its end.
//
//   build/release/bin/graph_bench
#include <random>
#include <vector>

#include "cases.h"

namespace vg::bench {
namespace {

constexpr size_t kNodes = 1000, kRoom = size_t{32} << 20;
enum class Shape { Chain, Fan };  // each after the one before; all after the first
enum class Work { Copy, LargeCopy, Fill, Kernel, Host, Empty };

const char kPtx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry store(.param .u64 where, .param .u32 what) {\n"
    "  .reg .u64 %a; .reg .u32 %v;\n"
    "  ld.param.u64 %a, [where]; ld.param.u32 %v, [what]; st.global.u32 [%a], %v; ret; }\n";

// What all cases share.
struct Stage {
  CUcontext context = start();
  CUstream stream = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr to = 0, from = 0;
  std::vector<size_t> places;  // offsets in an order that no predictor can learn

  Stage() {
    CUmodule module;
    check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    check(DRIVER(cuModuleLoadData)(&module, kPtx), "cuModuleLoadData");
    check(DRIVER(cuModuleGetFunction)(&kernel, module, "store"), "cuModuleGetFunction");
    check(DRIVER(cuMemAlloc_v2)(&to, kRoom), "cuMemAlloc");
    check(DRIVER(cuMemAlloc_v2)(&from, kRoom), "cuMemAlloc");
    check(DRIVER(cuMemsetD8_v2)(to, 0, kRoom), "cuMemsetD8");
    check(DRIVER(cuMemsetD8_v2)(from, 1, kRoom), "cuMemsetD8");
    std::mt19937 random(1);
    for (size_t i = 0; i < kNodes; ++i) places.push_back(random() % (kRoom / (size_t{16} << 10)) * (size_t{16} << 10));
  }
  void wait() const {
    static const auto synchronize = DRIVER(cuStreamSynchronize);
    check(synchronize(stream), "cuStreamSynchronize");
  }
};

Stage& stage() {
  static Stage made;
  return made;
}

size_t bytesOf(Work work) { return work == Work::LargeCopy ? size_t{16} << 10 : 64; }

CUDA_MEMCPY3D copyAt(size_t index, size_t bytes) {
  const Stage& s = stage();
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = s.from + s.places[kNodes - 1 - index];
  copy.dstDevice = s.to + s.places[index];
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUgraphNode addNode(CUgraph graph, Work work, size_t index, const CUgraphNode* before) {
  const Stage& s = stage();
  const size_t count = before ? 1 : 0;
  CUgraphNode node = nullptr;
  switch (work) {
    case Work::Copy:
    case Work::LargeCopy: {
      static const auto add = DRIVER(cuGraphAddMemcpyNode);
      const CUDA_MEMCPY3D copy = copyAt(index, bytesOf(work));
      check(add(&node, graph, before, count, &copy, s.context), "cuGraphAddMemcpyNode");
      break;
    }
    case Work::Fill: {
      static const auto add = DRIVER(cuGraphAddMemsetNode);
      const CUDA_MEMSET_NODE_PARAMS fill{s.to + s.places[index], 0, static_cast<unsigned>(index), 4, 16, 1};
      check(add(&node, graph, before, count, &fill, s.context), "cuGraphAddMemsetNode");
      break;
    }
    case Work::Kernel: {
      static const auto add = DRIVER(cuGraphAddKernelNode_v2);
      CUdeviceptr where = s.to + s.places[index];
      auto what = static_cast<unsigned>(index);
      void* arguments[] = {&where, &what};
      CUDA_KERNEL_NODE_PARAMS_v2 launch{};
      launch.func = s.kernel;
      launch.gridDimX = launch.gridDimY = launch.gridDimZ = launch.blockDimY = launch.blockDimZ = 1;
      launch.blockDimX = 32;
      launch.kernelParams = arguments;
      check(add(&node, graph, before, count, &launch), "cuGraphAddKernelNode");
      break;
    }
    case Work::Host: {
      static const auto add = DRIVER(cuGraphAddHostNode);
      const CUDA_HOST_NODE_PARAMS call{[](void*) {}, nullptr};
      check(add(&node, graph, before, count, &call), "cuGraphAddHostNode");
      break;
    }
    case Work::Empty: {
      static const auto add = DRIVER(cuGraphAddEmptyNode);
      check(add(&node, graph, before, count), "cuGraphAddEmptyNode");
      break;
    }
  }
  return node;
}

CUgraph makeGraph(Shape shape, Work work, std::vector<CUgraphNode>* made = nullptr) {
  static const auto create = DRIVER(cuGraphCreate);
  CUgraph graph;
  check(create(&graph, 0), "cuGraphCreate");
  std::vector<CUgraphNode> nodes;
  for (size_t i = 0; i < kNodes; ++i)
    nodes.push_back(addNode(graph, work, i, i ? &nodes[shape == Shape::Chain ? i - 1 : 0] : nullptr));
  if (made) *made = nodes;
  return graph;
}

CUgraphExec instantiate(CUgraph graph) {
  static const auto call = DRIVER(cuGraphInstantiateWithFlags);
  CUgraphExec exec;
  check(call(&exec, graph, 0), "cuGraphInstantiate");
  return exec;
}
void destroy(CUgraph graph) {
  static const auto call = DRIVER(cuGraphDestroy);
  check(call(graph), "cuGraphDestroy");
}
void destroy(CUgraphExec exec) {
  static const auto call = DRIVER(cuGraphExecDestroy);
  check(call(exec), "cuGraphExecDestroy");
}
void launch(CUgraphExec exec) {
  static const auto call = DRIVER(cuGraphLaunch);
  check(call(exec, stage().stream), "cuGraphLaunch");
}

void launchGraph(benchmark::State& state, Shape shape, Work work) {
  const CUgraph graph = makeGraph(shape, work);
  const CUgraphExec exec = instantiate(graph);
  for (auto _ : state) {
    launch(exec);
    stage().wait();
  }
  destroy(exec);
  destroy(graph);
}

// The same work without a graph.
void callByCall(benchmark::State& state, Work work) {
  static const auto copy = DRIVER(cuMemcpyDtoDAsync_v2);
  static const auto run = DRIVER(cuLaunchKernel);
  static const auto call = DRIVER(cuLaunchHostFunc);
  const Stage& s = stage();
  for (auto _ : state) {
    for (size_t i = 0; i < kNodes; ++i) {
      CUdeviceptr to = s.to + s.places[i];
      auto what = static_cast<unsigned>(i);
      void* arguments[] = {&to, &what};
      if (work == Work::Kernel)
        check(run(s.kernel, 1, 1, 1, 32, 1, 1, 0, s.stream, arguments, nullptr), "cuLaunchKernel");
      else if (work == Work::Host)
        check(call(
                  s.stream, [](void*) {}, nullptr),
              "cuLaunchHostFunc");
      else
        check(copy(to, s.from + s.places[kNodes - 1 - i], bytesOf(work), s.stream), "cuMemcpyDtoDAsync");
    }
    s.wait();
  }
}

void addNodes(benchmark::State& state, Work work) {
  for (auto _ : state) destroy(makeGraph(Shape::Chain, work));
}

void captureCopies(benchmark::State& state) {
  static const auto begin = DRIVER(cuStreamBeginCapture_v2);
  static const auto end = DRIVER(cuStreamEndCapture);
  static const auto copy = DRIVER(cuMemcpyDtoDAsync_v2);
  const Stage& s = stage();
  for (auto _ : state) {
    CUgraph graph;
    check(begin(s.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
    for (size_t i = 0; i < kNodes; ++i)
      check(copy(s.to + s.places[i], s.from + s.places[kNodes - 1 - i], 64, s.stream), "cuMemcpyDtoDAsync");
    check(end(s.stream, &graph), "cuStreamEndCapture");
    destroy(graph);
  }
}

void cloneGraph(benchmark::State& state) {
  static const auto clone = DRIVER(cuGraphClone);
  const CUgraph graph = makeGraph(Shape::Chain, Work::Copy);
  for (auto _ : state) {
    CUgraph made;
    check(clone(&made, graph), "cuGraphClone");
    destroy(made);
  }
  destroy(graph);
}

void instantiateGraph(benchmark::State& state, Work work) {
  const CUgraph graph = makeGraph(Shape::Chain, work);
  for (auto _ : state) destroy(instantiate(graph));
  destroy(graph);
}

// A whole update and the launch that uses it.
void updateGraph(benchmark::State& state, Work work) {
  static const auto update = DRIVER(cuGraphExecUpdate_v2);
  const CUgraph graph = makeGraph(Shape::Chain, work);
  const CUgraphExec exec = instantiate(graph);
  for (auto _ : state) {
    CUgraphExecUpdateResultInfo info;
    check(update(exec, graph, &info), "cuGraphExecUpdate");
    launch(exec);
    stage().wait();
  }
  destroy(exec);
  destroy(graph);
}

// Parameters of one node of the thousand changed, then launched.
void changeOne(benchmark::State& state) {
  static const auto set = DRIVER(cuGraphExecMemcpyNodeSetParams);
  std::vector<CUgraphNode> nodes;
  const CUgraph graph = makeGraph(Shape::Chain, Work::Copy, &nodes);
  const CUgraphExec exec = instantiate(graph);
  size_t next = 0;
  for (auto _ : state) {
    const size_t index = next++ % kNodes;
    const CUDA_MEMCPY3D copy = copyAt(index, 32 + next % 32);
    check(set(exec, nodes[index], &copy, stage().context), "cuGraphExecMemcpyNodeSetParams");
    launch(exec);
    stage().wait();
  }
  destroy(exec);
  destroy(graph);
}

template <class... Arguments>
void add(const std::string& name, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), arguments...)
      ->Repetitions(9)
      ->ReportAggregatesOnly(true)
      ->MinTime(0.02)
      ->UseRealTime()
      ->Unit(benchmark::kNanosecond);
}

void addAll() {
  const char* const works[] = {"copies", "copies-of-16KiB", "fills", "kernels", "hosts", "empty"};
  for (int work = 0; work < 6; ++work) {
    const Work kind = static_cast<Work>(work);
    const std::string many = std::string("/") + works[work] + "/1000";
    add("graph/launch/chain" + many, launchGraph, Shape::Chain, kind);
    add("graph/launch/fan" + many, launchGraph, Shape::Fan, kind);
    if (kind != Work::Fill && kind != Work::Empty) add("graph/calls" + many, callByCall, kind);
    if (kind == Work::LargeCopy) continue;
    add("graph/add" + many, addNodes, kind);
    add("graph/instantiate" + many, instantiateGraph, kind);
    add("graph/update+launch" + many, updateGraph, kind);
  }
  add("graph/clone/copies/1000", cloneGraph);
  add("graph/capture/copies/1000", captureCopies);
  add("graph/change-one+launch/copies/1000", changeOne);
}

}  // namespace
}  // namespace vg::bench

int main(int count, char** arguments) {
  return vg::bench::runBenchmarks(count, arguments, [] {
    vg::bench::stage();
    vg::bench::addAll();
  });
}
