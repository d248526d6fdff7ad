// Graphs that kernels launch, and nodes that kernels change: what may be one, what each call answers, and when what
// runs. Whole programs of it are tests/apps/device_graphs.cu.

#include "fixture.h"

namespace {

constexpr uint64_t kTail = uint64_t{1} << 56, kFire = uint64_t{2} << 56, kSibling = uint64_t{3} << 56;

const char kKernels[] = R"(.version 8.0
.target sm_50
.address_size 64
.extern .func (.param .b32 r) cudaGraphLaunch(.param .b64 g, .param .b64 s);
.extern .func (.param .b32 r) cudaGraphKernelNodeSetParam(.param .b64 n, .param .b64 o, .param .b64 v, .param .b64 s);
.extern .func (.param .b32 r) cudaGraphKernelNodeSetEnabled(.param .b64 n, .param .b32 e);
.extern .func (.param .b32 r) cudaGraphKernelNodeSetGridDim(.param .b64 n, .param .align 4 .b8 d[12]);
.extern .func (.param .b32 r) cudaGraphKernelNodeUpdatesApply(.param .b64 u, .param .b64 n);
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);

.visible .entry add(.param .u64 where, .param .u32 what) {
  .reg .u64 %a; .reg .u32 %v;
  ld.param.u64 %a, [where]; ld.param.u32 %v, [what]; red.global.add.u32 [%a], %v; ret;
}
// Appends to a list of words, whose first says how long it is.
.visible .entry note(.param .u64 list, .param .u32 what) {
  .reg .u64 %a, %i; .reg .u32 %v, %n;
  ld.param.u64 %a, [list]; ld.param.u32 %v, [what];
  atom.global.add.u32 %n, [%a], 1; mul.wide.u32 %i, %n, 4; add.u64 %a, %a, %i; st.global.u32 [%a+4], %v; ret;
}
// Launches so many graphs of an array and appends what each call answers.
.visible .entry launch(.param .u64 graphs, .param .u32 count, .param .u64 stream, .param .u64 list) {
  .reg .u64 %g, %s, %l, %x; .reg .u32 %c, %r; .reg .pred %p;
  ld.param.u64 %g, [graphs]; ld.param.u32 %c, [count]; ld.param.u64 %s, [stream]; ld.param.u64 %l, [list];
NEXT:
  setp.eq.u32 %p, %c, 0; @%p bra DONE;
  ld.global.u64 %x, [%g];
  { .param .b64 g; .param .b64 s; .param .b32 r; st.param.b64 [g], %x; st.param.b64 [s], %s;
    call (r), cudaGraphLaunch, (g, s); ld.param.b32 %r, [r]; }
  { .reg .u64 %i, %a; .reg .u32 %n;
    atom.global.add.u32 %n, [%l], 1; mul.wide.u32 %i, %n, 4; add.u64 %a, %l, %i; st.global.u32 [%a+4], %r; }
  add.u64 %g, %g, 8; sub.u32 %c, %c, 1; bra NEXT;
DONE: ret;
}
// Launches its own graph again until it has run so often; appends how often it has, and what the call answers.
.visible .entry again(.param .u32 most, .param .u64 stream, .param .u64 list) {
  .reg .u64 %l, %s, %x; .reg .u32 %m, %n, %r; .reg .pred %p;
  ld.param.u32 %m, [most]; ld.param.u64 %s, [stream]; ld.param.u64 %l, [list];
  ld.global.u32 %n, [%l]; setp.ge.u32 %p, %n, %m; @%p ret;
  mov.u64 %x, %current_graph_exec;
  { .param .b64 g; .param .b64 s; .param .b32 r; st.param.b64 [g], %x; st.param.b64 [s], %s;
    call (r), cudaGraphLaunch, (g, s); ld.param.b32 %r, [r]; }
  { .reg .u64 %i, %a;
    add.u32 %n, %n, 1; st.global.u32 [%l], %n; mul.wide.u32 %i, %n, 4; add.u64 %a, %l, %i; st.global.u32 [%a], %r; }
  ret;
}
.visible .entry current(.param .u64 where) {
  .reg .u64 %a, %x;
  ld.param.u64 %a, [where]; mov.u64 %x, %current_graph_exec; st.global.u64 [%a], %x; ret;
}
.visible .entry child() { ret; }
.visible .entry parent() {
  .reg .u64 %p;
  mov.u64 %p, child;
  { .param .b64 p; .param .b64 s; .param .b32 r; st.param.b64 [p], 0; st.param.b64 [s], 0;
    call (r), __cudaCDP2LaunchDeviceV2, (p, s); }
  ret;
}
.visible .entry setParam(.param .u64 node, .param .u64 offset, .param .u64 from, .param .u64 size, .param .u64 list) {
  .reg .u64 %n, %o, %f, %s, %l; .reg .u32 %r;
  ld.param.u64 %n, [node]; ld.param.u64 %o, [offset]; ld.param.u64 %f, [from]; ld.param.u64 %s, [size];
  ld.param.u64 %l, [list];
  { .param .b64 n; .param .b64 o; .param .b64 f; .param .b64 s; .param .b32 r;
    st.param.b64 [n], %n; st.param.b64 [o], %o; st.param.b64 [f], %f; st.param.b64 [s], %s;
    call (r), cudaGraphKernelNodeSetParam, (n, o, f, s); ld.param.b32 %r, [r]; }
  st.global.u32 [%l], %r; ret;
}
.visible .entry setEnabled(.param .u64 node, .param .u32 on, .param .u64 list) {
  .reg .u64 %n, %l; .reg .u32 %r, %o;
  ld.param.u64 %n, [node]; ld.param.u32 %o, [on]; ld.param.u64 %l, [list];
  { .param .b64 n; .param .b32 o; .param .b32 r; st.param.b64 [n], %n; st.param.b32 [o], %o;
    call (r), cudaGraphKernelNodeSetEnabled, (n, o); ld.param.b32 %r, [r]; }
  st.global.u32 [%l], %r; ret;
}
.visible .entry setGrid(.param .u64 node, .param .u32 x, .param .u32 y, .param .u64 list) {
  .reg .u64 %n, %l; .reg .u32 %r, %x, %y;
  ld.param.u64 %n, [node]; ld.param.u32 %x, [x]; ld.param.u32 %y, [y]; ld.param.u64 %l, [list];
  { .param .b64 n; .param .align 4 .b8 d[12]; .param .b32 r;
    st.param.b64 [n], %n; st.param.b32 [d], %x; st.param.b32 [d+4], %y; st.param.b32 [d+8], 1;
    call (r), cudaGraphKernelNodeSetGridDim, (n, d); ld.param.b32 %r, [r]; }
  st.global.u32 [%l], %r; ret;
}
.visible .entry apply(.param .u64 updates, .param .u64 count, .param .u64 list) {
  .reg .u64 %u, %c, %l; .reg .u32 %r;
  ld.param.u64 %u, [updates]; ld.param.u64 %c, [count]; ld.param.u64 %l, [list];
  { .param .b64 u; .param .b64 n; .param .b32 r; st.param.b64 [u], %u; st.param.b64 [n], %c;
    call (r), cudaGraphKernelNodeUpdatesApply, (u, n); ld.param.b32 %r, [r]; }
  st.global.u32 [%l], %r; ret;
}
)";

using Words = std::vector<uint32_t>;

class DeviceGraphs : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    if (HasFatalFailure()) return;
    ASSERT_OK(cuModuleLoadData(&module_, kKernels));
    list = allocate(4096);
    data = allocate(4096);
  }
  void TearDown() override {
    for (CUgraphExec exec : execs_) EXPECT_OK(cuGraphExecDestroy(exec));
    for (CUgraph made : graphs_) EXPECT_OK(cuGraphDestroy(made));
    EXPECT_OK(cuModuleUnload(module_));
    GraphTest::TearDown();
  }

  template <class... Arguments>
  CUDA_KERNEL_NODE_PARAMS kernelOf(const char* name, Arguments&... arguments) {
    static void* pointers[8];
    size_t n = 0;
    ((pointers[n++] = const_cast<void*>(static_cast<const void*>(&arguments))), ...);
    CUDA_KERNEL_NODE_PARAMS kernel{};
    EXPECT_OK(cuModuleGetFunction(&kernel.func, module_, name));
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.kernelParams = pointers;
    return kernel;
  }
  template <class... Arguments>
  CUgraphNode addKernel(CUgraph to, const Nodes& after, const char* name, Arguments... arguments) {
    const CUDA_KERNEL_NODE_PARAMS kernel = kernelOf(name, arguments...);
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddKernelNode(&node, to, after.data(), after.size(), &kernel));
    return node;
  }
  template <class... Arguments>
  void runKernel(const char* name, Arguments... arguments) {
    const CUDA_KERNEL_NODE_PARAMS kernel = kernelOf(name, arguments...);
    EXPECT_OK(cuLaunchKernel(kernel.func, 1, 1, 1, 1, 1, 1, 0, stream, kernel.kernelParams, nullptr));
    EXPECT_OK(cuStreamSynchronize(stream));
  }

  CUgraph newGraph() {
    EXPECT_OK(cuGraphCreate(&graphs_.emplace_back(), 0));
    return graphs_.back();
  }
  // Of one kernel.
  template <class... Arguments>
  CUgraphExec made(uint64_t flags, const char* name, Arguments... arguments) {
    const CUgraph one = newGraph();
    addKernel(one, {}, name, arguments...);
    return made(flags, one);
  }
  CUgraphExec made(uint64_t flags, CUgraph of) {
    CUgraphExec& exec = execs_.emplace_back();
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    params.flags = flags;
    params.hUploadStream = stream;
    EXPECT_OK(cuGraphInstantiateWithParams(&exec, of, &params));
    return exec;
  }
  CUdeviceptr arrayOf(const std::vector<CUgraphExec>& execs) {
    const CUdeviceptr array = allocate(execs.size() * sizeof(CUgraphExec));
    EXPECT_OK(cuMemcpyHtoD(array, execs.data(), execs.size() * sizeof(CUgraphExec)));
    return array;
  }
  // What a kernel of a graph is answered that launches these.
  Words launching(const std::vector<CUgraphExec>& execs, uint64_t how, uint64_t flags = 0) {
    EXPECT_OK(cuMemsetD8(list, 0, 4096));
    run(made(flags, "launch", arrayOf(execs), uint32_t(execs.size()), how, list));
    return entries();
  }
  Words entries() {
    Words words(1024);
    EXPECT_OK(cuMemcpyDtoH(words.data(), list, 4096));
    return {words.begin() + 1, words.begin() + 1 + std::min(words[0], 1023u)};
  }
  uint32_t word(CUdeviceptr at) {
    uint32_t value = 0;
    EXPECT_OK(cuMemcpyDtoH(&value, at, sizeof value));
    return value;
  }

  struct Refusal {
    CUresult error;
    CUgraphInstantiateResult result;
    CUgraphNode node;
    bool operator==(const Refusal&) const = default;
  };
  static Refusal refusalOf(CUgraph of, uint64_t flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    params.flags = flags;
    const CUresult error = cuGraphInstantiateWithParams(&exec, of, &params);
    if (error == CUDA_SUCCESS) {
      EXPECT_OK(cuGraphExecDestroy(exec));
    }
    return {error, params.result_out, params.hErrNode_out};
  }
  static Refusal refused(CUgraphNode node) {
    return {CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, node};
  }
  static constexpr Refusal kNone = {CUDA_SUCCESS, CUDA_GRAPH_INSTANTIATE_SUCCESS, nullptr};
  static constexpr Refusal kInvalid = {CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_ERROR, nullptr};

  static CUgraphDeviceNode makeUpdatable(CUgraphNode node) {
    CUkernelNodeAttrValue value{};
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    EXPECT_OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
    return handleOf(node);
  }
  static CUgraphDeviceNode handleOf(CUgraphNode node) {
    CUkernelNodeAttrValue value{};
    EXPECT_OK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
    EXPECT_EQ(value.deviceUpdatableKernelNode.deviceUpdatable, value.deviceUpdatableKernelNode.devNode ? 1 : 0);
    return value.deviceUpdatableKernelNode.devNode;
  }
  // What a kernel outside of graphs is answered.
  template <class... Arguments>
  uint32_t changing(const char* kernel, CUgraphDeviceNode node, Arguments... arguments) {
    runKernel(kernel, node, arguments..., list);
    return word(list);
  }
  uint32_t sumAfter(CUgraphExec exec) {
    EXPECT_OK(cuMemsetD8(data, 0, 4));
    run(exec);
    return word(data);
  }

  static constexpr uint64_t kDevice = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH,
                            kUploaded = kDevice | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  CUdeviceptr list = 0, data = 0;

 private:
  CUmodule module_ = nullptr;
  std::vector<CUgraph> graphs_;
  std::vector<CUgraphExec> execs_;
};

// --- What may be launched from kernels -------------------------------------------------------------------------------

TEST_F(DeviceGraphs, AreOfKernelsCopiesFillsAndChildren) {
  EXPECT_EQ(refusalOf(graph), kInvalid);
  CUgraphNode node;
  const CUgraph inner = newGraph();
  ASSERT_OK(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, inner));
  EXPECT_EQ(refusalOf(graph), kInvalid);
  addKernel(graph, {}, "add", data, 1u);
  addFill(graph, {}, fillOf(data, 1, 64));
  addCopy(graph, {}, copyOf(data, data + 64, 64));
  EXPECT_EQ(refusalOf(graph), kNone);
  EXPECT_EQ(refusalOf(graph, kDevice | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH), kInvalid);
  CUgraphExec exec;
  ASSERT_OK(cuGraphInstantiate(&exec, graph, kDevice));
  cuuint64_t flags = 0;
  EXPECT_OK(cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, kDevice);
  EXPECT_OK(cuGraphExecDestroy(exec));

  CUevent event;
  ASSERT_OK(cuEventCreate(&event, 0));
  const CUgraph others[] = {newGraph(), newGraph(), newGraph(), newGraph(), newGraph(), newGraph()};
  for (CUgraph other : others) addKernel(other, {}, "add", data, 1u);
  EXPECT_EQ(refusalOf(others[0]), kNone);
  ASSERT_OK(cuGraphAddEmptyNode(&node, others[0], nullptr, 0));
  EXPECT_EQ(refusalOf(others[0]), refused(node));
  node = addHost(
      others[1], {}, [](void*) {}, nullptr);
  EXPECT_EQ(refusalOf(others[1]), refused(node));
  ASSERT_OK(cuGraphAddEventRecordNode(&node, others[2], nullptr, 0, event));
  EXPECT_EQ(refusalOf(others[2]), refused(node));
  ASSERT_OK(cuGraphAddEventWaitNode(&node, others[3], nullptr, 0, event));
  EXPECT_EQ(refusalOf(others[3]), refused(node));
  node = addKernel(others[4], {}, "parent");
  EXPECT_EQ(refusalOf(others[4]), refused(node));
  EXPECT_EQ(refusalOf(others[4], 0), kNone);
  addBody(others[5]);
  EXPECT_EQ(refusalOf(others[5]).result, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
  EXPECT_OK(cuEventDestroy(event));
}

TEST_F(DeviceGraphs, CopyOnlyWhatTheDeviceReaches) {
  std::vector<uint8_t> pageable(64);
  void* pinned;
  ASSERT_OK(cuMemHostAlloc(&pinned, 64, 0));
  const auto refusal = [&](void* host) {
    const CUgraph own = newGraph();
    CUDA_MEMCPY3D copy = copyOf(data, 0, 64);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    const CUgraphNode node = addCopy(own, {}, copy);
    return std::pair(refusalOf(own), refused(node));
  };
  EXPECT_EQ(refusal(pinned).first, kNone);
  const auto [found, expected] = refusal(pageable.data());
  EXPECT_EQ(found, expected);
  CUdeviceptr managed;  // by its address it is the device's, as host memory it is not
  ASSERT_OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  const auto [asHost, refusedToo] = refusal(reinterpret_cast<void*>(managed));
  EXPECT_EQ(asHost, refusedToo);
  addCopy(graph, {}, copyOf(data, managed, 64));
  EXPECT_EQ(refusalOf(graph), kNone);

  const CUgraph own = newGraph();
  CUDA_MEMCPY3D copy = copyOf(data, 0, 64);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = pinned;
  const CUgraphNode node = addCopy(own, {}, copy);
  const CUgraphExec exec = made(kDevice, own), forHost = made(0, own);
  copy.srcHost = pageable.data();
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphExecMemcpyNodeSetParams(forHost, node, &copy, context));
  EXPECT_OK(cuMemFree(managed));
  EXPECT_OK(cuMemFreeHost(pinned));
}

// Whatever may be launched by the host alone.
TEST_F(DeviceGraphs, BodiesHaveNoKernelsThatLaunchKernels) {
  const CUgraph body = addBody(graph);
  EXPECT_EQ(refusalOf(graph, 0), kNone);
  const CUgraphNode node = addKernel(body, {}, "parent");
  EXPECT_EQ(refusalOf(graph, 0), refused(node));
}

// What a function calls of the device runtime is prepared for when a graph is instantiated.
TEST_F(DeviceGraphs, FunctionsThatCallMoreAreNotChangedTo) {
  const CUdeviceptr none = 0;
  const uint32_t nothing = 0;
  const auto launches = [&] { return kernelOf("launch", none, nothing, kFire, list); };
  const auto parent = [&] { return kernelOf("parent"); };
  const auto updates = [&] { return kernelOf("setEnabled", none, nothing, list); };
  const auto plain = [&] { return kernelOf("current", data); };
  const auto change = [](CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& to) {
    return cuGraphExecKernelNodeSetParams(exec, node, &to);
  };
  const auto update = [&](CUgraphExec exec, const CUDA_KERNEL_NODE_PARAMS& to) {
    const CUgraph other = newGraph();
    CUgraphNode node;
    EXPECT_OK(cuGraphAddKernelNode(&node, other, nullptr, 0, &to));
    CUgraphExecUpdateResultInfo info;
    const CUresult result = cuGraphExecUpdate(exec, other, &info);
    EXPECT_EQ(info.result, result == CUDA_SUCCESS ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                  : CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
    EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    return result == CUDA_SUCCESS;
  };
  const CUgraphNode node = addKernel(graph, {}, "add", data, 1u);
  const CUgraphExec host = made(0, graph), device = made(kDevice, graph);
  for (CUgraphExec exec : {host, device}) {
    EXPECT_EQ(change(exec, node, parent()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_FALSE(update(exec, parent()));
    EXPECT_EQ(change(exec, node, updates()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_FALSE(update(exec, updates()));
  }
  EXPECT_EQ(change(host, node, launches()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(update(host, launches()));
  EXPECT_OK(change(device, node, launches()));
  EXPECT_TRUE(update(device, launches()));

  // Beside a launcher others may launch; what a node was at first it may become again.
  const CUgraph two = newGraph();
  const CUgraphNode launcher = addKernel(two, {}, "launch", none, 0u, kFire, list),
                    beside = addKernel(two, {launcher}, "setEnabled", none, 0u, list);
  const CUgraphExec both = made(0, two);
  for (CUgraphNode each : {launcher, beside}) EXPECT_OK(change(both, each, plain()));
  for (CUgraphNode each : {beside, launcher}) EXPECT_OK(change(both, each, launches()));
  EXPECT_OK(change(both, beside, updates()));
  EXPECT_EQ(change(both, launcher, updates()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeviceGraphs, HaveNodesOfOneContext) {
  CUcontext other;
  CUdeviceptr there;
  ASSERT_OK(cuCtxCreate(&other, nullptr, 0, 0));
  ASSERT_OK(cuMemAlloc(&there, 64));
  ASSERT_OK(cuCtxSetCurrent(context));
  addFill(graph, {}, fillOf(data, 1, 64));
  const CUDA_MEMSET_NODE_PARAMS fill = fillOf(there, 1, 64);
  CUgraphNode node;
  ASSERT_OK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, other));
  EXPECT_EQ(refusalOf(graph),
            (Refusal{CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, node}));
  EXPECT_OK(cuCtxDestroy(other));
}

// --- Launches --------------------------------------------------------------------------------------------------------

TEST_F(DeviceGraphs, AreLaunchedFromGraphsOnly) {
  const CUgraphExec exec = made(kUploaded, "add", data, 1u);
  const CUdeviceptr array = arrayOf({exec});
  const uint32_t one = 1;
  const CUDA_KERNEL_NODE_PARAMS kernel = kernelOf("launch", array, one, kFire, list);
  EXPECT_EQ(cuLaunchKernel(kernel.func, 1, 1, 1, 1, 1, 1, 0, stream, kernel.kernelParams, nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(word(data), 0u);
  for (const uint64_t how : {kFire, kTail, kSibling}) {
    EXPECT_EQ(launching({exec}, how), Words{0});
    EXPECT_EQ(launching({exec}, how, kDevice), Words{0});
  }
  EXPECT_EQ(word(data), 6u);
  for (const uint64_t how : {uint64_t{0}, uint64_t{2}, kFire + 1, uint64_t{4} << 56})
    EXPECT_EQ(launching({exec}, how), Words{1});
  EXPECT_EQ(word(data), 6u);
}

TEST_F(DeviceGraphs, MustBeMadeAndUploadedForIt) {
  const CUgraphExec host = made(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, "add", data, 1u);
  const CUgraphExec absent = made(kDevice, "add", data, 1u), launched = made(kDevice, "add", data, 1u);
  const CUgraphExec uploaded = made(kDevice, "add", data, 1u);
  run(launched);
  ASSERT_OK(cuGraphUpload(uploaded, stream));
  const auto none = reinterpret_cast<CUgraphExec>(data);
  EXPECT_EQ(launching({host, absent, launched, uploaded, none, nullptr}, kFire), (Words{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(word(data), 3u);
}

// Kernels launch what was uploaded last.
TEST_F(DeviceGraphs, ChangeWhenTheyAreUploadedAgain) {
  const CUgraphNode node = addKernel(graph, {}, "add", data, 1u);
  const CUgraphExec exec = made(kUploaded, graph);
  uint32_t what = 10;
  const CUDA_KERNEL_NODE_PARAMS changed = kernelOf("add", data, what);
  ASSERT_OK(cuGraphExecKernelNodeSetParams(exec, node, &changed));
  EXPECT_EQ(launching({exec}, kFire), Words{0});
  EXPECT_EQ(word(data), 1u);
  ASSERT_OK(cuGraphUpload(exec, stream));
  EXPECT_EQ(launching({exec}, kTail), Words{0});
  EXPECT_EQ(word(data), 11u);
}

TEST_F(DeviceGraphs, RunOnceAtATime) {
  const CUgraphExec exec = made(kUploaded, "add", data, 1u);
  EXPECT_EQ(launching({exec, exec}, kTail), (Words{0, 1}));
  EXPECT_EQ(word(data), 1u);
  const CUgraphExec self = made(kUploaded, "again", 3u, kTail, list);
  EXPECT_OK(cuMemsetD8(list, 0, 4096));
  run(self);
  EXPECT_EQ(entries(), (Words{0, 0, 0}));
  for (const uint64_t how : {kFire, kSibling}) {
    EXPECT_OK(cuMemsetD8(list, 0, 4096));
    run(made(kUploaded, "again", 3u, how, list));
    EXPECT_EQ(entries(), Words{1});
  }
}

TEST_F(DeviceGraphs, KnowThemselves) {
  const CUgraphExec device = made(kDevice, "current", data), host = made(0, "current", data);
  uint64_t found = 1;
  run(device);
  EXPECT_OK(cuMemcpyDtoH(&found, data, sizeof found));
  EXPECT_EQ(found, reinterpret_cast<uint64_t>(device));
  run(host);
  EXPECT_OK(cuMemcpyDtoH(&found, data, sizeof found));
  EXPECT_EQ(found, 0u);
}

TEST_F(DeviceGraphs, AreLimitedInNumber) {
  std::vector<CUgraphExec> many;
  for (int i = 0; i < 260; ++i) many.push_back(made(kUploaded, "add", data, 1u));
  const std::vector<CUgraphExec> some(many.begin(), many.begin() + 125);
  Words expected(125, 0);
  std::fill(expected.begin() + 120, expected.end(), 1);
  EXPECT_EQ(launching(some, kFire), expected);
  EXPECT_EQ(launching(some, kSibling), expected);
  EXPECT_EQ(word(data), 240u);
  expected.assign(260, 0);
  std::fill(expected.begin() + 255, expected.end(), 1);
  EXPECT_EQ(launching(many, kTail), expected);
  EXPECT_EQ(word(data), 495u);
}

// The stream, an event and the context wait for all that was launched; and launches of the host do not overlap.
TEST_F(DeviceGraphs, HoldUpTheStreamThatTheyWereLaunchedFrom) {
  std::vector<CUgraphExec> leaves;
  for (int i = 0; i < 8; ++i) leaves.push_back(made(kUploaded, "add", data, 1u));
  const CUdeviceptr first = arrayOf({leaves.begin(), leaves.begin() + 4}),
                    second = arrayOf({leaves.begin() + 4, leaves.end()});
  const CUgraphExec middle = made(kUploaded, "launch", first, 4u, kTail, list);
  addKernel(graph, {addKernel(graph, {}, "launch", arrayOf({middle}), 1u, kFire, list)}, "launch", second, 4u, kSibling,
            list);
  const CUgraphExec exec = made(0, graph);
  CUevent event;
  ASSERT_OK(cuEventCreate(&event, 0));
  for (uint32_t round = 1; round <= 50; ++round) {
    EXPECT_OK(cuGraphLaunch(exec, stream));
    EXPECT_OK(cuEventRecord(event, stream));
    EXPECT_OK(round % 2 ? cuEventSynchronize(event) : cuCtxSynchronize());
    ASSERT_EQ(word(data), 8 * round);
  }
  EXPECT_EQ(entries(), Words(50 * 9));
  EXPECT_OK(cuMemsetD8(list, 0, 4096));
  for (int i = 0; i < 10; ++i) EXPECT_OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(word(data), 480u);
  EXPECT_EQ(entries(), Words(90));
  EXPECT_OK(cuEventDestroy(event));
}

TEST_F(DeviceGraphs, EndWithWhatTheyLaunchedWhenTheyAreDestroyedMeanwhile) {
  for (int round = 0; round < 20; ++round) {
    CUgraphExec leaf, exec;
    const CUgraph own = newGraph(), launcher = newGraph();
    addKernel(own, {}, "add", data, 1u);
    ASSERT_OK(cuGraphInstantiate(&leaf, own, kDevice));
    ASSERT_OK(cuGraphUpload(leaf, stream));
    addKernel(launcher, {}, "launch", arrayOf({leaf}), 1u, round % 2 ? kTail : kFire, list);
    ASSERT_OK(cuGraphInstantiate(&exec, launcher, 0));
    ASSERT_OK(cuStreamSynchronize(stream));
    EXPECT_OK(cuGraphLaunch(exec, stream));
    EXPECT_OK(cuGraphExecDestroy(exec));
    EXPECT_OK(cuGraphExecDestroy(leaf));
    EXPECT_OK(cuStreamSynchronize(stream));
  }
}

// The nodes of a conditional's body are nodes of the graph.
TEST_F(DeviceGraphs, AreLaunchedFromBodiesToo) {
  const CUgraphExec leaf = made(kUploaded, "add", data, 1u);
  addKernel(addBody(graph), {}, "launch", arrayOf({leaf}), 1u, kTail, list);
  const CUgraphExec exec = made(0, graph);
  run(exec);
  run(exec);
  EXPECT_EQ(entries(), (Words{0, 0}));
  EXPECT_EQ(word(data), 2u);
}

// --- Nodes that kernels change ---------------------------------------------------------------------------------------

TEST_F(DeviceGraphs, NodesStayWhatKernelsMadeOfThem) {
  const CUgraphNode node = addKernel(graph, {}, "add", data, 1u);
  EXPECT_EQ(handleOf(node), nullptr);
  const CUgraphDeviceNode handle = makeUpdatable(node);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(changing("setEnabled", handle, 1u), 1u);  // in no executable graph
  const CUgraphExec exec = made(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, graph);
  EXPECT_EQ(sumAfter(exec), 1u);
  const uint32_t five = 5;
  EXPECT_OK(cuMemcpyHtoD(data + 64, &five, sizeof five));
  EXPECT_EQ(changing("setParam", handle, uint64_t{8}, data + 64, uint64_t{4}), 0u);
  EXPECT_EQ(sumAfter(exec), 5u);
  EXPECT_EQ(changing("setGrid", handle, 7u, 2u), 0u);
  EXPECT_EQ(sumAfter(exec), 70u);
  EXPECT_EQ(changing("setEnabled", handle, 0u), 0u);
  EXPECT_EQ(sumAfter(exec), 0u);
  EXPECT_EQ(changing("setEnabled", handle, 1u), 0u);
  ASSERT_OK(cuGraphUpload(exec, stream));
  EXPECT_EQ(sumAfter(exec), 70u);

  // What the host changes afterwards counts from the next launch on.
  uint32_t what = 3;
  const CUDA_KERNEL_NODE_PARAMS changed = kernelOf("add", data, what);
  ASSERT_OK(cuGraphExecKernelNodeSetParams(exec, node, &changed));
  EXPECT_EQ(sumAfter(exec), 3u);
  ASSERT_OK(cuGraphNodeSetEnabled(exec, node, 0));
  EXPECT_EQ(sumAfter(exec), 0u);
  EXPECT_EQ(changing("setEnabled", handle, 1u), 0u);
  EXPECT_EQ(sumAfter(exec), 3u);
  ASSERT_OK(cuGraphNodeSetEnabled(exec, node, 0));
  EXPECT_EQ(sumAfter(exec), 0u);
}

TEST_F(DeviceGraphs, NodesRefuseWhatTheyCannotBe) {
  const CUgraphDeviceNode handle = makeUpdatable(addKernel(graph, {}, "add", data, 1u));
  const CUgraphExec exec = made(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, graph);
  ASSERT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(changing("setParam", handle, uint64_t{12}, data, uint64_t{4}), 1u);
  EXPECT_EQ(changing("setParam", handle, uint64_t{10}, data, uint64_t{4}), 1u);
  EXPECT_EQ(changing("setParam", handle, ~uint64_t{0}, data, uint64_t{4}), 1u);
  EXPECT_EQ(changing("setParam", handle, uint64_t{8}, CUdeviceptr{0}, uint64_t{4}), 1u);
  EXPECT_EQ(changing("setParam", handle, uint64_t{8}, CUdeviceptr{0}, uint64_t{0}), 1u);
  EXPECT_EQ(changing("setParam", handle, uint64_t{8}, data, uint64_t{0}), 0u);
  EXPECT_EQ(changing("setGrid", handle, 0u, 1u), 1u);
  EXPECT_EQ(changing("setGrid", handle, 1u, 65536u), 1u);
  EXPECT_EQ(changing("setEnabled", nullptr, 1u), 1u);
  EXPECT_EQ(changing("setEnabled", reinterpret_cast<CUgraphDeviceNode>(data), 1u), 1u);
  EXPECT_EQ(sumAfter(exec), 1u);
}

TEST_F(DeviceGraphs, NodesTakeSeveralChangesAtOnce) {
  struct Update {
    CUgraphDeviceNode node;
    uint32_t field;
    union {
      uint32_t grid[3];
      uint64_t parameter[3];  // address, offset, bytes
      uint32_t enabled;
    };
  };
  static_assert(sizeof(Update) == 40);
  const CUgraphNode first = addKernel(graph, {}, "add", data, 1u);
  const CUgraphDeviceNode one = makeUpdatable(first), two = makeUpdatable(addKernel(graph, {first}, "add", data, 100u));
  const CUgraphExec exec = made(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, graph);
  EXPECT_EQ(sumAfter(exec), 101u);
  const uint32_t nine = 9;
  EXPECT_OK(cuMemcpyHtoD(data + 64, &nine, sizeof nine));
  Update updates[4] = {};
  updates[0] = {one, 1, {.grid = {2, 3, 1}}};
  updates[1] = {one, 2, {.parameter = {data + 64, 8, 4}}};
  updates[2] = {two, 3, {.enabled = 0}};
  updates[3] = {two, 4, {.enabled = 0}};
  const CUdeviceptr array = allocate(sizeof updates);
  EXPECT_OK(cuMemcpyHtoD(array, updates, sizeof updates));
  runKernel("apply", array, uint64_t{3}, list);
  EXPECT_EQ(word(list), 0u);
  EXPECT_EQ(sumAfter(exec), 54u);
  // With one that cannot be, here of a field that there is not, none is made.
  updates[0].grid[0] = 50;
  EXPECT_OK(cuMemcpyHtoD(array, updates, sizeof updates));
  runKernel("apply", array, uint64_t{4}, list);
  EXPECT_EQ(word(list), 1u);
  EXPECT_EQ(sumAfter(exec), 54u);
  for (const uint64_t count : {0, 1}) {
    runKernel("apply", CUdeviceptr{0}, count, list);
    EXPECT_EQ(word(list), 1u);
  }
}

// A kernel decides about those behind it in the same launch.
TEST_F(DeviceGraphs, NodesAreChangedInTheLaunchThatTheyArePartOf) {
  const CUgraphNode node = addKernel(graph, {}, "add", data, 1u);
  const CUgraphDeviceNode handle = makeUpdatable(node);
  const CUgraphNode before = addKernel(graph, {}, "setGrid", handle, 6u, 7u, list);
  ASSERT_OK(cuGraphAddDependencies(graph, &before, &node, nullptr, 1));
  EXPECT_EQ(sumAfter(made(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, graph)), 42u);
}

TEST_F(DeviceGraphs, NodesThatKernelsChangeAreNotTakenAway) {
  const CUgraphNode node = addKernel(graph, {}, "add", data, 1u), plain = addKernel(graph, {}, "add", data, 1u);
  const CUgraphDeviceNode handle = makeUpdatable(node);
  CUkernelNodeAttrValue value{};
  value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  EXPECT_OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
  EXPECT_EQ(value.deviceUpdatableKernelNode.devNode, handle);
  value = {};
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_OK(cuGraphKernelNodeSetAttribute(plain, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
  value.deviceUpdatableKernelNode.deviceUpdatable = 2;
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(plain, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(makeUpdatable(node), handle);
  EXPECT_NE(cuGraphDestroyNode(node), CUDA_SUCCESS);
  EXPECT_NE(cuGraphKernelNodeCopyAttributes(plain, node), CUDA_SUCCESS);
  EXPECT_NE(cuGraphKernelNodeCopyAttributes(node, plain), CUDA_SUCCESS);

  const CUgraphExec exec = made(0, graph);
  EXPECT_NE(refusalOf(graph, 0).error, CUDA_SUCCESS);  // one executable graph at a time
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  CUgraph clone;
  EXPECT_EQ(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
}

// As the vendor's driver has it: the rules hold for a graph's own nodes.
TEST_F(DeviceGraphs, NodesOfChildGraphsAreTheNodesThatWereCopied) {
  CUgraphNode child, copy;
  size_t count = 1;
  CUgraph inside, clone;
  const CUgraph inner = newGraph();
  const CUgraphDeviceNode handle = makeUpdatable(addKernel(inner, {}, "add", data, 1u));
  ASSERT_OK(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, inner));
  ASSERT_OK(cuGraphChildGraphNodeGetGraph(child, &inside));
  ASSERT_OK(cuGraphGetNodes(inside, &copy, &count));
  EXPECT_EQ(handleOf(copy), handle);
  const CUgraphExec exec = made(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, graph);
  EXPECT_EQ(refusalOf(graph, 0), kNone);
  EXPECT_EQ(sumAfter(exec), 1u);
  EXPECT_EQ(changing("setGrid", handle, 5u, 1u), 0u);
  EXPECT_EQ(sumAfter(exec), 5u);
  const CUgraphExec own = made(0, inner);
  EXPECT_EQ(sumAfter(own), 1u);
  EXPECT_EQ(sumAfter(exec), 1u);
  ASSERT_OK(cuGraphClone(&clone, graph));
  EXPECT_OK(cuGraphDestroy(clone));
}

TEST_F(DeviceGraphs, CapturedLaunchesBecomeNodesThatKernelsChange) {
  uint32_t what = 1;
  const CUDA_KERNEL_NODE_PARAMS kernel = kernelOf("add", data, what);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  attribute.value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
  for (const int on : {1, 0}) {
    attribute.value.deviceUpdatableKernelNode.deviceUpdatable = on;
    EXPECT_EQ(cuLaunchKernelEx(&config, kernel.func, kernel.kernelParams, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  }
  ASSERT_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  attribute.value.deviceUpdatableKernelNode.deviceUpdatable = 2;
  EXPECT_EQ(cuLaunchKernelEx(&config, kernel.func, kernel.kernelParams, nullptr), CUDA_ERROR_INVALID_VALUE);
  attribute.value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  EXPECT_OK(cuLaunchKernelEx(&config, kernel.func, kernel.kernelParams, nullptr));
  CUgraph captured;
  ASSERT_OK(cuStreamEndCapture(stream, &captured));
  const CUgraphDeviceNode handle = attribute.value.deviceUpdatableKernelNode.devNode;
  ASSERT_NE(handle, nullptr);
  const CUgraphExec exec = made(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, captured);
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(changing("setGrid", handle, 5u, 1u), 0u);
  EXPECT_EQ(sumAfter(exec), 5u);
  EXPECT_OK(cuGraphDestroy(captured));
}

}  // namespace
